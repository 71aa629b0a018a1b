"""Projects, their settings and trust."""

from __future__ import annotations

from fleet.model.results.agents import Cost
from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import RemoteControl


class ProjectView(Value):
    name: str
    path: str  # the top folder of the main checkout
    added_at: Time
    ready: int  # tasks that could be started now
    archived: int  # tasks that are archived
    finished: int  # tasks that are done, archived or not
    tasks: Counts  # tasks that are not archived, by status
    dispatches: DispatchCounts  # the dispatches of this project
    used: Cost  # what its agents have used, as far as their engines write it down


class DispatchCounts(Value):
    active: int  # agents that are starting or working
    blocked_reclaim: int  # ended dispatches with a claim that could not be released


class Counts(Value):
    """How many tasks of a project have each status."""

    open: int
    in_progress: int
    blocked: int
    done: int
    failed: int
    abandoned: int


class Registration(Value):
    """The result of registering a repository as a project."""

    name: str
    path: str
    new: bool  # false when it was registered before


class Begun(Value):
    """The result of `fleet up`."""

    project: str
    path: str
    new: bool = False  # false when it was registered before
    settings: Chosen
    target: str | None  # the branch that finished work lands on; null when HEAD is detached and none is set
    written: list[str]  # the settings that were written into fleet.toml now
    coordinator: str  # the coordinator's id
    started: bool  # false when the coordinator was already running
    resumed: list[str]  # interrupted agents whose work continues
    left: list[str]  # interrupted agents whose work does not continue
    remote_control: bool  # whether a coordinator that is an agent may be controlled from another device
    warnings: list[str]  # what would prevent an agent from starting


class Chosen(Value):
    """The settings of a project that `fleet up` chooses or finds."""

    engine: str
    autonomy: str
    review: str
    target: str | None = None  # null: the target stays as it is


class TargetChoice(Value):
    """The branches that finished work can land on."""

    kept: str | None  # the target branch that is set or was chosen; null when there is none
    current: str | None  # the branch of your checkout; null when HEAD is detached
    branches: list[str]  # all branches but fleet's own


class Down(Value):
    """The result of `fleet down` and `fleet stop --all`."""

    project: str
    coordinator: str | None  # the coordinator that was ended
    stopped: list[str]  # the agents that were stopped; `fleet resume` continues their work
    left: list[str]  # what still runs, and why, in words
    daemon: Said[bool] = None  # whether the daemon was ended: nothing in the home needs it any more


class InTheWay(Value):
    """What keeps a project from being removed."""

    project: str
    coordinator: str | None  # the coordinator's id
    agents: list[str]  # agents at work
    tasks: list[str]  # tasks in progress, or with a worktree
    jobs: list[str]  # jobs that run


class Cleared(Value):
    """What was released for the removal of a project."""

    project: str
    kept: list[str]  # the refs that hold uncommitted work
    left: list[str]  # what could not be released, and why, in words


class RemoteControlView(Value):
    project: str
    remote_control: RemoteControl | None  # up, down, or null when nobody has chosen yet
    changed: Said[bool] = None
    off_for_all: Said[bool] = None  # true when config.toml of the home turns it off for all projects


class Removed(Value):
    """The result of removing a project from fleet."""

    name: str
    path: str
    tasks: int  # how many tasks were removed with the project, without the items of jobs
    kept: str | None  # the file that the tasks were exported to


class Setting(Value):
    name: str
    value: object  # the value that counts
    source: str  # file:line, or default
    help: str
    trusted: bool  # false: the repository's `fleet.toml` has another value, which no person has trusted
    written: object  # the value in the file
    wrong: str = ""  # what is wrong inside the value; only these entries are not used; empty when nothing is wrong


class Trusted(Value):
    project: str
    file: str  # the settings file
    hash: str  # the hash of the values that are trusted now
    changed: bool
    changes: list[TrustChange]  # the values that waited for trust


class TrustChange(Value):
    name: str  # the name of the setting
    was: object  # the value that was trusted before; null when it was not set
    now: object  # the value in the file; null when the file no longer sets it
    runs: bool  # the setting is a command that fleet runs
