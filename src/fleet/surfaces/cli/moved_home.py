"""A warning for what was looked at in a home that was moved."""

from __future__ import annotations

from fleet import errors
from fleet.surfaces.cli.ui import streams
from fleet.world.home import home_record
from fleet.world.home.location import home_path


def warn_of_move(words: list[str]) -> None:
    """Print why the home is not where it remembers to be, if so. Commands that need no home, and `fleet home`, get no warning."""
    try:
        home = home_path()
        record = home_record.read(home)
    except errors.FleetError:
        return
    if record is None or record.path == home or words[:1] == ["home"]:
        return
    from fleet.world.home.home_change import why_elsewhere

    error = why_elsewhere(record, home)
    if error is not None:
        streams.tell(f"warning: {error.spoken}")
