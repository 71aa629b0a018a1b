"""Status: one page about everything that is going on. What needs a person comes first."""

from __future__ import annotations

from fleet import errors
from fleet.model.agents.activity.hook_events import is_continued
from fleet.model.agents.activity.silence import ways_on, ways_out
from fleet.model.dispatch.steps import is_asked_to_exit
from fleet.model.results.views import Attempt, Failure, HoldView, LeftOut, Merging, NeedView, Obstacle, Overview, Parked
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store import seats
from fleet.verbs.agents.cost.spending import cost_of_day
from fleet.verbs.coord.seat_status import seat_status
from fleet.verbs.projects.remote_control import controlled_projects
from fleet.verbs.tasks import review
from fleet.verbs.views.at_work import read_unfinished, view_agents
from fleet.verbs.views.expiring_trash import expiring_trash_lines
from fleet.verbs.views.next_steps import decide_steps, read_facts
from fleet.verbs.views.obstacles import find_obstacles
from fleet.verbs.views.overview import overview, questions
from fleet.world.git import refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView
    from fleet.model.results.jobs import JobView
    from fleet.model.results.projects import ProjectView
    from fleet.model.results.views import Asked, ToLand
    from fleet.store.queries import ClaimsElsewhere, ParkedByHandoffs, StepFacts, TaskOnHand, UnmergedTask
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context
    from fleet.verbs.views.at_work import Unfinished
    from fleet.world.world import World

# The states in which an agent may never continue by itself.
_STUCK_STATES = frozenset({"silent", "stopped"})
# The states in which an agent needs a person, besides a question that it asked through its hook.
_WAITING_STATES = frozenset({"asks", "dialog", "idle", "stopped, no report", "over budget"}) | _STUCK_STATES

# The states of an agent that has died and is not settled yet.
_ENDED_STATES = frozenset({"exited", "interrupted"})

_FAILED = "failed_turn"
# The states of `_WAITING_STATES` in which a coordinator only waits until fleet wakes it.
_RESTING_STATES = frozenset({"idle"})


def status(
    context: Context, project: str | None = None, *, most: int = 200, agents: list[AgentView] | None = None
) -> Overview:
    """Return the whole status page: what needs a person, obstacles, reviews, failures, agents, projects and leftovers.

    With `project`, only what is about that project, and what concerns every project: held engines, the daemon, the cost
    of the day. Leftovers, which belong to the home, are then left out. Lists of tasks have at most `most` entries. A
    caller that has just listed the agents passes them as `agents`.
    """
    page, found, facts = context.store.read(lambda rows: _read_page(rows, context.world, project, most))
    agents = view_agents(context, found) if agents is None else agents
    page = _with_agents(page, agents, found, iso(context.world.clock.now()))
    page = page.replaced(needs_you=_without_resting(context, agents, page.needs_you))
    steps = decide_steps(context, facts)
    if project is not None:
        page = _only_project(page, project)
    merging = {task.project for task in page.merging}
    if page.left_out.merging:
        merging = {row.name for row in context.store.read(q.projects_to_merge)}
    whole = page.replaced(
        jobs=[job for job in _unfinished_jobs(context) if project in {None, job.project}],
        failed=[task.replaced(next_step=steps.get((task.project, task.slug))) for task in page.failed],
        parked=[task.replaced(next_step=steps.get((task.project, task.slug))) for task in page.parked],
        remote_control=[name for name in controlled_projects(context) if project in {None, name}],
        in_the_way=[*find_obstacles(context, page.projects, merging), *_kept_worktrees(context, agents)],
        to_land=_to_land(context, page.projects),
        daemon=_daemon_trouble(context),
    )
    if project is not None:
        return whole
    return whole.replaced(reclaim=[*page.reclaim, *_processes_of_dead_runners(context), *expiring_trash_lines(context)])


def find_needs(context: Context, agents: list[AgentView], found: Unfinished) -> list[NeedView]:
    """Return what waits for a person, as the status page shows it: questions, agents that wait, parked handoffs.

    Of the agents, only those in `agents` are looked at; `found` has their dispatches.
    """
    stored = context.store.read(_stored_needs)
    needs = _needs_of_all(stored, agents, found, iso(context.world.clock.now()))
    return _without_resting(context, agents, needs)


def _without_resting(context: Context, agents: list[AgentView], needs: list[NeedView]) -> list[NeedView]:
    """Return the needs without those of coordinators that merely wait until fleet wakes them."""
    resting = {agent.id for agent in agents if _rests_in_seat(context, agent)}
    return [each for each in needs if each.question or each.dispatch not in resting]


