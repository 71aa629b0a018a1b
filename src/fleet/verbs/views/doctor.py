"""Doctor: check tools, home, store and projects. Each finding of a fault says what to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import Finding
from fleet.store import queries as q
from fleet.verbs.homes import sandbox
from fleet.verbs.homes.notices import channels
from fleet.verbs.merge.recorded import refuse_missing
from fleet.world.home import paths
from fleet.world.home.settings import trusted_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import Project
    from fleet.store.transaction import Store
    from fleet.verbs.context import Context
    from fleet.world.machine import Machine

# The least versions.
_PYTHON = (3, 11)
_TMUX = (3, 2)
_GIT = (2, 31)
# So many free bytes, or fewer, are a fault.
_LITTLE_SPACE = 500_000_000
# The folders that the home needs.
_FOLDERS = (
    paths.INBOX_ARCHIVE,
    paths.HANDOFFS,
    paths.PROJECTS,
    paths.LOGS,
    paths.EFFECT_LOCKS,
    paths.JOURNALS,
    paths.OPERATIONS,
    paths.TRASH,
    paths.BACKUPS,
)


def examine(context: Context) -> Iterator[Finding]:
    """Yield one finding for each check of tools, permissions, disk, store, hooks and projects.

    When the store cannot be read, one finding says why, and the checks that need the store are left out.
    """
    machine, home = context.world.machine, context.home
    yield _check_version("python", machine.python(), _PYTHON, "install a newer Python")
    yield _check_version("git", machine.version("git", "--version"), _GIT, "install git with your package manager")
    yield _check_version("tmux", machine.version("tmux", "-V"), _TMUX, "install tmux with your package manager")
    yield _check_privacy(machine, home)
    yield from _check_folders(context)
    yield _check_space(machine, home)
    yield _check_daemon(context)
    yield from _check_keys(context)
    yield _check_sandbox(context)
    try:
        yield from _check_with_store(context)
    except errors.StoreError as error:
        yield Finding(about="store", ok=False, says=str(error), advice=error.next_step)


def _check_with_store(context: Context) -> Iterator[Finding]:
    """Yield one finding for each check that needs the store. Raise StoreError when it cannot be read."""
    store, home = context.store, context.home
    yield _check_hooks(store, home)
    yield _check_counts(store)
    yield _check_notifications(context)
    projects = store.read(q.all_projects)
    yield from (_check_project(home, project) for project in projects)
    for project in projects:
        yield from _check_merges(context, project)


def _check_version(name: str, version: tuple[int, int] | None, least: tuple[int, int], advice: str) -> Finding:
    """Return the finding on whether a program is installed (`version` is not None) and not older than `least`."""
    wanted = ".".join(map(str, least))
    if version is None:
        return Finding(about=name, ok=False, says="not installed", advice=advice)
    says = f"{version[0]}.{version[1]}"
    if version < least:
        return Finding(about=name, ok=False, says=f"{says}, but {wanted} is the least", advice=advice)
    return Finding(about=name, ok=True, says=says)


def _check_privacy(machine: Machine, home: str) -> Finding:
    """Return the finding on whether other users can read the fleet home."""
    if machine.is_private(home):
        return Finding(about="home", ok=True, says=f"{home} is private")
    return Finding(about="home", ok=False, says=f"{home} can be read by others", advice=f"chmod 700 {home}")


def _check_folders(context: Context) -> Iterator[Finding]:
    """Yield a finding for each file that is where the home needs a folder."""
    for folder in _FOLDERS:
        try:
            context.world.files.refuse_blocked(folder)
        except errors.NotAFolder as error:
            says = str(error).removeprefix("nothing was changed: ")
            yield Finding(about="folder", ok=False, says=says, advice=error.hint)


def _check_space(machine: Machine, home: str) -> Finding:
    """Return the finding on whether the disk of the fleet home has enough free space."""
    free = machine.free_bytes(home)
    says = f"{free / 1e9:.1f} GB free"
    if free > _LITTLE_SPACE:
        return Finding(about="disk", ok=True, says=says)
    return Finding(about="disk", ok=False, says=says, advice="free some space")


def _check_counts(store: Store) -> Finding:
    """Return the finding on whether every task's stored count of open blockers is right."""
    wrong = store.read(q.miscounted)
    if not wrong:
        return Finding(about="store", ok=True, says="readable, and every count of open blockers is right")
    first = f"{wrong[0].project}/{wrong[0].slug}"
    advice = "this is a defect of fleet; please report it with `fleet ops --json`"
    return Finding(
        about="store", ok=False, says=f"{len(wrong)} counts of open blockers are wrong, {first} first", advice=advice
    )


