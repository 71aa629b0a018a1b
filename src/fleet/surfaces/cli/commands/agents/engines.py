"""fleet engine."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.engines import readiness
from fleet.model.results.engines import EngineView, Readiness
from fleet.model.states import assert_never
from fleet.model.text.documents.kinds import AUTONOMIES
from fleet.surfaces.cli.options import json_option
from fleet.surfaces.cli.ui import terminal
from fleet.testing import engine_trial
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.results.engines import Trial
    from fleet.model.states import TrialVerdict

_WIDTH = 140
_FLEETS_OWN = frozenset({"", "{python}", "{fleet}"})
# A check that was killed while it started a program leaves its gate to that for a moment.
_GATE_WAIT = 2.0
# The worst verdict decides.
_CODES: dict[TrialVerdict, int] = {
    "proven": 0,
    "asks": 0,
    "unproven": errors.FleetError.code,
    "broken": errors.Refused.code,
    "refused": errors.Refused.code,
}


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
def list_(*, json: bool) -> None:
    """List the engines, and whether their program is installed.

    Your own are TOML files in $FLEET_HOME/engines; one of the same name as a built-in one wins.

    \b
    Examples:
      fleet engine list
    """
    with Fleet.open() as fleet:
        engines = [_view(each) for each in fleet.engines.all().values()]
    if json:
        terminal.say_json(engines)
        return
    rows = [(each.name, "yes" if each.installed else "no", each.summary, each.source) for each in engines]
    for line in terminal.table(("ENGINE", "INSTALLED", "WHAT", "FILE"), rows):
        terminal.say(line)


def _view(found: Engine) -> EngineView:
    return EngineView(
        name=found.name,
        summary=found.summary,
        program=found.program,
        source=found.source,
        installed=found.program in _FLEETS_OWN or shutil.which(found.program) is not None,
        autonomy=sorted(found.autonomy),
        interactive=found.interactive,
    )


@engine.command("show")
@click.argument("name")
@json_option
def show(name: str, *, json: bool) -> None:
    """The file that describes an engine.

    \b
    Examples:
      fleet engine show claude
      fleet engine show claude > $FLEET_HOME/engines/mine.toml
    """
    with Fleet.open() as fleet:
        found = fleet.engines.show(name)
    if json:
        terminal.say_json(_view(found))
        return
    with open(found.source, encoding="utf-8") as file:
        terminal.say(file.read().rstrip())


@engine.command("check")
@click.argument("name")
@click.option(
    "--autonomy", type=click.Choice(AUTONOMIES), help="with this freedom alone; without it, with each that it has"
)
@json_option
def check(name: str, autonomy: str | None, *, json: bool) -> int:
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
        report = _Report(found, quiet=json)
        try:
            report.look(fleet, (autonomy,) if autonomy else tuple(found.autonomy) or (None,))
        except errors.FleetError as error:
            if not json:
                raise
            report.blame(error)
    if json:
        terminal.say_json(report.readiness)
    return report.code


class _Report:
    """What is found out about an engine, shown as it comes."""

    def __init__(self, found: Engine, *, quiet: bool) -> None:
        self._engine = found
        self._quiet = quiet
        self.code = 0
        self.readiness = Readiness(engine=found.name, ok=True, trials=[])

    def look(self, fleet: Fleet, autonomies: tuple[str | None, ...]) -> None:
        self.readiness.program = readiness.program_of(self._engine, ("sh",))
        self._say(f"{self._engine.name}: {self.readiness.program}")
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
            except errors.AutonomyRefused:
                continue
            except errors.EngineNotReady as error:
                self.blame(error)
                self._say(f"  {'here':<10} not ready: {error} — {error.next_step}")
                return

    def _add(self, trial: Trial) -> None:
        self.readiness.trials.append(trial)
        self._say(f"  {trial.autonomy or 'trial':<10} {_in_words(trial)}")
        self.code = max(self.code, _CODES[trial.verdict])
        self.readiness.ok = self.code == 0

    def blame(self, error: errors.FleetError) -> None:
        self.code = error.code
        self.readiness.ok, self.readiness.why, self.readiness.advice = False, str(error), error.next_step

    def _say(self, line: str) -> None:
        if not self._quiet:
            terminal.say(line)
            sys.stdout.flush()


def _in_words(trial: Trial) -> str:
    match trial.verdict:
        case "proven":
            return "proven: it committed, logged and reported"
        case "asks":
            before = "calls fleet" if trial.committed else "commits"
            return terminal.shortened(f"asks before it {before}: {trial.detail}", _WIDTH)
        case "broken":
            arrived = {"commit": trial.committed, "log": trial.logged, "report": trial.reported}
            missing = ", ".join(f"no {what}" for what, came in arrived.items() if not came)
            return f"broken: {missing} arrived; {trial.detail}"
        case "refused":
            return f"refused: {trial.detail}"
        case "unproven":
            return f"not proven: {trial.detail}"
        case _:
            return assert_never(trial.verdict)


COMMANDS = {"engine": engine}
