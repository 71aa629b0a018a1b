"""Errors of other programs: tmux, git, systemd, launchd, and a project's setup command."""

from __future__ import annotations

from fleet.errors.families import ToolError


class TmuxRefused(ToolError):
    """tmux failed or did not answer."""

    says = "tmux did not {what}: {why}"
    hint = "`fleet doctor` looks at tmux"


class UnitRefused(ToolError):
    """systemd or launchd did not take the daemon's unit, or did not start or stop the daemon."""

    says = "{system} did not {what}: {why}"
    hint = "`fleet daemon logs` shows what the daemon did; after `fleet daemon uninstall`, `fleet daemon start` starts it without {system}"


class GitRefused(ToolError):
    """git failed or did not answer."""

    says = "git did not {what}: {why}"
    hint = "look at the repository with git itself"


class SetupFailed(ToolError):
    """The project's setup command failed in a worktree."""

    says = "worktree.setup failed ({status}): {output}"


class NotReleased(ToolError):
    """The thing that a claim is for could not be removed."""

    says = "not released: {what}"
    hint = "the next sweep tries it again"
