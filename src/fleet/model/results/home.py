"""The home, its operations and what is left behind in it."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Time


class HomeView(Value):
    id: str
    host: str  # the host id that it keeps: the machine's own when the home was made
    machine: str  # the machine that it was last seen on
    path: str  # where it was made, or repaired
    database: str  # sqlite or postgresql
    here: str  # where it is now
    machine_now: str  # the machine that it is on now
    moved: bool  # whether it is not where it was
    others: list[OtherHome]  # homes that have used the same database


class OtherHome(Value):
    id: str
    host: str
    machine: str
    name: str  # what its machine is called
    path: str


class Repair(Value):
    path: str  # where the home is
    was: str  # where it was
    worktrees: list[str]  # those that git is told of
    claims: list[str]  # those that name the old place
    left: list[str]  # what was left alone, and why
    repaired: bool  # false: it was only shown


class NewDatabase(Value):
    home: str
    database: str  # sqlite or postgresql


class Swept(Value):
    what: str
    why: str
    proof: str
    action: str  # what was done, or would be
    done: bool = False
    standing: bool = False  # nothing to do about it now


class Pruned(Value):
    pruned: int  # journals that were removed
    kept: int  # journals that are left


class Rotated(Value):
    moved: int  # operations that left the database
    files: list[str]  # new files in `operations/` in the fleet home


class Finding(Value):
    about: str
    ok: bool
    says: str
    advice: str = ""  # what to do; empty when it is ok


class OperationView(Value):
    seq: int  # sequence; without gaps, in the order of the commits
    at: Time
    actor: str
    why: str  # in a few words
    project: str | None
    slug: str | None
    dispatch: str | None  # the attempt it comes from
    what: dict[str, Any]  # what changed


class Demonstration(Value):
    processes: int  # how many worked at once
    failed_processes: int  # how many of them ended badly
    tasks: int
    done: int
    lost_races: int  # claims that somebody else won
    acknowledged: int  # messages the processes were told are kept
    kept: int  # messages that are there
    operations: int
    seconds: float


class Show(Value):
    done: int  # tasks
    merged: int  # tasks, each once
    recovered: list[str]  # what was put right, and how
    refused: list[str]
    leaked: list[str]
    seconds: float
