"""Warn after a command that has read from a fleet home which was moved or copied."""

from __future__ import annotations

from fleet import errors
from fleet.surfaces.cli.ui import streams
from fleet.world.home import home_record
from fleet.world.home.location import home_path


def warn_of_move(words: list[str]) -> None:
    """Print a warning when the home is not at its recorded path; nothing when there is no home.

    Nothing for `fleet home`, nor for `fleet hook`: an engine gives what a hook prints to its agent.
    """
    if words[:1] in (["home"], ["hook"]):
        return
    try:
        home = home_path()
        record = home_record.read(home)
    except errors.FleetError:
        return
    if record is None or record.path == home:
        return
    from fleet.world.home.home_change import why_elsewhere

    error = why_elsewhere(record, home)
    if error is not None:
        streams.print_error(f"warning: {error.spoken}")
