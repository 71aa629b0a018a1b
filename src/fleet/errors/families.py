"""The families of errors, and the methods that every error has."""

from __future__ import annotations

# Facts that name a person or an agent: None is written as "nobody". In other facts, None is written as "unknown".
_PERSONS = frozenset(("holder", "owner", "who", "dispatch", "candidate", "successor"))


def _worded(facts: dict[str, object]) -> dict[str, object]:
    """Return the facts for the message; None becomes "nobody" where a fact names a person or agent, else "unknown"."""
    if None not in facts.values():
        return facts
    return {
        name: ("nobody" if name in _PERSONS else "unknown") if fact is None else fact for name, fact in facts.items()
    }


class FleetError(Exception):
    """The base of all errors that fleet raises on purpose.

    Its message and hint are the templates `says` and `hint`, filled with its facts. `code` is the exit code of a
    command that fails with it, `kind` the family's name in JSON.
    """

    code = 1
    kind = "error"
    says = "{what}"
    hint = ""
    # Set on an error by code that knows a better next step than the template `hint`: replaces the hint.
    way = ""

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        super().__init__(self.says.format(**_worded(facts)))

    @property
    def next_step(self) -> str:
        """The hint that says what to do about the error; "" when there is none."""
        return self.way or self.hint.format(**_worded(self.facts))

    @property
    def spoken(self) -> str:
        """The error as people read it: the message, then the hint."""
        message = str(self)
        if not self.next_step:
            return message
        return f"{message}\n{self.next_step}" if "\n" in message else f"{message} — {self.next_step}"

    def as_document(self) -> dict[str, object]:
        """Return the error for JSON: under `error` its code, kind, name, message, hint, and a key for each fact."""
        head = {"code": self.code, "kind": self.kind, "name": type(self).__name__}
        return {"error": {**self.facts, **head, "message": str(self), "hint": self.next_step}}


class BadInput(FleetError):
    """An argument, option, setting or file cannot be used."""

    code = 2
    kind = "usage"


class NotOwned(FleetError):
    """The thing belongs to someone else."""

    code = 10
    kind = "not_owned"
    says = "{what} belongs to {owner}"
    hint = "only its owner can release it"


class LeftAlone(NotOwned):
    """A claim was not released, because its thing is not ours or nobody can tell whose it is."""

    says = "not released: {what}"
    hint = "nothing was touched; `fleet claims inspect {dispatch}` shows what is there"


class ForeignUnit(NotOwned):
    """The daemon's unit cannot be written: a file that fleet did not write for this home is at its path."""

    hint = "it was left as it is; move it away if you do not need it"


class WrongToken(NotOwned):
    """A request speaks for a dispatch without the token that the launch of that dispatch made."""

    says = "a request speaks as dispatch {dispatch}, but {why}; nothing was changed"
    hint = "only the agent of that dispatch speaks for it, with the FLEET_TOKEN of its own environment"


class Absent(FleetError):
    """The thing does not exist."""

    code = 11
    kind = "absent"
    says = "there is no {what}"

    @property
    def next_step(self) -> str:
        """The hint; before it the most similar existing name, when one was found (the fact `near`)."""
        hint, near = super().next_step, self.facts.get("near")
        return f"did you mean {near!r}? {hint}".rstrip() if near else hint


class Contested(FleetError):
    """Somebody else holds the thing at the moment."""

    code = 12
    kind = "contested"


class Superseded(FleetError):
    """The caller comes too late: it has lost the task or the seat, its dispatch has ended, or another was first."""

    code = 13
    kind = "superseded"
    says = "{who} no longer has task {project}/{slug}: {now}; nothing was changed"
    hint = "stop working on it"


class Refused(FleetError):
    """A precondition does not hold."""

    code = 14
    kind = "refused"


class JobFailed(FleetError):
    """A job cannot continue."""

    says = "job {job}: {why}"
    hint = "{advice}"


class ToolError(FleetError):
    """Another program failed: git, tmux, systemd, launchd or a project's setup command."""


class StoreError(FleetError):
    """The store or the fleet home cannot be used."""