def _rests_in_seat(context: Context, agent: AgentView) -> bool:
    """Return whether an agent is a coordinator at rest in its seat: it waits to be woken, and can be woken."""
    if agent.kind != "coord" or agent.state not in _RESTING_STATES:
        return False
    seated = context.store.read(lambda rows: seats.is_holder(rows, agent.project, agent.id))
    return seated and seat_status(context, agent.project).wake_trouble is None


def _only_project(page: Overview, project: str) -> Overview:
    """Return the page limited to one project. Engines that are held back stay, because they concern every project."""
    return page.replaced(
        needs_you=[each for each in page.needs_you if each.project == project],
        projects=[each for each in page.projects if each.name == project],
        reclaim=[],
        elsewhere=[],
    )


def _kept_worktrees(context: Context, agents: list[AgentView]) -> list[Obstacle]:
    """Return an obstacle for each dead agent whose worktree is kept because an unknown process works in it."""
    dead = [agent for agent in agents if agent.state == "exited"]
    if not dead:
        return []
    from fleet.verbs.dispatch.settle import why_worktree_busy

    reasons = ((agent.project, why_worktree_busy(context, agent.id)) for agent in dead)
    return [
        Obstacle(project=project, kind=type(kept).__name__, text=kept.spoken)
        for project, kept in reasons
        if kept is not None
    ]


def _to_land(context: Context, projects: list[ProjectView]) -> list[ToLand]:
    """Return how many commits wait to land, for each of these projects in which some do."""
    names = [each.name for each in projects if _may_wait_to_land(context, each)]
    if not names:
        return []
    from fleet.verbs.merge.land import waiting_to_land

    return [waiting for name in names if (waiting := waiting_to_land(context, name)) is not None]


def _may_wait_to_land(context: Context, project: ProjectView) -> bool:
    """Return whether git has to be asked if work waits to land; False when the files of the branches show that none does.

    False also when the settings cannot be read, which an obstacle then shows.
    """
    try:
        settings = context.settings(project.name)
    except errors.BadSetting:
        return False
    return refs.has_unlanded(f"{project.path}/.git", settings.integration, settings.target or "")


def _unfinished_jobs(context: Context) -> list[JobView]:
    """Return the jobs that are not over, for the status page. Imports the code of jobs only when there are some."""
    if not context.store.read(lambda rows: q.unfinished_jobs(rows, most=1)):
        return []
    from fleet.verbs.jobs.listing import unfinished_jobs

    return unfinished_jobs(context)


def _processes_of_dead_runners(context: Context) -> list[str]:
    """Return a line for people for each job whose runner is not alive and has left processes or their claim."""
    if not context.store.read(q.open_claims_of_jobs):
        return []
    from fleet.verbs.jobs.abandoned import claimed_leftovers

    return [f"job {each.job}: {each.in_words()}" for each in claimed_leftovers(context) if not each.foreign]


def _read_page(
    rows: Rows, world: World, project: str | None, most: int
) -> tuple[Overview, Unfinished, list[StepFacts]]:
    """Return what one snapshot of the store tells for the status page.

    The parts are the page without agents, the unfinished dispatches, and the facts about the failed and parked tasks.
    """
    now = world.clock.now()
    counts = overview(rows, now)
    elsewhere = q.claims_elsewhere(rows, host=world.host.id, home=world.record.id, socket=world.socket)
    page = Overview(
        needs_you=_stored_needs(rows),
        in_the_way=[],
        review=review.waiting(rows, project, most=most),
        failed=[
            Failure.made_of(row, changed_at=iso(row.changed_at))
            for row in q.failed_tasks(rows, project=project, most=most)
        ],
        parked=_parked(rows, project, now, most),
        holds=[
            HoldView.made_of(row, since=iso(row.since), until=iso_or_none(row.until), instead=[])
            for row in q.all_holds(rows)
        ],
        merging=_merging(rows, project, most),
        to_land=[],
        working=[_claimed_attempt(row) for row in q.claimed_tasks(rows, project=project, most=most)],
        jobs=[],
        projects=counts.projects,
        today=cost_of_day(rows, now),
        remote_control=[],
        reclaim=counts.reclaim,
        elsewhere=[_describe_claims_elsewhere(rows, row, world) for row in elsewhere],
        left_out=LeftOut(),
    )
    stopped = [(task.project, task.slug) for task in page.failed] + [(task.project, task.slug) for task in page.parked]
    page = page.replaced(left_out=_left_out(rows, page, project, now, most))
    return page, _read_agents(rows, project), read_facts(rows, stopped)


