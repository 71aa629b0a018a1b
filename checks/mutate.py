"""Break the source on purpose, in copies, and fail when the tests of the broken row do not notice.

python checks/mutate.py                           try all mutants of checks/mutants/
python checks/mutate.py --only "STORE-4 fence"    those with these words in row, name, area or file; may be repeated
python checks/mutate.py --check                   only say whether the entries are right and every row that needs one has one
python checks/mutate.py --changed --seconds 100   those whose source, entry or tests changed, then others in turn, until time is up

A mutant is caught when a test that bears its row fails on each store that the row names. A test that fails without the mutant,
too, is named as unsound.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mutating import catalogue, choice, report
from mutating.copies import Copy
from mutating.memory import Memory
from mutating.rows import hash_of_tree, read_tests, tests_of_rows
from mutating.trial import Seen, Verdict, run_tests, try_mutant

from fleet.testing.postgres import ThrowawayPostgres

if TYPE_CHECKING:
    from mutating.catalogue import Mutant
    from mutating.rows import Test

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build/mutants"
# Whether a row of checks/mutants/rows.txt without a mutant fails the check.
STRICT = True
# Seconds that a test may take on the unbroken source.
_PATIENCE = 120


def check(mutants: list[Mutant], unreadable: list[str]) -> int:
    """Print what is wrong with the entries; return the exit code."""
    faults = unreadable + catalogue.faults_of(ROOT, mutants)
    has = {mutant.row for mutant in mutants}
    bare = [row for row in catalogue.wanted_rows(ROOT) if row not in has]
    unknown = sorted(set(catalogue.wanted_rows(ROOT)) - set(catalogue.due_rows(ROOT)))
    faults += [f"rows.txt: {row} is not a row that is due" for row in unknown]
    for fault in faults:
        print(f"mutants: {fault}")
    if bare:
        print(f"mutants: {len(bare)} rows of rows.txt have none: {' '.join(bare if STRICT else bare[:10])}")
    return 1 if faults or (bare and STRICT) else 0


class Trials:
    """Tries mutants in several copies at once."""

    def __init__(self, tests: list[Test], memory: Memory, arguments: argparse.Namespace, postgres: str) -> None:
        self.tests, self.memory = tests, memory
        self.limit: float = arguments.timeout
        self.stop = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
        self.copies = [Copy(ROOT, BUILD / f"copy-{number}") for number in range(1, arguments.jobs + 1)]
        for copy in self.copies:
            copy.postgres = postgres
        self.verdicts: list[Verdict] = []

    def run(self, mutants: list[Mutant]) -> list[Verdict]:
        """Try the mutants until all are tried, or time is up."""
        waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in mutants:
            waiting.put(mutant)
        progress = report.Progress(len(mutants))
        with ThreadPoolExecutor(len(self.copies)) as workers:
            for work in [workers.submit(self._work, copy, waiting, progress) for copy in self.copies]:
                work.result()
        return self._judge_soundness()

    def _work(self, copy: Copy, waiting: queue.SimpleQueue[Mutant], progress: report.Progress) -> None:
        copy.refresh()
        while time.monotonic() < self.stop or (copy is self.copies[0] and not self.verdicts):
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            whole = time.monotonic() + self.limit
            # One mutant is always tried to its end, however long that takes.
            end = whole if copy is self.copies[0] and not self.verdicts else min(whole, self.stop)
            verdict = try_mutant(copy, mutant, self.tests, self.memory, end)
            if verdict.kind == "unfinished" and end == whole:
                verdict = replace(verdict, kind="hang")
            self.verdicts.append(verdict)
            progress.show(verdict)

    def _judge_soundness(self) -> list[Verdict]:
        """A test that noticed has to pass on the unbroken source. Run those of which that is not known."""
        sound = self.memory.sound | {test.ident for test in self.tests if test.passed}
        doubtful = sorted({test for verdict in self.verdicts for test in verdict.by.values()} - sound)
        if doubtful:
            print(f"running {len(doubtful)} tests that noticed once more, on the unbroken source", flush=True)
            parts = [doubtful[start :: len(self.copies)] for start in range(len(self.copies))]
            with ThreadPoolExecutor(len(self.copies)) as workers:
                seen = [each for part in workers.map(self._run_unbroken, self.copies, parts) for each in part]
            failed = {each.test for each in seen if each.kind != "passed"}
            self.memory.sound |= {each.test for each in seen} - failed
            sound |= self.memory.sound
        return [self._judged(verdict, sound) for verdict in self.verdicts]

    @staticmethod
    def _run_unbroken(copy: Copy, tests: list[str]) -> list[Seen]:
        end = time.monotonic() + _PATIENCE * len(tests)
        return run_tests(copy, dict.fromkeys(tests, ""), end, until_noticed=False)[1] if tests else []

    @staticmethod
    def _judged(verdict: Verdict, sound: set[str]) -> Verdict:
        wrong = sorted(set(verdict.by.values()) - sound)
        words = f"fails on the unbroken source, too: {', '.join(wrong)}"
        return replace(verdict, kind="unsound", words=words) if wrong else verdict


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="WORDS")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--seconds", type=float, default=0, help="start no mutant after this time")
    parser.add_argument("--seed", default="", help="the order of those that did not change; default: today")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one mutant")
    parser.add_argument("--outcomes", type=Path, help="what `make conformance` has just written: which tests pass")
    parser.add_argument("--json", type=Path, help="write the verdicts to this file")
    return parser.parse_args()


def chosen(mutants: list[Mutant], tests: list[Test], arguments: argparse.Namespace) -> list[Mutant]:
    """Return the mutants to try, in order."""
    if not arguments.changed:
        return mutants
    seed = arguments.seed or time.strftime("%Y-%m-%d", time.gmtime())
    first = choice.touched(mutants, tests, choice.changed_files(ROOT))
    print(f"mutants: {len(first)} of {len(mutants)} changed; the others in turn, replayed by --seed {seed}")
    return choice.in_turn(mutants, first, seed)


def with_outcomes(tests: list[Test], outcomes: Path | None) -> list[Test]:
    """Return the tests with what the last run knows of each: its outcome and its seconds. A run may leave tests out."""
    ran = {test.ident: test for test in read_tests(outcomes)} if outcomes else {}
    return [ran.get(test.ident, test) for test in tests]


def main() -> int:
    """Check or try; return the exit code."""
    arguments = parsed()
    mutants, unreadable = catalogue.read(ROOT)
    if check(mutants, unreadable):
        return 1
    if arguments.check:
        return 0
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("mutants: another run uses the copies; wait for it")
            return 1
        return try_mutants(mutants, arguments)


def try_mutants(mutants: list[Mutant], arguments: argparse.Namespace) -> int:
    """Try the mutants that were asked for, and print what was seen; return the exit code."""
    if arguments.only:
        names = {mutant.name for words in arguments.only for mutant in choice.matching(mutants, words)}
        mutants = [mutant for mutant in mutants if mutant.name in names]
    rows = {mutant.row for mutant in mutants}
    tests = with_outcomes(tests_of_rows(ROOT, BUILD, rows), arguments.outcomes)
    memory = Memory(BUILD / "memory.json", hash_of_tree(ROOT))
    memory.seconds |= {test.ident: test.seconds for test in tests if test.seconds is not None}
    try:
        with ThrowawayPostgres() as server:
            verdicts = Trials(tests, memory, arguments, str(server.directory)).run(chosen(mutants, tests, arguments))
    finally:
        memory.save()
    report.print_table(verdicts)
    if arguments.json:
        report.write_json(verdicts, arguments.json)
    return 1 if any(verdict.kind in report.FAILING for verdict in verdicts) or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
