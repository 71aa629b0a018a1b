"""Runs commands one after the other until its standard input says stop, then ends them and removes their directory.

A script, not a module to import: `python -I watchdog.py JSON`. Its owner holds the other end of the pipe, so the kernel
closes it however the owner dies, and nothing is left behind: no server, no directory.
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


def told_to_stop(*, within: float | None) -> bool:
    """Any byte, or the end of the pipe, is a wish to stop."""
    return bool(select.select([sys.stdin], [], [], within)[0])


def end(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(SIGINT)  # a fast shutdown for PostgreSQL, a clean one for most
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def outlast(command: list[str], *, log: Path, uid: int, gid: int) -> bool:
    """True when the command ended well by itself; False when it failed or was told to stop."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            user=uid,
            group=gid,
            extra_groups=[] if os.getuid() == 0 else None,  # only root may drop them
        )
    while child.poll() is None:
        if told_to_stop(within=0.02):
            end(child)
            return False
    return child.returncode == 0


def main() -> None:
    order = json.loads(sys.argv[1])
    directory = Path(order["directory"])
    try:
        for command in order["commands"]:
            if not outlast(command, log=directory / "log", uid=order["uid"], gid=order["gid"]):
                break
        (directory / "ended").touch()
        told_to_stop(within=None)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
