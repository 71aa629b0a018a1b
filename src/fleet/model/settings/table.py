"""The table of settings: names, kinds, defaults and meanings."""

from __future__ import annotations

from fleet.errors.given import BadName, BadTime
from fleet.model import names
from fleet.model.branches import INTEGRATION
from fleet.model.text.sizes import size
from fleet.model.text.times import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HOME_FILE = "config.toml"
PROJECT_FILE = "fleet.toml"
_LONGEST_WAIT = 3_600
_PRIORITIES = range(-1_000, 1_001)
_COUNTS = range(1, 1_001)
_PERCENT = range(1, 101)


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


class Setting:
    """One setting."""

    __slots__ = ("accepts", "default", "expects", "file", "guard", "help", "name")

    def __init__(
        self,
        *,
        name: str,
        file: str,
        default: Any,  # noqa: ANN401
        expects: str,
        accepts: Callable[[Any], bool],
        help: str,  # noqa: A002
        guard: str = "",
    ) -> None:
        self.name = name
        # What a repository's file may not do before a person has trusted it: "runs" a command, or "frees" agents.
        self.guard = guard
        self.file = file
        self.default = default
        self.expects = expects
        self.accepts = accepts
        self.help = help


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

    def as_document(self) -> dict[str, Any]:
        """For programs."""
        head = {"name": self.name, "value": self.value, "source": self.source, "help": self.help}
        return head | {"trusted": not self.untrusted, "written": self.written}


def _is_store(value: object) -> bool:
    return value == "sqlite" or (isinstance(value, str) and value.startswith(("postgresql://", "postgres://")))


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST_WAIT


