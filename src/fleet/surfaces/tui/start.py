"""Start the TUI. The command line loads this module only when needed, because Textual takes long to import."""

from __future__ import annotations

import gc

from fleet.api.fleet import Fleet
from fleet.model.settings.keys import keys_in_force
from fleet.surfaces.tui.app import FleetApp
from fleet.surfaces.tui.look import palette_for


def run(*, actor: str | None = None) -> int:
    """Run the TUI for the home until the person leaves it. Returns the exit code."""
    with Fleet.open(actor=actor) as fleet:
        home, request = fleet.home, fleet.request
        changed, palette = request.value_of("keys"), palette_for(request.setting("screen.theme"))
        keys = keys_in_force({} if changed.wrong else changed.value)
    gc.freeze()
    app = FleetApp(home, keys=keys, palette=palette, actor=actor)
    app.run()
    return app.return_code or 0
