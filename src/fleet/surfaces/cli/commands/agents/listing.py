"""The commands `fleet ps` and `fleet agents list`."""

from __future__ import annotations

from fleet.api.fleet import Fleet
from fleet.model.text.times import age, since_epoch, utc
from fleet.surfaces.cli.ui import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.results.agents import AgentView

_HEADS = (
    "AGENT",
    "KIND",
    "TASK",
    "ENGINE",
    "AUTONOMY",
    "STATE",
    "LEARNT FROM",
    "AGE",
    "CONTEXT",
    "COST",
    "HANDOFFS",
    "STARTED",
    "",
)
# The columns in a narrow terminal: agent, task, state, age, context, cost and detail.
_NARROW = (0, 2, 5, 7, 8, 9, 12)


def list_agents(*, project: str | None, json: bool) -> None:
    """Print the running agents of a project, or (None) of all projects, as a table or as JSON."""
    with Fleet.open() as fleet:
        agents = fleet.agents.list(project)
    if json:
        terminal.say_json(agents)
        return
    if not agents:
        terminal.say("no agents are running: `fleet dispatch SLUG` starts one")
        return
    rows = [_agent_row(agent, fleet.clock.now()) for agent in agents]
    shown = range(len(_HEADS)) if terminal.has_room_for(_HEADS, rows) else _NARROW
    for line in terminal.table(_select(_HEADS, shown), [_select(row, shown) for row in rows]):
        terminal.say(line)


def _select(cells: tuple[str, ...], shown: Iterable[int]) -> tuple[str, ...]:
    """Return those cells of a row whose columns (`shown`, by index) are shown."""
    return tuple(cells[n] for n in shown)


def _engine(agent: AgentView) -> str:
    """Return an agent's engine for the table: its name, its model, and the engine that it stands in for."""
    model = f" {agent.model}" if agent.model else ""
    return f"{agent.engine or ''}{model}{f' (instead of {agent.instead_of})' if agent.instead_of else ''}"


def _freedom(agent: AgentView) -> str:
    """Return what an agent may do, for the table: its autonomy, and its sandbox if it has one."""
    return f"{agent.autonomy or ''}{f' in {agent.sandbox}' if agent.sandbox else ''}".strip()


def _cost(agent: AgentView) -> str:
    """Return an agent's cost for the table: by list prices, or as its engine reports it.

    "?" when the price is not known, "" when nothing is known of what the agent has used.
    """
    if agent.used is not None:
        return "?" if agent.used.unpriced == agent.used.tokens else f"${agent.used.dollars:.2f}"
    return "" if agent.cost is None else f"${agent.cost:.2f}"


def _agent_row(agent: AgentView, now: int) -> tuple[str, ...]:
    """Return an agent as a row of the table of `fleet ps`."""
    on = f"{agent.project}/{agent.task or ''}".rstrip("/")
    since = age(now - since_epoch(agent.state_at)) if agent.state_at else ""
    context = "" if agent.context is None else f"{agent.context} %"
    who = (agent.id, agent.kind, on, _engine(agent), _freedom(agent))
    detail = " ".join(agent.detail.split())
    return (
        *who,
        agent.state,
        agent.source,
        since,
        context,
        _cost(agent),
        str(agent.handoffs or ""),
        utc(agent.started_at),
        detail,
    )