def _is_priority(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _PRIORITIES


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _COUNTS


def _is_percent(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _PERCENT


def _is_tokens(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_autonomy(value: object) -> bool:
    return isinstance(value, str) and value in {"ask", "edits", "allowlist", "full"}


def _is_review(value: object) -> bool:
    return isinstance(value, str) and value in {"person", "agent", "none"}


def _is_trust(value: object) -> bool:
    return isinstance(value, str) and value in {"ask", "always"}


def _is_merge(value: object) -> bool:
    return isinstance(value, str) and value in {"integrate", "pr"}


def _is_name(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(names.engine(value))
    except BadName:
        return False


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


def _is_rest(value: object) -> bool:
    return value == "0s" or _is_duration(value)


def _is_duration(value: object) -> bool:
    try:
        return isinstance(value, str) and duration(value) > 0
    except BadTime:
        return False


def _is_size(value: object) -> bool:
    return isinstance(value, str) and size(value) is not None


def _is_patterns(value: object) -> bool:
    return isinstance(value, list) and all(_is_line(each) and each.strip("/") not in {"", "*", "**"} for each in value)


SETTINGS = (
    Setting(
        name="store",
        file=HOME_FILE,
        default="sqlite",
        expects='"sqlite" or "postgresql://…"',
        accepts=_is_store,
        help="where everything is kept",
    ),
    Setting(
        name="store_wait",
        file=HOME_FILE,
        default=30.0,
        expects=f"seconds, more than 0 and at most {_LONGEST_WAIT}",
        accepts=_is_seconds,
        help="how long to wait for the turn to write",
    ),
    Setting(
        name="keep_operations",
        file=HOME_FILE,
        default="90d",
        expects='a duration like "90d"',
        accepts=_is_duration,
        help="the age at which `fleet maintenance rotate-operations` archives operations",
    ),
    Setting(
        name="limits.agents",
        file=HOME_FILE,
        default=20,
        expects="a whole number from 1 to 1000",
        accepts=_is_count,
        help="how many agents may work at once, in all",
    ),
    Setting(
        name="limits.project_agents",
        file=HOME_FILE,
        default=20,
        expects="a whole number from 1 to 1000",
        accepts=_is_count,
        help="how many agents may work at once in one project",
    ),
    Setting(
        name="limits.failed_spawns",
        file=HOME_FILE,
        default=3,
        expects="a whole number from 1 to 1000",
        accepts=_is_count,
        help="how many failed starts of one task within an hour park it",
    ),
    Setting(
        name="limits.quota_percent",
        file=HOME_FILE,
        default=90,
        expects="a whole number from 1 to 100",
        accepts=_is_percent,
        help="how much of an engine's usage window may be used before no more agents are started on it",
    ),
    Setting(
        name="spawn_cooldown",
        file=HOME_FILE,
        default="10s",
        expects='a duration like "10s", or "0s" for none',
        accepts=_is_rest,
        help="how long a task rests after a failed start before it is started again",
    ),
    Setting(
        name="report_grace",
        file=HOME_FILE,
        default="90s",
        expects='a duration like "90s"',
        accepts=_is_duration,
        help="how long an agent may live on after its report before it is asked to exit",
    ),
    Setting(
        name="exit_grace",
        file=HOME_FILE,
        default="10s",
        expects='a duration like "10s"',
        accepts=_is_duration,
        help="how long an agent may take to exit when it is asked to",
    ),
    Setting(
        name="git_limit",
        file=HOME_FILE,
        default="10m",
        expects='a duration like "10m"',
        accepts=_is_duration,
        help="how long git may take to make a worktree",
    ),
    Setting(
        name="trash.keep",
        file=HOME_FILE,
        default="7d",
        expects='a duration like "7d"',
        accepts=_is_duration,
        help="how long ignored files of a removed worktree are kept in the trash",
    ),
    Setting(
        name="trash.limit",
        file=HOME_FILE,
        default="5GB",
        expects='a size like "5GB"',
        accepts=_is_size,
        help="how much the trash may hold; a worktree whose ignored files do not fit is kept",
    ),
    Setting(
        name="handoff.ask_percent",
        file=HOME_FILE,
        default=40,
        expects="a whole number from 1 to 100",
        accepts=_is_percent,
        help="how full an agent's context is when it is asked to hand off at its next milestone",
    ),
    Setting(
        name="handoff.ask_tokens",
        file=HOME_FILE,
        default=200_000,
        expects="a whole number of tokens",
        accepts=_is_tokens,
        help="the same, in tokens; whichever comes first",
    ),
    Setting(
        name="handoff.force_percent",
        file=HOME_FILE,
        default=50,
        expects="a whole number from 1 to 100",
        accepts=_is_percent,
        help="how full an agent's context is when it is handed off whether it is ready or not",
    ),
    Setting(
        name="handoff.force_tokens",
        file=HOME_FILE,
        default=300_000,
        expects="a whole number of tokens",
        accepts=_is_tokens,
        help="the same, in tokens; whichever comes first",
    ),
    Setting(
        name="tick_every",
        file=HOME_FILE,
        default="10s",
        expects='a duration like "10s"',
        accepts=_is_duration,
        help="how often the coordinator looks when nothing changes",
    ),
    Setting(
        name="trust",
        file=HOME_FILE,
        default="ask",
        expects='"ask" or "always"',
        accepts=_is_trust,
        help="whether a person has to trust what a repository's fleet.toml runs or frees before it counts",
    ),
    Setting(
        name="engine",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        expects="an engine's name",
        accepts=_is_name,
        help="the engine that agents run on",
    ),
    Setting(
        name="autonomy",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        expects='"ask", "edits", "allowlist" or "full"',
        accepts=_is_autonomy,
        help="what agents may do without asking",
    ),
    Setting(
        name="target",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        expects="a branch",
        accepts=_is_line,
        help="the branch that work lands on (default: that of the checkout)",
    ),
    Setting(
        name="integration",
        file=PROJECT_FILE,
        guard="frees",
        default=INTEGRATION,
        expects="a branch",
        accepts=_is_line,
        help="the branch that work is merged into, and that agents start from",
    ),
    Setting(
        name="verify",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        expects="a command on one line",
        accepts=_is_line,
        help="the command that has to pass on merged work",
    ),
    Setting(
        name="verify_limit",
        file=PROJECT_FILE,
        default="1h",
        expects='a duration like "1h"',
        accepts=_is_duration,
        help="how long the verify command may take",
    ),
    Setting(
        name="review",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        expects='"person", "agent" or "none"',
        accepts=_is_review,
        help="who looks at work before it is merged",
    ),
    Setting(
        name="merge",
        file=PROJECT_FILE,
        guard="frees",
        default="integrate",
        expects='"integrate" or "pr"',
        accepts=_is_merge,
        help="whether work is merged into the integration branch, or by pull request",
    ),
    Setting(
        name="pr.command",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        expects="a command on one line",
        accepts=_is_line,
        help="a program of yours that opens pull requests (default: gh, else glab)",
    ),
    Setting(
        name="pr.remote",
        file=PROJECT_FILE,
        guard="frees",
        default="origin",
        expects="the name of a remote",
        accepts=_is_line,
        help="the remote that branches are pushed to for a pull request",
    ),
    Setting(
        name="worktree.setup",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        expects="a command on one line",
        accepts=_is_line,
        help="run once in each new worktree, before its first agent",
    ),
    Setting(
        name="worktree.teardown",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        expects="a command on one line",
        accepts=_is_line,
        help="run in a worktree before it is removed; it cannot hold the removal up",
    ),
    Setting(
        name="worktree.disposable",
        file=PROJECT_FILE,
        guard="frees",
        default=list(DISPOSABLE),
        expects='a list of names or patterns like ["node_modules", "*.pyc"]',
        accepts=_is_patterns,
        help="ignored files and folders that can be made again; others are put into the trash before their worktree goes",
    ),
    Setting(
        name="task.verify",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        expects="a command on one line",
        accepts=_is_line,
        help="the verify command of new tasks",
    ),
    Setting(
        name="task.engine",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        expects="an engine's name",
        accepts=_is_name,
        help="the engine of new tasks",
    ),
    Setting(
        name="task.priority",
        file=PROJECT_FILE,
        default=0,
        expects="a whole number from -1000 to 1000",
        accepts=_is_priority,
        help="the priority of new tasks; higher goes first",
    ),
    Setting(
        name="task.archive_after",
        file=PROJECT_FILE,
        default="7d",
        expects='a duration like "7d"',
        accepts=_is_duration,
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
