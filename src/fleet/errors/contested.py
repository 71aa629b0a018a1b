"""Errors for things that somebody else holds at the moment: a task, a gate, a worktree, the store."""

from __future__ import annotations

from fleet.errors.families import Contested


class TaskHeld(Contested):
    """Somebody else has claimed the task."""

    says = "task {project}/{slug} is held by {holder}, since {since}"
    hint = "take another: `fleet task ready -p {project}`"


class GateHeld(Contested):
    """Another process holds the gate."""

    says = "gate {gate!r} is held by {holder}"
    hint = "wait for it to finish, or attach to what it is starting"


class CoordSpawnInProgress(Contested):
    """Another process is starting or replacing the project's coordinator."""

    says = (
        'refusing to spawn coord for project "{project}": another coord-spawn is in progress (lock holder: {holder}). '
        'attach to the in-flight coord with "fleet coord attach -p {project}" once it finishes booting'
    )


class ReplaceInProgress(Contested):
    """The project's coordinator is being replaced: the new one has not proven itself yet."""

    says = "the coordinator of project {project!r} is being replaced: {candidate} has to prove itself"
    hint = "`fleet coord status -p {project}` shows the progress"


class TickInProgress(Contested):
    """Another tick of the project is running, or its watch is busy for longer than the caller waits for it."""

    says = "another tick or watch of project {project!r} is at work ({holder}); nothing was changed"
    hint = "tick again when it is over"


class ResumeInProgress(Contested):
    """Another process is resuming the same dispatch or job."""

    says = "resume already in progress for {id}"
    hint = "wait for it to finish, or use --force to stop it"

    @property
    def spoken(self) -> str:
        """Return message, lock holder and hint in three lines."""
        return f"{self}\nlock held by: {self.facts['holder']}\n{self.next_step}"


class BundleHeld(Contested):
    """Another dispatch owns the task's worktree."""

    says = "the worktree of {project}/{slug} is held by {holder}"
    hint = "wait for it to end, or look at it with `fleet ps`"


class WorktreeBusy(Contested):
    """A process works in a dead agent's worktree or carries the agent's id, and fleet cannot tell who started it."""

    says = "the worktree of {project}/{slug} is not handed on: {who} works in it or carries its agent's id, and fleet cannot tell who started it"
    hint = "{way}"


class ThingHeld(Contested):
    """Another dispatch holds the claim on this resource."""

    says = "{thing} is held by {holder}"
    hint = "`fleet claims list` shows who holds what"


class BeingMerged(Contested):
    """The merge of the task's work is being published at this moment."""

    says = "{project}/{slug} is being merged at this moment, by {finisher}; nothing was changed"
    hint = "try again; if its process died, the coordinator or `fleet merge {slug} -p {project}` finishes the merge"


class StoreBusy(Contested):
    """The store's writer lock did not become free in time."""

    says = "the store is busy: {holder} has been writing for more than {seconds:g} s; nothing was changed"
    hint = "try again; if this goes on, check whether that process is suspended"
