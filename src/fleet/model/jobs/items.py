"""Items of a job: ids from their content, the states they go through, and how failures of the same kind are told."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fleet.model.states import ItemState, JobPart, JobState

STATES: tuple[ItemState, ...] = ("waiting", "running", "merging", "done", "dead", "skipped", "parked")
EVENTS = (
    "start", "put_back", "pass", "finish", "retry", "give_up", "park", "skip", "revive", "drop", "reset", "go_missing", "come_back"
)  # fmt: skip
STEPS: dict[tuple[str, str], ItemState] = {
    ("waiting", "start"): "running",
    ("waiting", "go_missing"): "skipped",  # it is not in the input any more
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

# The job that the items belong to.
JOB_STATES = ("running", "paused", "failed", "done", "cancelled")
JOB_EVENTS = ("begin", "renew", "finish", "pause", "fail", "cancel", "reopen")
JOB_STEPS: dict[tuple[str, str], JobState] = {
    ("running", "begin"): "running",  # its runner died
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
# The parts of a job that are worked on as items are, besides its items.
PARTS: tuple[JobPart, ...] = ("setup", "reduce")
# What an attempt has in common with others that a usage limit ended: it is no failure of its item.
LIMIT = "limit"
LONGEST = 200_000
DEEPEST = 100
_ID = 12
_SIGNATURE = 160
_SAME = (
    (re.compile(r"""(['"`]).{0,200}?\1"""), "'…'"),
    (re.compile(r"\S*/\S*"), "PATH"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "ID"),
    (re.compile(r"\d+"), "N"),
)


def item_id(data: object) -> str:
    """The same content has the same id, in every run and on every machine."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID]


def numbered(contents: Iterable[object]) -> Iterator[tuple[str, int, object]]:
    """Each item with its id and number; what is there again gets the number of its time behind its id."""
    seen: dict[str, int] = {}
    for number, data in enumerate(contents, 1):
        ident = item_id(data)
        seen[ident] = seen.get(ident, 0) + 1
        yield (ident if seen[ident] == 1 else f"{ident}-{seen[ident]}"), number, data


def slug(job: str, item: str) -> str:
    """The task that an item is worked on as."""
    return f"job-{job}-{item}"


def depth(data: object) -> int:
    """How deep an item is nested, as far as one level beyond what is taken in."""
    level, found = [data], 0
    while level and found <= DEEPEST:
        lists = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for each in lists for inner in each]
        found += 1
    return found


def label(data: object) -> str:
    """An item in a few words, which can be shown: what is not UTF-8 in a file's name is a question mark."""
    return _named(data)[:80].encode(errors="replace").decode()


def _named(data: object) -> str:
    if isinstance(data, dict):
        for key in ("path", "name", "title", "id", "file"):
            if isinstance(data.get(key), str | int):
                return str(data[key])
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


def signature(where: str, why: str, data: object) -> str:
    """What failures of the same kind have in common: what differs from item to item is taken out."""
    last = next((line for line in reversed(why.splitlines()) if line.strip()), "")
    for value in sorted(_texts(data), key=len, reverse=True):
        last = last.replace(value, "ITEM")
    for pattern, instead in _SAME:
        last = pattern.sub(instead, last)
    return f"{where}: {' '.join(last.split())}"[:_SIGNATURE]


def _texts(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)
    elif isinstance(data, str) and len(data) > 1:
        yield data
