"""The scripted agent: a real process that acts as an agent would, without a model.

usage: python -m fleet.testing.scripted [--settings FILE] PROMPT_FILE

Its script is the ```script block of the prompt, or else the whole text. At a later stage it is the block ```script reviewer, fix or
rebase, or else a default; for a worker that succeeds another it is ```script successor, if there is one. One step a line:

    write PATH TEXT     write a file              commit MESSAGE     commit what is new
    log TEXT            fleet log                 artifact PATH      fleet artifact
    done | fail WHY | block WHY                   report, then go on; `done WHY` leaves changes uncommitted
    say TEXT            print a line              wait SECONDS       let time pass
    hang                never end                 exit STATUS        end
    stubborn            ignore SIGTERM and SIGHUP
    daemon              leave a process behind    env NAME           print a variable
    accept | send-back WHY                        a reviewer's verdict
    verdict-once WHY    send it back the first time, accept it the second
    catch-up            merge the integration branch, keeping the own side of a conflict

It calls the hooks of its settings as Claude Code would (fleet.testing.speaking):

    hook EVENT [JSON]   call them, print the answer
    stop [WORDS]        end the turn; when it is sent back, print why and go on
    ask COMMAND         ask for a permission, wait for the verdict, print it
    choose QUESTION | A | B     ask the person, wait, print the answer
    context PERCENT     send it by the status line
    limit SECONDS       a turn that ends at a limit with that reset
    overloaded          a turn that an error of the API ends
    wait-message        work until a message comes with a tool result
    idle                sit at an empty prompt until something is typed
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from fleet.model import FLEET_KIND, FLEET_PREDECESSOR, FLEET_TASK
from fleet.model.branches import INTEGRATION
from fleet.testing.speaking import STEPS, HookCaller

# The script of a later stage when the task's text has no block for it.
DEFAULTS = {"reviewer": "accept\ndone", "fix": "write MENDED mended\ncommit Mend it\ndone", "rebase": "catch-up\ndone"}
_REPORTS = {"fail": ["fail", "--reason"], "block": ["block", "--reason"]}


def script(text: str) -> list[str]:
    """Return the steps in a prompt that this agent has to perform, without empty lines and lines that begin with #.

    The agent's kind (FLEET_KIND), and whether it succeeds another agent (FLEET_PREDECESSOR), decide which block of the
    prompt they are in; the docstring of this module says how.
    """
    kind = os.environ.get(FLEET_KIND, "worker")
    part = "successor" if kind == "worker" and os.environ.get(FLEET_PREDECESSOR) else kind
    own = re.search(rf"^```script {part}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    block = own or (kind not in DEFAULTS and re.search(r"^```script\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = (block[1] if block else DEFAULTS.get(kind, text)).splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def perform(step: str, hooks: HookCaller | None = None) -> None:
    """Perform one step of the script: a verb, and its argument in the rest of the line.

    Exit with status 64 when the verb is unknown. Without `hooks` the steps that call hooks are unknown, too.
    """
    verb, _, rest = step.partition(" ")
    act = getattr(hooks, STEPS[verb]) if verb in STEPS and hooks else globals().get(f"_do_{verb.replace('-', '_')}")
    if act is None:
        print(f"[scripted] unknown step: {step}", flush=True)  # noqa: T201
        sys.exit(64)
    print(f"[scripted] working: {step}", flush=True)  # noqa: T201
    act(rest.strip())


def _run(*words: str) -> None:
    """Run a program; raise CalledProcessError when it fails."""
    subprocess.run(words, check=True)


def _do_write(rest: str) -> None:
    """Write a file; `rest` is PATH TEXT."""
    path, _, text = rest.partition(" ")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(f"{text}\n", encoding="utf-8")


def _do_commit(rest: str) -> None:
    """Commit all changes with the message `rest`, or "work" when it is empty; do nothing without changes."""
    identity = ["-c", "user.name=scripted", "-c", "user.email=scripted@localhost"]
    _run("git", "add", "--all")
    changed = subprocess.run(["git", "diff", "--cached", "--quiet"], check=False).returncode != 0
    if changed:  # else an agent that was killed has committed it before
        _run("git", *identity, "commit", "--quiet", "--message", rest or "work")


def _do_accept(_rest: str) -> None:
    """Accept the work of the task, as its reviewer."""
    _run("fleet", "review", os.environ[FLEET_TASK], "--accept")


def _do_send_back(rest: str) -> None:
    """Send the work of the task back with the comments `rest`, as its reviewer."""
    _run("fleet", "review", os.environ[FLEET_TASK], "--send-back", "--comments", rest)


def _do_verdict_once(rest: str) -> None:
    """Accept the work when the file MENDED exists, which the default script of a fix writes.

    Else send the work back with the comments `rest`.
    """
    if Path("MENDED").exists():
        _do_accept("")
    else:
        _do_send_back(rest)


def _do_catch_up(_rest: str) -> None:
    """Merge the integration branch into the task's branch, keeping the task's own side of a conflict."""
    identity = ["-c", "user.name=scripted", "-c", "user.email=scripted@localhost"]
    _run("git", *identity, "merge", "--quiet", "--no-edit", "--strategy-option=ours", INTEGRATION)


def _do_log(rest: str) -> None:
    _run("fleet", "log", rest)


def _do_artifact(rest: str) -> None:
    _run("fleet", "artifact", rest)


def _do_done(rest: str) -> None:
    """Report the task as done; `rest` is why changes are left uncommitted, or empty."""
    _run("fleet", "done", *(["--leave-uncommitted", rest] if rest else []))


def _do_fail(rest: str) -> None:
    """Report the task as failed, for the reason `rest`, or "told to" when it is empty."""
    _run("fleet", *_REPORTS["fail"], rest or "told to")


def _do_block(rest: str) -> None:
    """Report the task as blocked, for the reason `rest`, or "told to" when it is empty."""
    _run("fleet", *_REPORTS["block"], rest or "told to")


def _do_say(rest: str) -> None:
    print(rest, flush=True)  # noqa: T201


def _do_wait(rest: str) -> None:
    """Wait as many seconds as `rest` says, or one."""
    time.sleep(float(rest or 1))


def _do_hang(_rest: str) -> None:
    """Wait for signals for ever."""
    while True:
        signal.pause()


def _do_exit(rest: str) -> None:
    """Exit with the status `rest`, or 0."""
    sys.exit(int(rest or 0))


def _do_stubborn(_rest: str) -> None:
    """Ignore the signals that ask the agent to exit."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _do_daemon(_rest: str) -> None:
    """Leave a background process behind, in a session of its own."""
    quiet = subprocess.DEVNULL
    subprocess.Popen(["sleep", "100000"], start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)


def _do_env(rest: str) -> None:
    """Print the variable of the environment that `rest` names, and its value."""
    print(f"{rest}={os.environ.get(rest, '')}", flush=True)  # noqa: T201


def main() -> None:
    """Perform all steps of the prompt file; without exactly one such file, or with --help, only print the usage."""
    words = sys.argv[1:]
    settings = words[1] if words[:1] == ["--settings"] else ""
    given = words[2:] if settings else words
    if len(given) != 1 or given[0] == "--help":
        print(__doc__)  # noqa: T201
        return
    hooks = HookCaller(settings)
    for step in script(Path(given[0]).read_text(encoding="utf-8")):
        perform(step, hooks)


if __name__ == "__main__":
    main()
