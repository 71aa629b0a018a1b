"""What was given cannot be used."""

from __future__ import annotations

from fleet.errors.families import BadInput


class BadName(BadInput):
    """A name that could not be a file, a branch and an argument at once."""

    says = "{what} {given!r} is not usable: {why}"
    hint = "{advice}"


class BadId(BadInput):
    """Not a dispatch id."""

    says = "{source} {given!r} is not a dispatch id"
    hint = "a dispatch id is 8 lower-case hexadecimal digits, like 3f2a9c01"


class BadText(BadInput):
    """A text that cannot be kept as it is."""

    says = "the {what} {why}"
    hint = "{advice}"


class BadTime(BadInput):
    """Not a time."""

    says = "{given!r} is not {what}"
    hint = "write {forms}"


class BadSetting(BadInput):
    """A setting that cannot be used."""

    says = "{file}:{line}: {why}"
    hint = "{advice}"


class BadWorkflow(BadInput):
    """A job's document that cannot be used."""

    says = "{file}:{line}:{column}: {why}"
    hint = "{advice}"


class Ambiguous(BadInput):
    """Several could be meant."""

    says = "{given!r} could be {candidates}"
    hint = "say more of the id"


class NoTask(BadInput):
    """An agent's short form outside an agent."""

    says = "no task: FLEET_TASK is not set"
    hint = "agents are told their task by fleet; outside one say `fleet task {usage} -p PROJECT`"


class NoProject(BadInput):
    """It is not clear which project is meant."""

    says = "no project: {where} belongs to none that is registered"
    hint = "name one with -p PROJECT, or register this repository with `fleet init`"


class NotInThisWorktree(BadInput):
    """The engine strips the environment that fleet gave it."""

    says = "this is a fleet worktree, but FLEET_DISPATCH_ID is not set: fleet cannot tell which agent is speaking"
    hint = "let the engine pass FLEET_* variables on to the commands it runs"


class ActorIsGiven(BadInput):
    """An agent cannot speak as somebody else."""

    says = "--as {given!r} is refused: FLEET_DISPATCH_ID says this is dispatch {dispatch}"
    hint = "leave --as out"
