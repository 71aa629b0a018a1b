"""The acts that are played while the disk fails: change the store, write a prompt, archive a journal, trust settings, dispatch."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.fast import sqlite
from fleet.testing.crash.watchers import ActBefore
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.journal import archive
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths
from fleet.world.home.trust import trusted_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.testing.simulated import SimulatedScene

_PROMPT = paths.prompt("0123abcd")
_BEFORE, _AFTER = b"the old prompt\n" * 4_000, b"the new prompt\n" * 8_000
_VERIFY = "make verify"
# Claims that may be left: the next dispatch of the task adopts what they guard, or goes on making it.
_BUNDLE = ("worktree ", "worker_dir ")


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultAct:
    """An act that writes, and the function `state`, which says what is written then: "old", "new", or what is wrong.

    After an error, a strict act must have left the old state. An act that is not strict writes a file, and may have
    replaced it before syncing the folder failed: then the file must be complete, and the next attempt makes it durable.
    """

    name: str
    prepare: Callable[[SimulatedScene], None]
    act: Callable[[Fleet], object]
    state: Callable[[SimulatedScene], str]
    is_strict: bool = False

    def again(self, scene: SimulatedScene) -> None:
        """Repeat the act on a working disk, unless it has succeeded."""
        if self.state(scene) != "new":
            self.act(scene.fleet)


class _Stopped(BaseException):
    """Raised to stop a verb once the scene is prepared."""


def _stop() -> None:
    """Raise _Stopped."""
    raise _Stopped


def integrity(scene: SimulatedScene) -> str:
    """Return what SQLite says about the home's database: "ok", or what is wrong."""
    db = sqlite.connect(f"{scene.home}/{paths.DATABASE}")
    try:
        return str(db.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        db.close()


# store ------------------------------------------------------------------------------------------------------------------
def _add_task(scene: SimulatedScene) -> None:
    """Prepare the scene: a task with one entry in its log."""
    scene.fleet.tasks.add(project=PROJECT, title="T", slug="t", description="what to do")
    scene.fleet.tasks.log(project=PROJECT, slug="t", message="before")


def _log(fleet: Fleet) -> None:
    """Do the act during which the disk fails: add a long second entry to the task's log."""
    fleet.tasks.log(project=PROJECT, slug="t", message="after " * 2_000)


def _state_of_log(scene: SimulatedScene) -> str:
    """Return "old" or "new" by the entries of the task's log, or what is wrong with them or the database."""
    if integrity(scene) != "ok":
        return integrity(scene)
    lines = [line.message.split()[0] for line in scene.fleet.tasks.show(project=PROJECT, slug="t").log]
    return {("before",): "old", ("before", "after"): "new"}.get(tuple(lines), f"the log {lines}")


# inbox ------------------------------------------------------------------------------------------------------------------
def _write_prompt(scene: SimulatedScene) -> None:
    """Prepare the scene: a prompt file with the old text."""
    scene.fleet.world.files.publish(_PROMPT, _BEFORE)


def _rewrite_prompt(fleet: Fleet) -> None:
    """Do the act during which the disk fails: replace the prompt file by the new text."""
    fleet.world.files.publish(_PROMPT, _AFTER)


def _state_of_prompt(scene: SimulatedScene) -> str:
    """Return "old" or "new" by the text in the prompt file; when it is neither text, say how long it is."""
    content = scene.fleet.world.files.read(_PROMPT)
    return {_BEFORE: "old", _AFTER: "new"}.get(content, f"a prompt of {len(content)} bytes")


# journal ----------------------------------------------------------------------------------------------------------------
def _leave_unarchived_dispatch(scene: SimulatedScene) -> None:
    """Prepare the scene: a dispatch that has ended and released everything, but is not archived."""
    ident = scene.work("t")
    Path(scene.root, "ended").write_text(ident, encoding="utf-8")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    scene.fleet.tasks.abandon(project=PROJECT, slug="t", override=True)
    with scene.open() as fleet, contextlib.suppress(_Stopped):
        fleet.funnel.watcher = ActBefore(f"publish {paths.JOURNALS}", _stop)
        fleet.tasks.archive(project=PROJECT, slug="t")
        fleet.sweep.run(kill=True)


def _archive(fleet: Fleet) -> None:
    """Do the act during which the disk fails: archive the journal of the ended dispatch."""
    archive(fleet.context, Path(fleet.home).with_name("ended").read_text(encoding="utf-8"))


def _state_of_journal(scene: SimulatedScene) -> str:
    """Return "old" while the dispatch is in the tables, "new" when it is only in the archive, or what is wrong."""
    ident = Path(scene.root, "ended").read_text(encoding="utf-8")
    files = [name for name in scene.fleet.world.files.names(paths.JOURNALS) if name.startswith(ident)]
    texts = [scene.fleet.world.files.read(f"{paths.JOURNALS}/{name}") for name in files]
    if any(json.loads(text)["id"] != ident for text in texts) or len(files) > 1:
        return f"journals {files}"
    listed = [each.id for each in scene.fleet.dispatches.list()]
    return "old" if listed == [ident] else "new" if (listed, len(files)) == ([], 1) else f"{listed} and {files}"


# settings ---------------------------------------------------------------------------------------------------------------
def _write_settings(scene: SimulatedScene) -> None:
    """Prepare the scene: a person trusts the verify command `make`."""
    _trust(scene.fleet, "make")


def _trust(fleet: Fleet, command: str = _VERIFY) -> None:
    """Do the act during which the disk fails: record that a person trusts this verify command."""
    fleet.settings.trust(PROJECT, {"verify": command})


def _state_of_trust(scene: SimulatedScene) -> str:
    """Return "old" or "new" by the verify command that is trusted, or what is trusted instead."""
    values = trusted_values(scene.home, PROJECT, scene.fleet.context.project(PROJECT).path)
    return {"make": "old", _VERIFY: "new"}.get(str(values.get("verify")), f"trusted: {values}")


# dispatch ---------------------------------------------------------------------------------------------------------------
def _add_task_beside_agent(scene: SimulatedScene) -> None:
    """Add a task, and let an agent work on another one.

    With that agent the tmux server runs before the dispatch is played in a child process.
    """
    _add_task(scene)
    scene.work("other")


def _dispatch(fleet: Fleet) -> None:
    """Do the act during which the disk fails: dispatch the task `t` to an agent that only sleeps."""
    fleet.dispatches.start(Wanted(project=PROJECT, slug="t", engine="shell", command=("sleep", "1000")))


def _state_of_dispatch(scene: SimulatedScene) -> str:
    """Return "new" when the agent of task `t` is recorded and each of its claims is live or released.

    Else sweep twice, and return "old" when nothing of the dispatch is left but its bundle, or what is left.
    """
    if "t" in {agent.task for agent in scene.fleet.agents.list()} and not _claims_of_task(scene, {"live", "released"}):
        return "new"
    scene.fleet.sweep.run(kill=True)
    scene.fleet.sweep.run(kill=True)
    claims = [each for each in _claims_of_task(scene, {"released"}) if not each.startswith(_BUNDLE)]
    other = {agent.id for agent in scene.fleet.agents.list()}
    prompts = [name for name in scene.fleet.world.files.names(paths.INBOX) if name.removesuffix(".md") not in other]
    status = scene.fleet.tasks.show(project=PROJECT, slug="t").status
    return "old" if (claims, prompts, status) == ([], [], "open") else f"{status} with {claims} and {prompts}"


def _claims_of_task(scene: SimulatedScene, fine: set[str]) -> list[str]:
    """Return kind and state of each claim of task `t` and its dispatches whose state is not in `fine`."""
    others = {agent.id for agent in scene.fleet.agents.list() if agent.task != "t"}
    held = [claim for claim in scene.fleet.claims.list() if claim.slug != "other" and claim.dispatch not in others]
    return [f"{claim.kind} {claim.state}" for claim in held if claim.state not in fine]


ACTS = {
    act.name: act
    for act in (
        FaultAct(name="store", prepare=_add_task, act=_log, state=_state_of_log, is_strict=True),
        FaultAct(name="inbox", prepare=_write_prompt, act=_rewrite_prompt, state=_state_of_prompt),
        FaultAct(name="journal", prepare=_leave_unarchived_dispatch, act=_archive, state=_state_of_journal),
        FaultAct(name="settings", prepare=_write_settings, act=_trust, state=_state_of_trust),
        FaultAct(name="dispatch", prepare=_add_task_beside_agent, act=_dispatch, state=_state_of_dispatch),
    )
}
