"""Somebody else has it, just now."""

from __future__ import annotations

from fleet.errors.families import Contested


class TaskHeld(Contested):
    """Somebody else claimed the task."""

    says = "task {project}/{slug} is held by {holder}, since {since}"
    hint = "take another: `fleet task ready -p {project}`"


class GateHeld(Contested):
    """Somebody else holds the gate."""

    says = "gate {gate!r} is held by {holder}"
    hint = "wait for it to finish, or attach to what it is starting"


class CoordSpawnInProgress(Contested):
    """One coordinator at a time is spawned."""

    says = (
        'refusing to spawn coord for project "{project}": another coord-spawn is in progress (lock holder: {holder}). '
        'attach to the in-flight coord with "fleet coord attach -p {project}" once it finishes booting'
    )


class ReplaceInProgress(Contested):
    """One change of coordinators at a time."""

    says = "the coordinator of project {project!r} is being replaced: {candidate} has to prove itself"
    hint = "`fleet coord status -p {project}` shows how it goes"


class TickInProgress(Contested):
    """Ticks of one project go one after the other."""

    says = "another tick of project {project!r} is in progress ({holder}); nothing was changed"
    hint = "it does the same work; tick again when it is over"


class ResumeInProgress(Contested):
    """One resume of a piece of work at a time."""

    says = "resume already in progress for {id}"
    hint = "wait for it to finish, or use --force to stop it"

    @property
    def spoken(self) -> str:
        """In three lines."""
        return f"{self}\nlock held by: {self.facts['holder']}\n{self.next_step}"


class BundleHeld(Contested):
    """Somebody works in the task's worktree."""

    says = "the worktree of {project}/{slug} is held by {holder}"
    hint = "wait for it to end, or look at it with `fleet ps`"


class WorktreeBusy(Contested):
    """A process works in the worktree of a dead agent, and may be that agent's."""

    says = "the worktree of {project}/{slug} is not handed on: {who} works in it, and fleet cannot tell whose it is"
    hint = "{way}"


class ThingHeld(Contested):
    """A thing has one owner."""

    says = "{thing} is held by {holder}"
    hint = "`fleet claims list` shows who holds what"


class StoreBusy(Contested):
    """The turn to write did not come in time."""

    says = "the store is busy: {holder} has been writing for more than {seconds:g} s; nothing was changed"
    hint = "try again; if it lasts, see whether that process is stopped"
