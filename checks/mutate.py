"""Break the source on purpose, in copies, and fail when the tests of the broken row do not notice.

python checks/mutate.py                           try all mutants of checks/mutants/, and go on where an earlier run was interrupted
python checks/mutate.py --again                   all of them, also those that an earlier run has seen caught
python checks/mutate.py --only "STORE-4 fence"    those with these words in row, name, area or file; may be repeated
python checks/mutate.py --seconds 600             start none after this time; the next run goes on
python checks/mutate.py --check                   only say whether the entries are right and every row that needs one has one
python checks/mutate.py --part 60                 CI's part: for a minute, never longer (checks/mutating/part.py says which)

A mutant is caught when a test that bears its row, and that the mutant names, fails on each store that the row names. A test that
fails without the mutant, too, is named as unsound.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mutating import catalogue, choice, part, report
from mutating.copies import Copy
from mutating.ledger import Ledger
from mutating.memory import Memory
from mutating.rows import hash_of_shared, hash_of_tree, read_tests, tests_of_rows
from mutating.trials import Part, Whole, run_unbroken

from fleet.testing.postgres import PostgresUnavailable, ThrowawayPostgres

if TYPE_CHECKING:
    from mutating.catalogue import Mutant
    from mutating.part import Candidate
    from mutating.rows import Test
    from mutating.trial import Verdict

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build/mutants"
BEGAN = time.monotonic()
# Whether a row of checks/mutants/rows.txt without a mutant fails the check.
STRICT = True
# Seconds of CI's part in which nothing runs any more: a run whose time is up is ended, the table is printed.
RESERVE = 6.0


def check(mutants: list[Mutant], unreadable: list[str]) -> int:
    """Print what is wrong with the entries of mutants; return the exit code."""
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


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="WORDS")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--again", action="store_true", help="also those that an earlier run has seen caught")
    parser.add_argument("--seconds", type=float, default=0, help="start no mutant after this time")
    parser.add_argument("--part", type=float, default=0, metavar="SECONDS", help="CI's part, for so long at most")
    parser.add_argument("--seed", default="", help="of the part: decides the order; default: the newest commit")
    parser.add_argument("--since", default="", metavar="REVISION", help="of the part: what differs from it has changed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one mutant")
    parser.add_argument("--outcomes", type=Path, help="what `make conformance` has just written: which tests pass")
    parser.add_argument("--json", type=Path, help="write the verdicts to this file")
    return parser.parse_args()


def main() -> int:
    """Check the entries, and unless --check is given try the mutants; return the exit code."""
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
        if arguments.only:
            names = {mutant.name for words in arguments.only for mutant in choice.matching(mutants, words)}
            mutants = [mutant for mutant in mutants if mutant.name in names]
        if not arguments.part:
            return try_whole(mutants, arguments)
        try:
            return try_part(mutants, arguments)
        except (OSError, PostgresUnavailable) as why:
            print(f"mutants: not tried to the end, the environment is broken: {type(why).__name__}: {why}")
            return 1


def known_tests(mutants: list[Mutant], outcomes: Path | None, *, ran: bool) -> list[Test]:
    """Return the tests of the mutants' rows, each with its outcome and seconds in the run that wrote `outcomes`.

    A test that did not run there has neither. With `ran`, return all tests of that run instead; if nothing is known of
    such a run, return the tests of the rows, as if all had passed.
    """
    seen = {test.ident: test for test in read_tests(outcomes)} if outcomes and outcomes.exists() else {}
    if ran and seen:
        return list(seen.values())
    tests = tests_of_rows(ROOT, BUILD, {mutant.row for mutant in mutants})
    return [seen.get(test.ident, replace(test, passed=True) if ran else test) for test in tests]


def known_memory(tests: list[Test]) -> Memory:
    """Return the memory of earlier runs, updated with the seconds that the tests have just taken."""
    memory = Memory(BUILD / "memory.json", hash_of_tree(ROOT))
    memory.seconds |= {test.ident: test.seconds for test in tests if test.seconds is not None}
    return memory


def make_copies(jobs: int, server: ThrowawayPostgres | None) -> list[Copy]:
    """Return fresh copies of the repository, after the server that their tests share is ready.

    When `server` is None, each run of tests starts its own.
    """
    copies = [Copy(ROOT, BUILD / f"copy-{number}") for number in range(1, jobs + 1)]
    with ThreadPoolExecutor(jobs) as workers:
        list(workers.map(Copy.refresh, copies))
    if server:
        server.wait()
        for copy in copies:
            copy.postgres = str(server.directory)
    return copies


def try_whole(mutants: list[Mutant], arguments: argparse.Namespace) -> int:
    """Try the mutants that no earlier run has seen caught, and print the verdicts on all; return the exit code."""
    tests = known_tests(mutants, arguments.outcomes, ran=False)
    memory = known_memory(tests)
    if arguments.again:
        (BUILD / "verdicts.jsonl").unlink(missing_ok=True)
    ledger = Ledger(BUILD / "verdicts.jsonl", ROOT, hash_of_shared(ROOT))
    stop = BEGAN + arguments.seconds if arguments.seconds else float("inf")
    with ExitStack() as stack:
        stack.callback(memory.save)
        server = ThrowawayPostgres()
        stack.callback(server.stop)
        trials = Whole(make_copies(arguments.jobs, server.start()), tests, memory, ledger, arguments.timeout)
        verdicts = trials.run(mutants, stop, report.Progress(len(mutants)))
    report.print_table(verdicts)
    if untried := len(mutants) - len(verdicts):
        print(f"mutants: {untried} of {len(mutants)} are still to be tried; the same command goes on")
    if arguments.json:
        report.write_json(verdicts, arguments.json)
    return 1 if any(verdict.kind in report.FAILING for verdict in verdicts) or not verdicts else 0


def try_part(mutants: list[Mutant], arguments: argparse.Namespace) -> int:
    """Try CI's part of the mutants, and print the verdicts; return the exit code."""
    stop = BEGAN + arguments.part - RESERVE
    tests = known_tests(mutants, arguments.outcomes, ran=True)
    memory = known_memory(tests)
    candidates = part.candidates_of(mutants, tests, memory)
    with ExitStack() as stack:
        server = ThrowawayPostgres()
        stack.callback(server.stop)
        copies = make_copies(arguments.jobs, server.start())
        seconds = (stop - time.monotonic()) * len(copies)
        changed, chosen = chosen_part(mutants, tests, candidates, arguments, seconds)
        for copy in copies:
            copy.grace = RESERVE / 4
        if fault := fault_of_environment(copies[0], chosen, stop):
            print(f"mutants: nothing was tried: {fault}")
            return 1
        verdicts = Part(copies, memory, stop).run(chosen)
    report.print_table(verdicts)
    print(f"mutants: no time for {len(chosen) - len(verdicts)} of those that were chosen")
    print_left(part.left_over(changed, candidates, verdicts))
    report.print_uncaught([verdict for verdict in verdicts if verdict.kind in part.FAILING])
    if arguments.json:
        report.write_json(verdicts, arguments.json)
    return code_of_part(verdicts)


