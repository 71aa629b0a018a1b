"""Fails when a command that agents call or people read all day imports something heavy: imports are what such a command costs.

Each is run in a home without a config.toml, and in one whose config.toml has every setting but those of the store.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fleet.model.settings.table import HOME_FILE, SETTINGS

FORBIDDEN = (
    "argparse",
    "click",
    "collections",
    "contextlib",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "re",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "tomllib",
    "typing",
)
# Each hot command with the exit code it must give in the scene below, outside any agent.
HOT = (
    (0, ("task", "claim", "t", "-p", "p")),
    (0, ("task", "log", "t", "hi", "-p", "p")),
    (0, ("task", "artifact", "t", "a.txt", "-p", "p", "--json")),
    (0, ("task", "block", "t", "--reason", "x", "-p", "p")),
    (0, ("task", "fail", "t", "--reason", "x", "-p", "p")),
    (0, ("task", "done", "t", "-p", "p")),
    (2, ("log", "hi")),
)
# What people look at all day. These may use a few small modules more.
READERS_MAY = frozenset({"collections", "contextlib", "datetime", "functools"})
# Status shows what the settings of a project say, and has to read them.
STATUS = (0, ("status",))
READING_TOML = frozenset({"enum", "re", "tomllib", "typing"})
READS = (
    (0, ("task", "list", "-p", "p", "--status", "open")),
    (0, ("task", "ready", "-p", "p", "--limit", "3")),
    (0, ("task", "show", "t", "-p", "p", "--json")),
    (0, ("task", "graph", "-p", "p")),
    STATUS,
    (0, ("ps",)),
)
# What engines call at every step of an agent, by an agent that fleet knows nothing of: all is loaded, nothing is written.
HOOKS = tuple((0, ("hook", event, "--engine", "x")) for event in ("PostToolUse", "Stop", "PermissionRequest", "Status"))
# What tmux calls when an agent starts and ends, for one that is not there: lean, if not hot.
SESSIONS = ((11, ("launch", "0a1b2c3d")), (0, ("settle", "--hint", "fleet-0a1b2c3d")))
FAT = (
    "argparse",
    "click",
    "logging",
    "sqlite3",
    "fleet.api.agents.dispatches",
    "fleet.surfaces.cli.app",
    "fleet.verbs.dispatch.dispatch",
)
DIALECT = '{"engine": "x", "events": {"PostToolUse": "worked", "Stop": "stopped", "PermissionRequest": "asks", "Status": "status"}}'
EVERY = HOT + READS + HOOKS + SESSIONS
RUN = """
import sys
before = set(sys.modules)
from fleet.surfaces.cli.entry import run
code = run(sys.argv[1:])
print("\\n" + " ".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""


def run(home: Path, *argv: str, **env: str) -> tuple[int, set[str], str]:
    """Exit code, modules imported, and everything said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *argv],
        env={**kept, "FLEET_HOME": str(home), **env},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    said, _, modules = done.stdout.rstrip("\n").rpartition("\n")
    return done.returncode, set(modules.split()), said + done.stderr


def prepare(scene: Path) -> Path:
    repository, home = scene / "repository", scene / "home"
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    identity = ["-c", "user.name=fleet", "-c", "user.email=fleet@localhost"]
    first = ["commit", "--quiet", "--allow-empty", "--message=first"]
    subprocess.run(["git", "-C", repository, *identity, *first], check=True)
    for argv in (("project", "add", str(repository), "--name", "p"), ("task", "add", "T", "-p", "p")):
        code, _, said = run(home, *argv)
        if code:
            sys.exit(f"fleet {' '.join(argv)} gave {code}: {said}")
    (home / "hooks").mkdir()
    (home / "hooks" / "x.dialect.json").write_text(DIALECT)
    return home


def every_other_setting() -> str:
    """A config.toml that says nothing of the store: no reason to read TOML."""
    lines = [
        f"{each.name} = {repr(each.default) if isinstance(each.default, str) else each.default}"
        for each in SETTINGS
        if each.file == HOME_FILE and not each.name.startswith("store")
    ]
    return "\n".join(["# mine", *lines, ""])


def faults(home: Path, expected: int, argv: tuple[str, ...]) -> list[str]:
    code, modules, said = run(home, *argv, **({"FLEET_DISPATCH_ID": "0a1b2c3d"} if argv[0] == "hook" else {}))
    found = []
    if (home / "hooks" / "last-error").exists():
        found.append((home / "hooks" / "last-error").read_text())
    if code != expected:
        found.append(f"gave {code}, not {expected}: {said}")
    has_settings = (expected, argv) == STATUS and (home / HOME_FILE).exists()
    if heavy := sorted(modules & forbidden(expected, argv) - (READING_TOML if has_settings else frozenset())):
        found.append(f"imports {', '.join(heavy)}")
    return [f"fleet {' '.join(argv)} {fault}" for fault in found]


def forbidden(expected: int, argv: tuple[str, ...]) -> set[str]:
    if (expected, argv) in SESSIONS:
        return set(FAT)
    if (expected, argv) in READS:
        return (set(FORBIDDEN) | set(FAT)) - READERS_MAY
    return set(FORBIDDEN)


def main() -> int:
    found: list[str] = []
    for config in ("", every_other_setting()):
        with tempfile.TemporaryDirectory(prefix="fleet-hot-") as scene:
            home = prepare(Path(scene))
            if config:
                (home / HOME_FILE).write_text(config)
            where = f" (with {HOME_FILE})" if config else ""
            found += [fault + where for expected, argv in EVERY for fault in faults(home, expected, argv)]
    for fault in found:
        print(fault)
    print(f"hot: {len(EVERY)} commands, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
