"""Note: add a message or an artifact to a task. Additive, so a person may do it beside a living attempt."""

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
    """Say something about a task."""
    names.project(project)
    names.slug(slug)
    kept = texts.text("message", message)

    def work(tx: Tx) -> Logged:
        tx.about(project, slug)
        fence.check_agent(project, slug, tasks.state(tx, project, slug), tx.caller)
        tasks.say(tx, project, slug, kept)
        tx.note(message=kept)
        return Logged(project=project, task=slug, logged=kept)

    return Change(f"log on {project}/{slug}", work, kept, returns=Logged)


def artifact(*, project: str, slug: str, path: str) -> Change[Registered]:
    """Register something that a task made."""
    names.project(project)
    names.slug(slug)
    kept = texts.line("path", path)

    def work(tx: Tx) -> Registered:
        tx.about(project, slug)
        fence.check_agent(project, slug, tasks.state(tx, project, slug), tx.caller)
        new = q.add_artifact(tx, project=project, slug=slug, path=kept, at=tx.at, actor=tx.caller.actor)
        tx.note(artifact=kept)
        return Registered(project=project, task=slug, artifact=kept, new=new == 1)

    return Change(f"register {kept} as artifact of {project}/{slug}", work, returns=Registered)
