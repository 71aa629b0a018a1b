"""Crash scenarios of the daemon's duties except those for seats (daemon_scenarios.py).

The daemon tells the person, keeps the home small, looks after agents, and resumes what a reboot interrupted.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.identity import Identity
from fleet.model.settings.setting_names import HOME_FILE
from fleet.store import queries as q
from fleet.testing.crash.scenarios import (
    Scenario,
    add_bystander,
    check_resume,
    leave_dead_agent,
    resume_again,
    until,
)
from fleet.testing.scene import PROJECT, Scene
from fleet.verbs.agents import messages
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.homes.rotate import archived_operations
from fleet.verbs.views.operations import FOREVER
from fleet.world.clock import Clock
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.store.transaction import Tx

_JOURNALS = ("0a1b2c3d-1000.json", "0a1b2c3e-1000.json")
_MOST = 1 << 60
_TEXT = "how far are you"
_LISTENER = """
summary = "writes down what is typed"
program = "sh"
start = {start}
interactive = true

[[screen]]
state = "idle"
match = '^READY\\Z'
"""


# the person is told -----------------------------------------------------------------------------------------------------
def _fail_task(scene: Scene) -> None:
    """Prepare the scene: a failed task, and a program of the person that writes down what it is told."""
    add_bystander(scene)
    command = json.dumps(["sh", "-c", f"cat >>{scene.root}/told; echo >>{scene.root}/told"])
    with Path(scene.home, HOME_FILE).open("a", encoding="utf-8") as config:
        config.write(f'notify.on = ["failed"]\nnotify.channels = ["command"]\nnotify.command = {command}\n')
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="T", slug="t")
        fleet.tasks.claim(project=PROJECT, slug="t")
        fleet.tasks.fail(project=PROJECT, slug="t", reason="it cannot be done")


def _notify(fleet: Fleet) -> None:
    """Do the act that this scenario kills: send the notices that are due."""
    fleet.notices.send_due()


def _notify_again(scene: Scene) -> list[str]:
    """Let the next daemon send what is due; return no faults."""
    with scene.fleet("fleet-daemon") as fleet:
        fleet.notices.send_due()
    return []


def _check_told(scene: Scene) -> list[str]:
    """Return faults unless the person was told of the failure once.

    If the sender died while it told, the person may have been told or not, and the notice has to be `unsure`.
    """
    with scene.fleet() as fleet:
        states = [each.state for each in fleet.notices.list()]
    told = Path(scene.root, "told")
    count = told.read_text(encoding="utf-8").count('"notices"') if told.exists() else 0
    is_right = (states == ["told"] and count == 1) or (states == ["unsure"] and count <= 1)
    return [] if is_right else [f"the notices are {states}, and {count} were told"]


# old records are removed ------------------------------------------------------------------------------------------------
def _leave_old_records(scene: Scene) -> None:
    """Prepare the scene: operations, and journals of long ago."""
    add_bystander(scene)
    with scene.fleet() as fleet:
        for number in range(3):
            fleet.tasks.add(project=PROJECT, title="T", slug=f"t{number}")
        for name in _JOURNALS:
            fleet.files.publish(f"{paths.JOURNALS}/{name}", b"{}")


def _keep_small(fleet: Fleet) -> None:
    """Do the act that this scenario kills: archive old operations, remove old journals, and note the time.

    Do nothing while fleet doubts the clock.
    """
    if not fleet.operations.why_clock_doubted():
        fleet.operations.rotate(older_than="0s")
        fleet.sweep.prune_archive()
        fleet.operations.note_upkeep(fleet.clock.now())


def _keep_small_again(scene: Scene) -> list[str]:
    """Let the next daemon archive, remove and note as `_keep_small` does; return no faults."""
    with scene.fleet("fleet-daemon") as fleet:
        _keep_small(fleet)
    return []


def _check_small(scene: Scene) -> list[str]:
    """Return faults unless each operation is in one place, the old journals are gone, and the time is noted."""
    with scene.fleet() as fleet:
        kept = fleet.store.read(lambda rows: q.operations_after(rows, after=0, until=FOREVER, most=_MOST))
        archived = list(archived_operations(fleet.files))
        newest, left = fleet.operations.newest(), set(fleet.files.names(paths.JOURNALS)) & set(_JOURNALS)
        noted = fleet.operations.last_upkeep()
    numbers = [row.seq for row in (*archived, *kept)]
    faults = [] if numbers == list(range(1, newest + 1)) else [f"the operations are {numbers}"]
    faults += [] if archived else ["nothing was archived"]
    return [*faults, *sorted(left), *([] if noted else ["no time is noted"])]


# an agent without a coordinator is looked after -------------------------------------------------------------------------
def _leave_message(scene: Scene) -> None:
    """Prepare the scene: an agent that writes down what is typed, and a message that waits for it."""
    add_bystander(scene)
    script = f'stty -echo; while echo READY; read -r line; do printf "%s\\n" "$line" >>{scene.root}/heard; done'
    engines = Path(scene.home, "engines")
    engines.mkdir()
    Path(engines, "listener.toml").write_text(
        _LISTENER.format(start=json.dumps(["sh", "-c", script])), encoding="utf-8"
    )
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="T", slug="t")
        ident = fleet.dispatches.start(Wanted(project=PROJECT, slug="t", engine="listener")).id
        until(lambda: "READY" in fleet.agents.screen(ident))
        fleet.commit(messages.send(ident, fleet.ids.dispatch(), _TEXT))


def _look_after(fleet: Fleet) -> None:
    """Do the act that this scenario kills: deliver the messages that wait in the project, which has no coordinator."""
    fleet.agents.look_after(PROJECT)


def _look_after_again(scene: Scene) -> list[str]:
    """Let the next daemon deliver the message, at a time at which the dead process's lease of it is over.

    Wait until the agent has heard it; return no faults.
    """
    with scene.fleet("fleet-daemon") as fleet:
        world = fleet.world
        world.clock = _LaterClock(world.clock.now() + 2 * messages.LEASE)
        fleet.world = world
        fleet.agents.look_after(PROJECT)
    until(Path(scene.root, "heard").exists)
    return []


class _LaterClock(Clock):
    """A clock that stands still at a time."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def now(self) -> int:
        """Return the time at which the clock stands."""
        return self._at


