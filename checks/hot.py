"""Fail when a hot or read command imports a heavy module: imports are most of what such a command costs.

The commands by which people look at a fleet (`fleet status`, `fleet ps`) also run in a home in which agents work.
Each command runs in a home without a config.toml, and in two whose config.toml has every setting: each on one line, and over as many
lines as TOML allows. The settings of the store are on one line in both.

python checks/hot.py            fail on a heavy import, or when a file that --write writes is out of date
python checks/hot.py --write    write fleet/bundle_groups.py (which modules commands import together), and other_settings.py and
                                values.py of fleet/model/settings/
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from module_groups import PAGE, text_of
from other_settings import KEYS, OF_STORE, text_of_others
from other_settings import PAGE as OTHERS
from setting_values import PAGE as VALUES
from setting_values import text_of_values

from fleet import bundle_writing
from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.settings.table import SETTINGS
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT as OF_SCENE
from fleet.testing.scene import Scene
from fleet.verbs.dispatch.plan import Wanted

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
# Commands for which a person's process imports less than an agent's. Their module groups are made from what an agent's
# process imports.
BY_PERSON = (("task", "claim", "t", "-p", "p"), ("task", "done", "t", "-p", "p"))
# Each hot command with the exit code it must give in the scene below, outside any agent.
HOT = (
    (0, BY_PERSON[0]),
    (0, ("task", "log", "t", "hi", "-p", "p")),
    (0, ("task", "artifact", "t", "a.txt", "-p", "p", "--json")),
    (0, ("task", "block", "t", "--reason", "x", "-p", "p")),
    (0, ("task", "fail", "t", "--reason", "x", "-p", "p")),
    (0, BY_PERSON[1]),
    (2, ("log", "hi")),
)
# The same by an agent.
BY_AGENT = ((0, ("task", "claim", "u", "-p", "p")), (0, ("done",)))
SPEAKER = {"FLEET_DISPATCH_ID": "0a1b2c3d", "FLEET_PROJECT": "p", "FLEET_TASK": "u"}
# The read commands, which people call all day. `fleet status` shows settings of the projects, so it has to parse TOML.
STATUS = (0, ("status",))
READING_TOML = frozenset({"collections", "contextlib", "datetime", "enum", "functools", "re", "tomllib", "typing"})
READS = (
    (0, ("task", "list", "-p", "p", "--status", "open")),
    (0, ("task", "ready", "-p", "p", "--limit", "3")),
    (0, ("task", "show", "t", "-p", "p", "--json")),
    (0, ("task", "graph", "-p", "p")),
    STATUS,
    (0, ("ps",)),
)
# The same where agents are at work: their engines are read, and tmux is asked.
BESIDE_AGENTS = (STATUS, (0, ("ps",)))
AT_WORK = 2
# A task is added by people and coordinators, often many at once. Its defaults are settings of the project.
ADDS = ((0, ("task", "add", "More", "-p", "p", "-d", "what to do", "--after", "t")),)
# What engines call at every step of an agent, here for an unknown agent: everything is imported, nothing is written.
HOOKS = tuple((0, ("hook", event, "--engine", "x")) for event in ("PostToolUse", "Stop", "PermissionRequest", "Status"))
# What tmux calls when an agent starts and ends, here for an unknown agent. They may import more than hot commands.
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
EVERY = (*HOT, *BY_AGENT, *READS, *ADDS, *HOOKS, *SESSIONS)
RUN = """
import sys
before = set(sys.modules)
import fleet.surfaces.cli.hot.start
print("begun", file=sys.stderr)
from fleet.surfaces.cli.entry import run
code = run(sys.argv[1:])
print("\\n" + " ".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""
# What the built-in engines' files say is in the bundle.
FROM_BUNDLE = "from fleet import bundle\nbundle.use()\n"


def run(home: Path, *argv: str, first: str = "", **env: str) -> tuple[int, set[str], str]:
    """Run a command in a new process; return its exit code, the modules that it imported, and its output.

    The output includes Python's report of the imports in their order. `first` is Python code to run first.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", first + RUN, *argv],
        env={**kept, "FLEET_HOME": str(home), **env},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    output, _, modules = process.stdout.rstrip("\n").rpartition("\n")
    return process.returncode, set(modules.split()), output + process.stderr


def prepare(scene: Path) -> Path:
    """Create a repository and a home with a project, two tasks and the dialect of an engine's hooks; return the home.

    Exit the program when one of the commands for that fails.
    """
    repository, home = scene / "repository", scene / "home"
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    identity = ["-c", "user.name=fleet", "-c", "user.email=fleet@localhost"]
    first = ["commit", "--quiet", "--allow-empty", "--message=first"]
    subprocess.run(["git", "-C", repository, *identity, *first], check=True)
    added = [("task", "add", title, "-p", "p") for title in ("T", "U")]
    for argv in (("project", "add", str(repository), "--name", "p"), *added):
        code, _, output = run(home, *argv)
        if code:
            sys.exit(f"fleet {' '.join(argv)} gave {code}: {output}")
    (home / "hooks").mkdir()
    (home / "hooks" / "x.dialect.json").write_text(DIALECT)
    return home


def every_setting() -> dict[str, object]:
    """Return a value for every setting of config.toml.

    A home has all of them, to show that a hot command finds its store without parsing the file as TOML.
    """
    settings = {each.name: each for each in SETTINGS if each.file == HOME_FILE}
    # A setting without a default takes one of these: an amount of money, hours, a command, a text.
    tried = (1.5, "22:00-07:00", ["program"], "/a/path")
    values = {
        name: next(value for value in tried if each.kind.accepts(value)) if each.default is None else each.default
        for name, each in settings.items()
        if name != KEYS
    }
    return values | {f"{KEYS}.quit": "q ctrl+c"}


def on_lines(values: dict[str, object]) -> str:
    """Return a config.toml with each setting on one line."""
    return "\n".join(["# mine", *(f"{name} = {_toml(value)}" for name, value in values.items()), ""])


def over_lines(values: dict[str, object]) -> str:
    """Return a config.toml with its lists and texts over several lines, in which other lines look like settings."""
    of_store = {name: value for name, value in values.items() if name in OF_STORE}
    others = {name: value for name, value in values.items() if name not in OF_STORE}
    return "\n".join([*(f"{name} = {_long_toml(value)}" for name, value in others.items()), on_lines(of_store)])


def _long_toml(value: object) -> str:
    """Return a value as TOML writes it over several lines."""
    if isinstance(value, list):
        return "".join(["[ # store = ']'\n", *(f"    {_long_toml(each)},\n" for each in value), "]"])
    return f'"""\\\n  {value}"""' if isinstance(value, str) else _toml(value)


def _toml(value: object) -> str:
    """Return a value as TOML writes it."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def faults(
    home: Path, expected: int, argv: tuple[str, ...], outputs: dict[tuple[str, ...], str], **how: str
) -> list[str]:
    """Run a command and return a line for a wrong exit code, a hook's error, or forbidden imports.

    Keep its output in `outputs` if its imports count for the module groups.
    """
    speaker = SPEAKER if argv[0] == "hook" or (expected, argv) in BY_AGENT else {}
    code, modules, output = run(home, *argv, **speaker, **how)
    found = []
    if (expected == 0 and argv not in BY_PERSON) or (expected, argv) in SESSIONS:
        outputs.setdefault(argv, output)
    if (home / "hooks" / "last-error").exists():
        found.append((home / "hooks" / "last-error").read_text())
    if code != expected:
        found.append(f"gave {code}, not {expected}: {output}")
    has_settings = (expected, argv) in (STATUS, *ADDS) and (home / HOME_FILE).exists()
    if heavy := sorted(modules & forbidden(expected, argv) - (READING_TOML if has_settings else frozenset())):
        found.append(f"imports {', '.join(heavy)}")
    return [f"fleet {' '.join(argv)} {fault}" for fault in found]


