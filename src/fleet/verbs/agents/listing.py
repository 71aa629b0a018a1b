"""List agents as people see them: who works on what, in which state, and which source says so.

The state of a living agent comes from the first source that knows it: the agent's own report, its engine's hooks, the
engine's status file, the screen, the process. Each source says since when, if it knows.
"""

from __future__ import annotations

from fleet import errors
from fleet.engines.hooks import states_without_hook
from fleet.engines.kept import status_file
from fleet.engines.reader import engine as read_engine
from fleet.engines.reader import state_of
from fleet.fast import signal
from fleet.model import names
from fleet.model.dispatch.steps import is_held_by_daemon, is_pending
from fleet.model.identity import Identity
from fleet.model.results.agents import AgentView
from fleet.model.text.times import iso, iso_or_none
from fleet.records import record
from fleet.verbs.agents.cost.spending import cost_view
from fleet.verbs.views.signs_of_life import SignsOfLife, Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.states import StateSource
    from fleet.store.queries import Dispatch, LivingAgent
    from fleet.verbs.context import Context
    from fleet.verbs.views.at_work import Unfinished
    from fleet.world.tmux import Listing

_MILLIONTHS = 1_000_000
# The names under which people see some states.
_SHOWN_STATES = {"stopped": "stopped, no report", "over_budget": "over budget"}


@record(frozen=True, slots=True, kw_only=True)
class ShownState:
    """The state of an agent, the source that says so, since when, and details."""

    name: str
    source: StateSource
    at: int | None = None
    detail: str = ""


def agents(context: Context, found: Unfinished) -> list[AgentView]:
    """Return what people see of each unfinished dispatch, coordinators included: task, state and its source, context, cost."""
    known = {row.dispatch: row for row in found.heard}
    used = {row.dispatch: cost_view(row) for row in found.used}
    signs = SignsOfLife(context, context.world.tmux.listing(), [row.id for row in found.rows if not is_pending(row)])
    return [_agent_view(context, row, known.get(row.id), signs).replaced(used=used.get(row.id)) for row in found.rows]


def _agent_view(context: Context, row: Dispatch, known: LivingAgent | None, signs: SignsOfLife) -> AgentView:
    """Return the view of one unfinished dispatch. Its field `used`, the cost that fleet counts itself, is left None.

    `known` is the agent's row with its recorded state, None when there is no such row.
    """
    state = _state(context, row, known, signs)
    cost = known.cost if known else None
    return AgentView.made_of(
        row,
        task=row.slug,
        state=state.name,
        source=state.source,
        state_at=iso_or_none(state.at),
        detail=state.detail,
        session=None if is_held_by_daemon(row) else names.session(row.id),
        started_at=iso(row.created_at),
        launched_at=iso_or_none(row.launched_at),
        heartbeat_at=iso_or_none(known.heartbeat_at) if known else None,
        context=known.context if known else None,
        tokens=known.tokens if known else None,
        cost=None if cost is None else cost / _MILLIONTHS,
        used=None,
        conversation=known.conversation if known else None,
    )


def _state(context: Context, row: Dispatch, known: LivingAgent | None, signs: SignsOfLife) -> ShownState:
    """Return the state of an unfinished dispatch. The first source that knows it decides.

    The sources are: a start that is not over, the process, the daemon, the agent's report, its hooks, its status file,
    its screen. A busy agent without a sign of life is shown as "silent" or "stopped" instead. When the process is dead,
    signals the tmux server, which may have missed that. `known` is the agent's row with its recorded state, None when
    there is no such row.
    """
    listing = signs.listing
    if is_pending(row):
        return _state_before_launch(context, row, listing)
    who = Identity.parse(row.process or "")
    life = context.world.processes.life(who)
    if life == "dead":
        lost = who is not None and who.boot != context.world.host.boot
        if listing.server is not None and not lost:
            context.world.processes.signal(listing.server, signal.SIGCHLD)  # tmux before 3.5 may have missed the exit
        return ShownState(name="interrupted" if lost else "exited", source="process", detail="not settled yet")
    if life == "unknown" or who is None:
        return ShownState(name="unknown", source="process", detail=_foreign_owner(context, row))
    if is_held_by_daemon(row):
        return ShownState(name="running", source="daemon", at=row.launched_at, detail=f"daemon, pid {who.pid}")
    if row.report:
        return ShownState(
            name=f"reported {row.report}", source="report", at=row.reported_at, detail=row.report_reason or ""
        )
    agent = Subject(row=row, known=known, engine=_engine_or_none(context, row), who=who)
    state = _state_of_living(context, agent, signs)
    trouble = signs.trouble(agent, state.name)
    return (
        ShownState(name=trouble.name, source=trouble.source, at=trouble.at, detail=trouble.detail) if trouble else state
    )


