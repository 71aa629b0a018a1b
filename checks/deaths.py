"""Play the deaths of every crash scenario on both stores, and write the figures into docs/explanation/proof.md.

python checks/deaths.py [--every N] [--most N] [--offset N] [--at-once N] [--only NAME,...]

--every N    play every n-th death and every n-th fault, not all
--most N     play so many double deaths of each scenario, not all
--offset N   where the part begins; drawn and printed otherwise
--at-once N  how many scenarios are played at the same time; one for each processor otherwise
--only NAMES play these scenarios alone, and leave the page as it is
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fleet.testing.crash.catalogue import DOUBLE, FAULTY, SCENARIOS
from fleet.testing.crash.fault_acts import ACTS
from fleet.testing.crash.faults import FaultCase, why_not
from fleet.testing.crash.harness import Case
from fleet.testing.postgres import ThrowawayPostgres

PAGE = Path("docs/explanation/proof.md")
FIGURES = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)
MANY = 1_000_000
# The options of the command line, which say what part is played.
Part = argparse.Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One call of the crash harness: a scenario on a store, killed once or twice, or an act whose system calls fail.

    `kind` is single, double or fault, `name` that of the scenario or act; `words` are the arguments of the harness.
    """

    kind: str
    name: str
    store: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one call of the crash harness found: lines of JSON, one a case.

    `broken` is the harness's message when it played nothing or ended before it was done, else empty.
    """

    play: Play
    lines: list[str]
    broken: str
    seconds: float

    def cases(self) -> list[Case]:
        """Return the deaths that were played, with their faults."""
        return [Case(**json.loads(line)) for line in self.lines]

    def faults(self) -> list[FaultCase]:
        """Return the system calls that were made to fail, with their faults."""
        return [FaultCase(**json.loads(line)) for line in self.lines]


def main() -> int:
    """Play all deaths, print the tables and write the page; return 1 when a case has faults or a call of the harness broke."""
    part = arguments()
    began = time.monotonic()
    reason = why_not()
    with ThrowawayPostgres() as server, ThreadPoolExecutor(part.at_once) as pool:
        results = list(pool.map(run, plays(part, {"sqlite": "sqlite", "postgres": server.url()}, reason)))
    minutes = (time.monotonic() - began) / 60
    text = "\n".join([heading(part, minutes), "", *death_table(results), "", *fault_table(results, reason), ""])
    print(text)
    if not part.only:
        PAGE.write_text(FIGURES.sub(lambda _old: text, PAGE.read_text()))
    bad = [line for result in results for line in complaints(result)]
    print("\n".join(bad))
    return 1 if bad else 0


def arguments() -> Part:
    """Return the options of the command line; exit the program when they are wrong."""
    parser = argparse.ArgumentParser(usage=__doc__)
    for option, default in (
        ("every", 1),
        ("most", 0),
        ("offset", random.SystemRandom().randrange(MANY)),
        ("at-once", os.cpu_count()),
    ):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--only", type=lambda names: names.split(","), default=[])
    part = parser.parse_args()
    unknown = set(part.only) - {*SCENARIOS, *ACTS}
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join([*SCENARIOS, *ACTS])}")
    return part


def plays(part: Part, stores: dict[str, str], reason: str) -> list[Play]:
    """Return every call of the crash harness to make.

    `stores` maps the names in the table to addresses. `reason` is why no system call can be made to fail; empty when
    one can.
    """
    offset = ("--offset", str(part.offset))
    every, most = ("--every", str(part.every), *offset), ("--most", str(part.most), *offset)
    wanted = [Play(kind="single", name=name, store=store, words=(name, url, *every))
              for name in SCENARIOS for store, url in stores.items()]  # fmt: skip
    wanted += [Play(kind="double", name=name, store=store, words=(name, url, "--double", *most))
               for name in DOUBLE for store, url in stores.items()]  # fmt: skip
    if not reason:
        wanted += [Play(kind="fault", name=name, store="sqlite", words=("faults", name, *every)) for name in ACTS]
    return [play for play in wanted if not part.only or play.name in part.only]


def run(play: Play) -> Result:
    """Call the crash harness, print its progress to standard error, and return what it found."""
    began = time.monotonic()
    words = [sys.executable, "-m", "fleet.testing.crash", *play.words]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    lines = [line.rstrip("\n") for line in done.stdout.splitlines(keepends=True) if line.endswith("\n")]
    print(f"{play.kind} {play.name} ({play.store}): {len(lines)} in {seconds:.0f} s", file=sys.stderr)
    return Result(play=play, lines=lines, broken=why_broken(done, lines), seconds=seconds)


def why_broken(done: subprocess.CompletedProcess[str], lines: list[str]) -> str:
    """Return the message of a harness that played nothing or ended before it was done; empty when it completed."""
    if done.returncode in {0, FAULTY} and lines:
        return ""
    return f"exit code {done.returncode}: {done.stderr.strip() or 'nothing was played'}"


def heading(part: Part, minutes: float) -> str:
    """Return the sentences that say to which run the figures belong: when, whether it was the whole, and how to repeat a part."""
    ran = f"played on {datetime.now(UTC):%Y-%m-%d} in {minutes:.0f} minutes"
    if part.every == 1 and part.most == 0 and not part.only:
        return f"All deaths and failing calls, {ran}."
    single = (
        f"one in {part.every} deaths and failing calls, and at least one of each" if part.every > 1 else "all deaths"
    )
    doubles = f"{part.most} of the double deaths of each scenario" if part.most else "all double deaths"
    only = f" --only {','.join(part.only)}" if part.only else ""
    again = f'make deaths PART="--every {part.every} --most {part.most} --offset {part.offset}{only}"'
    return f"Not the whole, but a part, {ran}: {single}; {doubles}.\n`{again}` repeats it."


def death_table(results: list[Result]) -> list[str]:
    """Return the lines of the table of deaths: one row for each scenario and store."""
    lines = [
        "| scenario | store | effects | deaths | double deaths | with faults | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.play.kind != "fault":
            groups.setdefault((result.play.name, result.play.store), []).append(result)
    total = [0, 0, 0, 0.0]
    for (name, store), found in groups.items():
        row = figures(found)
        total = [one + other for one, other in zip(total, row, strict=True)]
        effects = max((case.of for result in found for case in result.cases()), default=0)
        lines.append(
            f"| {name} | {store} | {effects} | {row[0]:.0f} | {shown_doubles(name, row[1])} | {row[2]:.0f} | {row[3]:.0f} |"
        )
    return [*lines, f"| **all** | both | | {total[0]:.0f} | {total[1]:.0f} | {total[2]:.0f} | {total[3]:.0f} |"]


def shown_doubles(name: str, count: float) -> str:
    """Return the number of double deaths as text; a dash for a scenario that has none."""
    return f"{count:.0f}" if name in DOUBLE else "–"


def figures(found: list[Result]) -> list[float]:
    """Return the number of deaths, of double deaths and of cases with faults, and the seconds."""
    single = [case for result in found if result.play.kind == "single" for case in result.cases()]
    double = [case for result in found if result.play.kind == "double" for case in result.cases()]
    bad = sum(bool(case.faults) for case in single + double)
    return [
        sum(case.died for case in single),
        sum(case.died for case in double),
        bad,
        sum(result.seconds for result in found),
    ]


def fault_table(results: list[Result], reason: str) -> list[str]:
    """Return the lines of the table of failing system calls; if none could be made to fail, one line with the reason."""
    if reason:
        return [f"No call of the system was let fail: {reason}."]
    lines = [
        "| what is written | calls that failed | told to the caller | done all the same | with faults | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        if result.play.kind == "fault":
            failed = [case for case in result.faults() if case.injected]
            told = sum(bool(case.answer) for case in failed)
            bad = sum(bool(case.faults) for case in result.faults())
            lines.append(
                f"| {result.play.name} | {len(failed)} | {told} | {len(failed) - told} | {bad} | {result.seconds:.0f} |"
            )
    return lines


def complaints(result: Result) -> list[str]:
    """Return a line for each case with faults, and one when the harness broke."""
    what = f"{result.play.kind} {result.play.name} ({result.play.store})"
    found = result.faults() if result.play.kind == "fault" else result.cases()
    lines = [f"{what}: {case}" for case in found if case.faults]
    return [*lines, *([f"{what} broke: {result.broken}"] if result.broken else [])]


if __name__ == "__main__":
    sys.exit(main())
