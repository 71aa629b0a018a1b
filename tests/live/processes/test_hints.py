"""Hints: only that of a dispatch's own death is none of its processes."""

import sys

import pytest

WAITING = "import time; print('here', flush=True); time.sleep(1000)"
OWN, OTHER = "aaaaaaaa", "bbbbbbbb"


def hint(scene, of: str) -> int:
    """A process that carries the mark of one dispatch, and whose words are those of a hint: once it can be seen."""
    words = (sys.executable, "-c", WAITING, "settle", "--hint", f"fleet-{of}")
    child = scene.start(*words, env=scene.around(FLEET_DISPATCH_ID=OWN))
    assert child.stdout.readline() == "here\n"
    return child.pid


@pytest.mark.req("AGENT-7", "SWEEP-12")
def test_a_process_that_speaks_of_the_hint_of_another_is_a_process_of_the_one_whose_mark_it_carries(scene):
    with scene.fleet() as fleet:
        hint(scene, OWN)
        who = fleet.world.processes.identify(hint(scene, OTHER))
        assert fleet.world.processes.marked(OWN) == [who]
        assert fleet.world.processes.marks() == {OWN: [who]}
