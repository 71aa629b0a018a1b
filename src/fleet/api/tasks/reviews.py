"""fleet.reviews: a person or a reviewer looks at a task's work, and accepts it or sends it back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.api.tasks.tasks import Tasks
from fleet.errors.given import BadSetting
from fleet.model.agents.dialect import clean
from fleet.model.branches import task_ref
from fleet.model.tasks.comments import with_lines
from fleet.verbs.dispatch.apply_remedy import settle_attempt
from fleet.verbs.merge import named_commit, rehearse
from fleet.verbs.tasks import review, show

if TYPE_CHECKING:
    from fleet.api.actor import Document
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context, Request


class Reviews(Part):
    """Reviews."""

    __slots__ = ()

    def waiting(self, project: str | None = None) -> list[Document]:
        """What waits for a person's verdict."""
        found = self._by.store.read(review.waiting)
        mine = [each for each in found if project in {None, each["project"]}]
        request = self._by.request
        return [each for each in mine if each["status"] == "blocked" or _is_a_persons(request, each["project"])]

    def work(self, *, project: str, slug: str) -> Document:
        """A task's work as a reviewer looks at it: what was asked for, what the agent said, what it changed."""
        now = self._by.clock.now()

        def look(rows: Rows) -> tuple[Document, list[Document]]:
            return show.show(rows, project, slug, now), review.verdicts(rows, project, slug)

        task, verdicts = self._by.store.read(look)
        keep = ("project", "slug", "title", "description", "status", "stage", "assignee", "log", "artifacts")
        work = named_commit.reviewed_work(self._by.context, project, slug)
        return {name: task[name] for name in keep} | {"verdicts": verdicts} | work

    def rehearse(self, *, project: str, slug: str) -> Document:
        """Try whether the work merges and passes its verify command; the result is kept in the task's log."""
        self._by.may("reviews.rehearse", project=project)
        found = rehearse.rehearse(self._by.context, project, slug)
        said = clean(f"tried before the review: {found['says'].strip()}")
        Tasks(self._by).log(project=project, slug=slug, message=said)
        return found

    def judge(
        self,
        *,
        project: str,
        slug: str,
        verdict: str,
        comments: str = "",
        commit: str | None = None,
        key: str | None = None,
    ) -> Document:
        """Accept a task's work, or send it back with comments. `commit` is what the reviewer looked at, else what was reported."""
        self._by.may("reviews.judge", project=project)
        context = self._by.context
        settle_attempt(context, project, slug, speaker=self._by.speaker)
        accept = verdict == review.ACCEPT
        work = named_commit.judged_commit(context, project, slug, accept=accept, seen=commit)
        told = with_lines(comments, partial(_line_of, context, project, slug)) if comments else ""
        return context.commit(review.judge(project=project, slug=slug, verdict=verdict, comments=told, work=work), key)


def _is_a_persons(request: Request, project: str) -> bool:
    try:
        return bool(request.settings(project)["review"].value != "agent")
    except BadSetting:  # whoever mends fleet.toml may review as well
        return True


def _line_of(context: Context, project: str, slug: str, file: str, line: int) -> str | None:
    """One line of the work."""
    text = context.world.git.file_at(context.project(project).path, task_ref(slug), file)
    lines = (text or "").splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else None