def _check_heard(scene: Scene) -> list[str]:
    """Return faults unless the agent works and has the message: once, or twice under one id, and nothing waits."""
    with scene.fleet() as fleet:
        working = [agent.id for agent in fleet.agents.list()]
        waits = fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=working[0])) if working else []
    lines = Path(scene.root, "heard").read_text(encoding="utf-8").splitlines()
    is_right = len(working) == 1 and not waits and len(lines) in {1, 2} and len(set(lines)) == 1 and _TEXT in lines[0]
    return [] if is_right else [f"agents {working} heard {lines}, and {len(waits)} messages wait"]


# what a reboot interrupted is resumed -----------------------------------------------------------------------------------
def _leave_agent_of_old_boot(scene: Scene) -> None:
    """Prepare the scene: a dead agent whose process, as the store has it, is of an earlier boot."""
    leave_dead_agent(scene)
    with scene.fleet() as fleet:
        row = fleet.context.dispatch(fleet.agents.list()[0].id)
        who = Identity.parse(row.process or "")
        if who is None:
            msg = "the agent was never launched"
            raise RuntimeError(msg)
        old = Identity(host=who.host, boot=f"before-{who.boot}", pid=who.pid, start=who.start)

        def work(tx: Tx) -> int:
            return q.launch_dispatch(tx, id=row.id, before="in_flight", after="in_flight", process=str(old), at=tx.at)

        fleet.store.transact("set the clock of the machine back a boot", work, fleet.caller())


def _resume_after_boot(fleet: Fleet) -> None:
    """Do the act that this scenario kills: resume what a reboot interrupted."""
    fleet.dispatches.resume_after_boot()


def _resume_rest(scene: Scene) -> list[str]:
    """Resume task `t` after the death: first as the next daemon does, then as a person does. Return the faults.

    Contested at the daemon's resume is no fault.
    """
    with scene.fleet("fleet-daemon") as fleet, contextlib.suppress(errors.Contested):
        _resume_after_boot(fleet)
    return resume_again(scene)


def _check_resumed_once(scene: Scene) -> list[str]:
    """Return faults unless exactly one successor works, and `resume_after_boot` finds nothing more to resume."""
    faults = check_resume(scene)
    with scene.fleet("fleet-daemon") as fleet:
        again = fleet.dispatches.resume_after_boot() or fleet.dispatches.resume_after_boot()
    return faults if again is None else [*faults, f"it would be resumed again: {again.as_json()}"]


DUTY_SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="notify", prepare=_fail_task, act=_notify, after_death=_notify_again, check=_check_told),
        Scenario(
            name="upkeep",
            prepare=_leave_old_records,
            act=_keep_small,
            after_death=_keep_small_again,
            check=_check_small,
        ),
        Scenario(
            name="look-after",
            prepare=_leave_message,
            act=_look_after,
            after_death=_look_after_again,
            check=_check_heard,
        ),
        Scenario(
            name="after-boot",
            prepare=_leave_agent_of_old_boot,
            act=_resume_after_boot,
            after_death=_resume_rest,
            check=_check_resumed_once,
        ),
    )
}
