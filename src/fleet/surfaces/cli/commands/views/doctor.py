"""fleet doctor."""

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
    with Fleet.open() as fleet:
        findings = fleet.views.doctor()
    if given["json"]:
        terminal.say_json(findings)
    else:
        for each in findings:
            mark = terminal.paint("✓", "green") if each.ok else terminal.paint("✗", "red")
            advice = f" — {each.advice}" if each.advice and not each.ok else ""
            terminal.say(f"{mark} {each.about}: {each.says}{advice}")
    return 0 if all(each.ok for each in findings) else 1


COMMANDS = {"doctor": doctor}
