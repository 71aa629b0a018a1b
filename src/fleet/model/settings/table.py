"""The table of settings: the name, file, kind of value, default and help text of each setting."""

from __future__ import annotations

from fleet.fast import shlex
from fleet.model.agents.allow import is_rule
from fleet.model.agents.notices.kinds import CHANNELS, DEFAULT_KINDS, KINDS
from fleet.model.agents.notices.quiet_hours import parsed as quiet_hours
from fleet.model.branches import INTEGRATION
from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.settings.store_address import LONGEST_WAIT, SQLITE, WAIT, is_address, is_wait
from fleet.model.text.documents.kinds import (
    AUTONOMY,
    ENGINE,
    ENGINES,
    FLAG,
    SOME_WORDS,
    Key,
    SecretKind,
    ValueKind,
    choice,
    choices,
    count,
    duration_like,
    is_number,
)
from fleet.model.text.sizes import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.model.text.documents.nodes import DocumentFault, DocumentNode

PROJECT_FILE = "fleet.toml"  # the settings of a project, in its repository
MOST_DOLLARS = 1_000_000
# The smallest amount of dollars that may be given: a smaller one would be shown as $0.00.
LEAST_DOLLARS = 0.01


# The files that setup commands of common projects read.
SETUP_FILES = (
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock*"),
    *("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "uv.lock", "poetry.lock", "Pipfile*"),
    *("Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "Gemfile*", "composer.*", "mix.*", "Makefile", ".tool-versions"),
)
# Ignored folders and files that a build, a package manager or a desktop creates again.
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
    """One setting in the table of settings."""

    __slots__ = ("file", "guard", "name", "secret")

    def __init__(
        self,
        *,
        name: str,
        file: str,
        kind: ValueKind,
        default: Any,  # noqa: ANN401
        help: str,  # noqa: A002
        guard: str = "",
        secret: bool = False,
    ) -> None:
        super().__init__(kind, help, default=default)
        # The dotted name, such as `task.engine`, and the name of the only file that may set it.
        self.name = name
        self.file = file
        # Whether its value is never shown.
        self.secret = secret
        # Why a person has to trust the value first: it "runs" a command or "frees" agents; "" when no trust is needed.
        self.guard = guard


class SettingValue:
    """The value of a setting, and where it comes from: a file and line, or the default.

    When no person has trusted the value in a repository's file, `untrusted` is the setting's guard and `written` the value
    in the file; `value` is then the value trusted before, or the default. `wrong` has a line for each fault inside
    the value that leaves the other settings usable; "" for none.
    """

    __slots__ = ("help", "name", "source", "untrusted", "value", "written", "wrong")

    def __init__(
        self,
        *,
        name: str,
        value: Any,  # noqa: ANN401
        source: str,
        help: str,  # noqa: A002
        untrusted: str = "",
        written: Any = None,  # noqa: ANN401
        wrong: str = "",
    ) -> None:
        self.name = name
        self.value = value
        self.wrong = wrong
        self.source = source
        self.help = help
        self.untrusted = untrusted
        self.written = written if untrusted else value


def _is_line(value: object) -> bool:
    """Return whether a value is a text of one line that is not blank."""
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


def _is_patterns(value: object) -> bool:
    """Return whether a value is a list of file patterns, none of which matches every file."""
    return isinstance(value, list) and all(_is_line(item) and item.strip("/") not in {"", "*", "**"} for item in value)


def _is_variables(value: object) -> bool:
    """Return whether a value is a list of names or patterns of environment variables."""
    return isinstance(value, list) and all(_is_line(item) and "=" not in item and " " not in item for item in value)


def _is_split(value: object) -> bool:
    """Return whether a value is a command on one line that can be split into its words: every quote is closed."""
    if not isinstance(value, str) or not _is_line(value):
        return False
    if not any(mark in value for mark in "'\"\\"):
        return True  # without loading shlex
    try:
        shlex.split(value)
    except ValueError:
        return False
    return True


def _is_commands(value: object) -> bool:
    """Return whether a value is a list of commands that can be rules of the setting `allow`."""
    return isinstance(value, list) and all(is_rule(item) for item in value)


def _is_addresses(value: object) -> bool:
    """Return whether a value is a list of addresses like ntfy://topic."""
    return isinstance(value, list) and all(_is_line(item) and "://" in item for item in value)


def _is_places(value: object) -> bool:
    """Return whether a value is a list of paths that begin with / or ~/."""
    return isinstance(value, list) and all(_is_line(item) and item.startswith(("/", "~/")) for item in value)


class _Keys(ValueKind):
    """The kind of the setting `keys`, a table of keys by act. The screen ignores faulty entries and uses the others."""

    def remarks(self, node: DocumentNode, name: str) -> Iterator[DocumentFault]:
        """Yield a fault, at the line of the entry, for each unknown act, wrong key, or key that two acts share."""
        from fleet.model.settings.keys import key_faults  # noqa: PLC0415 - only where somebody has changed keys

        for act, why in key_faults(node.plain):
            yield node.fault(f"{name}: {why}", key=act)


# The types of values, as JSON Schema; from them and the other schemas `make hot` writes the types of SettingValues.
_STRING = {"type": "string"}
_STRINGS = {"type": "array", "items": _STRING}
_NUMBER = {"type": "number"}
_STORE = ValueKind("'sqlite' or 'postgresql://…'", is_address, _STRING)
_SECONDS = ValueKind(
    f"seconds, more than 0 and at most {LONGEST_WAIT}",
    lambda value: is_number(value) and is_wait(value),
    _NUMBER,
)
_DOLLARS = ValueKind("dollars, more than 0", lambda value: is_number(value) and 0 < value <= MOST_DOLLARS, _NUMBER)
_TOKENS = ValueKind(
    "a whole number of tokens",
    lambda value: is_number(value) and isinstance(value, int) and value > 0,
    {"type": "integer"},
)
_SIZE = ValueKind('a size like "5GB"', lambda value: isinstance(value, str) and size(value) is not None, _STRING)
_DURATION = duration_like('"10s", or "0s" for none')
_DURATION_OR_NONE = ValueKind(_DURATION.expects, lambda value: value == "0s" or _DURATION.accepts(value), _STRING)
_COMMAND = ValueKind("a command on one line", _is_line, _STRING)
_WORDS = ValueKind("a command on one line, in which every quote is closed", _is_split, _STRING)
_PLACES = ValueKind('a list of paths like ["~/.cache/uv", "/srv/data"]', _is_places, _STRINGS)
_PATTERNS = ValueKind('a list of names or patterns like ["node_modules", "*.pyc"]', _is_patterns, _STRINGS)
SETTINGS = (
    Setting(
        name="store",
        file=HOME_FILE,
        default=SQLITE,
        kind=_STORE,
        help="where everything is kept",
    ),
    Setting(
        name="store_wait",
        file=HOME_FILE,
        default=WAIT,
        kind=_SECONDS,
        help="how many seconds to wait while other processes write",
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
        name="limits.cost_task",
        file=HOME_FILE,
        default=None,
        kind=_DOLLARS,
        help="how many dollars a task may cost before its agent stops at the end of its turn and asks",
    ),
    Setting(
        name="limits.cost_project",
        file=HOME_FILE,
        default=None,
        kind=_DOLLARS,
        help="how many dollars a project may cost before its agents stop and ask, and nothing new is started",
    ),
    Setting(
        name="limits.cost_day",
        file=HOME_FILE,
        default=None,
        kind=_DOLLARS,
        help="how many dollars all agents may cost in a day before they stop and ask, and nothing new is started",
    ),
    Setting(
        name="ports.first",
        file=HOME_FILE,
        default=20_000,
        kind=count(1_024, 65_000),
        help="the first port that worktrees get; each gets a block of its own, named by FLEET_PORT_BASE",
    ),
    Setting(
        name="ports.block",
        file=HOME_FILE,
        default=20,
        kind=count(1, 1_000),
        help="how many ports each worktree gets",
    ),
    Setting(
        name="spawn_cooldown",
        file=HOME_FILE,
        default="10s",
        kind=_DURATION_OR_NONE,
        help="how long a task waits after a failed start before it is started again",
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
        name="silent_after",
        file=HOME_FILE,
        default="10m",
        kind=duration_like('"10m"'),
        help="how long a busy agent may give no sign of life before it is called silent",
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
        help="how many tokens an agent's context has when it is asked to hand off; the first limit reached counts",
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
        help="how many tokens an agent's context has when it is handed off; the first limit reached counts",
    ),
    Setting(
        name="handoff.without_progress",
        file=HOME_FILE,
        default=2,
        kind=count(0, 1000),
        help="how many handoffs of a task in a row may bring no commit, artifact or changed plan before the task is parked",
    ),
    Setting(
        name="tick_every",
        file=HOME_FILE,
        default="10s",
        kind=duration_like('"10s"'),
        help="how often the coordinator ticks when nothing changes",
    ),
    Setting(
        name="daemon_sweep",
        file=HOME_FILE,
        default="report",
        kind=choice("report", "act"),
        help="what the daemon does about things that were left behind: only report them, or release them as `fleet maintenance sweep-leaks --kill` does",
    ),
    Setting(
        name="resume_on_boot",
        file=HOME_FILE,
        default=False,
        kind=FLAG,
        help="whether the daemon resumes what a reboot interrupted, without asking",
    ),
    Setting(
        name="wake_every",
        file=HOME_FILE,
        default="10m",
        kind=duration_like('"10m"'),
        help="how often a coordinator that is an agent is woken while nothing changes but agents are at work, or work waits for its tick",
    ),
    Setting(
        name="environment.file",
        file=HOME_FILE,
        default=None,
        kind=ValueKind("the path of a file", _is_line, _STRING),
        help="your file of variables for agents, NAME=VALUE, one a line; nobody else may be able to read it",
    ),
    Setting(
        name="environment.pass",
        file=HOME_FILE,
        default=[],
        kind=ValueKind('a list of variables like ["GH_TOKEN", "NPM_*"]', _is_variables, _STRINGS),
        help="more variables that agents get from whoever asks for them, besides those that their engine's file names",
    ),
    Setting(
        name="daemon",
        file=HOME_FILE,
        default="up",
        kind=choice("up", "never"),
        help="whether `fleet up` starts the daemon",
    ),
    Setting(
        name="notify.on",
        file=HOME_FILE,
        default=list(DEFAULT_KINDS),
        kind=choices(*KINDS),
        help="what the daemon tells you about",
    ),
    Setting(
        name="notify.channels",
        file=HOME_FILE,
        default=list(CHANNELS),
        kind=choices(*CHANNELS),
        help="how you are told: each channel that is there and is listed here",
    ),
    Setting(
        name="notify.command",
        file=HOME_FILE,
        default=None,
        kind=ValueKind('a program and its words, like ["my-notifier", "--quiet"]', SOME_WORDS.accepts, _STRINGS),
        help="a program of yours that gets each message as JSON on its standard input; no shell",
    ),
    Setting(
        name="notify.urls",
        file=HOME_FILE,
        default=[],
        kind=SecretKind('a list of addresses like ["ntfy://my-topic"]', _is_addresses, _STRINGS),
        help="addresses of apprise (ntfy, Slack, Telegram, mail, …) that messages are sent to; needs the extra `notify`",
        secret=True,
    ),
    Setting(
        name="notify.quiet",
        file=HOME_FILE,
        default=None,
        kind=ValueKind('hours like "22:00-07:00"', lambda value: quiet_hours(value) is not None, _STRING),
        help="the hours, in this machine's time, in which you are told nothing; what waits is told after them",
    ),
    Setting(
        name="notify.most",
        file=HOME_FILE,
        default=3,
        kind=count(1, 100),
        help="how many messages a minute you get; more become one digest",
    ),
    Setting(
        name="agents.door",
        file=HOME_FILE,
        default="home",
        kind=choice("home", "socket"),
        help="how agents reach fleet: by the files of the home, or only by the daemon's socket for agents",
    ),
    Setting(
        name="agents.sandbox",
        file=HOME_FILE,
        default="none",
        kind=choice("none", "bwrap"),
        help="what agents are started in: nothing, or a sandbox of bubblewrap that has no more of your files than they need",
    ),
    Setting(
        name="agents.sandbox_read",
        file=HOME_FILE,
        default=[],
        kind=_PLACES,
        help="more files and folders that agents in the sandbox can read",
    ),
    Setting(
        name="agents.sandbox_write",
        file=HOME_FILE,
        default=[],
        kind=_PLACES,
        help="more files and folders that agents in the sandbox can write, such as caches",
    ),
    Setting(
        name="remote_control",
        file=HOME_FILE,
        default="up",
        kind=choice("up", "down"),
        help="whether coordinators may be controlled from another device; down turns it off for all projects",
    ),
    Setting(
        name="trust",
        file=HOME_FILE,
        default="ask",
        kind=choice("ask", "always"),
        help="whether a person has to accept the commands and permissions in a repository's fleet.toml before they apply",
    ),
    Setting(
        name="screen.theme",
        file=HOME_FILE,
        default="auto",
        kind=choice("auto", "dark", "light", "terminal"),
        help="the colours of `fleet tui`; auto asks COLORFGBG, terminal takes the terminal's own colours",
    ),
    Setting(
        name="keys",
        file=HOME_FILE,
        default={},
        kind=_Keys('a table like {kill = "X"}', lambda value: isinstance(value, dict), {"type": "object"}),
        help='other keys for acts of `fleet tui`, for example [keys] kill = "X"',
    ),
    Setting(
        name="engine",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=ENGINES,
        help="the engine that agents run on, or several: the next one while the one before it is held back",
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
        name="allow",
        file=PROJECT_FILE,
        guard="frees",
        default=[],
        kind=ValueKind('a list of simple commands like ["uv run pytest", "npm test"]', _is_commands, _STRINGS),
        help="commands that agents run without asking, with whatever stands behind them",
    ),
    Setting(
        name="target",
        file=PROJECT_FILE,
        guard="frees",
        default=None,
        kind=ValueKind("a branch", _is_line, _STRING),
        help="the branch that work lands on (default: that of the checkout)",
    ),
    Setting(
        name="integration",
        file=PROJECT_FILE,
        guard="frees",
        default=INTEGRATION,
        kind=ValueKind("a branch", _is_line, _STRING),
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
        name="merge_batch",
        file=PROJECT_FILE,
        default=8,
        kind=count(1, 100),
        help="how many tasks that wait to be merged are merged together, with one verify; 1 merges each alone",
    ),
    Setting(
        name="pr.command",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_WORDS,
        help="a program of yours that opens pull requests (default: gh, else glab)",
    ),
    Setting(
        name="pr.remote",
        file=PROJECT_FILE,
        guard="frees",
        default="origin",
        kind=ValueKind("the name of a remote", _is_line, _STRING),
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
        name="worktree.setup_files",
        file=PROJECT_FILE,
        default=list(SETUP_FILES),
        kind=_PATTERNS,
        help="what the setup command depends on: when one of these files changed, the merge tree is set up again",
    ),
    Setting(
        name="worktree.submodules",
        file=PROJECT_FILE,
        default="checkout",
        kind=choice("checkout", "none"),
        help="which submodules a new worktree gets: those that your checkout has, or none",
    ),
    Setting(
        name="worktree.teardown",
        file=PROJECT_FILE,
        guard="runs",
        default=None,
        kind=_COMMAND,
        help="run in a worktree before it is removed; its failure does not stop the removal",
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


# The names of the settings whose values are never shown.
SECRETS = frozenset(setting.name for setting in SETTINGS if setting.secret)


def merged(*given: dict[str, SettingValue]) -> dict[str, SettingValue]:
    """Return all settings by name: their defaults, overridden by the given files; a later file overrides an earlier one."""
    values = {
        row.name: SettingValue(name=row.name, value=row.default, source="default", help=row.help) for row in SETTINGS
    }
    for settings in given:
        values |= settings
    return values
