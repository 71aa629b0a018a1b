"""Make the rows of the TUI's board from the status page, the agents and the tasks of one moment. Pure."""

from __future__ import annotations

from fleet.api.views import sections
from fleet.api.views.tones import glyph_of, tone_of
from fleet.model import names
from fleet.model.branches import task_branch
from fleet.model.dispatch.resumption import has_left_work
from fleet.model.results.views import Attempt, RowView
from fleet.model.states import assert_never
from fleet.model.tasks import fence
from fleet.model.text.times import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from fleet.model.results.agents import AgentView
    from fleet.model.results.jobs import JobView
    from fleet.model.results.tasks import NextStep
    from fleet.model.results.views import Failure, NeedView, Obstacle, Overview, Parked
    from fleet.model.states import Tone
    from fleet.store.queries import KeptThing, ShownTask

    RowPlace = tuple[str, str | None]

    class RowLook(TypedDict):
        """How a row of the board looks: its group, state, glyph and colour."""

        group: str
        rank: int
        state: str
        glyph: str
        tone: Tone


# The groups of rows, problems first. A group that the status page has too has the same name there.
GROUPS = (
    "needs you",
    "to review",
    "failed",
    "not released",
    "ended",
    "in the way",
    "parked",
    "to merge",
    "working",
    "jobs",
    "no room",
    "ready",
    "waiting",
    "done",
    "abandoned",
)
RANKS = {group: rank for rank, group in enumerate(GROUPS)}
# Groups in which nobody has to do anything: a screen folds them when they are long.
QUIET = frozenset({"ready", "waiting", "done", "abandoned"})
# Groups whose rows wait for a person.
NEEDING_PERSON = frozenset({"needs you", "to review", "failed"})


def rows_of(
    page: Overview, agents: list[AgentView], tasks: list[ShownTask], kept: list[KeptThing], now: int
) -> list[RowView]:
    """Return all rows of the board: for each project its own row, its coordinator, then its other rows, problems first.

    The projects stand in the order of their most urgent row, as in `GROUPS`, then of their names.
    """
    found: dict[str, list[RowView]] = {project.name: [] for project in page.projects}
    for row in (*_agent_rows(page, agents, tasks, now), *_other_rows(page, kept, agents)):
        found.setdefault(row.project, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: (row.kind != "coordinator", row.rank))
    order = sorted(found, key=lambda name: (min((row.rank for row in found[name]), default=len(GROUPS)), name))
    return [row for name in order for row in (_project_row(name, found[name]), *found[name])]


def counts_of(rows: list[RowView]) -> dict[str, int]:
    """Return how many rows each group has, not counting rows of projects, and of missing coordinators that no task waits for."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.kind != "project" and (row.kind != "coordinator" or row.agent or row.group != "waiting"):
            counts[row.group] = counts.get(row.group, 0) + 1
    return counts


def _project_row(name: str, rows: list[RowView]) -> RowView:
    """Return the heading row of a project; it is in the most urgent group of the project's rows."""
    group = min((row.rank for row in rows), default=len(GROUPS) - 1)
    return RowView(key=name, kind="project", project=name, title=name, rank=group, group=GROUPS[group])


def _agent_rows(page: Overview, agents: list[AgentView], tasks: list[ShownTask], now: int) -> Iterator[RowView]:
    """Yield the rows of coordinators and of tasks, each with its agent if it has one."""
    needs = {(need.project, need.slug): need for need in reversed(page.needs_you)}
    attempts = {attempt.who: attempt for attempt in page.working}
    at_work = {(agent.project, agent.task): agent for agent in agents if agent.kind != "coord"}
    resumable = _resumable_tasks(page)
    for project in page.projects:
        leads = [agent for agent in agents if agent.kind == "coord" and agent.project == project.name]
        for agent in leads:
            yield _row(project.name, None, agent, attempts.get(agent.id), needs.get((agent.project, None)))
        if not leads:
            yield _no_coordinator(page, project.name)
    for task in tasks:
        row = _task_row(task, at_work.pop((task.project, task.slug), None), attempts, needs, now)
        row.resumable = row.resumable or (not row.agent and (task.project, task.slug) in resumable)
        yield row
    for agent in at_work.values():  # the agents of jobs and of archived tasks
        yield _row(
            agent.project, agent.task, agent, attempts.get(agent.id), needs.get((agent.project, agent.task)), named=True
        )


