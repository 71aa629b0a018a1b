"""fleet engine."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from fleet.api.fleet import Fleet
from fleet.engines import readiness
from fleet.errors.families import FleetError, Refused
from fleet.errors.refused import AutonomyRefused, EngineNotReady
from fleet.model.text.documents.kinds import AUTONOMIES
from fleet.surfaces.cli.options import json_option
from fleet.surfaces.cli.ui import terminal
from fleet.testing import engine_trial
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.testing.engine_trial import Verdict

_WIDTH = 140
_FLEETS_OWN = frozenset({"", "{python}", "{fleet}"})
# A check that was killed while it started a program leaves its gate to that for a moment.
_GATE_WAIT = 2.0
# The worst verdict decides.
_CODES = {"proven": 0, "asks": 0, "unproven": FleetError.code, "broken": Refused.code, "refused": Refused.code}


@click.group("engine")
def engine() -> None:
    """The programs that agents run on.

    \b
    fleet engine list
    fleet engine show claude
    fleet engine check claude
    """


@engine.command("list")
@json_option
def list_(**given: Any) -> None:
    """List the engines, and whether their program is installed.

    Your own are TOML files in $FLEET_HOME/engines; one of the same name as a built-in one wins.

    \b
    Examples:
      fleet engine list
    """
    with Fleet.open() as fleet:
        found = [_row(each) for each in fleet.engines.all().values()]
    if given["json"]:
        terminal.say_json(found)
        return
    rows = [(e["name"], "yes" if e["installed"] else "no", e["summary"], e["source"]) for e in found]
    for line in terminal.table(("ENGINE", "INSTALLED", "WHAT", "FILE"), rows):
        terminal.say(line)


def _row(each: Any) -> dict[str, Any]:
    installed = each.program in _FLEETS_OWN or shutil.which(each.program) is not None
    keep = {"name": each.name, "summary": each.summary, "program": each.program, "source": each.source}
    return keep | {"installed": installed, "autonomy": sorted(each.autonomy), "interactive": each.interactive}


@engine.command("show")
@click.argument("name")
@json_option
def show(name: str, **given: Any) -> None:
    """The file that describes an engine.

    \b
    Examples:
      fleet engine show claude
      fleet engine show claude > $FLEET_HOME/engines/mine.toml
    """
    with Fleet.open() as fleet:
        found = fleet.engines.show(name)
    if given["json"]:
        terminal.say_json(_row(found))
        return
    with open(found.source, encoding="utf-8") as file:
        terminal.say(file.read().rstrip())


@engine.command("check")
@click.argument("name")
@click.option(
    "--autonomy", type=click.Choice(AUTONOMIES), help="with this freedom alone; without it, with each that it has"
)
@json_option
def check(name: str, autonomy: str | None, **given: Any) -> int:
    """Whether an engine could be started here, and whether its agents can commit and call fleet.

    Its program, its freedom and its dialogs are looked at. Then the real program is dispatched, with each freedom, in a
    throw-away home and repository, against a stub of its model on loopback that tells it to commit, to log and to report. Nothing
    of yours reaches it, and nothing is left. 14: something is in the way; 1: it could not be tried.

    \b
    Examples:
      fleet engine check codex
      fleet engine check claude --autonomy edits
    """
    with Fleet.open() as fleet:
        found = fleet.engines.show(name)
        answer = _Answer(found, quiet=given["json"])
        try:
            answer.look(fleet, (autonomy,) if autonomy else tuple(found.autonomy) or (None,))
        except FleetError as error:
            if not given["json"]:
                raise
            answer.blame(error)
    if given["json"]:
        terminal.say_json(answer.document)
    return answer.code


class _Answer:
    """What is found out about an engine, told as it comes."""

    def __init__(self, found: Engine, *, quiet: bool) -> None:
        self._engine = found
        self._quiet = quiet
        self.code = 0
        self.document: dict[str, Any] = {"engine": found.name, "ok": True, "trials": []}

    def look(self, fleet: Fleet, autonomies: tuple[str | None, ...]) -> None:
        self.document["program"] = readiness.program_of(self._engine, ("sh",))
        self._say(f"{self._engine.name}: {self.document['program']}")
        self._look_here(autonomies)
        gate = fleet.gate("engine-check")
        gate.take(wait=_GATE_WAIT)
        try:
            for autonomy in autonomies:
                self._add(engine_trial.try_out(self._engine, autonomy, f"{fleet.home}/{paths.CHECKS}"))
        finally:
            gate.give()

    def _look_here(self, autonomies: tuple[str | None, ...]) -> None:
        """What would stop it in this directory; the trial has a place of its own, and says of freedom itself what is to be said."""
        for autonomy in autonomies:
            try:
                readiness.check(self._engine, autonomy=autonomy, repository=os.path.realpath(os.getcwd()))
            except AutonomyRefused:
                continue
            except EngineNotReady as error:
                self.blame(error)
                self._say(f"  {'here':<10} not ready: {error} — {error.next_step}")
                return

    def _add(self, verdict: Verdict) -> None:
        self.document["trials"].append(asdict(verdict))
        self._say(f"  {verdict.autonomy or 'trial':<10} {_told(verdict)}")
        code = _CODES[verdict.verdict]
        self.code = max(self.code, code)
        self.document["ok"] = self.code == 0

    def blame(self, error: FleetError) -> None:
        self.code = error.code
        self.document |= {"ok": False, "why": str(error), "advice": error.next_step}

    def _say(self, line: str) -> None:
        if not self._quiet:
            terminal.say(line)
            sys.stdout.flush()


def _told(verdict: Verdict) -> str:
    match verdict.verdict:
        case "proven":
            return "proven: it committed, logged and reported"
        case "asks":
            before = "calls fleet" if verdict.committed else "commits"
            return terminal.shortened(f"asks before it {before}: {verdict.detail}", _WIDTH)
        case "broken":
            arrived = {"commit": verdict.committed, "log": verdict.logged, "report": verdict.reported}
            missing = ", ".join(f"no {what}" for what, came in arrived.items() if not came)
            return f"broken: {missing} arrived; {verdict.detail}"
        case "refused":
            return f"refused: {verdict.detail}"
        case _:
            return f"not proven: {verdict.detail}"


COMMANDS = {"engine": engine}
