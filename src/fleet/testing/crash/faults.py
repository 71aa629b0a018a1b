"""Faults of the disk: let the n-th system call of a kind fail while fleet writes, by strace; then check the answer and
the files.

A child is forked from a simulated scene, strace attaches to it and injects one failure, and the child tells how its act
ended. Only the child's own calls fail, not those of git, whose failures fleet handles anyway.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.testing.crash.fault_acts import ACTS
from fleet.testing.crash.harness import part_of
from fleet.testing.simulated import SimulatedScene
from fleet.world.files import unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.testing.crash.fault_acts import FaultAct
    from fleet.testing.simulated.processes import Process

# Calls that can fail, and how: together they are every way in which fleet and SQLite write a file.
CALLS = ("fsync", "fdatasync", "rename", "renameat", "renameat2", "write", "pwrite64", "ftruncate", "unlink")
FAILURES = ("EIO", "ENOSPC")
# More ids than the child may have used.
_MANY = 1_000
_ATTACHED = "attached"
_ANY_TRACER = ctypes.c_ulong(-1)
_PR_SET_PTRACER = 0x59616D61
# The child marks the end of its act by a write to no file, which shows in the trace.
_END = re.compile(r"^write\(-1,", re.MULTILINE)
_CALL = re.compile(r"^(\w+)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """One system call that failed, how the act ended, and the faults that were found afterwards.

    `number` says which of the act's calls of the kind `call` failed, from 1.
    """

    act: str
    call: str
    error: str
    number: int
    # How many faults the act has in all, of which a part may be played.
    of: int
    # Whether the act reached the call, and the call was made to fail.
    injected: bool
    # The class of the error that the act raised; empty when it succeeded.
    answer: str
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    """How the act in the child ended, and the output of strace.

    `kind` and `text` are the class and the text of the act's error; both are empty when it succeeded.
    """

    kind: str
    text: str
    trace: str

    @property
    def calls(self) -> Counter[str]:
        """Return how many system calls of each kind the act made."""
        return Counter(_CALL.findall(self._of_act))

    @property
    def injected(self) -> bool:
        """Return whether strace made a call of the act fail."""
        return "(INJECTED)" in self._of_act

    @property
    def _of_act(self) -> str:
        """Return what strace printed while the act was played, without what came after it."""
        return _END.split(self.trace)[0]


def why_not() -> str:
    """Return why no fault can be injected on this machine; empty when it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    child = subprocess.Popen(["sleep", "60"])
    try:
        tracer = _tracer(child.pid, os.devnull, [])
        is_attached = _is_attached(tracer)
        tracer.terminate()
        tracer.communicate()
    finally:
        child.kill()
        child.wait()
    return "" if is_attached else "strace may not trace other processes here"


def fault_cases(name: str, *, every: int, offset: int) -> Iterator[FaultCase]:
    """Play the act `name` once for each call and error that strace can inject into it, and yield the case of each.

    Play only every `every`-th of them, beginning at `offset`.
    """
    act = ACTS[name]
    with SimulatedScene() as scene:
        act.prepare(scene)
        counts = _play(scene, act, "").calls
    wanted = [(call, error, number) for call in CALLS for error in FAILURES for number in range(1, counts[call] + 1)]
    for call, error, number in part_of(wanted, every, offset):
        yield _run(act, call, error, number, of=len(wanted))


def _run(act: FaultAct, call: str, error: str, number: int, *, of: int) -> FaultCase:
    """Play an act in which call `number` of the system call `call` fails with `error`; return the case."""
    with SimulatedScene() as scene:
        act.prepare(scene)
        played = _play(scene, act, f"{call}:error={error}:when={number}")
        return FaultCase(
            act=act.name,
            call=call,
            error=error,
            number=number,
            of=of,
            injected=played.injected,
            answer=played.kind,
            faults=_faults(scene, act, played),
        )


