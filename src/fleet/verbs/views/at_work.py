"""List the unfinished dispatches. The code that inspects each agent is imported only when there is one."""

from __future__ import annotations

from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView
    from fleet.store.queries import Dispatch, DispatchUsage, LivingAgent
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context


class Unfinished:
    """The unfinished dispatches of one snapshot of the store, with the states from their hooks and their costs."""

    __slots__ = ("answered", "heard", "rows", "titles", "used")

    def __init__(self, rows: list[Dispatch], heard: list[LivingAgent], used: list[DispatchUsage]) -> None:
        self.rows = rows
        self.heard = heard
        self.used = used
        # The agents whose last question was answered, and whose hooks have not reported since.
        self.answered: frozenset[str] = frozenset()
        # The titles of the tasks, by project and slug; filled only for the status page.
        self.titles: dict[tuple[str, str | None], str] = {}


def read_unfinished(rows: Rows, project: str | None = None) -> Unfinished:
    """Return the unfinished dispatches of all projects or of one."""
    found = q.listed_dispatches(rows, project=project, ended=0)
    heard = q.living_agents(rows, project=project) if found else []
    unfinished = Unfinished(found, heard, q.used_by_dispatch(rows) if found else [])
    asking = [agent for agent in heard if agent.state == "asks" and agent.state_at is not None]
    unfinished.answered = frozenset(
        agent.dispatch for agent in asking if q.answered_since(rows, dispatch=agent.dispatch, since=agent.state_at or 0)
    )
    return unfinished


def agents_at_work(context: Context, project: str | None = None) -> list[AgentView]:
    """Return every unfinished dispatch as `fleet ps` shows it. Ask neither tmux nor an engine when there is none."""
    return view_agents(context, context.store.read(lambda rows: read_unfinished(rows, project)))


def view_agents(context: Context, found: Unfinished) -> list[AgentView]:
    """Return these dispatches as `fleet ps` shows them, with the present state of each agent."""
    if not found.rows:
        return []
    from fleet.verbs.agents.listing import agents  # noqa: PLC0415 - a large import, needed only with agents

    return agents(context, found)
