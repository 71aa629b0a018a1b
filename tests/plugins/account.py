"""The account of a test: its home is swept before it is deleted, and whatever lives on in its name fails the run."""

import contextlib
import os
import signal
import time
from pathlib import Path

from fleet.api.fleet import Fleet
from fleet.api.remote import lifecycle
from fleet.errors.families import FleetError

PATIENCE = 60.0
# What a home has as soon as something was started or made in its name: tmux's configuration, prompts, worktrees, jobs.
TRACES = ("tmux.conf", "inbox", "projects", "jobs", "check")


def processes_of(home: str) -> list[int]:
    """Every process that has this home in its environment: agents, tmux servers, fleet itself."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and _is_of(home, pid)]


def _is_of(home: str, pid: int) -> bool:
    try:
        return f"FLEET_HOME={home}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def command_of(pid: int) -> list[str]:
    """The words of a process; programs without their folder."""
    try:
        program, *words = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
    except OSError:
        return []
    return [os.path.basename(program), *words]


def survivors(home: str) -> list[str]:
    """What lives on in the name of a home; what is just exiting is given time."""
    deadline = time.monotonic() + PATIENCE
    while (left := processes_of(home)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return [f"process {pid}: {' '.join(command_of(pid))}" for pid in left]


def closed(home: Path) -> list[str]:
    """Sweep a home that is about to be deleted, if there is anything to sweep. Whoever survives that is named, and ended."""
    if any((home / trace).exists() for trace in TRACES):
        with contextlib.suppress(FleetError, OSError), Fleet.open(str(home), actor="finisher") as fleet:
            fleet.sweep.run(kill=True)
    if (home / "daemon.sock").exists():
        with contextlib.suppress(FleetError, OSError), Fleet.open(str(home), actor="finisher") as fleet:
            lifecycle.stop(fleet)  # one that `fleet up` has started
    left = survivors(str(home))
    for pid in processes_of(str(home)) if left else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left
