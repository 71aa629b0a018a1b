"""Try mutants in several copies at once: all that are wanted, or the part that CI has time for."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from mutating.part import MOST_SLOW
from mutating.trial import Seen, Verdict, play, run_tests, try_mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from mutating.catalogue import Mutant
    from mutating.copies import Copy
    from mutating.ledger import Ledger
    from mutating.memory import Memory
    from mutating.part import Candidate
    from mutating.report import Progress
    from mutating.rows import Test

Work = TypeVar("Work")
# Seconds that a test may take on the unbroken source, and how many of them one run of pytest takes.
_PATIENCE, _TOGETHER = 120, 10


def in_copies(copies: list[Copy], works: list[Work], stop: float, do: Callable[[Copy, Work], object]) -> None:
    """Do each piece of work in a copy that is free, and start none after `stop`. Ctrl+C lets those that have started end."""
    waiting: queue.SimpleQueue[Work] = queue.SimpleQueue()
    for work in works:
        waiting.put(work)
    interrupted = threading.Event()

    def run(copy: Copy) -> None:
        while time.monotonic() < stop and not interrupted.is_set():
            try:
                work = waiting.get_nowait()
            except queue.Empty:
                return
            do(copy, work)

    with ThreadPoolExecutor(len(copies)) as workers:
        try:
            for each in [workers.submit(run, copy) for copy in copies]:
                each.result()
        except KeyboardInterrupt:
            interrupted.set()
            print("\nmutants: ending those at hand; the same command goes on from here", flush=True)


class Whole:
    """Try mutants with all tests of their rows, each for `limit` seconds at most, and add each verdict to the ledger.

    A mutant whose tests take longer has the verdict "hang".
    """

    def __init__(self, copies: list[Copy], tests: list[Test], memory: Memory, ledger: Ledger, limit: float) -> None:
        self.copies, self.tests, self.memory, self.ledger, self.limit = copies, tests, memory, ledger, limit
        self.verdicts: list[Verdict] = []

    def run(self, mutants: list[Mutant], stop: float, progress: Progress) -> list[Verdict]:
        """Return the verdicts of earlier runs that still hold, and those of this run, which starts no trial after `stop`."""
        kept = [verdict for mutant in mutants if (verdict := self.ledger.verdict_on(mutant))]
        known = {verdict.mutant.name for verdict in kept}
        waiting = in_turn([each for each in mutants if each.name not in known], self.ledger)
        progress.start(kept)

        def do(copy: Copy, mutant: Mutant) -> None:
            verdict = try_mutant(copy, mutant, self.tests, self.memory, time.monotonic() + self.limit)
            verdict = replace(verdict, kind="hang") if verdict.kind == "unfinished" else verdict
            self.ledger.add(verdict)
            self.verdicts.append(verdict)
            progress.show(verdict)

        in_copies(self.copies, waiting, stop, do)
        return self._judge_soundness(kept + self.verdicts)

    def _judge_soundness(self, verdicts: list[Verdict]) -> list[Verdict]:
        """Run the tests that noticed on the unbroken source, if that was not done yet; return the verdicts, marked sound or unsound."""
        sound = self.memory.sound | {test.ident for test in self.tests if test.passed}
        doubtful = sorted({test for each in verdicts if not each.sound for test in each.by.values()} - sound)
        seen: list[Seen] = []
        if doubtful:
            print(f"running {len(doubtful)} tests that noticed once more, on the unbroken source", flush=True)
            parts = [doubtful[start : start + _TOGETHER] for start in range(0, len(doubtful), _TOGETHER)]

            def run(copy: Copy, part: list[str]) -> None:
                seen.extend(run_unbroken(copy, part, time.monotonic() + _PATIENCE * len(part)))

            in_copies(self.copies, parts, float("inf"), run)
        failed = {each.test for each in seen if each.kind != "passed"}
        sound |= {each.test for each in seen} - failed
        self.memory.sound |= sound
        return [self._judged(verdict, sound, failed) for verdict in verdicts]

    def _judged(self, verdict: Verdict, sound: set[str], failed: set[str]) -> Verdict:
        """Return a verdict marked as sound or unsound, by which of its tests pass and fail on the unbroken source.

        Add the marked verdict to the ledger. Return the verdict unchanged if it is sound already, or if nothing is
        known of one of its tests.
        """
        by = set(verdict.by.values())
        if verdict.sound or not by <= sound | failed:
            return verdict
        words = f"fails on the unbroken source, too: {', '.join(sorted(by & failed))}"
        judged = replace(verdict, kind="unsound", words=words) if by & failed else replace(verdict, sound=True)
        self.ledger.add(judged)
        return judged


class Part:
    """Try candidates with the tests that they name, until `stop`."""

    def __init__(self, copies: list[Copy], memory: Memory, stop: float) -> None:
        self.copies, self.memory, self.stop = copies, memory, stop
        self.verdicts: list[Verdict] = []

    def run(self, candidates: list[Candidate]) -> list[Verdict]:
        """Return the verdict on each candidate for which there was time."""
        in_copies(self.copies, candidates, self.stop, self._try)
        return self.verdicts

    def _try(self, copy: Copy, candidate: Candidate) -> None:
        """Try a candidate if there is time, and once more if it survived; keep the verdict.

        If a mutant survives of which some named tests did not pass in the run before, its verdict is "unrun".
        """
        if time.monotonic() + candidate.seconds > self.stop:
            return
        verdict = self._play(copy, candidate)
        if verdict.kind == "survived":
            verdict = self._play(copy, candidate)
        if verdict.kind == "survived" and candidate.absent:
            words = f"{verdict.words}; not seen to pass in the run before: {', '.join(candidate.absent)}"
            verdict = replace(verdict, kind="unrun", words=words)
        self.verdicts.append(verdict)

    def _play(self, copy: Copy, candidate: Candidate) -> Verdict:
        end = min(self.stop, time.monotonic() + MOST_SLOW) if candidate.mutant.slow else self.stop
        return play(copy, candidate.mutant, [candidate.needs], self.memory, end)


def in_turn(mutants: list[Mutant], ledger: Ledger) -> list[Mutant]:
    """Return the mutants with each area in turn, so that a part of the run covers all areas; those tried and not caught come last."""
    seen: Counter[str] = Counter()
    places = {}
    for mutant in mutants:
        seen[mutant.area] += 1
        places[mutant.name] = seen[mutant.area]
    return sorted(mutants, key=lambda mutant: (ledger.has(mutant), places[mutant.name]))


def run_unbroken(copy: Copy, tests: list[str], end: float) -> list[Seen]:
    """Run tests on the unbroken source in a copy, until `end`; return the results."""
    return run_tests(copy, dict.fromkeys(tests, ""), end, until_noticed=False)[1]
