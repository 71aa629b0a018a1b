"""Pull requests: push a task's branch, open its request, and end the task when that is merged.

Every step can be taken again: a branch that is there already is not pushed, a request that is open is not opened. The user's
branches are not touched; what is fetched goes into refs/fleet/remote/.
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
from fleet.verbs.merge.merge import is_finished, is_unchanged, park_if_moved, record_merge, work_outside_branch
from fleet.world.forge import LIMIT, forge
from fleet.world.git.branch_in_use import branch_in_hand
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.states import PullRequestState
    from fleet.store.queries import PullRequest, TaskToPull
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.forge import GitHub, GitLab, Own

CHECK_INTERVAL = 60 * SECOND


def open_pull_request(context: Context, project: str, slug: str) -> PullRequestView:
    """Push a task's branch and open its pull request. What is there already is not changed."""
    with context.world.project_gate(project, "pull"):
        task = _pullable_task(context, project, slug)
        repository, remote, there = _remote_and_forge(context, project, slug)
        _push_branch(context, project, slug, repository, remote)
        if task.pull_request:
            return _view(project, slug, task.pull_request, "open", changed=False)
        target = target_branch(context, project, repository)
        body = task.description or task.title
        address = there.opened(branch=task_branch(slug), target=target, title=task.title, body=body)
        if address is None:
            raise _refusal(project, slug, f"{there.name} did not open it: {there.said}", "mend that, then say it again")
        context.commit(_record_opened(project, slug, address))
        return _view(project, slug, address, "open", changed=True)


def check_pull_request(context: Context, project: str, slug: str) -> PullRequestView:
    """How far a task's pull request is. Merged, the task is done; closed, it waits for somebody to mend it."""
    task = _pull_request_row(context, project, slug)
    if task.merged:
        return _view(project, slug, task.pull_request, "merged", changed=False)
    if not task.pull_request:
        raise _refusal(project, slug, "it was not opened yet", f"`fleet pr {slug} -p {project}` opens it")
    before = context.store.read(lambda rows: tasks.state(rows, project, slug))
    repository, remote, there = _remote_and_forge(context, project, slug)
    state = there.state(task.pull_request)
    now = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if now.attempted or not is_unchanged(now, before):  # somebody works on it, or has decided about it meanwhile
        return _view(project, slug, task.pull_request, state, changed=False)
    if state != "closed" and _finish_if_merged(context, project, slug, repository, remote, merged=state == "merged"):
        return _view(project, slug, task.pull_request, "merged", changed=True)
    if state == "closed":
        context.commit(_record_closed(project, slug, task.pull_request))
    return _view(project, slug, task.pull_request, state, changed=state == "closed")


def start_pull_request_check(context: Context, project: str) -> list[str]:
    """Let a process of its own open and look at pull requests, if any is due: others' servers may take their time."""
    due = _due_tasks(context, project, _last_checks(context, project))
    if not due:
        return []
    context.world.start_fleet("pr", "--check", "-p", project)
    return [f"looking at the pull requests of {', '.join(row.slug for row in due)}"]


def update_pull_requests(context: Context, project: str) -> list[PullRequestView]:
    """Open what is to be opened and look at what is open, each at most once a minute. How far each is, or why it is not."""
    views = []
    with context.world.project_gate(project, "pulls"):
        last_checks = _last_checks(context, project)
        for row in _due_tasks(context, project, last_checks):
            _record_check_time(context, project, last_checks, row.slug)
            try:
                views.append(_update_pull_request(context, project, row.slug, opened=bool(row.pull_request)))
            except (errors.Contested, errors.NotPulled, errors.WorkMoved) as error:
                view = _view(project, row.slug, row.pull_request, "unknown", changed=False)
                views.append(view.replaced(why=str(error)))
    return views


def _due_tasks(context: Context, project: str, last_checks: dict[str, int]) -> list[TaskToPull]:
    """What has a pull request, or is to get one, and was not looked at just now."""
    wanted, now = context.setting("merge", project) == "pr", context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.tasks_to_pull(snapshot, project=project))
    return [
        row for row in rows if (wanted or row.pull_request) and now - last_checks.get(row.slug, 0) >= CHECK_INTERVAL
    ]


def _update_pull_request(context: Context, project: str, slug: str, *, opened: bool) -> PullRequestView:
    if opened:
        checked = check_pull_request(context, project, slug)
        if checked.state != "open":
            return checked
    return open_pull_request(context, project, slug)


def _last_checks(context: Context, project: str) -> dict[str, int]:
    """When each was looked at last. A hint: lost, they are looked at again."""
    try:
        times = json.loads(context.world.files.read(paths.pulls(project)))
    except (OSError, ValueError):
        return {}
    return times if isinstance(times, dict) else {}


def _record_check_time(context: Context, project: str, last_checks: dict[str, int], slug: str) -> None:
    now = context.world.clock.now()
    last_checks[slug] = now
    recent = {each: at for each, at in last_checks.items() if now - at < CHECK_INTERVAL}
    context.world.files.publish(paths.pulls(project), json.dumps(recent).encode())


