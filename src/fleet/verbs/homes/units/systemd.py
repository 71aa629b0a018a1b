"""A systemd user unit. With KillMode=process, stopping the daemon ends only the daemon, never an agent or a tmux server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model import FLEET_HOME

if TYPE_CHECKING:
    from fleet.verbs.homes.units.unit import Unit
    from fleet.world.process.programs import Done
    from fleet.world.world import World

# How many seconds a call of systemctl or loginctl may take.
_LIMIT = 30.0
# The beginning of the line in the unit's file that names the home's id.
_MARK = "X-Fleet-Home="
_TEXT = """\
# Written by `fleet daemon install`, which replaces it; `fleet daemon uninstall` removes it.
# Your own changes go into a drop-in: `systemctl --user edit {name}`.
[Unit]
Description=fleet: the daemon of {home}
{mark}
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=simple
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Environment={fleet_home}
Environment={path}
Environment=MALLOC_ARENA_MAX=1
# Only the daemon itself ends: agents and tmux servers are not its own.
KillMode=process
Restart=on-failure
RestartSec=2
# Bad settings (2), another daemon at work (12), a home that may not be used (14): a restart would change nothing.
RestartPreventExitStatus=2 12 14
TimeoutStopSec=60
UMask=0077

[Install]
WantedBy=default.target
"""


class Systemd:
    """The systemd of this user."""

    title = "systemd"

    def __init__(self, world: World) -> None:
        self._world = world

    def why_absent(self) -> str:
        """Return why systemd does not run for this user, and what to do; "" when it does."""
        if not self._world.machine.has("systemctl"):
            return "there is no systemd here; start the daemon yourself: `fleet daemon start`, for example from @reboot in your crontab"
        if self._ask("show-environment").ok:
            return ""
        return (
            "systemd does not run for you here; `loginctl enable-linger` starts it for you at every boot, "
            "then try again; else start the daemon yourself: `fleet daemon start`"
        )

    def path(self, unit: Unit) -> str:
        """Return the path of the unit's file."""
        machine = self._world.machine
        folder = machine.variable("XDG_CONFIG_HOME") or f"{machine.user_folder()}/.config"
        return f"{folder}/systemd/user/{_unit_file_name(unit)}"

    def text(self, unit: Unit) -> str:
        """Return the content of the unit's file."""
        return _TEXT.format(
            name=_unit_file_name(unit),
            home=_without_specifiers(unit.home).replace("\n", " "),
            mark=f"{_MARK}{unit.home_id}",
            command=" ".join([_quoted_for_unit(unit.words[0]), *unit.words[1:]]),
            fleet_home=_quoted_for_unit(f"{FLEET_HOME}={unit.home}"),
            path=_quoted_for_unit(f"PATH={unit.path}"),
        )

    def home_of(self, text: str) -> str | None:
        """Return the id of the home in the file's mark; None without a mark."""
        marks = [line.removeprefix(_MARK) for line in text.splitlines() if line.startswith(_MARK)]
        return marks[0] if marks else None

    def enable(self, unit: Unit, *, start: bool) -> str:
        """Enable the unit; with `start`, start it too. Returns why that failed; "" when it worked."""
        return _why_systemctl_failed(self._ask("daemon-reload")) or _why_systemctl_failed(
            self._ask("enable", *(["--now"] if start else []), "--", _unit_file_name(unit))
        )

    def start(self, unit: Unit) -> str:
        """Start the unit. Returns why it failed; "" when it worked."""
        self._ask("reset-failed", "--", _unit_file_name(unit))  # else several starts in a minute are refused
        return _why_systemctl_failed(self._ask("start", "--", _unit_file_name(unit)))

    def is_active(self, unit: Unit) -> bool:
        """Whether systemd runs the unit's daemon now."""
        return self._ask("is-active", "--quiet", "--", _unit_file_name(unit)).ok

    def disable(self, unit: Unit) -> str:
        """Disable the unit and stop it. Returns why it failed; "" when it worked."""
        return _why_systemctl_failed(self._ask("disable", "--now", "--", _unit_file_name(unit)))

    def forget(self) -> None:
        """Make systemd read its unit files again."""
        self._ask("daemon-reload")

    def notes(self, unit: Unit) -> list[str]:
        """Return lines for people: the command that shows the unit and, if needed, how the daemon survives a log-out."""
        lingers = self._world.programs.run(
            "loginctl", ["loginctl", "show-user", "--property=Linger", "--value"], limit=_LIMIT
        )
        shown = [f"`systemctl --user status {_unit_file_name(unit)}` shows it"]
        if lingers.ok and lingers.out.strip() == "yes":
            return shown
        return [*shown, "it ends when you log out: `loginctl enable-linger` keeps it, and starts it at every boot"]

    def _ask(self, *words: str) -> Done:
        """Run `systemctl --user` with these words."""
        return self._world.programs.run(f"systemctl {words[0]}", ["systemctl", "--user", *words], limit=_LIMIT)


def _unit_file_name(unit: Unit) -> str:
    return f"{unit.name}.service"


def _why_systemctl_failed(done: Done) -> str:
    """Return why a systemctl call failed; "" when it worked."""
    return "" if done.ok else done.err.strip() or f"systemctl exited with status {done.status}"


def _quoted_for_unit(word: str) -> str:
    """Return a word quoted for a unit's file, where backslashes, quotes and percent signs have a meaning."""
    inner = _without_specifiers(word.replace("\\", "\\\\").replace('"', '\\"')).replace("\n", "\\n")
    return f'"{inner}"'


def _without_specifiers(text: str) -> str:
    """Return a text with its percent signs doubled, because systemd reads % as a specifier."""
    return text.replace("%", "%%")