def _foreign_owner(context: Context, row: Dispatch) -> str:
    """Return the name of the other home that the agent belongs to; "" for an agent of this home."""
    from fleet.verbs.homes.ownership import is_own, owner_of  # noqa: PLC0415 - a large import, needed only here

    return "" if is_own(context, row) else owner_of(context, row)


def _state_before_launch(context: Context, row: Dispatch, listing: Listing) -> ShownState:
    """Return the state of a pending dispatch: "starting", or "exited" when it provably will never be launched."""
    from fleet.verbs.dispatch.facts import why_alive  # noqa: PLC0415 - a large import, needed only for a pending dispatch

    if why_alive(context, row, listing):
        return ShownState(name="starting", source="store", at=row.created_at)
    next_step = f"`fleet coord start -p {row.project}`" if row.kind == "coord" else "`fleet clean` settles it"
    return ShownState(name="exited", source="process", detail=f"dead before it started: {next_step}")


def _state_of_living(context: Context, agent: Subject, signs: SignsOfLife) -> ShownState:
    """Return the state of an agent whose process lives: from its hooks, its status file or its screen, else "running"."""
    row, engine, hook = agent.row, agent.engine, _state_by_hook(agent.known)
    if hook is not None and not signs.is_unheard(agent, hook.name):
        return (_screen_state_without_hook(context, row, engine, signs) if engine else None) or hook
    if engine is not None:
        written = _state_by_file(engine, agent.who)
        # A session that is not working may wait for something or have failed: only its screen tells which.
        busy = written is not None and written.name == "working"
        seen = written if busy else _state_by_screen(context, row, engine, signs) or written
        if seen is not None:
            return seen
    return hook or ShownState(name="running", source="process", at=row.launched_at)


def _screen_state_without_hook(
    context: Context, row: Dispatch, engine: Engine, signs: SignsOfLife
) -> ShownState | None:
    """Return the state that the screen shows, if it is one that the engine has no hook for; else None."""
    states = states_without_hook(engine)
    seen = _state_by_screen(context, row, engine, signs) if states else None
    return seen if seen is not None and seen.name in states else None


def _state_by_hook(known: LivingAgent | None) -> ShownState | None:
    """Return the state that the hooks reported last; None when no hook has reported."""
    if (
        known is None or not known.state or known.heartbeat_at is None
    ):  # without a heartbeat the state came from the screen
        return None
    name = _SHOWN_STATES.get(known.state, known.state)
    return ShownState(name=name, source="hook", at=known.state_at, detail=known.detail or "")


def _engine_or_none(context: Context, row: Dispatch) -> Engine | None:
    """Return the engine of a dispatch; None when there is none or its file is broken."""
    if row.engine is None:  # a finisher runs no engine
        return None
    try:
        return read_engine(context.world.home, row.engine)
    except errors.FleetError:
        return None


def _state_by_file(engine: Engine, who: Identity) -> ShownState | None:
    """Return the state in the engine's own status file; None without such a file, or when it does not say the state."""
    if engine.status_file is None:
        return None
    state, detail, at = status_file.state_of(engine.status_file, who)
    return None if state == "unknown" else ShownState(name=state, source="session file", at=at, detail=detail)


def _state_by_screen(context: Context, row: Dispatch, engine: Engine, signs: SignsOfLife) -> ShownState | None:
    """Return the state that the agent's screen shows; None when the screen is not recognised.

    The screen is not read when the engine has no rules for it.
    """
    if not engine.screen:
        return None
    state, question = state_of(engine, signs.screen(row.id))
    if state == "unknown":
        return None
    return ShownState(name=state, source="screen", at=context.world.clock.now(), detail=question)
