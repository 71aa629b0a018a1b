"""fleet.tasks: methods for one task. Each method imports one verb, because agents call some of them often."""

from __future__ import annotations

from fleet.api.actor import Part
from fleet.model import names
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Unpack

    from fleet.api.actor import Actor
    from fleet.model.results.reports import Claimed, Logged, Registered, Report, Unclaimed
    from fleet.model.results.tasks import (
        Added,
        Archived,
        Edited,
        Explanation,
        Paused,
        Reopened,
        TaskDetails,
        TaskView,
    )
    from fleet.verbs.tasks.add import NewTask, TaskFields
    from fleet.verbs.tasks.edit import Edit
    from fleet.verbs.tasks.show import Filters

    # `list` is a method below.
    TaskViews = list[TaskView]


class Tasks(Part):
    """Tasks, one at a time."""

    __slots__ = ()

    # looking ----------------------------------------------------------------------------------------------------------
    def show(self, *, project: str, slug: str) -> TaskDetails:
        """Return everything that is known about a task, and its next step."""
        from fleet.verbs.tasks import show
        from fleet.verbs.views import next_steps

        task = self._by.store.read(lambda rows: show.show(rows, project, slug, self._by.clock.now()))
        task = show.with_attempt(self._by.view, task) if task.status == "in_progress" else task
        return task.replaced(next_step=next_steps.step_of_task(self._by.view, project, slug))

    def list(self, *, project: str, filters: Filters | None = None) -> Iterator[TaskView]:
        """Return the tasks of a project that match the filters; with None, all that are not archived."""
        from fleet.verbs.tasks import show

        return show.listed(self._by.store, project, self._by.clock.now(), filters or show.Filters())

    def ready(self, *, project: str, limit: int | None = None) -> TaskViews:
        """Return the tasks that could be started now, most urgent first. `limit` None returns all."""
        from fleet.verbs.tasks import show

        return self._by.store.read(lambda rows: show.ready(rows, project, self._by.clock.now(), limit))

    def why(self, *, project: str, slug: str) -> Explanation:
        """Return why a task is not being worked on, and its next step.

        One of the reasons may be that a process still works in the worktree of the task's dead agent.
        """
        from fleet.store import queries as q
        from fleet.verbs.dispatch import settle
        from fleet.verbs.tasks import explain
        from fleet.verbs.views import next_steps, obstacles

        why = self._by.store.read(lambda rows: explain.explain_task(rows, project, slug, self._by.clock.now()))
        attempt = self._by.store.read(lambda rows: q.unfinished_of_task(rows, project=project, slug=slug))
        kept = settle.why_worktree_busy(self._by.view, attempt.id) if attempt is not None else None
        why = why.replaced(next_step=next_steps.step_of_task(self._by.view, project, slug))
        if kept is not None:
            return why.replaced(sentences=[kept.spoken, *why.sentences])
        found = obstacles.task_obstacles(self._by.view, project, slug) if why.ready else []
        sentences = [*why.sentences, *(obstacles.sentence(slug, each) for each in found)]
        return why.replaced(obstacles=found, sentences=sentences)

    # planning ---------------------------------------------------------------------------------------------------------
    def add(self, *, project: str, title: str, key: str | None = None, **fields: Unpack[TaskFields]) -> Added:
        """Add a task.

        `fields` are those of `NewTask`; missing ones come from the project's settings. Only a person sets verify and
        engine.
        """
        from fleet.api.permits import refuse_command_or_engine
        from fleet.verbs.tasks import add

        refuse_command_or_engine(self._by.may("tasks.add", project=project), "tasks.add", fields)
        return self._by.commit(add.add(new_task(self._by, project, title, fields)), key)

    def edit(self, wanted: Edit, *, key: str | None = None) -> Edited:
        """Change a task's fields, tags or dependencies.

        When somebody else works on the task, a change of its dependencies, title, description, verify, engine or model
        needs `wanted.override` of a person, and reopens the task; without it, raise NeedsOverride. Only a person sets
        verify and engine.
        """
        from fleet.api.permits import refuse_command_or_engine
        from fleet.verbs.tasks import edit

        self._by.refuse_override(override=wanted.override)
        speaker = self._by.may("tasks.edit", project=wanted.project)
        given: dict[str, object] = {"verify": wanted.verify, "engine": wanted.engine}
        refuse_command_or_engine(speaker, "tasks.edit", given | dict.fromkeys(wanted.clear, ""))
        return self._by.commit(edit.edit(wanted), key)

    def retry(self, *, project: str, slug: str, anew: bool = False, key: str | None = None) -> Reopened:
        """Open a blocked or ended task again, and take it out of the archive.

        A blocked or failed task keeps the stage that it had reached; with `anew`, or when it was done or abandoned, it
        begins again with a worker. Raise IllegalStep for a task in any other state.
        """
        from fleet.api.tasks.advice import advised
        from fleet.verbs.tasks import reopen

        self._by.may("tasks.retry", project=project)
        with advised(self._by, "task retry", project, slug):
            return self._by.commit(reopen.retry(project=project, slug=slug, anew=anew), key)

    def pause(self, *, project: str, slug: str, paused: bool = True, key: str | None = None) -> Paused:
        """Pause a task, so that no agent starts on it; with `paused=False`, end the pause. A running agent goes on."""
        from fleet.verbs.tasks import reopen

        self._by.may("tasks.pause", project=project)
        return self._by.commit(reopen.pause(project=project, slug=slug, paused=paused), key)

    def archive(self, *, project: str, slug: str, key: str | None = None) -> Archived:
        """Archive an ended task, so that lists do not show it. Raise IllegalStep for a task that has not ended."""
        from fleet.verbs.tasks import reopen

        self._by.may("tasks.archive", project=project)
        return self._by.commit(reopen.archive(project=project, slug=slug), key)

    # working ----------------------------------------------------------------------------------------------------------
    def claim(self, *, project: str, slug: str, override: bool = False, key: str | None = None) -> Claimed:
        """Assign a ready task to the actor. When several claim it at once, one gets it; the others get TaskHeld.

        An actor that has the task already gets it again: nothing changes. Raise NotReady for an open task that is not
        ready, IllegalStep for one that is neither open nor in progress, NotAllowed for an agent that was started on
        another task. With `override`, a person claims an open task that is not ready, or takes a task from its
        assignee.
        """
        from fleet.verbs.tasks import claim

        self._by.may("tasks.claim")
        self._by.refuse_override(override=override)
        return self._by.commit(claim.claim(project=project, slug=slug, override=override), key)

    def unclaim(self, *, project: str, slug: str, override: bool = False, key: str | None = None) -> Unclaimed:
        """Give a claimed task back, so that others can claim it.

        With `override`, a person gives back a task that is assigned to somebody else; without it, raise NeedsOverride.
        """
        from fleet.verbs.tasks import claim

        self._by.refuse_override(override=override)
        self._by.may("tasks.unclaim")
        return self._by.commit(claim.unclaim(project=project, slug=slug, override=override), key)

    def log(self, *, project: str, slug: str, message: str, key: str | None = None) -> Logged:
        """Add a message to a task's log."""
        from fleet.verbs.tasks import note

        self._by.may("tasks.log")
        return self._by.commit(note.log(project=project, slug=slug, message=message), key)

    def artifact(self, *, project: str, slug: str, path: str, key: str | None = None) -> Registered:
        """Record a file or address that the work on a task produced."""
        from fleet.verbs.tasks import note

        self._by.may("tasks.artifact")
        return self._by.commit(note.artifact(project=project, slug=slug, path=path), key)

    def done(
        self,
        *,
        project: str,
        slug: str,
        message: str | None = None,
        leave_uncommitted: str | None = None,
        override: bool = False,
        key: str | None = None,
    ) -> Report:
        """Report a task as done, together with the commit that its worktree is at.

        `leave_uncommitted` is the agent's reason for leaving changed files uncommitted. Without it (None), an agent
        whose worktree has such files gets UncommittedWork. With `override`, a person may report although somebody else
        works on the task.
        """
        from fleet.verbs.tasks import report

        self._by.may("tasks.done")
        work = self._reported_work(project, slug, override=override)
        left = self._left_files(project, slug, leave_uncommitted)
        change = report.done(
            project=project,
            slug=slug,
            message=message,
            work=work,
            override=override,
            leaves=leave_uncommitted,
            left=left,
        )
        return self._by.commit(change, key)

    def fail(self, *, project: str, slug: str, reason: str, override: bool = False, key: str | None = None) -> Report:
        """Report a task as failed.

        With `override`, a person may report although somebody else works on the task.
        """
        from fleet.verbs.tasks import report

        self._by.may("tasks.fail")
        work = self._reported_work(project, slug, override=override)
        change = report.fail(project=project, slug=slug, reason=reason, work=work, override=override)
        return self._by.commit(change, key)

    def block(self, *, project: str, slug: str, reason: str, override: bool = False, key: str | None = None) -> Report:
        """Report a task as blocked: the agent needs a decision or help to continue.

        With `override`, a person may report although somebody else works on the task.
        """
        from fleet.verbs.tasks import report

        self._by.may("tasks.block")
        work = self._reported_work(project, slug, override=override)
        change = report.block(project=project, slug=slug, reason=reason, work=work, override=override)
        return self._by.commit(change, key)

    def abandon(
        self, *, project: str, slug: str, reason: str | None = None, override: bool = False, key: str | None = None
    ) -> Report:
        """End a task that is not wanted any more. With `override`, a person ends it although somebody else works on it."""
        from fleet.model.agents import roles
        from fleet.verbs.tasks import report

        self._by.refuse_override(override=override)
        speaker = self._by.may("tasks.abandon")
        planner = speaker is not None and speaker.role == roles.COORDINATOR
        if planner:
            self._by.may("tasks.abandon", project=project)
        change = report.abandon(project=project, slug=slug, reason=reason, override=override, planner=planner)
        return self._by.commit(change, key)

    def _reported_work(self, project: str, slug: str, *, override: bool) -> str | None:
        """Return the commit to report: the one that the task's worktree is at; None without a worktree.

        Raise OverrideIsForPeople for an agent's override.
        """
        from fleet.world.git.refs import head_commit

        self._by.refuse_override(override=override)
        return head_commit(f"{self._by.home}/{paths.worktree(names.project(project), names.slug(slug))}")

    def _left_files(self, project: str, slug: str, reason: str | None) -> str:
        """Return the files that an agent leaves uncommitted, as text; "" when there are none or git does not say.

        Raise UncommittedWork when there are some, no reason is given, and this is the agent's first report.
        """
        ident = self._by.speaker
        if ident is None:
            return ""
        from fleet.model.tasks.pipeline import WORKING
        from fleet.store import queries as q
        from fleet.world.home import uncommitted

        journal = self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        if journal is None or journal.kind not in WORKING or journal.report or journal.slug != slug:
            return ""
        place = self._by.store.read(lambda rows: q.project_by_name(rows, name=project))
        if place is None:
            return ""
        files = uncommitted.uncommitted_work(self._by.home, place, slug, self._by.funnel)
        if files and reason is None:
            from fleet import errors

            raise errors.UncommittedWork(project=project, slug=slug, files=uncommitted.first_files(files))
        return uncommitted.first_files(files) if files else ""


def new_task(by: Actor, project: str, title: str, fields: TaskFields) -> NewTask:
    """Return a new task with these fields; missing ones come from the project's settings.

    Raise NotTrusted when task.verify is needed and comes from a fleet.toml that no person has trusted.
    """
    from fleet import errors
    from fleet.verbs.tasks.add import NewTask

    settings = by.request.settings_with_sources(project)
    missing = [name for name in ("verify", "engine", "priority") if fields.get(name) is None]
    if "verify" in missing and settings["task.verify"].untrusted:
        raise errors.NotTrusted(project=project, settings="task.verify")
    values: dict[str, Any] = {**fields, **{name: settings[f"task.{name}"].value for name in missing}}
    return NewTask(project=project, title=title, **values)
