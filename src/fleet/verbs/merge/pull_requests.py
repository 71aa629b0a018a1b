"""Pull requests: push a task's branch, open its pull request, and end the task when the pull request is merged.

Every step can be repeated: a branch that is already pushed is not pushed again, an open pull request is not opened
again. The user's branches are not touched; fleet fetches into refs/fleet/remote/.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref, remote_ref, task_branch, task_ref
from fleet.model.results.merge import PullRequestView
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.merge.branches import integration_branch, target_branch
from fleet.verbs.merge.finisher import is_unchanged, record_merge
from fleet.verbs.merge.merge import describe_work_outside_branch, is_finished, park_if_moved
from fleet.world.forge import LIMIT, forge
from fleet.world.git.branch_in_use import why_branch_in_use
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.states import PullRequestState
    from fleet.store.queries import PullRequest, TaskToPull
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.forge import GitHub, GitLab, UserProgram

CHECK_INTERVAL = 60 * SECOND


def open_pull_request(context: Context, project: str, slug: str) -> PullRequestView:
    """Push the branch of a finished task and open its pull request, unless one is recorded already.

    Return it with the state "open"; the forge is not asked whether a recorded one is still open. Raise NotPulled when
    pushing or opening fails, IllegalStep for unfinished work, Contested while an agent works on the task, and WorkMoved
    when its branch is not at the reported commit.
    """
    with context.world.project_gate(project, "pull"):
        task = _pullable_task(context, project, slug)
        repository, remote, program = _remote_and_forge(context, project, slug)
        commit = _push_branch(context, project, slug, repository, remote)
        if task.pull_request:
            return _view(project, slug, task.pull_request, "open", changed=False)
        target = target_branch(context, project, repository)
        body = task.description or task.title
        address = program.open_pull_request(
            branch=task_branch(slug), commit=commit, target=target, title=task.title, body=body
        )
        if address is None:
            raise _refusal(
                project, slug, f"{program.name} did not open it: {program.said}", "fix the cause, then try again"
            )
        context.commit(_record_opened(project, slug, address))
        return _view(project, slug, address, "open", changed=True)


def check_pull_request(context: Context, project: str, slug: str) -> PullRequestView:
    """Return the state of a task's pull request. When it is merged, end the task; when it is closed, park the task.

    The task stays as it is while an agent works on it, and when somebody changed it during the check. Raises NotPulled
    when no pull request was opened.
    """
    task = _pull_request_row(context, project, slug)
    if task.merged:
        return _view(project, slug, task.pull_request, "merged", changed=False)
    if not task.pull_request:
        raise _refusal(project, slug, "it is not opened yet", f"`fleet pr {slug} -p {project}` opens it")
    before = context.store.read(lambda rows: tasks.state(rows, project, slug))
    repository, remote, program = _remote_and_forge(context, project, slug)
    state = program.state(task.pull_request)
    now = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if now.attempted or not is_unchanged(now, before):  # an agent works on the task, or somebody has changed it
        return _view(project, slug, task.pull_request, state, changed=False)
    if state != "closed" and _finish_if_merged(context, project, slug, repository, remote, merged=state == "merged"):
        return _view(project, slug, task.pull_request, "merged", changed=True)
    if state == "closed":
        context.commit(_record_closed(project, slug, task.pull_request))
    return _view(project, slug, task.pull_request, state, changed=state == "closed")


def start_pull_request_check(context: Context, project: str) -> list[str]:
    """Start `fleet pr --check` in the background if the check of a pull request is due.

    Returns a line for people that says so, else []. The check has its own process because the server of the pull requests
    may be slow.
    """
    due = _due_tasks(context, project, _last_checks(context, project))
    if not due:
        return []
    context.world.start_fleet("pr", "--check", "-p", project)
    return [f"looking at the pull requests of {', '.join(row.slug for row in due)}"]


def update_pull_requests(context: Context, project: str) -> list[PullRequestView]:
    """Open missing pull requests and check open ones, each at most once a minute. Returns the state of each.

    A pull request has the state `unknown` and the reason in `why` when an error was raised for its task. Errors that are
    not about one task are raised at once: those of the store, NotSeated or SpeakerEnded for a coordinator that has lost its
    seat or has ended, NotTrusted for a setting that no person has trusted, and GateHeld while another process updates the
    project's pull requests.
    """
    views = []
    with context.world.project_gate(project, "pulls"):
        last_checks = _last_checks(context, project)
        for row in _due_tasks(context, project, last_checks):
            _record_check_time(context, project, last_checks, row.slug)
            try:
                views.append(_update_pull_request(context, project, row.slug, opened=bool(row.pull_request)))
            except (errors.NotSeated, errors.SpeakerEnded, errors.StoreError, errors.StoreBusy, errors.NotTrusted):
                raise
            except errors.FleetError as error:
                view = _view(project, row.slug, row.pull_request, "unknown", changed=False)
                views.append(view.replaced(why=str(error)))
    return views


def _due_tasks(context: Context, project: str, last_checks: dict[str, int]) -> list[TaskToPull]:
    """Return the tasks that have or need a pull request and were not checked within the last minute."""
    wanted, now = context.settings(project).merge == "pr", context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.tasks_to_pull(snapshot, project=project))
    return [
        row for row in rows if (wanted or row.pull_request) and now - last_checks.get(row.slug, 0) >= CHECK_INTERVAL
    ]


def _update_pull_request(context: Context, project: str, slug: str, *, opened: bool) -> PullRequestView:
    """Check the pull request of a task if it is `opened`. If it is still open or missing, push the branch and open it."""
    if opened:
        checked = check_pull_request(context, project, slug)
        if checked.state != "open":
            return checked
    return open_pull_request(context, project, slug)


def _last_checks(context: Context, project: str) -> dict[str, int]:
    """Return when each task's pull request was last checked (milliseconds), by slug.

    {} when the file with the times is lost or broken: then all are checked again.
    """
    try:
        times = json.loads(context.world.files.read(paths.pulls(project)))
    except (OSError, ValueError):
        return {}
    return times if isinstance(times, dict) else {}


def _record_check_time(context: Context, project: str, last_checks: dict[str, int], slug: str) -> None:
    """Write to the file of check times that the pull request of this task is being checked now.

    `last_checks` gets the time, too; the file forgets times that are older than a minute.
    """
    now = context.world.clock.now()
    last_checks[slug] = now
    recent = {task: at for task, at in last_checks.items() if now - at < CHECK_INTERVAL}
    context.world.files.publish(paths.pulls(project), json.dumps(recent).encode())


def _pullable_task(context: Context, project: str, slug: str) -> PullRequest:
    """Return the row of a task for which a pull request may be opened.

    Raises IllegalStep for unfinished work, Contested while an agent works on the task.
    """
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if not is_finished(state) or state.archived:
        waits = state.stage == "review"
        advice = f"it waits for review: `fleet review {slug} -p {project}`" if waits else "only finished work gets one"
        raise errors.IllegalStep(
            event="open a pull request for", project=project, slug=slug, status=state.status, advice=advice
        )
    if state.attempted:
        raise errors.Contested(what=f"{project}/{slug} has an agent at work; wait for it to end")
    return _pull_request_row(context, project, slug)


def _pull_request_row(context: Context, project: str, slug: str) -> PullRequest:
    """Return a task's row with its pull request. Raises NoSuchTask or NoSuchProject when there is none."""
    row = context.store.read(lambda rows: q.pull_request_of(rows, project=project, slug=slug))
    if row is None:
        raise context.store.read(lambda rows: tasks.missing_error(rows, project, slug))
    return row


