"""The fleet home: its operations, its sweeps and its checks."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Time


class HomeView(Value):
    id: str
    host: str  # the host id that the home keeps: the machine's id when the home was made
    machine: str  # the machine on which the home was last used
    path: str  # where the home was made or last repaired
    database: str  # sqlite or postgresql
    here: str  # where the home is now
    machine_now: str  # the machine that the home is on now
    moved: bool  # the home is not at the path or machine where it was made or repaired
    others: list[OtherHome]  # homes that have used the same database


class OtherHome(Value):
    id: str
    host: str
    machine: str
    name: str  # the name of its machine
    path: str


class Repair(Value):
    """What `fleet home repair` changes, or would change."""

    path: str  # where the home is now
    was: str  # where the home was before
    worktrees: list[str]  # worktrees whose new path git gets
    claims: list[str]  # claims that name the old path
    left: list[str]  # what was not changed, and why
    repaired: bool  # false: the repair was only shown


class NewDatabase(Value):
    home: str
    database: str  # sqlite or postgresql


class Swept(Value):
    """One thing that a sweep found."""

    what: str
    why: str
    proof: str
    action: str  # what was done, or would be done
    done: bool = False
    standing: bool = False  # there is nothing to do about it now


class Pruned(Value):
    pruned: int  # archived journals that were deleted
    kept: int  # archived journals that remain


class Rotated(Value):
    moved: int  # operations that were moved out of the database
    files: list[str]  # new files in `operations/` in the fleet home


class Finding(Value):
    """The result of one check of `fleet doctor`."""

    about: str
    ok: bool
    says: str
    advice: str = ""  # what to do; empty when ok is true


class OperationView(Value):
    seq: int  # the sequence number, without gaps, in the order of the commits
    at: Time
    actor: str
    why: str  # the reason in a few words
    project: str | None
    slug: str | None
    dispatch: str | None  # the dispatch that made the request
    what: dict[str, Any]  # what changed


class Demonstration(Value):
    processes: int  # how many processes worked at once
    failed_processes: int  # how many of the processes failed
    tasks: int
    done: int
    lost_races: int  # claims that another process won
    acknowledged: int  # messages that fleet confirmed to the processes
    kept: int  # messages that are in the store
    operations: int
    seconds: float


class Show(Value):
    done: int  # number of tasks
    merged: int  # number of tasks, each counted once
    recovered: list[str]  # what was repaired, and how
    refused: list[str]
    leaked: list[str]
    seconds: float
