"""The commands `fleet engine list`, `show` and `check`."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.engines import readiness
from fleet.model.names import AUTONOMIES
from fleet.model.results.engines import EngineView, Readiness
from fleet.model.states import assert_never
from fleet.surfaces.cli.options import json_option
from fleet.surfaces.cli.ui import terminal
from fleet.testing import engine_trial
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.results.engines import Trial
    from fleet.model.states import TrialVerdict

# Columns for the question at which a trial stopped.
_WIDTH = 140
# No program of its own, this Python, and fleet itself.
_ALWAYS_INSTALLED = frozenset({"", "{python}", "{fleet}"})
# Seconds to wait for the gate: after a check was killed, the program that it was starting holds the gate for a moment.
_GATE_WAIT = 2.0
# The exit code for each verdict of a trial. The highest of all trials is the command's exit code.
_CODES: dict[TrialVerdict, int] = {
    "proven": 0,
    "asks": 0,
    "unproven": errors.FleetError.code,
    "broken": errors.Refused.code,
    "refused": errors.Refused.code,
}


@click.group("engine")
def engine() -> None:
    """List, show and check the engines: the programs that agents run on.

    \b
    fleet engine list
    fleet engine show claude
    fleet engine check claude
    """


@engine.command("list")
@json_option
def list_(*, json: bool) -> None:
    """List the engines, and whether their program is installed.

    Your own engines are TOML files in $FLEET_HOME/engines; they take precedence over built-in engines of the same name.

    \b
    Examples:
      fleet engine list
    """
    with Fleet.open() as fleet:
        engines = [_engine_view(engine) for engine in fleet.engines.all().values()]
    if json:
        terminal.say_json(engines)
        return
    rows = [(each.name, "yes" if each.installed else "no", each.summary, each.source) for each in engines]
    for line in terminal.table(("ENGINE", "INSTALLED", "WHAT", "FILE"), rows):
        terminal.say(line)


def _engine_view(engine: Engine) -> EngineView:
    """Return what `fleet engine list` shows of an engine."""
    return EngineView(
        name=engine.name,
        summary=engine.summary,
        program=engine.program,
        source=engine.source,
        installed=engine.program in _ALWAYS_INSTALLED or shutil.which(engine.program) is not None,
        autonomy=sorted(engine.autonomy),
        interactive=engine.interactive,
    )


@engine.command("show")
@click.argument("name")
@json_option
def show(name: str, *, json: bool) -> None:
    """Print the file that describes an engine.

    \b
    Examples:
      fleet engine show claude
      fleet engine show claude > $FLEET_HOME/engines/mine.toml
    """
    with Fleet.open() as fleet:
        engine = fleet.engines.show(name)
    if json:
        terminal.say_json(_engine_view(engine))
        return
    with open(engine.source, encoding="utf-8") as file:
        terminal.say(file.read().rstrip())


@engine.command("check")
@click.argument("name")
@click.option(
    "--autonomy", type=click.Choice(AUTONOMIES), help="try only this autonomy level (default: all that the engine has)"
)
@json_option
def check(name: str, autonomy: str | None, *, json: bool) -> int:
    """Check whether an engine can be started here, and whether its agents can commit and call fleet.

    First the program, its autonomy levels and its dialogs are checked. Then the real program is started, with each autonomy level,
    in a temporary home and repository, with a stub of its model on loopback that tells it to commit, to log and to report. It sees
    nothing of yours, and nothing is left over. Exit code 14: something prevents the engine from working; 1: it could not be tried.

    \b
    Examples:
      fleet engine check codex
      fleet engine check claude --autonomy edits
    """
    with Fleet.open() as fleet:
        engine = fleet.engines.show(name)
        report = _Report(engine, quiet=json)
        try:
            report.try_engine(fleet, (autonomy,) if autonomy else tuple(engine.autonomy) or (None,))
        except errors.FleetError as error:
            if not json:
                raise
            report.record_error(error)
    if json:
        terminal.say_json(report.readiness)
    return report.code


class _Report:
    """The results of `fleet engine check`, printed as they come unless `quiet`."""

    def __init__(self, engine: Engine, *, quiet: bool) -> None:
        self._engine = engine
        self._quiet = quiet
        self.code = 0
        self.readiness = Readiness(engine=engine.name, ok=True, trials=[])

    def try_engine(self, fleet: Fleet, autonomies: tuple[str | None, ...]) -> None:
        """Check whether a dialog would stop the engine in this directory; then try the program at each autonomy level.

        `autonomies` has None for an engine without autonomy levels. Only one check at a time tries programs in a home.
        Raise EngineMissing when the program is not installed, GateHeld while another check tries programs.
        """
        self.readiness.program = readiness.program_of(self._engine, ("sh",))
        self._say(f"{self._engine.name}: {self.readiness.program}")
        self._check_here(autonomies)
        gate = fleet.gate("engine-check")
        gate.take(wait=_GATE_WAIT)
        try:
            sandbox = fleet.engines.sandbox(self._engine)
            for autonomy in autonomies:
                root = f"{fleet.home}/{paths.CHECKS}"
                self._add_trial(engine_trial.try_out(self._engine, autonomy, root, sandbox=sandbox))
        finally:
            gate.give()

    def _check_here(self, autonomies: tuple[str | None, ...]) -> None:
        """If a dialog would stop the engine in this directory, record and print that.

        A refused autonomy is ignored, because the trial reports it.
        """
        for autonomy in autonomies:
            try:
                readiness.check(self._engine, autonomy=autonomy, repository=os.path.realpath(os.getcwd()))
            except errors.AutonomyRefused:
                continue
            except errors.EngineNotReady as error:
                self.record_error(error)
                self._say(f"  {'here':<10} not ready: {error} — {error.next_step}")
                return

    def _add_trial(self, trial: Trial) -> None:
        """Record and print the result of one trial; the worst verdict decides the exit code."""
        self.readiness.trials.append(trial)
        where = f" in {trial.sandbox}" if trial.sandbox else ""
        self._say(f"  {trial.autonomy or 'trial':<10} {_verdict_sentence(trial)}{where}")
        self.code = max(self.code, _CODES[trial.verdict])
        self.readiness.ok = self.code == 0

    def record_error(self, error: errors.FleetError) -> None:
        """Record an error as the reason why the engine is not ready."""
        self.code = error.code
        self.readiness.ok, self.readiness.why, self.readiness.advice = False, str(error), error.next_step

    def _say(self, line: str) -> None:
        if not self._quiet:
            terminal.say(line)
            sys.stdout.flush()


def _verdict_sentence(trial: Trial) -> str:
    """Return the verdict of a trial as a sentence."""
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