def _faults(scene: SimulatedScene, act: FaultAct, played: _Played) -> list[str]:
    """Return what is wrong after a call of the system was made to fail in an act; empty when all is well.

    Checked are: the error is one of fleet, no temporary file is left, the written state agrees with the answer, and the
    same act succeeds when it is tried again.
    """
    faults = [] if issubclass(_class_of(played.kind), errors.FleetError) else [f"no error of fleet: {played.text}"]
    left = [name for _folder, _inner, names in os.walk(scene.home) for name in names if unfinished.is_temporary(name)]
    faults += [f"a temporary file is left: {name}" for name in left]
    scene.fleet = scene.open()
    state = act.state(scene)
    allowed = {"new"} if not played.kind else {"old"} if act.is_strict else {"old", "new"}
    if state not in allowed:
        faults.append(f"told {played.text or 'that it succeeded'!r}, and what is written is {state}")
    try:
        act.again(scene)
    except errors.FleetError as error:
        return [*faults, f"the next try failed: {error}"]
    after = act.state(scene)
    return faults if after == "new" else [*faults, f"after the next try: {after}"]


def _class_of(kind: str) -> type[BaseException]:
    """Return fleet's error class of this name; FleetError for '' (success), Exception when fleet has no such class."""
    return getattr(errors, kind, Exception) if kind else errors.FleetError


def _play(scene: SimulatedScene, act: FaultAct, inject: str) -> _Played:
    """Perform an act in a child to which strace has attached; return how it ended.

    `inject` tells strace which call to let fail; "" for none. The scene's own fleet is closed first, so that the child
    is alone.
    """
    scene.fleet.close()
    process = scene.machine.table.spawn(scene.machine.shell.pid, ["fleet"])
    go, ready = os.pipe()
    result, answer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready)
        _act_in_child(scene, act, process, (go, answer))
    os.close(go)
    os.close(answer)
    trace = f"{scene.root}/trace"
    words = ["-e", f"trace={','.join(CALLS)}", *(["-e", f"inject={inject}"] if inject else [])]
    _let_go(child, _tracer(child, trace, words), ready)
    scene.machine.table.exit(process)
    scene.machine.ids.skip(_MANY)
    with os.fdopen(result, "rb") as pipe:
        kind, text = json.loads(pipe.read() or b'["none", "the child died"]')
    with open(trace, encoding="utf-8", errors="replace") as file:
        return _Played(kind=kind, text=text, trace=file.read())


def _let_go(child: int, tracer: subprocess.Popen[str], ready: int) -> None:
    """Write to the pipe `ready`, so that the child acts, once strace has attached to it; wait until both have ended.

    Raise RuntimeError, and kill the child, when strace cannot attach.
    """
    try:
        if not _is_attached(tracer):
            os.kill(child, signal.SIGKILL)
            msg = "strace could not attach"
            raise RuntimeError(msg)
        os.write(ready, b"!")
    finally:
        os.close(ready)
        os.waitpid(child, 0)
        tracer.communicate()


def _act_in_child(scene: SimulatedScene, act: FaultAct, process: Process, pipes: tuple[int, int]) -> None:
    """In the child: wait for strace, perform the act, report how it ended, and exit.

    `pipes` are the one to wait at and the one to report to.
    """
    go, answer = pipes
    try:
        # Where only a parent may trace a process, let any process trace this one.
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY_TRACER)
        if os.read(go, 1):
            _say_how_it_ended(scene, act, process, answer)
    finally:
        os._exit(0)


def _say_how_it_ended(scene: SimulatedScene, act: FaultAct, process: Process, answer: int) -> None:
    """Perform the act and write the class and text of its error, both empty for success, to the pipe."""
    kind = text = ""
    try:
        with scene.open(process=process) as fleet:
            act.act(fleet)
    except BaseException as error:  # noqa: BLE001 - the parent is told
        kind, text = type(error).__name__, str(error)
    with suppress(OSError):
        os.write(-1, b"")
    os.write(answer, json.dumps([kind, text]).encode())


def _tracer(pid: int, output: str, words: list[str]) -> subprocess.Popen[str]:
    """Start strace on a running process, with the further options `words`, and its output in the file `output`."""
    line = ["strace", "-p", str(pid), "-o", output, *words]
    return subprocess.Popen(line, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def _is_attached(tracer: subprocess.Popen[str]) -> bool:
    """Wait until strace has attached; return False when it refuses."""
    return tracer.stderr is not None and any(_ATTACHED in line for line in iter(tracer.stderr.readline, ""))