def forbidden(expected: int, argv: tuple[str, ...]) -> set[str]:
    """Return the modules that a command may not import."""
    if (expected, argv) in SESSIONS:
        return set(FAT)
    if (expected, argv) in READS + ADDS:
        return set(FORBIDDEN) | set(FAT)
    return set(FORBIDDEN)


def faults_beside_agents() -> list[str]:
    """Run the commands of BESIDE_AGENTS in a home in which agents work, and return a line for each fault."""
    bundle_writing.write()
    with Scene() as scene:
        with scene.fleet() as opened:
            for number in range(AT_WORK):
                opened.tasks.add(project=OF_SCENE, title="T", slug=f"t{number}")
                wanted = Wanted(project=OF_SCENE, slug=f"t{number}", engine="shell", command=("sleep", "1000"))
                opened.dispatches.start(wanted)
            until(lambda: all(agent.process for agent in opened.agents.list()))
        Path(scene.home, HOME_FILE).unlink()
        found = []
        for expected, argv in BESIDE_AGENTS:
            lines = faults(Path(scene.home), expected, argv, {}, first=FROM_BUNDLE, FLEET_DIRECT="1")
            found += [f"{line} (with agents)" for line in lines]
    return found


def old_files(written: dict[Path, str]) -> list[str]:
    """Return a line for each file that does not have the text that it should have; with --write, write it first."""
    if "--write" in sys.argv:
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
    old = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    return [f"{path} is old: run `make hot`" for path in old]


def main() -> int:
    """Print the faults of all commands, without and with a config.toml; return the exit code."""
    found = old_files({OTHERS: text_of_others(), VALUES: text_of_values()})
    outputs: dict[tuple[str, ...], str] = {}
    values = every_setting()
    for config in ("", on_lines(values), over_lines(values)):
        with tempfile.TemporaryDirectory(prefix="fleet-hot-") as scene:
            home = prepare(Path(scene))
            if config:
                (home / HOME_FILE).write_text(config)
            where = f" (with {HOME_FILE})" if config else ""
            found += [fault + where for expected, argv in EVERY for fault in faults(home, expected, argv, outputs)]
    found += faults_beside_agents()
    found += old_files({PAGE: text_of(outputs)})
    for fault in found:
        print(fault)
    print(f"hot: {len(EVERY)} commands, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
