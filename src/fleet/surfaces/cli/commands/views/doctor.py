"""The command `fleet doctor`."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import json_option
from fleet.surfaces.cli.ui import terminal


@click.command("doctor")
@json_option
def doctor(**given: Any) -> int:
    """Check tools, permissions, disk and store, and print what to do about each problem. Exit code 1: something is wrong.

    \b
    Examples:
      fleet doctor
      fleet doctor --json
    """
    with Fleet.open(needs_store=False) as fleet:
        findings = fleet.views.doctor()
    if given["json"]:
        terminal.say_json(findings)
    else:
        for finding in findings:
            mark = terminal.paint("✓", "green") if finding.ok else terminal.paint("✗", "red")
            advice = f" — {finding.advice}" if finding.advice and not finding.ok else ""
            terminal.say(f"{mark} {finding.about}: {finding.says}{advice}")
    return 0 if all(finding.ok for finding in findings) else 1


COMMANDS = {"doctor": doctor}
