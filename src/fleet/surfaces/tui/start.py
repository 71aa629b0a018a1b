"""Start the TUI. The command line loads this module only when needed, because Textual takes long to import."""

from __future__ import annotations

import gc
import traceback

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.settings.keys import keys_in_force
from fleet.surfaces.tui.app import FleetApp
from fleet.surfaces.tui.feeds.loader import describe
from fleet.surfaces.tui.look import palette_for


def run(*, actor: str | None = None) -> int:
    """Run the TUI for the home until the person leaves it. Returns the exit code.

    When an unexpected error ends it, restore the terminal and raise an error that says so.
    """
    with Fleet.open(actor=actor) as fleet:
        home, request = fleet.home, fleet.request
        keys, palette = keys_in_force(request.value_of("keys").value), palette_for(request.settings().screen_theme)
    gc.freeze()
    app = FleetApp(home, keys=keys, palette=palette, actor=actor)
    app.run()
    if app.fault is not None:
        raise _error_for_person(app.fault) from app.fault
    return app.return_code or 0


def _error_for_person(fault: Exception) -> errors.FleetError:
    """Return the error that reports an unexpected error to the person: what it is, and where in the source it arose."""
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(fault.__traceback__)
    ]
    error = errors.FleetError(
        what=f"the screen was ended by a fault of fleet: {describe(fault)} ({' '.join(places[-3:])})"
    )
    error.way = "agents work on; `fleet tui` opens the screen again, and please report this line"
    return error
