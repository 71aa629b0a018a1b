"""Projects, their settings and trust."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import RemoteControl


class ProjectView(Value):
    name: str
    path: str  # the top of its main checkout
    added_at: Time
    ready: int  # tasks that could be started now
    archived: int  # tasks out of sight
    finished: int  # tasks that are done, archived or not
    tasks: Counts  # the others
    dispatches: DispatchCounts  # of this project


class DispatchCounts(Value):
    active: int  # agents that are starting or at work
    blocked_reclaim: int  # ended ones that still hold something which could not be released


class Counts(Value):
    open: int
    in_progress: int
    blocked: int
    done: int
    failed: int
    abandoned: int


class Registration(Value):
    name: str
    path: str
    new: bool  # false when it was registered before


class Begun(Value):
    project: str
    path: str
    new: bool = False  # false when it was registered before
    settings: Chosen
    written: list[str]  # those that were written into fleet.toml now
    coordinator: str  # its id
    started: bool  # false when it was there already
    resumed: list[str]  # agents that were interrupted and whose work goes on
    left: list[str]  # those whose work does not
    warnings: list[str]  # what would stop an agent from being started


class Chosen(Value):
    engine: str
    autonomy: str
    review: str


class RemoteControlView(Value):
    project: str
    remote_control: RemoteControl | None  # up, down, or nothing said yet
    changed: Said[bool] = None


class Removed(Value):
    name: str
    path: str
    tasks: int  # how many went with it
    kept: str | None  # the file that its tasks were exported into


class Setting(Value):
    name: str
    value: object  # what counts
    source: str  # file:line, or default
    help: str
    trusted: bool  # false: a repository's `fleet.toml` says something else, and no person has trusted that
    written: object  # what the file says


class Trusted(Value):
    project: str
    file: str  # the settings' file
    hash: str  # of the values that are trusted now
    changed: bool
    changes: list[TrustChange]  # what waited


class TrustChange(Value):
    name: str  # the setting
    was: object  # what was trusted before; null when it was not set
    now: object  # what the file says; null when it does not set it any more
    runs: bool  # whether it is a command that fleet runs