def _resumable_tasks(page: Overview) -> set[RowPlace]:
    """Return the (project, slug) of each stopped task whose next step is to resume its last agent."""
    stopped: list[Failure | Parked] = [*page.failed, *page.parked]
    again = {(each.project, each.slug) for each in stopped if _is_resume(each.next_step)}
    return again | {(need.project, need.slug) for need in page.needs_you if need.kind == "handoffs"}


def _is_resume(step: NextStep | None) -> bool:
    """Whether the next step of a task is to resume an agent."""
    return step is not None and (step.command or "").startswith("fleet resume ")


def _no_coordinator(page: Overview, project: str) -> RowView:
    """Return the row that says that a project has no coordinator.

    It is in the group "needs you" when the status page names that as an obstacle for the project's tasks, else in
    "waiting".
    """
    why = next((each for each in page.in_the_way if sections.is_uncoordinated(each) and each.project == project), None)
    group = "needs you" if why else "waiting"
    return RowView(
        key=f"{project}/",
        kind="coordinator",
        project=project,
        **_look(group, "none"),
        title="coordinator",
        text=sections.one_line(why.text) if why else "no coordinator",
    )


def _task_row(
    task: ShownTask,
    agent: AgentView | None,
    attempts: dict[str, Attempt],
    needs: dict[RowPlace, NeedView],
    now: int,
) -> RowView:
    """Return the row of a task: that of its agent (`agent`) if it has one, else one made from the task's own state."""
    need = needs.get((task.project, task.slug)) if needs else None
    if agent is not None:
        attempt = attempts.get(agent.id)
        row = _row(task.project, task.slug, agent, attempt, need)
        row.title, row.stage = task.title, task.stage
        return row
    group, state = ("needs you", need.kind) if need else _group_of(task, now)
    return RowView(
        key=f"{task.project}/{task.slug}",
        kind="task",
        project=task.project,
        slug=task.slug,
        attempt=task.assignee if task.assignee and names.is_dispatch_id(task.assignee) else None,
        **_look(group, state),
        title=task.title,
        text=sections.need_in_words(need) if need else task.reason or "",
        source=need.source if need else "store",
        since=need.since if need else iso(task.changed_at),
        branch=task_branch(task.slug) if task.bundle else "",
        stage=task.stage,
    )


def _group_of(task: ShownTask, now: int) -> tuple[str, str]:
    """Return the board's group for a task without an agent, and the word for the task's state."""
    if task.stage == "review" and task.status in {"in_progress", "blocked", "open"}:
        return "to review", "to review"
    match task.status:
        case "done":
            word = "to merge" if task.bundle and not task.merged else "done"
        case "failed" | "abandoned":
            word = task.status
        case "blocked":
            return "parked", "blocked"
        case "in_progress":
            return ("to merge", "to merge") if task.stage == "finisher" else ("working", "claimed")
        case "open":
            return _open_group(task, now)
        case _:
            return assert_never(task.status)
    return word, word


def _open_group(task: ShownTask, now: int) -> tuple[str, str]:
    """Return the board's group for an open task without an agent, and the word for the task's state."""
    if task.not_before is not None and task.not_before > now:
        return "parked", "waiting"
    if task.paused:
        return "waiting", "paused"
    return ("waiting", "waiting") if fence.why_not_ready(task, now=now) else ("ready", "ready")