def _pullable_task(context: Context, project: str, slug: str) -> PullRequest:
    """Refuse work that is not at its last stage or called done by a person, and work that an agent is at."""
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if not is_finished(state) or state.archived:
        waits = state.stage == "review"
        advice = (
            f"it waits for review: `fleet review {slug} -p {project}`" if waits else "only work that is done gets one"
        )
        raise errors.IllegalStep(
            event="open a pull request for", project=project, slug=slug, status=state.status, advice=advice
        )
    if state.attempted:
        raise errors.Contested(what=f"{project}/{slug} has an agent at work; wait for it to end")
    return _pull_request_row(context, project, slug)


def _pull_request_row(context: Context, project: str, slug: str) -> PullRequest:
    row = context.store.read(lambda rows: q.pull_request_of(rows, project=project, slug=slug))
    if row is None:
        raise context.store.read(lambda rows: tasks.missing(rows, project, slug))
    return row


def _remote_and_forge(context: Context, project: str, slug: str) -> tuple[str, str, Own | GitHub | GitLab]:
    """The repository, the remote, and the program that knows its pull requests."""
    repository = context.project(project).path
    remote = context.setting("pr.remote", project)
    address = context.world.remotes.address_of(repository, remote)
    if address is None:
        advice = f"add it with `git remote add {remote} ADDRESS`, or name another in fleet.toml: pr.remote"
        raise _refusal(project, slug, f"the repository has no remote {remote!r}", advice)
    there = forge(context.world.programs, repository, command=context.setting("pr.command", project), remote=address)
    if there is None:
        advice = "install one of them, or name a program of your own in fleet.toml: pr.command"
        raise _refusal(project, slug, "neither gh nor glab is installed", advice)
    return repository, remote, there


def _push_branch(context: Context, project: str, slug: str, repository: str, remote: str) -> None:
    """Bring the branch there. Over there it is fleet's own: what somebody else has put on it is not overwritten."""
    git, branch = context.world.git, task_branch(slug)
    tip = git.resolve(repository, head_ref(branch))
    if tip is None:
        raise _refusal(project, slug, f"there is no branch {branch}", "was it dispatched by fleet?")
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    park_if_moved(context, project, slug, state, tip)
    elsewhere = work_outside_branch(context, project, slug, context.setting("integration", project))
    if elsewhere:
        raise _refusal(project, slug, elsewhere, f"bring its work onto {branch}, then say it again")
    known = git.resolve(repository, remote_ref(remote, branch))
    if known == tip:
        return
    now = context.world.remotes.remote_branch(repository, remote, branch, limit=LIMIT)
    if now is None:
        raise _refusal(project, slug, f"{remote} does not answer", "see that you can push there, then say it again")
    if now not in {"", tip, known} and not git.is_in(repository, now, tip):
        advice = f"look at it with `git fetch {remote} {branch}`, and merge it or remove it"
        raise _refusal(project, slug, f"{branch} on {remote} has commits that are not fleet's", advice)
    if now != tip:
        try:
            context.world.remotes.push(repository, remote, branch, commit=tip, old=now, limit=LIMIT)
        except errors.FleetError as error:
            raise _refusal(project, slug, str(error), "see that you can push there, then say it again") from error
    context.world.remotes.note_pushed(repository, remote, branch, tip)


def _finish_if_merged(context: Context, project: str, slug: str, repository: str, remote: str, *, merged: bool) -> bool:
    """When it is merged over there: let the integration branch follow, and end the task. Says whether it did."""
    git = context.world.git
    target = target_branch(context, project, repository)
    there = context.world.remotes.fetch(repository, remote, target, limit=LIMIT)
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    work = state.work or git.resolve(repository, task_ref(slug))  # the branch may have been moved
    if not merged and (there is None or work is None or git.is_in(repository, work, there) is not True):
        return False
    if there is not None:
        _fast_forward_integration(context, project, repository, there)
    record_merge(context, project, slug, commit=there or work or "")
    context.world.remotes.forget_pushed(repository, remote, task_branch(slug))
    return True


def _fast_forward_integration(context: Context, project: str, repository: str, there: str) -> None:
    """By fast-forward only, and never under somebody's feet."""
    git = context.world.git
    integration, old = integration_branch(context, project, repository)
    if old != there and git.is_in(repository, old, there) and not branch_in_hand(git, repository, integration):
        git.set_branch(repository, integration, new=there, old=old)


def _record_opened(project: str, slug: str, address: str) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.about(project, slug)
        q.set_pull_request(tx, project=project, slug=slug, pull_request=address, was=None, at=tx.at)
        tx.note(pull_request=address)

    return Change(f"open {address} for {project}/{slug}", work)


def _record_closed(project: str, slug: str, address: str) -> Change[None]:
    """Somebody did not want it as it is: it waits to be mended, and may get another request then."""
    reason = f"its pull request {address} was closed without being merged"

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug).status
        if q.set_pull_request(tx, project=project, slug=slug, pull_request=None, was=address, at=tx.at):
            tasks.park(tx, project, slug, was, stage="fix", reason=reason, message=reason)
        tx.note(pull_request=None, reason=reason)

    return Change(f"{address} of {project}/{slug} was closed", work)


def _refusal(project: str, slug: str, why: str, advice: str) -> errors.NotPulled:
    return errors.NotPulled(project=project, slug=slug, why=why, advice=advice)


def _view(project: str, slug: str, address: str | None, state: PullRequestState, *, changed: bool) -> PullRequestView:
    return PullRequestView(project=project, task=slug, address=address, state=state, changed=changed)
