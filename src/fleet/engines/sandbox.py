"""Build bubblewrap's command line for the sandbox of an agent: from the needs of its work, its engine and the settings.

An engine's file has a table [sandboxed], with paths as in a shell (~, $NAME, ${NAME:-~/x}):

    read        files and folders of the person's own that the agent reads
    write       files and folders that it writes; a path that ends in / is a folder, and is made if it is missing
    copy        files of which each agent gets a copy of its own, whose changes are lost
    programs    other programs that it starts
"""

from __future__ import annotations

import os
import sys

from fleet.model.text.documents.kinds import WORDS, Key
from fleet.model.text.documents.tables import Table
from fleet.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# The system: readable in every sandbox. Other folders of the root (/home, /root, /srv, /mnt, /var, …) are not there.
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"),
    *("/var/lib/ca-certificates", "/run/current-system"),
)
# Where names of servers are looked up: often a symlink to a file outside /etc, which is then shown, too.
_RESOLVER = "/etc/resolv.conf"
# Folders that are empty in each sandbox.
_OWN_FOLDERS = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - names inside the sandbox
# Variables that name sockets and folders that do not exist in the sandbox: an agent there does not get them.
LEFT_OUT = frozenset(
    ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "TMPDIR", "TMUX", "TMUX_PANE")
)
# Signals for the agent must not end bubblewrap: it ignores these, and the agent is started with their default handling.
SIGNALS = ("HUP", "INT", "QUIT", "TERM")
_ENV = "/usr/bin/env"
# The folder with the packages of Node.js.
_PACKAGES = "/node_modules/"
_ROOTS = frozenset(("/", ""))


@record(frozen=True, slots=True, kw_only=True)
class Sandboxed:
    """The table [sandboxed] of an engine's file."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


TABLE = Table("[sandboxed]", dict.fromkeys(("read", "write", "copy", "programs"), Key(WORDS)))


@record(frozen=True, slots=True, kw_only=True)
class Inside:
    """The paths that exist in a sandbox: as `empty` folders, to `read`, or to `write`.

    A path may be treated differently from the folder that contains it. `kept` paths are read-only even if they are also
    in `write`.
    """

    empty: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def words(
    bwrap: str,
    inside: Inside,
    command: Iterable[str],
    *,
    cwd: str,
    copies: Mapping[str, int],
    blank: Mapping[str, int] | None = None,
) -> list[str]:
    """Return the command line that runs a command in a sandbox.

    `copies` maps each copied file to a descriptor of its content. `blank` maps each missing file that the command must not
    create to a descriptor without content: in the sandbox, it is an empty file that cannot be written.
    """
    mounts = [
        *((path, ["--perms", "0700", "--tmpfs", path]) for path in (*_OWN_FOLDERS, *inside.empty)),
        *_system_mounts(),
        *_binds("--ro-bind", inside.read),
        *_binds("--bind", inside.write),
        *_binds("--ro-bind", inside.kept),
        *((path, ["--perms", "0600", "--file", str(handle), path]) for path, handle in copies.items()),
        *((path, ["--ro-bind-data", str(handle), path]) for path, handle in (blank or {}).items()),
    ]
    mounts.sort(
        key=lambda mount: [part for part in mount[0].split("/") if part]
    )  # the sort is stable: at one place the last one counts
    # The pid namespace hides other agents' environments; it ends with bubblewrap, so that nothing outlives the agent.
    alone = ["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    own = ["--proc", "/proc", "--dev", "/dev"]
    signals = [_ENV, f"--default-signal={','.join(SIGNALS)}"]
    return [
        *(bwrap, *alone, *own, *(word for _path, given in mounts for word in given)),
        *("--chdir", cwd, "--", *signals, *command),
    ]


def _system_mounts() -> Iterator[tuple[str, list[str]]]:
    """Yield the mounts of the system's folders, read-only, as (path, words of bubblewrap); symlinks stay symlinks."""
    for path in _SYSTEM:
        if os.path.islink(path):
            yield path, ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            yield path, ["--ro-bind", path, path]
    real = os.path.realpath(_RESOLVER)
    if not real.startswith("/etc/"):
        yield real, ["--ro-bind-try", real, real]


def _binds(how: str, paths: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield, for each path that exists, the mount of its real file there, as (place, words of bubblewrap).

    For a symbolic link, the real file is mounted at its own place and at that of the link.

    `how` is the option of bubblewrap: `--bind`, or `--ro-bind` for read-only.
    """
    for path in dict.fromkeys(paths):
        if os.path.exists(path):
            real = os.path.realpath(path)
            yield from ((place, [how, real, place]) for place in dict.fromkeys((real, path)))


def places_of_program(path: str, *, hidden: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that a program needs to run: the folders of its file and of its symlinks, its packages and virtualenv.

    A folder that contains one of the paths `hidden` is left out: only the file or symlink in it is returned.
    """
    found: list[str] = []
    real = os.path.realpath(path)
    for hop in (*_links(path), real):
        folder = os.path.dirname(hop)
        found.append(hop if shows(folder, hidden) else folder)
        if _PACKAGES in hop:
            found.append(hop.partition(_PACKAGES)[0] + _PACKAGES.rstrip("/"))
    prefix = os.path.dirname(os.path.dirname(real))
    if os.path.exists(f"{prefix}/pyvenv.cfg"):
        found += [prefix, *places_of_program(os.path.join(prefix, "bin", "python"), hidden=hidden)]
    return tuple(dict.fromkeys(each for each in found if not shows(each, hidden)))


def shows(path: str, hidden: Iterable[str]) -> bool:
    """Return whether a folder would show one of the paths `hidden`: it contains or is one. Always True for `/`."""
    real = os.path.realpath(path).rstrip("/")
    return real in _ROOTS or any(f"{os.path.realpath(place)}/".startswith(f"{real}/") for place in hidden)


def _links(path: str) -> Iterator[str]:
    """Yield a path, then, while the last one is a symlink, the path that it points to; at most 40 paths."""
    for _ in range(40):
        yield path
        if not os.path.islink(path):
            return
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))


def places_of_fleet(program: str, *, hidden: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that the program `fleet` needs to run: interpreter, virtual environment, package and modules.

    Folders of programs and modules that contain one of the paths `hidden` are left out.
    """
    package = os.path.dirname(os.path.dirname(__file__))
    interpreter = places_of_program(sys.executable, hidden=hidden)
    modules = [place for place in sys.path if os.path.isabs(place) and not shows(place, hidden)]
    return (*places_of_program(program, hidden=hidden), *interpreter, sys.prefix, sys.base_prefix, package, *modules)


def program_on(name: str, env: Mapping[str, str]) -> str | None:
    """Return the path of a program on the PATH of an environment; None when it is not there."""
    import shutil  # noqa: PLC0415 - not for whoever only reads an engine

    found = shutil.which(name, path=env.get("PATH", os.defpath))
    return os.path.abspath(found) if found else None
