"""Items of a job: their ids, the states of items and jobs, and signatures, which are equal for similar failures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fleet.model.states import ItemState, JobPart, JobPhase, JobState

STATES: tuple[ItemState, ...] = ("waiting", "running", "merging", "done", "dead", "skipped", "parked")
# put_back: the attempt was interrupted or never began. pass: all steps succeeded, and the work is to be merged.
# retry, give_up, park, skip: the attempt failed. revive, drop: a person has the item tried again, or gives it up.
# reset: setup or reduce runs once more. go_missing, come_back: the input no longer has the item, or has it again.
EVENTS = (
    "start", "put_back", "pass", "finish", "retry", "give_up", "park", "skip", "revive", "drop", "reset", "go_missing", "come_back"
)  # fmt: skip
STEPS: dict[tuple[str, str], ItemState] = {
    ("waiting", "start"): "running",
    ("waiting", "go_missing"): "skipped",
    ("skipped", "come_back"): "waiting",
    ("running", "put_back"): "waiting",
    ("running", "pass"): "merging",
    ("running", "finish"): "done",
    ("merging", "finish"): "done",
    ("running", "retry"): "waiting",
    ("merging", "retry"): "waiting",
    ("running", "give_up"): "dead",
    ("merging", "give_up"): "dead",
    ("running", "park"): "parked",
    ("merging", "park"): "parked",
    ("running", "skip"): "skipped",
    ("merging", "skip"): "skipped",
    ("dead", "revive"): "waiting",
    ("parked", "revive"): "waiting",
    ("skipped", "revive"): "waiting",
    ("dead", "drop"): "skipped",
    ("parked", "drop"): "skipped",
    ("done", "reset"): "waiting",
    ("dead", "reset"): "waiting",
    ("skipped", "reset"): "waiting",
    ("parked", "reset"): "waiting",
}

# The states of the job that the items belong to. begin: a runner starts. renew: the job runs again from its setup.
# reopen: items of the job are to be tried again.
JOB_STATES = ("running", "paused", "failed", "done", "cancelled")
JOB_EVENTS = ("begin", "renew", "finish", "pause", "fail", "cancel", "reopen")
JOB_STEPS: dict[tuple[str, str], JobState] = {
    ("running", "begin"): "running",  # the last runner has died
    ("paused", "begin"): "running",
    ("failed", "begin"): "running",
    ("running", "renew"): "running",
    ("paused", "renew"): "running",
    ("failed", "renew"): "running",
    ("done", "renew"): "running",
    ("running", "finish"): "done",
    ("running", "pause"): "paused",
    ("running", "fail"): "failed",
    ("running", "cancel"): "cancelled",
    ("paused", "cancel"): "cancelled",
    ("failed", "cancel"): "cancelled",
    ("paused", "reopen"): "paused",
    ("failed", "reopen"): "paused",
    ("done", "reopen"): "paused",
}

# The phases of a job.
PHASES: tuple[JobPhase, ...] = ("setup", "map", "reduce", "over")
# list: the items of the input are recorded. reduce: no item is left, and the reduce steps begin. close: no step is left.
# renew: the job runs again from its setup. reopen: an item has to be tried again.
PHASE_EVENTS = ("list", "reduce", "close", "renew", "reopen")
PHASE_STEPS: dict[tuple[str, str], JobPhase] = {
    ("setup", "list"): "map",
    ("map", "reduce"): "reduce",
    ("map", "close"): "over",
    ("reduce", "close"): "over",
}
PHASE_STEPS |= {(phase, "renew"): "setup" for phase in PHASES}
PHASE_STEPS |= {(phase, "reopen"): "map" for phase in PHASES}
# The parts of a job that run and are recorded like an item.
PARTS: tuple[JobPart, ...] = ("setup", "reduce")
# The signature of an attempt that a usage limit ended, which is no failure of its item.
LIMIT = "limit"
LONGEST = 200_000  # how many characters an item may have, as JSON
DEEPEST = 100  # how many levels deep an item may be nested
# How many characters an id has, and how many a signature has at most.
_ID = 12
_SIGNATURE = 160
# What differs between similar failures, and what stands for it in a signature.
_VARYING = (
    (re.compile(r"""(['"`]).{0,200}?\1"""), "'…'"),
    (re.compile(r"\S*/\S*"), "PATH"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "ID"),
    (re.compile(r"\d+"), "N"),
)


def item_id(data: object) -> str:
    """Return the id of an item, made from its content: the same in every run and on every machine."""
    import hashlib  # noqa: PLC0415 - not for the sessions of items

    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID]


def numbered(contents: Iterable[object]) -> Iterator[tuple[str, int, object]]:
    """Yield (id, position from 1, content) of each item. When a content occurs again, its id gets a number: ID-2."""
    seen: dict[str, int] = {}
    for number, data in enumerate(contents, 1):
        ident = item_id(data)
        seen[ident] = seen.get(ident, 0) + 1
        yield (ident if seen[ident] == 1 else f"{ident}-{seen[ident]}"), number, data


def slug(job: str, item: str) -> str:
    """Return the slug of the task that a job's item gets."""
    return f"job-{job}-{item}"


def depth(data: object) -> int:
    """Return how many levels deep the data of an item is nested; the count stops at DEEPEST + 1.

    It is 1 for a text, a number, and an empty list or object.
    """
    level, levels = [data], 0
    while level and levels <= DEEPEST:
        lists = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for each in lists for inner in each]
        levels += 1
    return levels


def label(data: object) -> str:
    """Return an item as a text of at most 80 characters for people; invalid Unicode becomes question marks."""
    return _name_of(data)[:80].encode(errors="replace").decode()


def _name_of(data: object) -> str:
    """Return the path, name, title, id or file of an item, the first one that it has; else the whole item as text."""
    if isinstance(data, dict):
        for key in ("path", "name", "title", "id", "file"):
            if isinstance(data.get(key), str | int):
                return str(data[key])
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


def signature(where: str, why: str, data: object) -> str:
    """Return the signature of an item's failure at `where`; similar failures have equal signatures.

    It has the last line of the reason `why`, in which paths, numbers, ids, quoted texts and the texts of the item
    (`data`) are replaced. It has at most 160 characters.
    """
    last = next((line for line in reversed(why.splitlines()) if line.strip()), "")
    for value in sorted(_texts(data), key=len, reverse=True):
        last = last.replace(value, "ITEM")
    for pattern, instead in _VARYING:
        last = pattern.sub(instead, last)
    return f"{where}: {' '.join(last.split())}"[:_SIGNATURE]


def _texts(data: object) -> Iterator[str]:
    """Yield every text in an item's data that is longer than one character."""
    if isinstance(data, dict):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)
    elif isinstance(data, str) and len(data) > 1:
        yield data
