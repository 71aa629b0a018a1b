"""The sandbox of agents and how they reach fleet: check what this machine can do, and build the command of one agent.

Of the fleet home, an agent in the sandbox sees only the folder of the daemon's socket for agents, the folder with the
link to the fleet program, its own prompt, the files that its engine reads its hooks and rules from, its worktree, and
what the setting `agents.sandbox_read` or `agents.sandbox_write` names. The repository's git directory is readable; only
the parts that a commit in the worktree writes are writable. The files that decide which repository and configuration
git uses there are not writable.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines import sandbox
from fleet.engines.program_files import expand_path
from fleet.model.agents.actors import DOOR
from fleet.records import record
from fleet.world.git.checkout import commit_dirs
from fleet.world.git.refs import git_dir
from fleet.world.home import paths
from fleet.world.process.pid_namespaces import listener

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.engines.reader import Engine
    from fleet.verbs.context import Context

# How many seconds the trial of a sandbox may take.
_LIMIT = 10.0
_PROGRAM = "bwrap"
_INSTALL = "install bubblewrap (Debian, Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`)"
_OTHERWISE = 'or set agents.sandbox = "none" in config.toml'
# The person's own settings that git reads.
_GIT_SETTINGS = ("~/.gitconfig", "${XDG_CONFIG_HOME:-~/.config}/git/config", "${XDG_CONFIG_HOME:-~/.config}/git/ignore")
# The files that decide which repository and configuration git uses and what git runs: in a worktree's entry of the git
# directory, and in the git directory itself. An agent must not create a missing one either: git reads `config.worktree`
# as soon as it exists, if the repository has the extension worktreeConfig.
_OF_WORKTREE = ("commondir", "gitdir", "config.worktree")
_OF_REPOSITORY = ("hooks", "config", "config.worktree")


@record(frozen=True, slots=True, kw_only=True)
class SandboxWork:
    """What an agent in a sandbox works on: its folder, its repository, and the files of the home that it reads."""

    cwd: str
    repository: str
    # Whether the agent may write to the folder, or only read it.
    writes: bool
    files: tuple[str, ...]


@record(frozen=True, slots=True, kw_only=True)
class Enclosed:
    """A command in a sandbox: its words and environment, and the descriptors that it inherits."""

    words: list[str]
    env: dict[str, str]
    handles: tuple[int, ...]


def plan_sandbox(context: Context, engine: Engine) -> str | None:
    """Return the sandbox in which an agent of the engine is started; None when it is started without one.

    Raises SandboxRefused or NoAgentsDoor when the settings want something that this machine cannot provide.
    """
    if not is_part_of_fleet(engine):
        check_sandbox(context)
    return wanted_sandbox(context, engine)


def check_sandbox(context: Context) -> str:
    """Return, for people, the sandbox that the settings name and how agents reach fleet.

    Raises SandboxRefused when the sandbox cannot be made here, NoAgentsDoor when no daemon listens on the socket for
    agents.
    """
    named = context.settings().agents_sandbox
    if named != "none":
        _refuse_unusable(context)
        _refuse_shown_home(context)
    is_home = named == "none" and context.settings().agents_door == "home"
    if not is_home and listener(_agents_socket(context)) is None:
        raise errors.NoAgentsDoor(path=_agents_socket(context))
    return f"{'no sandbox' if named == 'none' else named}, by {'the home' if is_home else 'the socket of the daemon'}"


def wanted_sandbox(context: Context, engine: Engine) -> str | None:
    """Return the sandbox that the settings want for agents of an engine; None when they want none."""
    named = context.settings().agents_sandbox
    return None if is_part_of_fleet(engine) or named == "none" else named


def is_part_of_fleet(engine: Engine) -> bool:
    """Return whether an engine is fleet itself (its own coordinator, the runner of a job's steps), not an agent."""
    return engine.program == "{fleet}"


def socket_variable(context: Context, engine: Engine, enclosed: str | None) -> dict[str, str]:
    """Return the environment variable that names the daemon's socket for agents, as {name: path}.

    {} for an agent that uses the home directly. An agent uses the socket when the setting `agents.door` says so, and always
    in a sandbox (`enclosed` is its name, None for none), where the home is not visible. An engine that is part of fleet
    always uses the home.
    """
    is_given = enclosed is not None or context.settings().agents_door == "socket"
    return {DOOR: _agents_socket(context)} if is_given and not is_part_of_fleet(engine) else {}


def _agents_socket(context: Context) -> str:
    """Return the path of the daemon's socket for agents."""
    return f"{context.world.home}/{paths.AGENTS_SOCKET}"


def _bubblewrap() -> str:
    """Return the path of bubblewrap. Raises SandboxRefused when it is not installed."""
    found = shutil.which(_PROGRAM)
    if found is None:
        raise errors.SandboxRefused(why="the program bwrap is not installed", advice=f"{_INSTALL}, {_OTHERWISE}")
    return found


def _refuse_unusable(context: Context) -> None:
    """Raise SandboxRefused when bubblewrap is not installed, or when a trial shows that it cannot make a sandbox here."""
    words = sandbox.words(_bubblewrap(), sandbox.Inside(), ["true"], cwd="/", copies={})
    done = context.world.programs.run("try the sandbox", words, limit=_LIMIT)
    if not done.ok:
        why = (done.err.strip().splitlines() or [f"it exited with {done.status}"])[-1]
        advice = f"allow it user namespaces (a container or AppArmor may forbid them), {_OTHERWISE}"
        raise errors.SandboxRefused(why=why, advice=advice)


def _refuse_shown_home(context: Context) -> None:
    """Raise SandboxRefused when the person's settings would show an agent the whole fleet home."""
    settings = context.settings()
    shown = {"agents.sandbox_read": settings.agents_sandbox_read, "agents.sandbox_write": settings.agents_sandbox_write}
    for name, places in shown.items():
        for path in places:
            if sandbox.shows(expand_path(path), (context.world.home,)):
                advice = f"name in {name} only what agents need of it"
                raise errors.SandboxRefused(why=f"{path} ({name}) has the fleet home in it", advice=advice)


def enclose(
    context: Context,
    engine: Engine,
    work: SandboxWork,
    words: list[str],
    env: Mapping[str, str],
    *,
    namespace_lock: int = -1,
) -> Enclosed:
    """Return an agent's command inside its sandbox. Creates the folders that the engine writes to, if they are missing.

    The result's descriptors are open, and the sandbox has to inherit them. The descriptor `namespace_lock` stays open as
    long as the sandbox exists; -1 for none.
    """
    home, given = context.world.home, {name: value for name, value in env.items() if name not in sandbox.LEFT_OUT}
    person = expand_path("~", env)
    hidden = (person, home)
    _make_folders(context, engine, env)
    copies = _copied_files(engine, env)
    read, write, kept = _places_of_git(context, work)
    blank = {path: os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for path in kept if not os.path.lexists(path)}
    inside = sandbox.Inside(
        empty=tuple(place for place in hidden if place != "/"),
        read=(
            *_expanded_paths(_GIT_SETTINGS, env),
            *_places_of_programs(context, engine, words[0], env, hidden),
            *_expanded_paths(engine.sandboxed.read, env),
            *_expanded_paths(context.settings().agents_sandbox_read, env),
            *(f"{home}/{name}" for name in (os.path.dirname(paths.FLEET_LINK), os.path.dirname(paths.AGENTS_SOCKET))),
            *work.files,
            *read,
        ),
        write=(*_expanded_paths((*engine.sandboxed.write, *context.settings().agents_sandbox_write), env), *write),
        kept=kept,
    )
    held = [namespace_lock] if namespace_lock >= 0 else []
    wrapped = sandbox.words(_bubblewrap(), inside, words, cwd=work.cwd, copies=copies, blank=blank)
    wrapped[1:1] = ["--sync-fd", str(namespace_lock)] if held else []
    declared = {engine.root_sandbox: "1"} if engine.root_sandbox else {}
    return Enclosed(words=wrapped, env=given | declared, handles=(*copies.values(), *blank.values(), *held))


def _places_of_git(context: Context, work: SandboxWork) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the paths that git needs for a commit in the agent's folder: those to read, to write, and to protect.

    The protected paths lie in writable folders and stay read-only. An agent that may not write gets the repository to
    read. Creates the folder of git's hooks if the agent works in the main checkout and the folder is missing.
    """
    if not work.writes:
        return (work.repository,), (), ()
    common = git_dir(work.repository)
    dirs = commit_dirs(context.world.git, work.cwd)
    if not dirs:  # the folder is the main checkout: a step of a job in the shared checkout
        if not os.path.lexists(f"{common}/hooks"):
            context.world.machine.make_folder(f"{common}/hooks")
        return (), (work.cwd,), tuple(f"{common}/{name}" for name in _OF_REPOSITORY)
    own = dirs[0]
    kept = (f"{work.cwd}/.git", *(f"{own}/{name}" for name in _OF_WORKTREE))
    return (common, *_alternates(common)), (work.cwd, *dirs), kept


def _alternates(common: str) -> tuple[str, ...]:
    """Return the folders from which a repository borrows objects (git alternates); the sandbox has to show them."""
    try:
        with open(f"{common}/objects/info/alternates", encoding="utf-8", errors="surrogateescape") as file:
            return tuple(os.path.join(f"{common}/objects", line.rstrip("\n")) for line in file if line.strip())
    except OSError:
        return ()


def _places_of_programs(
    context: Context, engine: Engine, program: str, env: Mapping[str, str], hidden: tuple[str, ...]
) -> Iterable[str]:
    """Yield the paths that the agent's programs need: the engine's, those that its file names, and fleet's.

    `hidden` are the folders that the sandbox must not show as a whole: the person's home and the fleet home.
    """
    others = (sandbox.program_on(name, env) for name in engine.sandboxed.programs)
    for path in (program, *filter(None, others)):
        yield from sandbox.places_of_program(path, hidden=hidden)
    yield from sandbox.places_of_fleet(context.world.fleet_program, hidden=hidden)


def _expanded_paths(given: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths with ~ and variables expanded, without those whose variable is not set."""
    return tuple(path for path in (expand_path(each, env).rstrip("/") for each in given) if path.startswith("/"))


def _make_folders(context: Context, engine: Engine, env: Mapping[str, str]) -> None:
    """Create the folders in which the engine keeps its data; without them, the data would vanish with the sandbox."""
    for path in _expanded_paths((each for each in engine.sandboxed.write if each.endswith("/")), env):
        if not os.path.isdir(path):
            context.world.machine.make_folder(path)


def _copied_files(engine: Engine, env: Mapping[str, str]) -> dict[str, int]:
    """Return the files of which the agent gets a copy of its own, as {path: open descriptor of the content}."""
    there = [path for path in _expanded_paths(engine.sandboxed.copy, env) if os.path.isfile(path)]
    return {path: os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in there}
