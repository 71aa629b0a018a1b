"""The table of settings: names, kinds, defaults and meanings."""

from __future__ import annotations

from fleet.model.branches import INTEGRATION
from fleet.model.text.documents.kinds import AUTONOMY, ENGINE, Key, Kind, choice, count, duration_like, is_number
from fleet.model.text.sizes import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOME_FILE = "config.toml"
PROJECT_FILE = "fleet.toml"
_LONGEST_WAIT = 3_600


# Ignored folders and files that a build, a package manager or a desktop makes again.
DISPOSABLE = (
    *("node_modules", "bower_components", ".pnpm-store", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo"),
    *(".venv", "venv", "__pycache__", "*.pyc", "*.pyo", "*.egg-info", ".eggs", ".tox", ".nox", ".hypothesis"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".import_linter_cache", ".coverage", "htmlcov", "coverage"),
    *(
        "target",
        "dist",
        "build",
        "_build",
        ".build",
        "cmake-build-*",
        "CMakeFiles",
        ".gradle",
        ".stack-work",
        ".dart_tool",
    ),
    *("*.o", "*.obj", "*.class", "*.a", "*.so", "*.dylib", "zig-cache", ".zig-cache", "DerivedData", "Pods"),
    *(".cache", ".sass-cache", ".DS_Store", "Thumbs.db"),
)


class Setting(Key):
    """One setting."""

    __slots__ = ("file", "guard", "name")

    def __init__(
        self,
        *,
        name: str,
        file: str,
        kind: Kind,
        default: Any,  # noqa: ANN401
        help: str,  # noqa: A002
        guard: str = "",
    ) -> None:
        super().__init__(kind, help, default=default)
        self.name = name
        self.file = file
        # What a repository's file may not do before a person has trusted it: "runs" a command, or "frees" agents.
        self.guard = guard


class SettingValue:
    """What a setting is, and where that was said.

    One that a repository's file sets and no person has trusted has the guard in `untrusted` and what the file says in
    `written`; its value is the one that was trusted before, or the default.
    """

    __slots__ = ("help", "name", "source", "untrusted", "value", "written")

    def __init__(
        self,
        *,
        name: str,
        value: Any,  # noqa: ANN401
        source: str,
        help: str,  # noqa: A002
        untrusted: str = "",
        written: Any = None,  # noqa: ANN401
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.help = help
        self.untrusted = untrusted
        self.written = written if untrusted else value


def _is_store(value: object) -> bool:
    return value == "sqlite" or (isinstance(value, str) and value.startswith(("postgresql://", "postgres://")))


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


def _is_patterns(value: object) -> bool:
    return isinstance(value, list) and all(_is_line(each) and each.strip("/") not in {"", "*", "**"} for each in value)


_STORE = Kind("'sqlite' or 'postgresql://…'", _is_store)
_SECONDS = Kind(
    f"seconds, more than 0 and at most {_LONGEST_WAIT}",
    lambda value: is_number(value) and 0 < value <= _LONGEST_WAIT,
)
_TOKENS = Kind("a whole number of tokens", lambda value: is_number(value) and isinstance(value, int) and value > 0)
_SIZE = Kind('a size like "5GB"', lambda value: isinstance(value, str) and size(value) is not None)
_DURATION = duration_like('"10s", or "0s" for none')
_DURATION_OR_NONE = Kind(_DURATION.expects, lambda value: value == "0s" or _DURATION.accepts(value))
_COMMAND = Kind("a command on one line", _is_line)
_PATTERNS = Kind('a list of names or patterns like ["node_modules", "*.pyc"]', _is_patterns)
SETTINGS = (
    Setting(
        name="store",
        file=HOME_FILE,
        default="sqlite",
        kind=_STORE,
        help="where everything is kept",
    ),
    Setting(
        name="store_wait",
        file=HOME_FILE,
        default=30.0,
        kind=_SECONDS,
        help="how long to wait for the turn to write",
    ),
    Setting(
        name="keep_operations",
        file=HOME_FILE,
        default="90d",
        kind=duration_like('"90d"'),
        help="the age at which `fleet maintenance rotate-operations` archives operations",
    ),
    Setting(
        name="limits.agents",
        file=HOME_FILE,
        default=20,
        kind=count(1, 1000),
        help="how many agents may work at once, in all",
    ),
    Setting(
        name="limits.project_agents",
        file=HOME_FILE,
        default=20,
        kind=count(1, 1000),
        help="how many agents may work at once in one project",
    ),
    Setting(
        name="limits.failed_spawns",
        file=HOME_FILE,
        default=3,
        kind=count(1, 1000),
        help="how many failed starts of one task within an hour park it",
    ),
    Setting(
        name="limits.quota_percent",
        file=HOME_FILE,
        default=90,
        kind=count(1, 100),
        help="how much of an engine's usage window may be used before no more agents are started on it",
    ),
    Setting(
        name="spawn_cooldown",
        file=HOME_FILE,
        default="10s",
        kind=_DURATION_OR_NONE,
        help="how long a task rests after a failed start before it is started again",
    ),
    Setting(
        name="report_grace",
        file=HOME_FILE,
        default="90s",
        kind=duration_like('"90s"'),
        help="how long an agent may live on after its report before it is asked to exit",
    ),
    Setting(
        name="exit_grace",
        file=HOME_FILE,
        default="10s",
        kind=duration_like('"10s"'),
        help="how long an agent may take to exit when it is asked to",
    ),
    Setting(
        name="git_limit",
        file=HOME_FILE,
        default="10m",
        kind=duration_like('"10m"'),
        help="how long git may take to make a worktree",
    ),
    Setting(
        name="trash.keep",
        file=HOME_FILE,
        default="7d",
        kind=duration_like('"7d"'),
        help="how long ignored files of a removed worktree are kept in the trash",
    ),
    Setting(
        name="trash.limit",
        file=HOME_FILE,
        default="5GB",
        kind=_SIZE,
        help="how much the trash may hold; a worktree whose ignored files do not fit is kept",
    ),
    Setting(
        name="handoff.ask_percent",
        file=HOME_FILE,
        default=40,
        kind=count(1, 100),
        help="how full an agent's context is when it is asked to hand off at its next milestone",
    ),
    Setting(
        name="handoff.ask_tokens",
        file=HOME_FILE,
        default=200_000,
        kind=_TOKENS,
        help="the same, in tokens; whichever comes first",
    ),
    Setting(
        name="handoff.force_percent",
        file=HOME_FILE,
        default=50,
        kind=count(1, 100),
        help="how full an agent's context is when it is handed off whether it is ready or not",
    ),
    Setting(
        name="handoff.force_tokens",
        file=HOME_FILE,
        default=300_000,
        kind=_TOKENS,
        help="the same, in tokens; whichever comes first",
    ),
    Setting(
        name="tick_every",
        file=HOME_FILE,
        default="10s",
        kind=duration_like('"10s"'),
        help="how often the coordinator looks when nothing changes",
    ),
    Setting(
        name="trust",
        file=HOME_FILE,
        default="ask",
        kind=choice("ask", "always"),
        help="whether a person has to trust what a repository's fleet.toml runs or frees before it counts",
    ),
    Setting(
        name="engine",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=ENGINE,
        help="the engine that agents run on",
    ),
    Setting(
        name="autonomy",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=AUTONOMY,
        help="what agents may do without asking",
    ),
    Setting(
        name="target",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=Kind("a branch", _is_line),
        help="the branch that work lands on (default: that of the checkout)",
    ),
    Setting(
        name="integration",
        file=PROJECT_FILE,
        guard="frees",
        default=INTEGRATION,
        kind=Kind("a branch", _is_line),
        help="the branch that work is merged into, and that agents start from",
    ),
    Setting(
        name="verify",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_COMMAND,
        help="the command that has to pass on merged work",
    ),
    Setting(
        name="verify_limit",
        file=PROJECT_FILE,
        default="1h",
        kind=duration_like('"1h"'),
        help="how long the verify command may take",
    ),
    Setting(
        name="review",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=choice("person", "agent", "none"),
        help="who looks at work before it is merged",
    ),
    Setting(
        name="merge",
        file=PROJECT_FILE,
        guard="frees",
        default="integrate",
        kind=choice("integrate", "pr"),
        help="whether work is merged into the integration branch, or by pull request",
    ),
    Setting(
        name="pr.command",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_COMMAND,
        help="a program of yours that opens pull requests (default: gh, else glab)",
    ),
    Setting(
        name="pr.remote",
        file=PROJECT_FILE,
        guard="frees",
        default="origin",
        kind=Kind("the name of a remote", _is_line),
        help="the remote that branches are pushed to for a pull request",
    ),
    Setting(
        name="worktree.setup",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_COMMAND,
        help="run once in each new worktree, before its first agent",
    ),
    Setting(
        name="worktree.teardown",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_COMMAND,
        help="run in a worktree before it is removed; it cannot hold the removal up",
    ),
    Setting(
        name="worktree.disposable",
        file=PROJECT_FILE,
        guard="frees",
        default=list(DISPOSABLE),
        kind=_PATTERNS,
        help="ignored files and folders that can be made again; others are put into the trash before their worktree goes",
    ),
    Setting(
        name="task.verify",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_COMMAND,
        help="the verify command of new tasks",
    ),
    Setting(
        name="task.engine",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=ENGINE,
        help="the engine of new tasks",
    ),
    Setting(
        name="task.priority",
        file=PROJECT_FILE,
        default=0,
        kind=count(-1000, 1000),
        help="the priority of new tasks; higher goes first",
    ),
    Setting(
        name="task.archive_after",
        file=PROJECT_FILE,
        default="7d",
        kind=duration_like('"7d"'),
        help="the age at which a sweep archives failed and abandoned tasks; done ones are archived when merged",
    ),
)


def merged(*given: dict[str, SettingValue]) -> dict[str, SettingValue]:
    """Return every setting, from the files that set it or with its default."""
    values = {
        each.name: SettingValue(name=each.name, value=each.default, source="default", help=each.help)
        for each in SETTINGS
    }
    for each in given:
        values |= each
    return values
