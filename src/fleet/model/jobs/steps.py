"""The steps of a job, kept in a file of their own.

The session of an item reads that file instead of the job's document: to parse YAML takes longer than most steps.
"""

from __future__ import annotations

import json

from fleet.fast import blake2s
from fleet.records import record


@record(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: a prompt for an agent, or a shell command. `engine`, `autonomy` and `model` are None when not given."""

    kind: str  # agent or shell
    text: str  # the prompt or the command
    name: str | None
    commit_required: bool
    timeout: int  # in milliseconds
    engine: str | None
    autonomy: str | None
    model: str | None

    @property
    def title(self) -> str:
        """The kind of the step and its first line, for people."""
        return f"{self.kind}: {self.text.strip().splitlines()[0][:80]}"


@record(frozen=True, slots=True, kw_only=True)
class JobSteps:
    """The steps of each part of a job: setup, each item, reduce."""

    setup: tuple[Step, ...] = ()
    map: tuple[Step, ...] = ()
    reduce: tuple[Step, ...] = ()

    def of(self, part: str) -> tuple[Step, ...]:
        """Return the steps of a part of the job: `setup`, `reduce`, or `map`, the steps of each item."""
        return {"setup": self.setup, "reduce": self.reduce}.get(part, self.map)


_FIELDS = tuple(Step.__annotations__)
_PARTS = tuple(JobSteps.__annotations__)


def written(steps: JobSteps, source: str) -> bytes:
    """Return the content of a job's `steps.json`: its steps, and a digest of the document that they come from."""
    parts = [[[getattr(step, name) for name in _FIELDS] for step in getattr(steps, part)] for part in _PARTS]
    return json.dumps([_digest(source), _FIELDS, parts]).encode()


def steps_in(content: bytes, source: str) -> JobSteps | None:
    """Return the steps in a job's `steps.json`; None when it is damaged, or from another document or version of fleet."""
    try:
        digest, fields, parts = json.loads(content)
        if digest != _digest(source) or tuple(fields) != _FIELDS:
            return None
        made = [tuple(Step(**dict(zip(_FIELDS, values, strict=True))) for values in part) for part in parts]
        return JobSteps(**dict(zip(_PARTS, made, strict=True)))
    except (ValueError, TypeError):
        return None


def _digest(source: str) -> str:
    """Return the hash of the text of a job's document."""
    return blake2s(source.encode("utf-8", "surrogatepass")).hexdigest()
