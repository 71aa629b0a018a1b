"""fleet.reviews: a person or a reviewer accepts a task's work, or sends it back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.tasks.advice import advised
from fleet.api.tasks.tasks import Tasks
from fleet.model.agents.dialect import clean
from fleet.model.branches import task_ref
from fleet.model.tasks.comments import quote_lines
from fleet.verbs.dispatch.apply_remedy import settle_attempt
from fleet.verbs.merge import named_commit, rehearse
from fleet.verbs.tasks import review, show

if TYPE_CHECKING:
    from fleet.model.results.merge import Judgement, Tried, VerdictView, Waiting, Work
    from fleet.model.results.tasks import TaskDetails
    from fleet.model.states import ReviewVerdict
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context, Request


class Reviews(Part):
    """Reviews of tasks' work."""

    __slots__ = ()

    def waiting(self, project: str | None = None) -> list[Waiting]:
        """Return the tasks whose work waits for a person's verdict, in one project or in all."""
        queue, request = self._by.store.read(lambda rows: review.waiting(rows, project)), self._by.request
        return [work for work in queue if work.status == "blocked" or _is_reviewed_by_person(request, work.project)]

    def work(self, *, project: str, slug: str) -> Work:
        """Return what a reviewer looks at: the task, its report, the verdicts so far and the changes."""
        now = self._by.clock.now()

        def look(rows: Rows) -> tuple[TaskDetails, list[Judgement]]:
            return show.show(rows, project, slug, now), review.verdicts(rows, project, slug)

        task, verdicts = self._by.store.read(look)
        return named_commit.reviewed_work(self._by.context, task, verdicts)

    def rehearse(self, *, project: str, slug: str) -> Tried:
        """Merge a task's work for trial, run its verify command, and write the result into the task's log.

        No branch is moved. Waits while a merge of the project runs.
        """
        self._by.may("reviews.rehearse", project=project)
        tried = rehearse.rehearse(self._by.context, project, slug)
        message = clean(f"tried before the review: {tried.says.strip()}")
        Tasks(self._by).log(project=project, slug=slug, message=message)
        return tried

    def judge(
        self,
        *,
        project: str,
        slug: str,
        verdict: ReviewVerdict,
        comments: str = "",
        commit: str | None = None,
        key: str | None = None,
    ) -> VerdictView:
        """Accept a task's work, or send it back with comments.

        `verdict` says which. `commit` is the commit that the reviewer saw: raise WorkMoved when the task's branch is
        not at it. Without `commit`, raise WorkMoved when work is accepted and the branch is not at the reported commit.
        When the task does not wait for a verdict, or an agent works on it, raise VerdictTooLate if the comments were
        kept, else IllegalStep, Contested or Superseded.
        """
        self._by.may("reviews.judge", project=project)
        context = self._by.context
        settle_attempt(context, project, slug, speaker=self._by.speaker)
        accept = verdict == review.ACCEPT
        work = named_commit.judged_commit(context, project, slug, accept=accept, seen=commit)
        text = quote_lines(comments, partial(_line_of, context, project, slug)) if comments else ""
        change = review.record_verdict(project=project, slug=slug, verdict=verdict, comments=text, work=work)
        try:
            with advised(self._by, "review", project, slug):
                return context.commit(change, key)
        except (errors.IllegalStep, errors.Superseded, errors.Contested) as error:
            message = context.world.ids.dispatch()
            late = review.LateVerdict(
                project=project, slug=slug, verdict=verdict, comments=text.strip(), work=work, message=message
            )
            if not late.comments or not context.commit(review.keep_comments(late)):
                raise
            raise errors.VerdictTooLate(project=project, slug=slug, why=str(error)) from error


def _is_reviewed_by_person(request: Request, project: str) -> bool:
    """Whether the setting `review` of a project leaves verdicts to people: it is not "agent", or cannot be read."""
    try:
        return request.settings(project).review != "agent"
    except errors.BadSetting:  # a person has to fix fleet.toml, and can review as well
        return True


def _line_of(context: Context, project: str, slug: str, file: str, line: int) -> str | None:
    """Return one line of a file on the task's branch; None when there is no such line."""
    text = context.world.git.file_at(context.project(project).path, task_ref(slug), file)
    lines = (text or "").splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else None
