"""What a program said is read, however late we come to it."""

import os

from staging.fixtures import Once

from fleet.world.funnel import Funnel
from fleet.world.process.programs import Child, Programs


def ended(pid: int) -> None:
    """Wait for its end, and leave it to whoever started it."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_what_a_program_said_before_it_ended_is_read_though_we_slept_until_the_time_to_read_it_was_over(monkeypatch):
    communicate, over = Child.communicate, iter([-1.0])
    monkeypatch.setattr(
        Child, "communicate", lambda child, given=None, timeout=None: communicate(child, given, next(over, timeout))
    )
    programs = Programs(Funnel(Once("during", "test", ended)))
    done = programs.run("test", ["sh", "-c", "echo said; echo trouble >&2"], limit=60)
    assert (done.status, done.out, done.err) == (0, "said\n", "trouble\n")
