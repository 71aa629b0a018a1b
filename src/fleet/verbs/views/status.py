"""Status: what is going on, on one page. Who needs the person comes first."""

from __future__ import annotations

from fleet.model.results.views import Attempt, Failure, Hindrance, HoldView, Merging, NeedView, Overview, Parked
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.verbs.tasks import review
from fleet.verbs.views.expiring_trash import expiring
from fleet.verbs.views.obstacles import hindrances
from fleet.verbs.views.overview import overview, questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView
    from fleet.model.results.views import Asked
    from fleet.store.queries import ClaimsElsewhere, TaskOnHand, UnmergedTask
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context
    from fleet.world.world import World

MOST = 200
# The states in which an agent waits for a person, besides a question that it put by its hook.
_WAITS = frozenset({"asks", "dialog", "idle", "stopped, no report"})


def status(context: Context) -> Overview:
    """Needs you, what is in the way, to review, failed, parked, being merged, working, held back; then the projects."""
    agents = agents_at_work(context)
    page = context.store.read(lambda rows: _read_page(rows, context.world, agents))
    return page.replaced(
        in_the_way=[*hindrances(context, page.projects), *_kept_worktrees(context, agents)],
        reclaim=[*page.reclaim, *_left_by_runners(context), *expiring(context)],
    )


def _kept_worktrees(context: Context, agents: list[AgentView]) -> list[Hindrance]:
    """Worktrees of dead agents that are not handed on, because a process works in them that fleet cannot attribute."""
    dead = [agent for agent in agents if agent.state == "exited"]
    if not dead:
        return []
    from fleet.verbs.dispatch.settle import kept_worktree

    reasons = ((agent.project, kept_worktree(context, agent.id)) for agent in dead)
    return [Hindrance(project=project, text=kept.spoken) for project, kept in reasons if kept is not None]


def agents_at_work(context: Context, project: str | None = None) -> list[AgentView]:
    """Every unfinished dispatch as `agents` shows it. Where there is none, neither tmux nor an engine is asked."""
    if not context.store.read(lambda rows: q.listed_dispatches(rows, project=project, ended=0)):
        return []
    from fleet.verbs.agents.listing import agents

    return agents(context, project)


def _left_by_runners(context: Context) -> list[str]:
    """What dead runners of jobs left running, in words."""
    if not context.store.read(q.open_claims_of_jobs):
        return []
    from fleet.verbs.jobs.abandoned import claimed_leftovers

    return [f"job {each.job}: {each.in_words()}" for each in claimed_leftovers(context) if not each.foreign]


def _read_page(rows: Rows, world: World, agents: list[AgentView]) -> Overview:
    """The page as one snapshot of the store shows it, without what only the world can tell."""
    now, on_hand, asked = world.clock.now(), q.tasks_on_hand(rows, most=MOST), questions(rows)
    known = overview(rows, now)
    to_merge = [row for row in on_hand if row.stage == "finisher" and not row.attempted]
    elsewhere = q.claims_elsewhere(rows, host=world.host.id, home=world.record.id, socket=world.socket)
    return Overview(
        needs_you=[*map(_question, asked), *_silent(agents, {each.dispatch for each in asked}, iso(now))],
        in_the_way=[],
        review=review.waiting(rows),
        failed=[Failure.made_of(row, changed_at=iso(row.changed_at)) for row in q.failed_tasks(rows, most=MOST)],
        parked=[
            Parked.made_of(row, not_before=iso_or_none(row.not_before), changed_at=iso(row.changed_at))
            for row in q.parked_tasks(rows, now=now, most=MOST)
        ],
        holds=[HoldView.made_of(row, since=iso(row.since), until=iso_or_none(row.until)) for row in q.all_holds(rows)],
        merging=[*map(_merging, to_merge), *map(_merging, q.unmerged_tasks(rows, most=MOST))],
        working=_working(on_hand, agents, iso(now)),
        projects=known.projects,
        reclaim=known.reclaim,
        elsewhere=[_in_words(row, world) for row in elsewhere],
    )


def _question(asked: Asked) -> NeedView:
    """A question that an agent put."""
    return NeedView.made_of(asked, question=asked.id, since=asked.asked_at, source="hook")


def _silent(agents: list[AgentView], asked: set[str], now: str) -> list[NeedView]:
    """Agents that wait for somebody without having put a question."""
    return [
        NeedView(
            project=agent.project,
            slug=agent.task,
            dispatch=agent.id,
            kind=agent.state,
            text=agent.detail or f"it is {agent.state}",
            command=None,
            question=None,
            since=agent.state_at or now,
            source=agent.source,
        )
        for agent in agents
        if agent.state in _WAITS and agent.id not in asked
    ]


def _merging(row: TaskOnHand | UnmergedTask) -> Merging:
    return Merging.made_of(row, since=iso(row.changed_at))


def _working(on_hand: list[TaskOnHand], agents: list[AgentView], now: str) -> list[Attempt]:
    """Agents, coordinators too, with what they work on; and tasks that somebody claimed by name."""
    titles = {(row.project, row.slug): row.title for row in on_hand}
    taken = {(agent.project, agent.task) for agent in agents}
    claimed = [
        row
        for row in on_hand
        if (row.project, row.slug) not in taken and (row.attempted or row.stage not in {"review", "finisher"})
    ]
    return [
        *(_agent(agent, titles.get((agent.project, agent.task or "")), now) for agent in agents),
        *map(_claimed, claimed),
    ]


def _agent(agent: AgentView, title: str | None, now: str) -> Attempt:
    return Attempt.made_of(
        agent,
        slug=agent.task,
        title=title or ("coordinates" if agent.kind == "coord" else ""),
        who=agent.id,
        since=agent.state_at or now,
    )


def _claimed(row: TaskOnHand) -> Attempt:
    since = iso(row.started_at or row.changed_at)
    return Attempt.made_of(
        row, who=row.assignee, kind=None, state="claimed", source="store", detail="", since=since, started_at=since
    )


def _in_words(row: ClaimsElsewhere, world: World) -> str:
    count = f"{row.n} claim{'' if row.n == 1 else 's'}"
    ways = "if that is no more, `fleet dispatches disown` gives up what it had"
    if row.home not in {None, world.record.id}:
        whose = f"{row.path} on {row.name}, host {row.host}" if row.path else f"{row.home}, host {row.host}"
        return f"{count} of another home ({whose}): only that home can release what it made; {ways}"
    if row.host != world.host.id:
        return f"{count} of another host ({row.host}): only that host can release what it made; {ways}"
    return f"{count} of another tmux socket ({row.tmux_socket}): only its fleet home can look at them"
