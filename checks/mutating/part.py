"""Choose the part of the mutants that CI tries for a fixed time, right after the tests, and judge it.

What changed: on a branch, the files that differ from where it left main; on main, those that differ from the last commit that is a
day older than the newest one (or from the commit before, in a younger history). So a fresh clone of main with its history knows
what the last day brought. `--since REVISION` says otherwise. A clone without history has changed nothing.

What is tried: mutants whose source, entry or tests changed, for two thirds of the time at most, and then others, all in an order
that the seed decides; the seed is the newest commit, unless it is given. Of each, only the tests that it names run, and of these only
those that passed in the run whose outcomes are given. A mutant that is marked as slow is tried when it changed, after the others that
changed, and for half a minute at most. What changed and was not tried, or not to its end, is named: it is left to `make mutants`.

What fails: a mutant that does not apply, or whose tests all ran to their end and passed, twice. A mutant for which there was no time, a
test that hangs, one that does not start, and one that the run before left out or that did not pass there are said, and fail nothing:
they tell about the machine or the run.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mutating.trial import rounds

if TYPE_CHECKING:
    from mutating.catalogue import Mutant
    from mutating.memory import Memory
    from mutating.rows import Test
    from mutating.trial import Verdict

# The kinds of verdicts that fail CI's part; a whole run has its own (report.py).
FAILING = frozenset({"survived", "unfit"})
# Seconds that pytest takes to start and to collect the tests of one mutant.
START = 1.5
# Seconds that a mutant may be expected to take, when it changed and when not.
MOST_CHANGED, MOST = 15.0, 6.0
# Seconds that a slow mutant gets at most, and how many names of those that were left are printed.
MOST_SLOW, MOST_NAMES = 30.0, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A mutant with the stores on which its tests can run, these tests, and how many seconds they are expected to take.

    `needs` has the tests, each with the store for which it counts. `absent` has those of its tests that the run before
    left out or that did not pass there; they do not run.
    """

    mutant: Mutant
    needs: dict[str, str]
    seconds: float
    absent: tuple[str, ...] = ()


def candidates_of(mutants: list[Mutant], tests: list[Test], memory: Memory) -> list[Candidate]:
    """Return a candidate for each mutant that names a test which passed in the run before, on a store of the mutant.

    A slow mutant is expected to take MOST_CHANGED seconds or more: its tests wait before they notice, so the time that
    they take on the unbroken source says little.
    """
    of_row: dict[str, list[Test]] = defaultdict(list)
    for test in tests:
        for row in test.rows:
            of_row[row].append(test)
    passed = {test.ident for test in tests if test.passed}
    found = []
    for mutant in mutants:
        named = rounds(mutant, of_row[mutant.row], memory)[0]
        needs = {test: need for test, need in named.items() if test in passed}
        stores = tuple(store for store in mutant.stores if store in needs.values())
        if stores:
            absent = tuple(test for test in _with_twins(named, stores) if test not in passed)
            seconds = START + sum(memory.expected(test) for test in needs)
            seconds = max(seconds, MOST_CHANGED) if mutant.slow else seconds
            found.append(Candidate(mutant=replace(mutant, stores=stores), needs=needs, seconds=seconds, absent=absent))
    return found


def _with_twins(named: dict[str, str], stores: tuple[str, ...]) -> set[str]:
    """Return the named tests for these stores, and for PostgreSQL the twins of those on SQLite.

    The run before may have left a twin out (tests/plugins/part.py).
    """
    twins = {test.replace("[sqlite", "[postgres") for test in named} if "postgres" in stores else set()
    return twins | {test for test, need in named.items() if need in stores}


def choose(candidates: list[Candidate], changed: set[str], seed: str, seconds: float) -> list[Candidate]:
    """Return the candidates to try within the time, in an order that the seed decides.

    Changed mutants come first, for at most two thirds of the time, and the slow ones last among them. A changed mutant
    that is expected to take more than MOST_CHANGED seconds is left out, and any other that takes more than MOST.
    """
    order = random.Random(seed).sample(candidates, len(candidates))  # noqa: S311 - an order, not a secret
    first = [each for each in order if each.mutant.name in changed and each.seconds <= MOST_CHANGED]
    others = [each for each in order if each.mutant.name not in changed and each.seconds <= MOST]
    first.sort(key=lambda each: each.mutant.slow)
    taken = _within(first, seconds * 2 / 3)
    return taken + _within(others, seconds - sum(each.seconds for each in taken))


def _within(candidates: list[Candidate], seconds: float) -> list[Candidate]:
    """Return the candidates, in order, that fit into this many seconds together."""
    taken = []
    for each in candidates:
        if each.seconds <= seconds:
            seconds -= each.seconds
            taken.append(each)
    return taken


def left_over(changed: list[Mutant], candidates: list[Candidate], verdicts: list[Verdict]) -> list[str]:
    """Return a line for each changed mutant that was not tried, or not to its end, with the reason."""
    kinds = {verdict.mutant.name: verdict.kind for verdict in verdicts}
    seconds = {each.mutant.name: each.seconds for each in candidates}
    return [
        f"{mutant.row} {mutant.name}: {_why_left(mutant, kinds.get(mutant.name), seconds.get(mutant.name))}"
        for mutant in changed
        if kinds.get(mutant.name, "unfinished") == "unfinished"
    ]


def _why_left(mutant: Mutant, kind: str | None, seconds: float | None) -> str:
    """Return why a mutant was not tried, or not to its end, as text.

    `kind` is that of its verdict, None without one; `seconds` is what its tests take, None when they cannot run.
    """
    if seconds is None:
        return "none of its tests has passed in the run before"
    if kind is not None:
        return "its tests did not end in time"
    return f"its tests take {seconds:.0f} s" if seconds > MOST_CHANGED and not mutant.slow else "there was no time"
