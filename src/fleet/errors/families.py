"""The families of errors, and what every error can do."""

from __future__ import annotations


class FleetError(Exception):
    """Something failed."""

    code = 1
    kind = "error"
    says = "{what}"
    hint = ""

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        super().__init__(self.says.format(**facts))

    @property
    def next_step(self) -> str:
        """What the reader can do about it."""
        return self.hint.format(**self.facts)

    @property
    def spoken(self) -> str:
        """The error as people read it: what, and what next."""
        said = str(self)
        if not self.next_step:
            return said
        return f"{said}\n{self.next_step}" if "\n" in said else f"{said} — {self.next_step}"

    def as_document(self) -> dict[str, object]:
        """The error as programs read it."""
        head = {"code": self.code, "kind": self.kind, "name": type(self).__name__}
        return {"error": {**self.facts, **head, "message": str(self), "hint": self.next_step}}


class BadInput(FleetError):
    """What was given cannot be used."""

    code = 2
    kind = "usage"


class NotOwned(FleetError):
    """It belongs to someone else."""

    code = 10
    kind = "not_owned"
    says = "{what} belongs to {owner}"
    hint = "only its owner can let it go"


class Absent(FleetError):
    """It is not there."""

    code = 11
    kind = "absent"
    says = "there is no {what}"


class Contested(FleetError):
    """Somebody else has it just now."""

    code = 12
    kind = "contested"


class Superseded(FleetError):
    """The caller is no longer the one."""

    code = 13
    kind = "superseded"
    says = "{who} no longer has task {project}/{slug}: {now}; nothing was changed"
    hint = "stop working on it"


class Refused(FleetError):
    """A precondition does not hold."""

    code = 14
    kind = "refused"


class JobFailed(FleetError):
    """A job cannot go on."""

    says = "job {job}: {why}"
    hint = "{advice}"


class ToolError(FleetError):
    """Another program failed."""


class StoreError(FleetError):
    """The store cannot be used."""
