"""A launchd agent of macOS. With AbandonProcessGroup, stopping the daemon ends only the daemon."""

from __future__ import annotations

import os
import plistlib
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError

from fleet.model import FLEET_HOME

if TYPE_CHECKING:
    from fleet.verbs.homes.units.unit import Unit
    from fleet.world.process.programs import Done
    from fleet.world.world import World

# How many seconds a call of launchctl may take.
_LIMIT = 30.0
# The key in the property list under which the home's id is.
_MARK = "FleetHome"
_GONE = 3  # what `launchctl bootout` exits with when there is no such agent


class Launchd:
    """The launchd of this user."""

    title = "launchd"

    def __init__(self, world: World) -> None:
        self._world = world

    def why_absent(self) -> str:
        """Return why launchd cannot be used here; "" when it can."""
        if self._world.machine.has("launchctl"):
            return ""
        return "launchctl is not installed; start the daemon yourself: `fleet daemon start`"

    def path(self, unit: Unit) -> str:
        """Return the path of the launchd agent's property list."""
        return f"{self._world.machine.user_folder()}/Library/LaunchAgents/{_launchd_label(unit)}.plist"

    def text(self, unit: Unit) -> str:
        """Return the property list. It names the home in a key of fleet's own, which launchd ignores."""
        return plistlib.dumps(
            {
                "Label": _launchd_label(unit),
                _MARK: unit.home_id,
                "ProgramArguments": list(unit.words),
                "EnvironmentVariables": {FLEET_HOME: unit.home, "PATH": unit.path},
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "AbandonProcessGroup": True,
                "ExitTimeOut": 60,
                "Umask": 0o077,
            }
        ).decode()

    def home_of(self, text: str) -> str | None:
        """Return the id of the home in the property list; None when the list names no home or cannot be parsed."""
        try:
            found = plistlib.loads(text.encode())
        except (ValueError, ExpatError):
            return None
        mark = found.get(_MARK) if isinstance(found, dict) else None
        return mark if isinstance(mark, str) else None

    def enable(self, unit: Unit, *, start: bool) -> str:
        """Load the launchd agent, which starts the daemon; without `start`, leave that to the next log-in.

        Returns why it failed; "" when it worked.
        """
        return self.start(unit) if start else ""

    def start(self, unit: Unit) -> str:
        """Load the launchd agent, which starts the daemon. Returns why it failed; "" when it worked."""
        self._ask("bootout", f"{_launchd_domain()}/{_launchd_label(unit)}")  # an older one may be loaded
        return _why_launchctl_failed(self._ask("bootstrap", _launchd_domain(), self.path(unit)))

    def is_active(self, unit: Unit) -> bool:
        """Whether launchd runs the agent's daemon now."""
        shown = self._ask("print", f"{_launchd_domain()}/{_launchd_label(unit)}")
        return shown.ok and "state = running" in shown.out

    def disable(self, unit: Unit) -> str:
        """Unload the launchd agent, which stops the daemon. Returns why it failed; "" when it worked."""
        done = self._ask("bootout", f"{_launchd_domain()}/{_launchd_label(unit)}")
        return "" if done.status == _GONE else _why_launchctl_failed(done)

    def forget(self) -> None:
        """Do nothing: launchd reads the folder at each log-in."""

    def notes(self, unit: Unit) -> list[str]:
        """Return a line for people with the command that shows the launchd agent."""
        return [f"`launchctl print {_launchd_domain()}/{_launchd_label(unit)}` shows it"]

    def _ask(self, *words: str) -> Done:
        """Run launchctl with these words."""
        return self._world.programs.run(f"launchctl {words[0]}", ["launchctl", *words], limit=_LIMIT)


def _launchd_label(unit: Unit) -> str:
    """Return the label under which launchd knows the unit."""
    return unit.name.replace("\\", "_")


def _launchd_domain() -> str:
    """Return the launchd domain of this user's graphical session, such as `gui/501`."""
    return f"gui/{os.getuid()}"


def _why_launchctl_failed(done: Done) -> str:
    """Return why a launchctl call failed; "" when it worked."""
    return "" if done.ok else done.err.strip() or f"launchctl exited with status {done.status}"
