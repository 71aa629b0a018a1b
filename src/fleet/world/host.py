"""The machine that fleet runs on: its name, its permanent id, and the id of this boot."""

from __future__ import annotations

import os
import sys

from fleet.fast import made_once
from fleet.world.funnel import Funnel
from fleet.world.process import pid_namespaces

_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_BOOT_FILE = "/proc/sys/kernel/random/boot_id"
# macOS prints the id of the boot.
_BOOT_PROGRAM = ("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")
_LIMIT = 5


class Host:
    """The machine that this process runs on, and the host id of the home.

    The home keeps its host id when it is moved to another machine.
    """

    def __init__(self, kept: str = "", funnel: Funnel | None = None) -> None:
        # The host id in the home's record; empty when there is no home.
        self._kept = kept
        self._funnel = funnel or Funnel()

    @property
    def name(self) -> str:
        """Return the machine's name, for people."""
        return os.uname().nodename

    @property
    def id(self) -> str:
        """Return the host id of the home: the id of the machine on which the home was made.

        Without a home it is this machine's own id.
        """
        return self._kept or self.machine_id

    @made_once
    def machine_id(self) -> str:
        """Return this machine's own id, or its name where it has none. The identities of processes contain it."""
        for path in _ID_FILES:
            found = _first_line_of_file(path)
            if found:
                return found
        return self.name

    @made_once
    def boot(self) -> str:
        """Return an id of this boot and, inside a container, of its pid namespace.

        "" when unknown, and when /proc belongs to another pid namespace: then nothing can be proven about any process.
        """
        if sys.platform == "darwin":
            return _boot_of_macos(self._funnel)
        boot, namespace = _first_line_of_file(_BOOT_FILE), pid_namespaces.own()
        if namespace is None:
            return ""
        return f"{boot}.{namespace}" if boot and namespace else boot


def _first_line_of_file(path: str) -> str:
    """Return the first line of a file; empty when it cannot be read or is not ASCII."""
    try:
        with open(path, encoding="utf-8") as file:
            line = file.readline().strip()
    except (OSError, ValueError):  # ValueError: it is not UTF-8
        return ""
    return line if line.isascii() else ""


def _boot_of_macos(funnel: Funnel) -> str:
    """Return the id of this boot on macOS; empty when unknown."""
    from fleet.world.process.programs import Programs

    done = Programs(funnel).run("read the boot's id", _BOOT_PROGRAM, limit=_LIMIT)
    return done.out.strip() if done.ok else ""
