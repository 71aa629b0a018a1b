"""fleet.dispatches: start, resume and end agents, and show their journals."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.permits import refuse_forced, refuse_freer
from fleet.api.tasks.advice import OF_STATE, advised, name_next_step
from fleet.api.tasks.tasks import new_task
from fleet.engines import reader
from fleet.model.branches import task_branch
from fleet.model.results.dispatches import DispatchView
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.store import tasks
from fleet.verbs.dispatch import dispatch, end, find, journal, plan
from fleet.verbs.dispatch.apply_remedy import settle_attempt
from fleet.verbs.homes import excuse
from fleet.verbs.merge import branches
from fleet.verbs.projects import down
from fleet.verbs.resume import resume, resume_all
from fleet.verbs.views import claim_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.api.actor import Actor
    from fleet.api.permits import Speaker
    from fleet.model.results.dispatches import Dispatched, Ended, Excused, Journal, Resumable, Resumed, ResumedMany
    from fleet.model.results.projects import Down
    from fleet.store.transaction import Rows
    from fleet.verbs.dispatch.plan import Wanted

    # The class has a method named `list`.
    Resumables = list[Resumable]
    DispatchViews = list[DispatchView]


class Dispatches(Part):
    """Dispatches: the attempts of agents at tasks."""

    __slots__ = ()

    # starting and ending ----------------------------------------------------------------------------------------------
    def start(self, wanted: Wanted) -> Dispatched:
        """Start an agent on a task, and return the dispatch.

        First settle an earlier attempt at the task that has died.
        """
        speaker = self._by.may("dispatches.start", project=wanted.project)
        refuse_freer_agent(self._by, speaker, "dispatches.start", wanted)
        context = self._by.context
        if wanted.slug:
            settle_attempt(context, wanted.project, wanted.slug, speaker=self._by.speaker)
        with advised(self._by, "dispatch", wanted.project, wanted.slug):
            return dispatch.dispatch(context, wanted)

    def start_new(self, wanted: Wanted, *, title: str, description: str = "", slug: str | None = None) -> Dispatched:
        """Add a task and start an agent on it, before a coordinator can start another agent. `wanted` names no task.

        When it is clear beforehand that no agent can be started in the project, add nothing. Raise OnlyAdded when the
        task was added and no agent could be started on it, because too many run, for example.
        """
        speaker = self._by.may("dispatches.start_new", project=wanted.project)
        refuse_freer_agent(self._by, speaker, "dispatches.start_new", wanted)
        context = self._by.context
        plan.check_start(context, wanted)
        new = new_task(self._by, wanted.project, title, {"description": description, "slug": slug})
        return dispatch.dispatch_new(context, new, wanted)

    def check_start(self, wanted: Wanted) -> None:
        """Raise the error with which the start of this agent would fail; start nothing.

        It would fail when a setting that the agent needs is not trusted, no engine is set, or the engine cannot start
        here.
        """
        plan.check_start(self._by.context, wanted)

    def stop(self, ident: str, reason: str = "stopped by a person") -> Ended:
        """Ask an agent to exit, wait, and kill what is left of it. Its work can be resumed.

        The result says whether the dispatch is settled. Raise Refused when it has ended already.
        """
        self._by.may("dispatches.stop", agent=ident)
        return end.end(self._by.context, ident, asked_for="stop", reason=reason)

    def stop_all(self, project: str, reason: str = "stopped by a person") -> Down:
        """Stop all agents that work on tasks of a project, as `stop` does. A merge that runs is left alone.

        `left` of the result says what could not be ended, and why.
        """
        self._by.may("dispatches.stop_all")
        self._by.context.project(project)
        return down.stop_all(self._by.context, project, reason=reason)

    def kill(self, ident: str, reason: str) -> Ended:
        """End an agent as `stop` does, but for good: its attempt counts as failed and cannot be resumed."""
        self._by.may("dispatches.kill", agent=ident)
        return end.end(self._by.context, ident, asked_for="kill", reason=f"killed: {reason}")

    def excuse(self, ident: str, pids: Sequence[int]) -> Excused:
        """Record that these processes in a dispatch's worktree do not belong to the dispatch. End none of them.

        They no longer keep the dispatch from being settled. Raise NotExcused, and record none, when one of them cannot
        be excused.
        """
        self._by.may("dispatches.excuse")
        return excuse.excuse(self._by.context, ident, pids)

    # resuming ---------------------------------------------------------------------------------------------------------
    def resume(self, given: str, *, project: str | None = None, force: bool = False) -> Resumed:
        """Resume the work of a dispatch, session or task in a new dispatch.

        `given` names the dispatch, session or task; `project` is where a task's slug is looked for, None for all
        projects. Raise NotResumable when the agent may be alive, has finished, or its task cannot continue. While
        another process resumes the same work, raise ResumeInProgress; with `force`, stop that process first.
        """
        context = self._by.context
        if (speaker := self._by.may("dispatches.resume")) is not None:
            meant = journal.recorded_dispatch(context, resume.find_dispatch_to_resume(context, given, project))
            self._by.may("dispatches.resume", project=meant.project)
            refuse_forced(speaker, "dispatches.resume", force=force)
        try:
            return resume.resume(context, given, project=project, force=force)
        except OF_STATE as error:
            meant = journal.recorded_dispatch(context, resume.find_dispatch_to_resume(context, given, project))
            name_next_step(self._by, error, "resume", meant.project, meant.slug)
            raise

    def resumable(self, project: str | None = None) -> Resumables:
        """Return the dispatches and the jobs that can be resumed, with the reason why each ended.

        First settle the dispatches whose agent has died unnoticed. `project` None means all projects.
        """
        return resume_all.settle_and_list_resumable(self._by.context, project)

    def resume_all(self, project: str | None = None) -> ResumedMany:
        """Resume every interrupted dispatch and job of one project or (None) of all.

        What cannot start now, because of the limits on agents for example, is in `waiting` of the result, with the
        reason.
        """
        self._by.may("dispatches.resume_all")
        return resume_all.resume_all(self._by.context, project)

    def resume_after_boot(self) -> ResumedMany | None:
        """Resume, like `resume_all`, what was interrupted when the machine went down.

        Returns None when this boot has resumed everything already.
        """
        self._by.may("dispatches.resume_after_boot")
        return resume_all.resume_after_boot(self._by.context)

    # looking ----------------------------------------------------------------------------------------------------------
    def find(self, given: str, project: str | None = None) -> str:
        """Return the id of the dispatch that a person names: by its id, the beginning of its id, its task, or @last.

        A task is named as SLUG or PROJECT/SLUG. An archived dispatch is returned only when no other dispatch fits.
        Raise NoSuchDispatch when none fits, Ambiguous when several do.
        """
        return find_dispatch(self._by, given, project)

    def list(self, project: str | None = None, *, ended: bool = True) -> DispatchViews:
        """Return the dispatches that are not archived. Without `ended`, return only those that have not ended."""
        if project is not None:
            self._by.request.project(project)
        now = self._by.clock.now()

        def look(rows: Rows) -> DispatchViews:
            held = _count_claims(rows)
            return [
                DispatchView.made_of(
                    row, **journal.shown_times(row), claims=held[row.id], age=max(now - row.created_at, 0) // SECOND
                )
                for row in q.listed_dispatches(rows, project=project, ended=int(ended))
            ]

        return self._by.store.read(look)

    def show(self, ident: str) -> Journal:
        """Return one dispatch and its claims, also when it is archived.

        Each claim says how the claimed thing looks now; the claims of an archived dispatch are as they were recorded.
        """
        live = self._by.store.read(lambda rows: journal.journal_view(rows, ident))
        if live is not None:
            return claim_views.observed_journal(self._by.view, live)
        archived = journal.archived_journal(self._by.view, ident)
        if archived is None:
            raise errors.NoSuchDispatch(dispatch=ident)
        handed = self._by.store.read(lambda rows: q.handed_to(rows, dispatch=ident))
        age = claim_views.age_of(self._by.view, archived)
        claims = claim_views.archived_claims(self._by.view, archived)
        successor = handed.successor if handed else None
        return archived.replaced(claims=claims, successor=successor, age=age, archived=True)

    def diff(self, *, project: str, slug: str, stat: bool = False) -> str:
        """Return the diff of a task's branch against the integration branch; with `stat`, only the statistics."""
        self._by.store.read(lambda rows: tasks.state(rows, project, slug))
        context = self._by.context
        repository = context.project(project).path
        integration, _tip = branches.integration_branch(context, project, repository)
        return context.world.git.diff(repository, integration, task_branch(slug), stat=stat)


