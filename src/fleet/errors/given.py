"""Errors in what the caller gave: arguments, options, settings, files."""

from __future__ import annotations

from fleet.errors.families import BadInput


class BadName(BadInput):
    """A name that file names, branches or arguments do not allow, or an actor's name that looks like a dispatch id."""

    says = "{what} {given!r} is not usable: {why}"
    hint = "{advice}"


class BadId(BadInput):
    """A text that is not a dispatch id."""

    says = "{source} {given!r} is not a dispatch id"
    hint = "a dispatch id is 8 lower-case hexadecimal digits, like 3f2a9c01"


class BadText(BadInput):
    """A text that is empty or too long, has a forbidden character, or has several lines where one is wanted."""

    says = "the {what} {why}"
    hint = "{advice}"


class BadTime(BadInput):
    """A text that is not a time or a duration, or names a time outside the years 1970 to 9999."""

    says = "{given!r} is not {what}"
    hint = "write {forms}"


class BadSetting(BadInput):
    """A setting whose name or value cannot be used, or a file (settings, engine, prices) that cannot be read."""

    says = "{file}:{line}: {why}"
    hint = "{advice}"


class BadWorkflow(BadInput):
    """A job file that cannot be used."""

    says = "{file}:{line}:{column}: {why}"
    hint = "{advice}"


class Ambiguous(BadInput):
    """A short form (such as the beginning of an id) that fits several things."""

    says = "{given!r} could be {candidates}"
    hint = "give more characters of the id"


class NoTask(BadInput):
    """An agent's short command (such as `fleet done`) was called where FLEET_TASK is not set."""

    says = "no task: FLEET_TASK is not set"
    hint = "fleet sets it for its agents; elsewhere use `fleet task {usage} -p PROJECT`"


class BadUsage(BadInput):
    """The words of a command do not fit its usage."""

    hint = "`{command} --help` shows the usage"


class NoProject(BadInput):
    """No -p was given, and the current directory belongs to no project."""

    says = "no project: {where} belongs to no registered project"
    hint = "name one with -p PROJECT, or register this repository with `fleet init`"


class NotInThisWorktree(BadInput):
    """An agent's short command was called in a fleet worktree without FLEET_DISPATCH_ID.

    Probably the engine stripped the environment that fleet gave the agent.
    """

    says = "this is a fleet worktree, but FLEET_DISPATCH_ID is not set: fleet cannot tell which agent is speaking"
    hint = "let the engine pass FLEET_* variables on to the commands it runs"


class ActorIsGiven(BadInput):
    """An agent used --as; an agent cannot act under another name."""

    says = "--as {given!r} is refused: FLEET_DISPATCH_ID says this is dispatch {dispatch}"
    hint = "leave --as out"