def _read_agents(rows: Rows, project: str | None) -> Unfinished:
    """Return the unfinished dispatches with the titles of their tasks."""
    found = read_unfinished(rows, project)
    if found.rows:
        found.titles = {(row.project, row.slug): row.title for row in q.titles_of_attempts(rows)}
    return found


def _with_agents(page: Overview, agents: list[AgentView], found: Unfinished, now: str) -> Overview:
    """Return the page with its agents: those that need a person, and those at work.

    Each held engine also gets the names of the engines that agents use in its place.
    """
    return page.replaced(
        needs_you=_needs_of_all(page.needs_you, agents, found, now),
        holds=[hold.replaced(instead=_engines_instead(hold, agents)) for hold in page.holds],
        working=[
            *(_agent_attempt(agent, found.titles.get((agent.project, agent.task or "")), now) for agent in agents),
            *page.working,
        ],
    )


def _daemon_trouble(context: Context) -> str:
    """Return a sentence for people when a signal has stopped the daemon, or when the daemon has died; else "".

    For a dead daemon it names the coordinators that died with it. If there are none and the setting `daemon` is
    "never", return "".
    """
    suspended = context.world.suspended_daemon()
    if suspended is not None:
        return (
            f"the daemon of this home (process {suspended}) is stopped by a signal, and each command waits some seconds for it: "
            f"`kill -CONT {suspended}` continues it"
        )
    if not context.world.has_lost_daemon():
        return ""
    from fleet.verbs.coord.daemon_duty import unheld_seats

    missed = sorted(unheld_seats(context))
    if not missed and context.settings().daemon == "never":
        return ""
    also = f", and with it the coordinators of {', '.join(missed)}" if missed else ""
    return f"the daemon of this home has died{also}: `fleet daemon start` starts it again"


def _stored_needs(rows: Rows) -> list[NeedView]:
    """Return what the store says that people must do: answer questions, and look at tasks parked by fruitless handoffs."""
    return [*map(_question_need, questions(rows)), *map(_handoff_need, q.tasks_parked_by_handoffs(rows))]


def _needs_of_all(stored: list[NeedView], agents: list[AgentView], found: Unfinished, now: str) -> list[NeedView]:
    """Return all that needs a person: open questions first, then agents that wait without having asked, then the rest.

    An agent that has died waits for nobody: its question is left out.
    """
    ended = {agent.id for agent in agents if agent.state in _ENDED_STATES}
    asked = [need for need in stored if need.question and need.dispatch not in ended]
    waiting = _needs_without_question(_agents_needing_person(agents, found), {need.dispatch for need in asked}, now)
    return [*asked, *waiting, *(need for need in stored if not need.question)]


def _left_out(rows: Rows, page: Overview, project: str | None, now: int, most: int) -> LeftOut:
    """Return how many entries each list of the page leaves out because it already has `most`; 0 for a list that is complete."""
    claimed = sum(attempt.kind is None for attempt in page.working)
    if max(len(page.review), len(page.failed), len(page.parked), len(page.merging), claimed) < most:
        return LeftOut()
    count = q.page_counts(rows, project=project, now=now)
    return LeftOut(
        review=count.review - len(page.review),
        failed=count.failed - len(page.failed),
        parked=count.blocked + count.early - len(page.parked),
        merging=count.to_merge + count.unmerged - len(page.merging),
        working=count.claimed - claimed,
    )


def _parked(rows: Rows, project: str | None, now: int, most: int) -> list[Parked]:
    """Return the tasks that are blocked or wait for a time, newest first, at most `most`.

    Blocked tasks that the page shows elsewhere are left out: reviews, and tasks parked because of their handoffs.
    """
    found = q.blocked_tasks(rows, project=project, most=most) + q.early_tasks(rows, project=project, now=now, most=most)
    found.sort(key=lambda row: (-row.changed_at, row.project, row.slug))
    return [
        Parked.made_of(
            row, not_before=iso_or_none(_time_if_future(row.not_before, now)), changed_at=iso(row.changed_at)
        )
        for row in found[:most]
    ]


def _merging(rows: Rows, project: str | None, most: int) -> list[Merging]:
    """Return the tasks whose work waits to be merged: first accepted ones, then those that a person marked as done."""
    accepted = q.tasks_to_merge(rows, project=project, most=most)
    called_done = q.unmerged_tasks(rows, project=project, most=most - len(accepted))
    return [*map(_merging_view, accepted), *map(_merging_view, called_done)]


def _time_if_future(at: int | None, now: int) -> int | None:
    """Return the time until which a task waits, if it has not passed; else None."""
    return at if at is not None and at > now else None