def find_dispatch(by: Actor, given: str, project: str | None = None) -> str:
    """Return the id of the dispatch that a person names by its id, the beginning of its id, its task, or @last.

    Raise NoSuchDispatch when no dispatch fits, archived ones included; Ambiguous when several fit.
    """
    here = _project_or_none(by)
    try:
        return by.store.read(lambda rows: find.find(rows, given, project, here=here))
    except errors.NoSuchDispatch:
        old = find.find_archived(by.view, given)
        if old is None:
            raise
        return old


def _project_or_none(by: Actor) -> str | None:
    """Return the project of the environment or the current directory; None when there is none."""
    try:
        return by.project_here()
    except errors.FleetError:
        return None


def refuse_freer_agent(by: Actor, speaker: Speaker | None, act: str, wanted: Wanted) -> None:
    """Raise NotAllowed when the agent `speaker` would start another agent that may do more than itself.

    A command, and an engine without autonomies, count as free to do everything.
    """
    if speaker is None:
        return
    unguarded = "a command" if wanted.command else ""
    if wanted.engine and not reader.engine(by.home, wanted.engine).autonomy:
        unguarded = unguarded or f"the engine {wanted.engine}"
    refuse_freer(speaker, act, autonomy=wanted.autonomy, unguarded=unguarded)


def _count_claims(rows: Rows) -> Counter[str]:
    """Return how many claims each dispatch holds.

    The claims on a task's bundle (worktree and folder) count for the dispatch that owns the bundle.
    """
    owners = {(row.project, row.slug): row.owner for row in q.all_bundles(rows)}
    claims = q.open_claims(rows)
    return Counter(claim.dispatch or owners.get((claim.project or "", claim.slug or ""), "") for claim in claims)
