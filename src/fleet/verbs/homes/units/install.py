"""Install the unit that starts a home's daemon, and uninstall it. A file that fleet did not write is never touched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import DaemonUnit
from fleet.verbs.coord.daemon_duty import unheld_seats
from fleet.verbs.homes.units.launchd import Launchd
from fleet.verbs.homes.units.systemd import Systemd
from fleet.verbs.homes.units.unit import Unit

if TYPE_CHECKING:
    from fleet.verbs.context import Context
    from fleet.verbs.homes.units.unit import UnitSystem
    from fleet.world.world import World


def install(context: Context, *, start: bool = True) -> DaemonUnit:
    """Write the unit of this home's daemon and enable it; with `start`, start the daemon too.

    Safe to repeat, also after a kill. Raises NoUnitSystem without systemd or launchd, ForeignUnit for a file that fleet
    did not write for this home, UnitRefused when the system refuses: then a new file is removed again.
    """
    world = context.world
    system, unit = _unit_system(world), _unit_of_home(world)
    path, text = system.path(unit), system.text(unit)
    if why := system.why_absent():
        raise errors.NoUnitSystem(why=why)
    before = _own_unit_text(world, system, unit, path)
    if before != text:
        world.machine.replace_file(path, text)
    if why := system.enable(unit, start=start):
        if before is None:
            world.machine.remove_file(path)
            system.forget()
        raise errors.UnitRefused(system=system.title, what="start the daemon" if start else "take the unit", why=why)
    return _unit_view(system, unit, is_installed=True, is_changed=before != text, notes=system.notes(unit))


def start_by_unit(world: World) -> bool:
    """Let the system start the daemon by this home's unit, so that the system also looks after it.

    Returns True when it was started, False when no unit of this home is installed, or the system does not run for this
    user. Raises UnitRefused when the system refuses.
    """
    system, unit = _unit_system(world), _unit_of_home(world)
    if not _is_installed(world, system, unit) or system.why_absent():
        return False
    if why := system.start(unit):
        raise errors.UnitRefused(system=system.title, what="start the daemon", why=why)
    return True


def is_run_by_unit(world: World) -> bool:
    """Whether the system runs the daemon of this home by its unit now."""
    system, unit = _unit_system(world), _unit_of_home(world)
    return _is_installed(world, system, unit) and not system.why_absent() and system.is_active(unit)


def _is_installed(world: World, system: UnitSystem, unit: Unit) -> bool:
    """Whether the unit's file exists and fleet wrote it for this home."""
    try:
        return _own_unit_text(world, system, unit, system.path(unit)) is not None
    except errors.ForeignUnit:
        return False


def uninstall(context: Context) -> DaemonUnit:
    """Stop this home's daemon and remove its unit. Does nothing when there is none.

    Raises ForeignUnit for a file that fleet did not write for this home, UnitRefused when the system refuses.
    """
    world = context.world
    system, unit = _unit_system(world), _unit_of_home(world)
    path = system.path(unit)
    if _own_unit_text(world, system, unit, path) is None:
        return _unit_view(system, unit, is_installed=False, is_changed=False, notes=[])
    why = "" if system.why_absent() else system.disable(unit)
    if why:
        raise errors.UnitRefused(system=system.title, what="stop the daemon", why=why)
    world.machine.remove_file(path)
    if not system.why_absent():
        system.forget()
    return _unit_view(system, unit, is_installed=False, is_changed=True, notes=_left_seats(context))


def _left_seats(context: Context) -> list[str]:
    """Return a line for people that names the projects left without a coordinator because the daemon has ended.

    Returns an empty list when there are no such projects.
    """
    left = sorted(unheld_seats(context))
    return [f"without a coordinator now: {', '.join(left)}; `fleet daemon start` takes the seats again"] if left else []


def _unit_system(world: World) -> UnitSystem:
    """Return launchd on macOS, systemd elsewhere."""
    return Launchd(world) if world.machine.is_mac() else Systemd(world)


def _unit_of_home(world: World) -> Unit:
    """Return the unit of this home's daemon."""
    default = os.path.realpath(f"{world.machine.user_folder()}/.fleet")
    return Unit(
        home=world.home,
        home_id=world.record.id,
        is_default=world.home == default,
        program=world.fleet_program,
        path=world.machine.variable("PATH"),
    )


def _own_unit_text(world: World, system: UnitSystem, unit: Unit, path: str) -> str | None:
    """Return the text of the unit's file; None when there is no file.

    Raises ForeignUnit when another home or program wrote it.
    """
    text = world.machine.read_file(path)
    if text is None:
        return None
    home = system.home_of(text)
    if home != unit.home_id:
        owner = "somebody else: fleet did not write it" if home is None else f"another fleet home, {home}"
        raise errors.ForeignUnit(what=path, owner=owner)
    return text


def _unit_view(system: UnitSystem, unit: Unit, *, is_installed: bool, is_changed: bool, notes: list[str]) -> DaemonUnit:
    """Return the unit as commands print it."""
    return DaemonUnit(
        system=system.title,
        name=unit.name,
        path=system.path(unit),
        home=unit.home,
        is_installed=is_installed,
        is_changed=is_changed,
        notes=notes,
    )
