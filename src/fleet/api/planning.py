"""What can be planned: adding and changing tasks. One transaction each, nothing outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.looking import Looking
from fleet.api.permits import refuse_running
from fleet.errors.refused import NotTrusted
from fleet.model.agents import roles
from fleet.model.text.times import duration
from fleet.verbs.tasks import add, claim, edit, reopen, report
from fleet.verbs.tasks.add import NewTask

if TYPE_CHECKING:
    from fleet.verbs.tasks.edit import Edit

Document = dict[str, Any]


class Planning(Looking):
    """Plans work."""

    def add(self, *, project: str, title: str, key: str | None = None, **fields: Any) -> Document:  # noqa: ANN401 - the fields of NewTask
        """Add a task."""
        refuse_running(self.may("add", project=project), "add", fields)
        return self.commit(add.add(self.new_task(project, title, fields)), key)

    def new_task(self, project: str, title: str, fields: dict[str, Any]) -> NewTask:
        """A task as somebody wants it. What is not said comes from the project's fleet.toml."""
        told = self.settings(project)
        missing = [name for name in ("verify", "engine", "priority") if fields.get(name) is None]
        if "verify" in missing and told["task.verify"].untrusted:
            raise NotTrusted(project=project, settings="task.verify")
        return NewTask(
            project=project, title=title, **(fields | {name: told[f"task.{name}"].value for name in missing})
        )

    def edit(self, wanted: Edit, *, key: str | None = None) -> Document:
        """Change a task."""
        self._people_only(wanted.override)
        speaker = self.may("edit", project=wanted.project)
        given: dict[str, object] = {"verify": wanted.verify, "engine": wanted.engine}
        refuse_running(speaker, "edit", given | dict.fromkeys(wanted.clear, ""))
        return self.commit(edit.edit(wanted), key)

    def unclaim(self, *, project: str, slug: str, override: bool = False, key: str | None = None) -> Document:
        """Give a task back."""
        self._people_only(override)
        self.may("unclaim")
        return self.commit(claim.unclaim(project=project, slug=slug, override=override), key)

    def abandon(
        self, *, project: str, slug: str, reason: str | None = None, override: bool = False, key: str | None = None
    ) -> Document:
        """The task is not wanted any more."""
        self._people_only(override)
        speaker = self.may("abandon")
        planner = speaker is not None and speaker.role == roles.COORDINATOR
        if planner:
            self.may("abandon", project=project)
        change = report.abandon(project=project, slug=slug, reason=reason, override=override, planner=planner)
        return self.commit(change, key)

    def retry(self, *, project: str, slug: str, key: str | None = None) -> Document:
        """Open a blocked or ended task again."""
        self.may("retry", project=project)
        return self.commit(reopen.retry(project=project, slug=slug), key)

    def pause(self, *, project: str, slug: str, paused: bool = True, key: str | None = None) -> Document:
        """Hold a task back, or let it go on."""
        self.may("pause", project=project)
        return self.commit(reopen.pause(project=project, slug=slug, paused=paused), key)

    def archive(self, *, project: str, slug: str, key: str | None = None) -> Document:
        """Put an ended task out of sight."""
        self.may("archive", project=project)
        return self.commit(reopen.archive(project=project, slug=slug), key)

    def archive_ended(self, *, project: str, older_than: str | None = None, key: str | None = None) -> Document:
        """Put every task that ended long enough ago out of sight."""
        self.may("archive_ended", project=project)
        age = duration(older_than or self.settings(project)["task.archive_after"].value)
        return self.commit(reopen.archive_ended(project=project, age=age), key)