def _remote_and_forge(context: Context, project: str, slug: str) -> tuple[str, str, UserProgram | GitHub | GitLab]:
    """Return the repository, the name of its remote, and the program that handles pull requests.

    Raises NotPulled when the repository has no such remote, or there is no such program.
    """
    repository = context.project(project).path
    remote = context.settings(project).pr_remote
    address = context.world.remotes.address_of(repository, remote)
    if address is None:
        advice = f"add it with `git remote add {remote} ADDRESS`, or name another in fleet.toml: pr.remote"
        raise _refusal(project, slug, f"the repository has no remote {remote!r}", advice)
    program = forge(context.world.programs, repository, command=context.settings(project).pr_command, remote=address)
    if program is None:
        advice = "install one of them, or name a program of your own in fleet.toml: pr.command"
        raise _refusal(project, slug, "neither gh nor glab is installed", advice)
    return repository, remote, program


def _push_branch(context: Context, project: str, slug: str, repository: str, remote: str) -> str:
    """Push the task's branch to the remote, unless it is there already. Returns the branch's commit.

    Raises NotPulled when the branch is missing or lacks work of the task, when the remote does not answer or refuses,
    and when the remote's branch has commits that fleet did not push. When the task's branch is not at the reported
    commit, sends the task back to review and raises WorkMoved.
    """
    git, branch = context.world.git, task_branch(slug)
    tip = git.resolve(repository, head_ref(branch))
    if tip is None:
        raise _refusal(project, slug, f"there is no branch {branch}", "was it dispatched by fleet?")
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    park_if_moved(context, project, slug, state, tip)
    elsewhere = describe_work_outside_branch(context, project, slug, context.settings(project).integration)
    if elsewhere:
        raise _refusal(project, slug, elsewhere, f"bring its work onto {branch}, then try again")
    last_pushed = git.resolve(repository, remote_ref(remote, branch))
    if last_pushed == tip:
        return tip
    remote_tip = context.world.remotes.remote_branch(repository, remote, branch, limit=LIMIT)
    if remote_tip is None:
        raise _refusal(project, slug, f"{remote} does not answer", "make sure that you can push there, then try again")
    if remote_tip not in {"", tip, last_pushed} and not git.is_in(repository, remote_tip, tip):
        advice = f"look at it with `git fetch {remote} {branch}`, and merge it or remove it"
        raise _refusal(project, slug, f"{branch} on {remote} has commits that are not fleet's", advice)
    if remote_tip != tip:
        try:
            context.world.remotes.push(repository, remote, branch, commit=tip, old=remote_tip, limit=LIMIT)
        except errors.FleetError as error:
            raise _refusal(project, slug, str(error), "make sure that you can push there, then try again") from error
    context.world.remotes.note_pushed(repository, remote, branch, tip)
    return tip


