"""Run commands one after another until standard input says stop; then end them and remove their folder.

A script, not a module to import: `python -I watchdog.py JSON`. Its owner holds the other end of the pipe. The kernel
closes the pipe however the owner dies, so that no server and no folder is left behind.
"""

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGINT

PATIENCE = 10.0


def is_asked_to_stop(*, within: float | None) -> bool:
    """Return whether standard input brings a byte or its end within this many seconds; None waits without limit."""
    return bool(select.select([sys.stdin], [], [], within)[0])


def end_child(child: subprocess.Popen[bytes]) -> None:
    """Send SIGINT to a child process; kill it after 10 seconds."""
    child.send_signal(SIGINT)  # PostgreSQL shuts down fast, most programs cleanly
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def run_to_end(command: list[str], *, log: Path, uid: int, gid: int) -> bool:
    """Run a command to its end; return False when it failed, or was ended because standard input said stop."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            user=uid,
            group=gid,
            extra_groups=[] if os.getuid() == 0 else None,  # only root may drop groups
        )
    while child.poll() is None:
        if is_asked_to_stop(within=0.02):
            end_child(child)
            return False
    return child.returncode == 0


def main() -> None:
    """Run the commands given on the command line as JSON, wait until told to stop, and remove the folder."""
    order = json.loads(sys.argv[1])
    directory = Path(order["directory"])
    try:
        for command in order["commands"]:
            if not run_to_end(command, log=directory / "log", uid=order["uid"], gid=order["gid"]):
                break
        (directory / "ended").touch()
        is_asked_to_stop(within=None)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
