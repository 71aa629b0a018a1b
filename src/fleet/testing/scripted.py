"""The scripted agent: a real process that acts as an agent would, without a model.

usage: python -m fleet.testing.scripted PROMPT_FILE

Its script is the ```script block of the prompt, or else the whole text; a step a line:

    write PATH TEXT     write a file              commit MESSAGE     commit everything
    log TEXT            fleet log                 artifact PATH      fleet artifact
    done | fail WHY | block WHY                   report, then go on
    say TEXT            print a line              wait SECONDS       let time pass
    hang                never end                 exit STATUS        end
    stubborn            ignore SIGTERM and SIGHUP
    daemon              leave a process behind    env NAME           print a variable
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

_REPORTS = {"fail": ["fail", "--reason"], "block": ["block", "--reason"]}


def script(text: str) -> list[str]:
    """The steps."""
    block = re.search(r"^```script\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = (block[1] if block else text).splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def perform(step: str) -> None:
    """One step."""
    verb, _, rest = step.partition(" ")
    act = globals().get(f"_do_{verb}")
    if act is None:
        print(f"[scripted] unknown step: {step}", flush=True)  # noqa: T201
        sys.exit(64)
    print(f"[scripted] working: {step}", flush=True)  # noqa: T201
    act(rest.strip())


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def _do_write(rest: str) -> None:
    path, _, text = rest.partition(" ")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(f"{text}\n", encoding="utf-8")


def _do_commit(rest: str) -> None:
    identity = ["-c", "user.name=scripted", "-c", "user.email=scripted@localhost"]
    _run("git", "add", "--all")
    _run("git", *identity, "commit", "--quiet", "--message", rest or "work")


def _do_log(rest: str) -> None:
    _run("fleet", "log", rest)


def _do_artifact(rest: str) -> None:
    _run("fleet", "artifact", rest)


def _do_done(_rest: str) -> None:
    _run("fleet", "done")


def _do_fail(rest: str) -> None:
    _run("fleet", *_REPORTS["fail"], rest or "told to")


def _do_block(rest: str) -> None:
    _run("fleet", *_REPORTS["block"], rest or "told to")


def _do_say(rest: str) -> None:
    print(rest, flush=True)  # noqa: T201


def _do_wait(rest: str) -> None:
    time.sleep(float(rest or 1))


def _do_hang(_rest: str) -> None:
    while True:
        signal.pause()


def _do_exit(rest: str) -> None:
    sys.exit(int(rest or 0))


def _do_stubborn(_rest: str) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _do_daemon(_rest: str) -> None:
    quiet = subprocess.DEVNULL
    subprocess.Popen(["sleep", "100000"], start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)


def _do_env(rest: str) -> None:
    print(f"{rest}={os.environ.get(rest, '')}", flush=True)  # noqa: T201


def main() -> None:
    """Do all steps."""
    if len(sys.argv) != 2 or sys.argv[1] == "--help":  # noqa: PLR2004
        print(__doc__)  # noqa: T201
        return
    for step in script(Path(sys.argv[1]).read_text(encoding="utf-8")):
        perform(step)


if __name__ == "__main__":
    main()