def _finish_if_merged(context: Context, project: str, slug: str, repository: str, remote: str, *, merged: bool) -> bool:
    """Record the merge of a task whose pull request is merged. Returns False when its work is not merged yet.

    `merged`: the forge says that the pull request is merged. Work that is in the fetched target counts as merged,
    whatever the forge says. Fetches the target; for merged work, fast-forwards the integration branch to the target.
    """
    git = context.world.git
    target = target_branch(context, project, repository)
    remote_tip = context.world.remotes.fetch(repository, remote, target, limit=LIMIT)
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    work = state.work or git.resolve(repository, task_ref(slug))  # the branch may have moved since the report
    if not merged and (remote_tip is None or work is None or git.is_in(repository, work, remote_tip) is not True):
        return False
    if remote_tip is not None:
        _fast_forward_integration(context, project, repository, remote_tip)
    record_merge(context, project, slug, commit=remote_tip or work or "")
    context.world.remotes.forget_pushed(repository, remote, task_branch(slug))
    return True


def _fast_forward_integration(context: Context, project: str, repository: str, remote_tip: str) -> None:
    """Fast-forward the integration branch to a commit of the remote.

    Do nothing when the branch has commits of its own, or is in use in a worktree.
    """
    git = context.world.git
    integration, old = integration_branch(context, project, repository)
    if (
        old != remote_tip
        and git.is_in(repository, old, remote_tip)
        and not why_branch_in_use(git, repository, integration)
    ):
        git.set_branch(repository, integration, new=remote_tip, old=old)


def _record_opened(project: str, slug: str, address: str) -> Change[None]:
    """Return the change that records the address of a task's new pull request."""

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        q.set_pull_request(tx, project=project, slug=slug, pull_request=address, was=None, at=tx.at)
        tx.note(pull_request=address)

    return Change(f"open {address} for {project}/{slug}", work)


def _record_closed(project: str, slug: str, address: str) -> Change[None]:
    """Return the change that forgets a task's closed pull request and parks the task at the stage `fix`.

    It changes nothing when another address is recorded by then.
    """
    reason = f"its pull request {address} was closed without being merged"

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug).status
        if q.set_pull_request(tx, project=project, slug=slug, pull_request=None, was=address, at=tx.at):
            tasks.park(tx, project, slug, was, stage="fix", reason=reason, message=reason)
        tx.note(pull_request=None, reason=reason)

    return Change(f"{address} of {project}/{slug} was closed", work)


def _refusal(project: str, slug: str, why: str, advice: str) -> errors.NotPulled:
    """Return the error for a pull request that could not be opened or checked."""
    return errors.NotPulled(project=project, slug=slug, why=why, advice=advice)


def _view(project: str, slug: str, address: str | None, state: PullRequestState, *, changed: bool) -> PullRequestView:
    """Return the state of a task's pull request as commands print it. `address` is None when it is not opened."""
    return PullRequestView(project=project, task=slug, address=address, state=state, changed=changed)
