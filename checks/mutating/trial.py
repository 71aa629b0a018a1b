"""Try one mutant in a copy: run the tests of its row until one has noticed on each store that counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from mutating.copies import DoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mutating.catalogue import Mutant
    from mutating.copies import Copy
    from mutating.memory import Memory
    from mutating.rows import Test

# survived: its tests ran to their end and passed; misnamed: caught, but by a test that it does not name; unrun: some of its tests
# did neither pass nor fail; unfit: it cannot be tried; unfinished: time was up; unsound: the test fails without it, too.
Kind = Literal["caught", "survived", "misnamed", "hang", "unrun", "unsound", "unfit", "unfinished"]
_UNWANTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of trying a mutant.

    `by` has the test that noticed on each store; `words` say why the mutant is not caught; `sound`: the tests in `by`
    are known to pass on the unbroken source.
    """

    mutant: Mutant
    kind: Kind
    by: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    words: str = ""
    sound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of a test's call, or of its setup or teardown if that did not pass: a line of checks/mutant_tests.py.

    `need` is the store for which the test counts, `kind` is passed, skipped, noticed, hang or error.
    """

    test: str
    need: str
    kind: str
    seconds: float
    words: str


def need_served(test: Test, stores: Iterable[str]) -> str | None:
    """Return the store for which a test counts, of those that are needed; None when it counts for none.

    When "any" is needed, each test counts for "any". A test that chooses its store itself counts for SQLite.
    """
    store = "sqlite" if test.store == "any" else test.store
    return "any" if "any" in stores else store if store in stores else None


def rounds(mutant: Mutant, tests: list[Test], memory: Memory) -> list[dict[str, str]]:
    """Return the tests to run in each round, with the store for which each counts: the tests that the mutant names,
    then the row's others.

    In each round the cheapest tests come first.
    """
    needs = {
        test.ident: need
        for test in sorted(tests, key=lambda test: memory.expected(test.ident))
        if mutant.row in test.rows and (need := need_served(test, mutant.stores))
    }
    named = {test: need for test, need in needs.items() if _is_named(test, mutant.tests)}
    return [named, {test: need for test, need in needs.items() if test not in named}]


def _is_named(test: str, names: tuple[str, ...]) -> bool:
    return any(test == name or test.startswith((f"{name}[", f"{name}::")) for name in names)


def unmarked_names(mutant: Mutant, tests: list[Test]) -> list[str]:
    """Return the tests that the mutant names and that do not bear its row."""
    marked = [test.ident for test in tests if mutant.row in test.rows]
    return [name for name in mutant.tests if not any(_is_named(test, (name,)) for test in marked)]


def try_mutant(copy: Copy, mutant: Mutant, tests: list[Test], memory: Memory, end: float) -> Verdict:
    """Apply a mutant to the copy and run its row's tests, at the latest until `end`; return the verdict.

    `end` is a time of the monotonic clock. The verdict is "unfit", without a run, when a test that the mutant names
    does not bear its row, or when a store has no test.
    """
    if wrong := unmarked_names(mutant, tests):
        return Verdict(mutant=mutant, kind="unfit", words=f"does not bear {mutant.row}: {', '.join(wrong)}")
    plan = rounds(mutant, tests, memory)
    if missing := set(mutant.stores) - {need for each in plan for need in each.values()}:
        return Verdict(mutant=mutant, kind="unfit", words=f"no test of the row on {', '.join(sorted(missing))}")
    return play(copy, mutant, plan, memory, end)


def play(copy: Copy, mutant: Mutant, plan: list[dict[str, str]], memory: Memory, end: float) -> Verdict:
    """Apply a mutant to the copy and run the rounds of tests until `end`; return the verdict."""
    began = time.monotonic()
    try:
        with copy.broken_by(mutant):
            verdict = _play(copy, mutant, plan, memory, end)
    except DoesNotApply as why:
        return Verdict(mutant=mutant, kind="unfit", words=str(why))
    return replace(verdict, seconds=time.monotonic() - began)


def _play(copy: Copy, mutant: Mutant, plan: list[dict[str, str]], memory: Memory, end: float) -> Verdict:
    """Run the rounds of tests on the broken copy until each store has noticed; return the verdict."""
    by: dict[str, str] = {}
    seen: list[Seen] = []
    for each in plan:
        needs = {test: need for test, need in each.items() if need not in by}
        ended, lines = run_tests(copy, needs, end, until_noticed=True) if needs else (True, [])
        seen += lines
        memory.seconds |= {line.test: line.seconds for line in lines if line.kind == "passed"}
        by |= {line.need: line.test for line in reversed(lines) if line.kind == "noticed"}
        if set(by) == set(mutant.stores):
            return _caught(mutant, by)
        if not ended:
            return Verdict(mutant=mutant, kind="unfinished", by=by, words=_unnoticed(mutant, by, seen))
    wanted = {test for each in plan for test, need in each.items() if need not in by}
    return Verdict(mutant=mutant, kind=_kind_of_uncaught(wanted, seen), by=by, words=_unnoticed(mutant, by, seen))


def _caught(mutant: Mutant, by: dict[str, str]) -> Verdict:
    """Return the verdict on a mutant that was noticed on each store: caught, or misnamed.

    It is misnamed when on some store the test that noticed is none that the mutant names.
    """
    others = [test for test in by.values() if not _is_named(test, mutant.tests)]
    words = f"it names no test that notices; caught by {', '.join(others)}" if others else ""
    return Verdict(mutant=mutant, kind="misnamed" if others else "caught", by=by, words=words)


def _kind_of_uncaught(wanted: set[str], seen: list[Seen]) -> Kind:
    """Return the kind of verdict on a mutant that not every store noticed: hang, survived or unrun."""
    if any(line.kind == "hang" for line in seen):
        return "hang"
    passed = {line.test for line in seen if line.kind == "passed"}
    failed = {line.test for line in seen if line.kind == "error"}
    return "survived" if wanted <= passed - failed else "unrun"


def _unnoticed(mutant: Mutant, by: dict[str, str], seen: list[Seen]) -> str:
    """Return on which stores a mutant was not noticed, and the first odd result of a test, as text."""
    where = ", ".join(store for store in mutant.stores if store not in by)
    odd = {"error", "hang", "skipped"}
    other = next((f"; {line.kind}: {line.test}: {line.words}" for line in seen if line.kind in odd), "")
    return f"not noticed on {where} ({len({line.test for line in seen})} tests){other}"


def run_tests(copy: Copy, needs: dict[str, str], end: float, *, until_noticed: bool) -> tuple[bool, list[Seen]]:
    """Run tests in the copy until `end`; return whether they ended in time, and the results.

    `needs` has the tests, each with the store for which it counts. With `until_noticed`, no test is run for a store on
    which another one has noticed.
    """
    folder = copy.place / ".build"
    folder.mkdir(exist_ok=True)
    order, out = folder / "order.json", folder / "seen.jsonl"
    order.write_text(json.dumps({"needs": needs, "until_noticed": until_noticed}), encoding="utf-8")
    out.write_text("", encoding="utf-8")
    words = [str(copy.python), "checks/mutant_tests.py", "run", str(order), str(out)]
    environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    if copy.postgres:
        environment["FLEET_TESTS_POSTGRES"] = copy.postgres
    with (folder / "pytest.log").open("w", encoding="utf-8") as log:
        run = subprocess.Popen(
            words, cwd=copy.place, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
        ended = _wait(run, end, copy.grace)
    # A run that is killed may leave half a line.
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    return ended, [Seen(**json.loads(line)) for line in lines if line.endswith("\n")]


def _wait(run: subprocess.Popen[bytes], end: float, grace: float) -> bool:
    """Wait until the run ends; return False if its time is up, after interrupting and if necessary killing it."""
    try:
        run.wait(max(1.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            os.killpg(run.pid, number)
            try:
                run.wait(grace)
            except subprocess.TimeoutExpired:
                continue
            return False
        return False
    return True