def _row(
    project: str,
    slug: str | None,
    agent: AgentView,
    attempt: Attempt | None,
    need: NeedView | None,
    *,
    named: bool = False,
) -> RowView:
    """Return the row of an agent, in the words of the status page.

    `need` is what the agent needs of a person, None for nothing. `slug` is None for a coordinator. With `named`, the
    row's key contains the agent's id.
    """
    state = attempt.state if attempt else agent.state
    group = "needs you" if need else "ended" if sections.is_over(state) else "working"
    return RowView(
        key=f"{project}/{slug or ''}{f'#{agent.id}' if named or not slug else ''}",
        kind="task" if agent.kind != "coord" else "coordinator",
        project=project,
        slug=slug,
        agent=agent.id,
        question=need.question if need else None,
        asks=need.kind if need and need.question else "",
        **_look(group, state),
        title=attempt.title if attempt and slug else "coordinator" if agent.kind == "coord" else agent.kind,
        text=sections.need_in_words(need) if need else agent.detail,
        source=agent.source,
        since=attempt.since if attempt else agent.state_at,
        started_at=agent.started_at,
        branch=task_branch(slug) if slug else "",
        context=agent.context,
        engine=agent.engine,
        dispatch_kind=agent.kind,
        resumable=group == "ended" and has_left_work(agent),
    )


def _other_rows(page: Overview, kept: list[KeptThing], agents: list[AgentView]) -> Iterator[RowView]:
    """Yield the rows of obstacles, of jobs, and of things that are not released although nobody needs them."""
    led = {agent.project for agent in agents if agent.kind == "coord"}
    for number, each in enumerate(page.in_the_way):
        if not sections.is_uncoordinated(each) or each.project in led:  # else it is in the row of the coordinator
            yield _obstacle_row(f"{each.project}!{number}", each)
    yield from map(_job_row, page.jobs)
    yield from map(_kept_row, kept)


def _obstacle_row(key: str, each: Obstacle) -> RowView:
    """Return the row that shows an obstacle: a reason why no agent starts on a ready task, or why finished work is not merged.

    It is in the group "no room" when a limit of agents is reached, "needs you" when the project has no coordinator, and
    "in the way" otherwise.
    """
    wanted = "needs you" if sections.is_uncoordinated(each) else "in the way"
    group = "no room" if sections.is_full(each) else wanted
    return RowView(
        key=key, kind="obstacle", project=each.project, slug=each.slug, title=each.slug or "", **_look(group, group)
    ).replaced(text=sections.one_line(each.text), source="store")


def _job_row(job: JobView) -> RowView:
    """Return the row of a job: its state, and how many of its items have ended."""
    state, why = sections.job_in_words(job), job.waits or job.reason
    text = f"{job.items.ended} of {job.items.total} items{f': {sections.one_line(why)}' if why else ''}"
    look = _look("jobs" if job.runs else "failed", state)
    return RowView(
        key=f"{job.project}*{job.id}", kind="job", project=job.project, agent=job.id, title=job.name, text=text, **look
    ).replaced(source="store")


def _kept_row(thing: KeptThing) -> RowView:
    """Return the row of a session, worktree or file that is not released although nobody needs it."""
    place = thing.slug or thing.dispatch or thing.name
    row = RowView(
        key=f"{thing.project}~{thing.kind}{thing.name}",
        kind="kept",
        project=thing.project or "",
        slug=thing.slug,
        agent=thing.dispatch,
        attempt=thing.bundle,
        title=place,
        **_look("not released", "not released"),
    )
    return row.replaced(
        text=f"{thing.kind.replace('_', ' ')} is kept: {thing.name}", source="store", since=iso(thing.updated_at)
    )


def _look(group: str, state: str) -> RowLook:
    """Return the fields of a row that follow from its group and state: rank, glyph and tone, by name."""
    return {
        "group": group,
        "rank": RANKS[group],
        "state": state,
        "glyph": glyph_of(group, state),
        "tone": tone_of(group, state),
    }
