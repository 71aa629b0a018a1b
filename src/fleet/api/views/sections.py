"""The sections of the status page: their titles, order, entries and wording."""

from __future__ import annotations

from fleet.errors.refused import LimitReached, NotWoken, Uncoordinated
from fleet.model.results.views import Section
from fleet.model.text import escapes
from fleet.model.text.times import iso, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.results.jobs import JobView
    from fleet.model.results.merge import Waiting
    from fleet.model.results.projects import ProjectView
    from fleet.model.results.views import (
        Attempt,
        Failure,
        HoldView,
        Merging,
        NeedView,
        Obstacle,
        Overview,
        Parked,
        ToLand,
    )
    from fleet.model.states import Tone

    SectionEntry = NeedView | Obstacle | Waiting | Failure | Parked | HoldView | Merging | ToLand | Attempt | JobView
    OfTask = NeedView | Obstacle | Waiting | Failure | Parked | Merging | Attempt

# Obstacles that need a person at once: nobody coordinates the project.
_UNCOORDINATED = frozenset({Uncoordinated.__name__, NotWoken.__name__})
# How many obstacles of the kind "nobody coordinates" stand above the questions of agents.
_FEW = 5
_ENDED = frozenset({"exited", "interrupted"})


def sections(page: Overview) -> list[Section]:
    """Return the sections of the status page that have entries; what needs a person comes first."""
    alone = [each for each in page.in_the_way if is_uncoordinated(each)]
    others = [each for each in page.in_the_way if each not in alone]
    left = page.left_out
    every = (
        # Only the first entries of a section are shown: many obstacles must not push questions out of sight.
        _section_of("Needs you", "yellow", [*alone[:_FEW], *page.needs_you, *alone[_FEW:]]),
        _section_of("In the way", "red", [each for each in others if not is_full(each)]),
        _section_of("To review", "yellow", page.review, "`fleet review` walks you through", more=left.review),
        _section_of("Failed", "red", page.failed, more=left.failed),
        _section_of("Parked", "yellow", page.parked, more=left.parked),
        _section_of("Held back", "red", page.holds),
        _section_of("To merge", "blue", page.merging, more=left.merging),
        _section_of("To land", "blue", page.to_land, "`fleet land` moves your branch"),
        _section_of("Ended", "red", _attempts_of(page, ended=True), "the coordinator or `fleet clean` settles it"),
        _section_of("Working", "cyan", _attempts_of(page, ended=False), more=left.working),
        _section_of("Jobs", "cyan", page.jobs),
        _section_of("No room", "dim", [each for each in others if is_full(each)]),
    )
    return [section for section in every if section.entries]


def _section_of(title: str, tone: Tone, entries: Sequence[SectionEntry], hint: str = "", *, more: int = 0) -> Section:
    """Return a section of the status page; `more` is how many entries it has besides `entries`."""
    return Section(title=title, tone=tone, hint=hint, entries=list(entries), more=more)


def _attempts_of(page: Overview, *, ended: bool) -> list[Attempt]:
    """Return the agents of the status page that are at work; with `ended`, those that have ended and are not settled yet.

    An agent that needs a person is not among those at work: the section "Needs you" shows it.
    """
    needing = {need.dispatch for need in page.needs_you}
    return [each for each in page.working if is_over(each.state) == ended and (ended or each.who not in needing)]


def task_counts(project: ProjectView) -> dict[str, int]:
    """Return how many tasks of a project are ready, waiting, in progress, blocked and done. Failed tasks count as blocked.

    An archived task is counted only when it is done.
    """
    count = project.tasks
    return {
        "ready": project.ready,
        "waiting": count.open - project.ready,
        "in progress": count.in_progress,
        "blocked": count.failed + count.blocked,
        "done": project.finished,
    }


def is_over(state: str) -> bool:
    """Whether this is the state of an agent that has ended and is not settled yet."""
    return state in _ENDED


def is_uncoordinated(each: Obstacle) -> bool:
    """Whether the obstacle is that the project has no working coordinator."""
    return each.kind in _UNCOORDINATED


def is_full(each: Obstacle) -> bool:
    """Whether the obstacle is a reached limit of running agents, which passes when an agent ends."""
    return each.kind == LimitReached.__name__


def place_of(each: OfTask) -> str:
    """Return, as text, what an entry of the status page is about: "project/slug", or "PROJECT's coordinator" without a task."""
    return f"{each.project}/{each.slug}" if each.slug else f"{each.project}'s coordinator"


def need_in_words(need: NeedView) -> str:
    """Return what an agent needs from a person as one line, with the command that it wants to run."""
    text, command = one_line(need.text), one_line(need.command or "")
    if command.startswith("{"):  # the input of a tool that is no command
        command = f"`fleet questions {need.question}` shows it whole"
    asked = text if command in text else f"{text} — {command}"
    return f"{need.kind}: {asked}" if need.question is None and need.kind not in text else asked


def parked_in_words(task: Parked) -> str:
    """Return as one line why a task is parked, and until when."""
    until = f"to be fixed ({task.stage})  " if task.stage in {"fix", "rebase"} else ""
    until = f"until {utc(task.not_before)}  " if task.not_before else until
    return f"{until}{one_line(task.reason or task.title)}"


def hold_in_words(hold: HoldView, now: int) -> str:
    """Return as one line how long an engine is held back, why, and which engines take its place."""
    instead = f"  (agents run on {', '.join(hold.instead)} instead)" if hold.instead else ""
    return f"{hold.engine} ({hold.kind}) {held_in_words(hold.until, now)}{instead}: {one_line(hold.reason)}"


def held_in_words(until: str | None, now: int) -> str:
    """Return until when fleet starts no agent with a limited engine, as the end of a sentence that begins with its name.

    `until` is an ISO time; None when somebody has to log in first. `now` is in milliseconds. Once the time is past, the
    text says that the next agent tries the engine again.
    """
    if until is None:
        return "is held back until somebody logs in"
    is_passed = until <= iso(now)  # both have the same form, so that the order of the texts is the order of the times
    return "is tried by the next agent, after its limit" if is_passed else f"is held back until {utc(until)}"


def job_in_words(job: JobView) -> str:
    """Return the word for a job's state: `interrupted` when its runner died, `waiting` while a held engine stops it."""
    if job.state != "running":
        return job.state
    if not job.runs:
        return "interrupted"
    return "waiting" if job.waits else "running"


def one_line(text: str) -> str:
    """Return the text on one line, with control characters made visible."""
    return escapes.line(" ".join(text.split()))
