"""Run commands one after another; when standard input says stop, end the one that runs and remove their folder.

A byte on standard input, or its end, says stop. A script that its owner starts: `python -I watchdog.py JSON`. The JSON
has `commands`, their folder `directory`, and the `uid` and `gid` under which they run. The owner holds the other end of
standard input, a pipe. The kernel closes the pipe however the owner dies, so that no server and no folder is left.
"""

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGINT

# Seconds that a child has to end after SIGINT.
PATIENCE = 10.0


def is_asked_to_stop(*, within: float | None) -> bool:
    """Return whether standard input brings a byte or its end within this many seconds; None waits without limit.

    The byte is not read, so that the next call returns True at once.
    """
    return bool(select.select([sys.stdin], [], [], within)[0])


def end_child(child: subprocess.Popen[bytes]) -> None:
    """Send SIGINT to a child process, and kill it if it has not ended after 10 seconds; return when it has ended."""
    child.send_signal(SIGINT)  # PostgreSQL shuts down fast, most programs cleanly
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def run_to_end(command: list[str], *, log: Path, uid: int, gid: int) -> bool:
    """Run a command in the folder of `log` until it ends or standard input says stop; return whether it succeeded.

    Its output is appended to `log`. When standard input says stop, the command is ended, and False is returned.
    """
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
    """Run the commands given on the command line as JSON, up to the first that fails, and remove the folder at the end.

    After the last command the file `ended` is created in the folder, which stays until standard input says stop.
    """
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
