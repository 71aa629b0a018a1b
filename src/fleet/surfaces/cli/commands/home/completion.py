"""The command `fleet completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fleet.surfaces.cli.app import root
from fleet.surfaces.cli.ui import terminal


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for your shell. It completes commands, options, projects and slugs.

    \b
    Examples:
      fleet completion bash > ~/.local/share/bash-completion/completions/fleet
      fleet completion zsh  > ~/.zfunc/_fleet
      fleet completion fish > ~/.config/fish/completions/fleet.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choice above allows only shells that click knows
    terminal.say_text(kind(root, {}, "fleet", "_FLEET_COMPLETE").source())


COMMANDS = {"completion": completion}