def _check_hooks(store: Store, home: str) -> Finding:
    """Return the finding that a hook has failed or, when none has, how many running agents have called a hook."""
    try:
        with open(f"{home}/{paths.LAST_HOOK_ERROR}", encoding="utf-8", errors="replace") as file:
            advice = f"fix what it names, then remove {paths.LAST_HOOK_ERROR} in the fleet home"
            return Finding(about="hooks", ok=False, says=f"one failed: {file.read().strip()}", advice=advice)
    except FileNotFoundError:
        pass
    agents = store.read(lambda rows: q.living_agents(rows, project=None))
    heard = sum(row.heartbeat_at is not None for row in agents)
    says = f"{heard} of {len(agents)} running agents have called a hook" if agents else "no agents running"
    return Finding(about="hooks", ok=True, says=says)


def _check_daemon(context: Context) -> Finding:
    """Return a finding that says whether a daemon serves the home. Having none is no fault: everything works without it."""
    if context.world.has_lost_daemon() and context.settings().daemon != "never":
        return Finding(about="daemon", ok=False, says="it has died", advice="run `fleet daemon start`")
    process = context.world.daemon_process()
    if process is None:
        return Finding(about="daemon", ok=True, says="none runs; `fleet daemon start` starts one")
    if context.world.suspended_daemon() is not None:
        says = f"process {process.pid} is stopped by a signal, and answers nobody"
        return Finding(about="daemon", ok=False, says=says, advice=f"`kill -CONT {process.pid}` continues it")
    return Finding(about="daemon", ok=True, says=f"runs as process {process.pid}")


def _check_keys(context: Context) -> Iterator[Finding]:
    """Yield a finding for each wrong key of the screen. Unreadable settings are reported by `_check_sandbox`."""
    try:
        wrong = context.value_of("keys").wrong
    except errors.BadSetting:
        return
    for why in wrong.splitlines():
        yield Finding(about="keys", ok=False, says=why, advice="the screen leaves it out and takes the others")


def _check_notifications(context: Context) -> Finding:
    """Return the finding on whether the notification settings can work, and whether a channel took the newest notice."""
    about, wrong = "notifications", list(channels.channel_faults(context))
    if wrong:
        return Finding(about=about, ok=False, says="; ".join(wrong), advice="`fleet notify test` tries them")
    untold = [
        each for each in context.store.read(lambda rows: q.newest_notices(rows, most=1)) if each.state == "failed"
    ]
    if untold:
        says = f"nobody could be told that {untold[0].title}: {untold[0].trouble}"
        return Finding(about=about, ok=False, says=says, advice="`fleet notify test` tries the channels")
    there = channels.usable_channels(context, context.settings().notify_channels).there
    return Finding(about=about, ok=True, says=f"by {' and '.join(there)}" if there else "no channel is set up")


def _check_sandbox(context: Context) -> Finding:
    """Return the finding on whether the sandbox of the settings can be made, and whether agents can reach fleet."""
    try:
        return Finding(about="agents", ok=True, says=f"are started in {sandbox.check_sandbox(context)}")
    except errors.FleetError as error:
        return Finding(about="agents", ok=False, says=str(error), advice=error.next_step)


def _check_project(home: str, project: Project) -> Finding:
    """Return the finding on whether a project's repository exists, and its settings are readable and trusted."""
    about = f"project {project.name}"
    if not os.path.isdir(project.path):
        advice = f"put it back, or `fleet project remove {project.name}`"
        return Finding(about=about, ok=False, says=f"{project.path} is gone", advice=advice)
    try:
        settings = trusted_settings(home, project.name, project.path)
    except errors.BadSetting as error:
        return Finding(about=about, ok=False, says=str(error), advice=error.next_step)
    untrusted = [setting.name for setting in settings.values() if setting.untrusted]
    if not untrusted:
        return Finding(about=about, ok=True, says=project.path)
    why = errors.NotTrusted(project=project.name, settings=", ".join(untrusted))
    return Finding(about=about, ok=False, says=str(why), advice=why.next_step)


def _check_merges(context: Context, project: Project) -> Iterator[Finding]:
    """Yield a finding when recorded merges of a project are missing, or when git cannot look for them."""
    try:
        refuse_missing(context, project.name)
    except errors.FleetError as error:
        advice = error.next_step or "make sure that the repository exists and git can read it"
        yield Finding(about=f"project {project.name}", ok=False, says=str(error), advice=advice)
