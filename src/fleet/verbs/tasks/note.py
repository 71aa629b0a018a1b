"""Add a log message or an artifact to a task. The task's state stays, so a person may do this while an agent works."""

from __future__ import annotations

from fleet.model import names
from fleet.model.results.reports import Logged, Registered
from fleet.model.tasks import fence
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Tx


def log(*, project: str, slug: str, message: str) -> Change[Logged]:
    """Return the change that adds a message to the log of a task.

    Committing it raises Superseded when the caller is an agent to which the task is no longer assigned.
    """
    names.project(project)
    names.slug(slug)
    text = texts.text("message", message)

    def work(tx: Tx) -> Logged:
        tx.about(project, slug)
        fence.check_agent(project, slug, tasks.state(tx, project, slug), tx.caller)
        tasks.add_log_message(tx, project, slug, text)
        tx.note(message=text)
        return Logged(project=project, task=slug, logged=text)

    return Change(f"log on {project}/{slug}", work, text, returns=Logged)


def artifact(*, project: str, slug: str, path: str) -> Change[Registered]:
    """Return the change that registers a path or address as an artifact of a task.

    The result's `new` is False when it was registered before. Committing it raises Superseded as for `log`.
    """
    names.project(project)
    names.slug(slug)
    artifact_path = texts.line("path", path)

    def work(tx: Tx) -> Registered:
        tx.about(project, slug)
        fence.check_agent(project, slug, tasks.state(tx, project, slug), tx.caller)
        new = q.add_artifact(tx, project=project, slug=slug, path=artifact_path, at=tx.at, actor=tx.caller.actor)
        tx.note(artifact=artifact_path)
        return Registered(project=project, task=slug, artifact=artifact_path, new=new == 1)

    return Change(f"register {artifact_path} as artifact of {project}/{slug}", work, returns=Registered)