def print_left(lines: list[str]) -> None:
    """Print which of those that changed are left to `make mutants`."""
    if lines:
        print(f"mutants: {len(lines)} that changed are left to `make mutants`:")
    for line in lines[: part.MOST_NAMES]:
        print(f"  {line}")
    if len(lines) > part.MOST_NAMES:
        print(f"  and {len(lines) - part.MOST_NAMES} more")


def code_of_part(verdicts: list[Verdict]) -> int:
    """Return the exit code of CI's part: 1 when a mutant was not caught, and when none ran at all; a slow one fails nothing."""
    if not any(verdict.kind != "unrun" for verdict in verdicts):
        print("mutants: nothing was tried, so nothing is shown")
        return 1
    return 1 if any(verdict.kind in part.FAILING for verdict in verdicts) else 0


def chosen_part(
    mutants: list[Mutant], tests: list[Test], candidates: list[Candidate], arguments: argparse.Namespace, seconds: float
) -> tuple[list[Mutant], list[Candidate]]:
    """Return the mutants that changed, and the candidates that CI's part tries; print how to repeat the choice."""
    base, seed = choice.base_of(ROOT, arguments.since), arguments.seed or choice.head_of(ROOT)
    changed = choice.touched(mutants, tests, choice.changed_files(ROOT, base))
    chosen = part.choose(candidates, names := {mutant.name for mutant in changed}, seed, seconds)
    count = sum(each.mutant.name in names for each in chosen)
    print(
        f"mutants: trying {count} of {len(changed)} that changed since {base[:12] or 'ever'}, and {len(chosen) - count} of "
        f"{len(mutants) - len(changed)} others; repeat with --seed {seed} --since {base[:12]}",
        flush=True,
    )
    return changed, chosen


def fault_of_environment(copy: Copy, chosen: list[Candidate], end: float) -> str:
    """Run a test of the first mutant on the unbroken source; return what is wrong when it does not pass, else empty.

    Without a chosen mutant, return that there is none.
    """
    if not chosen:
        return "no mutant has tests that passed in the run before, and there is time for"
    test = next(iter(chosen[0].needs))
    seen = run_unbroken(copy, [test], end)
    if [each.kind for each in seen] == ["passed"]:
        return ""
    why = seen[0].words if seen else "it did not come to its end"
    return f"{test} does not pass in a copy of the unbroken source: {why}"


if __name__ == "__main__":
    sys.exit(main())