def _question_need(asked: Asked) -> NeedView:
    """Return the entry of the list "needs you" for a question of an agent."""
    return NeedView.made_of(asked, question=asked.id, since=asked.asked_at, source="hook")


def _needs_without_question(agents: list[AgentView], asked: set[str], now: str) -> list[NeedView]:
    """Return the entries of the list "needs you" for the agents that have no open question (are not in `asked`)."""
    return [
        NeedView(
            project=agent.project,
            slug=agent.task,
            dispatch=agent.id,
            kind=agent.state,
            text=_need_text(agent),
            command=None,
            question=None,
            since=agent.state_at or now,
            source=agent.source,
        )
        for agent in agents
        if agent.id not in asked
    ]


def _agents_needing_person(agents: list[AgentView], found: Unfinished) -> list[AgentView]:
    """Return the agents that wait for a person, and those whose turn failed and that no reminder will continue."""
    left = {row.dispatch for row in found.heard if row.state == _FAILED and not is_continued(row.failed_turns)}
    return [
        agent
        for agent in agents
        if (agent.state in _WAITING_STATES and not _has_its_answer(found, agent))
        or (agent.state == _FAILED and agent.id in left and not is_asked_to_exit(agent))
    ]


def _has_its_answer(found: Unfinished, agent: AgentView) -> bool:
    """Return whether a person has answered the agent's last question, and its hooks have not reported since."""
    return agent.state == "asks" and agent.source == "hook" and agent.id in found.answered


def _handoff_need(row: ParkedByHandoffs) -> NeedView:
    """Return the entry of the list "needs you" for a task that was parked because its handoffs made no progress."""
    ways = (
        f"`fleet handoffs show {row.dispatch}` shows what it left; make the task smaller (`fleet task edit {row.slug}`)"
    )
    return NeedView(
        project=row.project,
        slug=row.slug,
        dispatch=row.dispatch,
        kind="handoffs",
        text=f"{row.reason}; {ways}, then `fleet resume {row.dispatch}` starts a new agent",
        command=None,
        question=None,
        since=iso(row.parked_at),
        source="store",
    )


def _engines_instead(hold: HoldView, agents: list[AgentView]) -> list[str]:
    """Return the engines on which agents run in place of an engine that is held back."""
    return sorted({agent.engine for agent in agents if agent.instead_of == hold.engine and agent.engine})


def _need_text(agent: AgentView) -> str:
    """Return what is known of an agent that needs a person; for one that may be stuck, also what a person can do."""
    text = agent.detail or f"it is {agent.state}"
    if agent.state == _FAILED:
        return f"its turn failed ({text}); {ways_on(agent.id)}"
    if agent.state not in _STUCK_STATES:
        return text
    return f"{text}; {ways_out(agent.id, coordinates=agent.project if agent.kind == 'coord' else None)}"


def _merging_view(row: TaskOnHand | UnmergedTask) -> Merging:
    """Return a task that waits to be merged as the page shows it."""
    return Merging.made_of(row, since=iso(row.changed_at))


def _agent_attempt(agent: AgentView, title: str | None, now: str) -> Attempt:
    """Return a running agent as the page's list of work in progress shows it."""
    return Attempt.made_of(
        agent,
        slug=agent.task,
        title=title or ("coordinates" if agent.kind == "coord" else ""),
        who=agent.id,
        since=agent.state_at or now,
    )


def _claimed_attempt(row: TaskOnHand) -> Attempt:
    """Return a task that somebody has claimed without an agent of fleet, as the list of work in progress shows it."""
    since = iso(row.started_at or row.changed_at)
    return Attempt.made_of(
        row,
        who=row.assignee,
        kind=None,
        state="claimed",
        source="store",
        detail="",
        since=since,
        started_at=since,
        handoffs=0,
    )


def _describe_claims_elsewhere(rows: Rows, row: ClaimsElsewhere, world: World) -> str:
    """Return the line that tells how many claims another home, host or tmux socket has to release."""
    count = f"{row.n} claim{'' if row.n == 1 else 's'}"
    ways = "if it no longer exists, `fleet dispatches disown` gives up its claims"
    if row.home not in {None, world.record.id}:
        whose = f"{row.path} on {row.name}, host {row.host}" if row.path else f"{row.home}, host {row.host}"
        return f"{count} of another home ({whose}): only that home can release what it made; {ways}"
    if row.host != world.host.id:
        known = q.home_on_host(rows, host=row.host)
        named = f"{known.name}, host {row.host}" if known is not None else row.host
        return f"{count} of another host ({named}): only that host can release what it made; {ways}"
    return f"{count} of another tmux socket ({row.tmux_socket}): only its fleet home can look at them"
