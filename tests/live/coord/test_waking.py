"""A coordinator that is an agent, with a real terminal: the process beside it wakes it, is alone, and ends with it."""

from pathlib import Path

from live.coord.seats import on, until
from staging.stage import FLEET, answer

from fleet.errors.contested import GateHeld
from fleet.verbs.coord import wake

# It ticks, shows its prompt, and says what was typed.
TALKS = """
summary = "a test's agent with a terminal"
program = "sh"
start = ["sh", "-c", "stty -echo; fleet coord tick; while echo READY; read line; do echo heard: $line; fleet coord tick; done"]
interactive = true

[[screen]]
state = "idle"
match = '^READY\\\\Z'
"""


def watches(fleet) -> bool:
    """Whether a process holds the gate of the watch."""
    gate = wake.watch_gate(fleet.context, "p")
    try:
        gate.take()
    except GateHeld:
        return True
    gate.give()
    return False


def test_an_idle_agent_in_the_seat_is_woken_by_one_process_that_ends_with_it(scene):
    Path(scene.home, "engines", "talks.toml").write_text(TALKS.replace("\\\\", "\\"))
    with scene.fleet() as fleet:
        ident = fleet.coord.start(on("talks")).id
        scene.shows(fleet, ident, "READY")
        until(lambda: watches(fleet))
        second = answer(scene.start(FLEET, "coord", "watch", "-p", "p"))
        assert (second.code, "it wakes the coordinator of p" in second.out) == (0, True)
        fleet.tasks.add(project="p", title="T", slug="parser", engine="missing")
        scene.shows(fleet, ident, "task parser is ready")
        fleet.coord.stop("p", "enough")
        until(lambda: not watches(fleet))
