"""The commands `fleet task import` and `export`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from fleet.api.fleet import Fleet
from fleet.model.text import jsontext
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import reading, writing
from fleet.surfaces.cli.ui import terminal
from fleet.world.files.user_file import write

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.surfaces.cli.options import Writing


@click.command("import")
@click.argument("file", type=click.File("rb"))
@writing
def import_(file: BinaryIO, **given: Unpack[Writing]) -> None:
    """Import a graph from JSON Lines, all of it or nothing; - reads standard input.

    Three formats are recognised by their fields: fleet's own ({"slug", "title", "after": […], …}), workgraph's graph.jsonl and beads'
    issues.jsonl. Tasks that are in progress in another tool become open here.

    \b
    Examples:
      fleet task import tasks.jsonl
      fleet task import .beads/issues.jsonl -p web
      fleet task export -p old | fleet task import - -p new
    """
    named = os.path.basename(getattr(file, "name", "") or "")
    name = "standard input" if named in {"", "<stdin>", "0"} else named
    lines = file.readlines()
    bar = terminal.Progress("importing", len(lines))
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        try:
            imported = fleet.graph.ingest(project=project, lines=lines, name=name, progress=bar, key=given["key"])
        finally:
            bar.close()
    if given["json"]:
        terminal.say_json(imported)
        return
    left = f", {counted(imported.left_out, 'line')} left out (not tasks)" if imported.left_out else ""
    what = f"{counted(imported.tasks, 'task')} and {counted(imported.edges, 'dependency', 'dependencies')}"
    terminal.say(f"imported {what} into {project}{left}")


@click.command("export")
@click.option("--markdown", is_flag=True, help="write a readable tasks.md instead")
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="write to a file")
@reading
def export(*, output: str | None, markdown: bool, project: str | None, json: bool) -> None:
    """Write the graph as JSON Lines, one task per line, as `fleet task import` reads it; or as tasks.md.

    \b
    Examples:
      fleet task export > tasks.jsonl
      fleet task export --markdown -o tasks.md
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        if markdown and not json:
            lines = fleet.graph.markdown(project=name)
        else:
            lines = (jsontext.dumps(node) for node in fleet.graph.export(project=name))
        if output in {None, "-"}:
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
        write(fleet.funnel, str(output), (f"{line}\n" for line in lines))


COMMANDS = {"task import": import_, "task export": export}
