"""What was named is not there."""

from __future__ import annotations

from fleet.errors.families import Absent


class NoSuchTask(Absent):
    """No such task."""

    says = "project {project!r} has no task {slug!r}"
    hint = "`fleet task list -p {project}` shows what there is"


class NoSuchProject(Absent):
    """No such project."""

    says = "no project is registered as {project!r}"
    hint = "`fleet project list` shows what there is; `fleet project add PATH --name {project}` registers one"


class NoSuchDispatch(Absent):
    """No such dispatch."""

    says = "there is no dispatch {dispatch}"
    hint = "`fleet dispatches list` shows what there is"


class NoCoordinator(Absent):
    """The seat is empty."""

    says = "project {project!r} has no coordinator"
    hint = "start one with `fleet coord start -p {project}`"


class NoSuchJob(Absent):
    """No such job."""

    says = "there is no job {job}"
    hint = "`fleet job list` shows what there is"


class NoSuchItem(Absent):
    """A job has no such item."""

    says = "job {job} has no item {item}"
    hint = "`fleet job show {job} --items` shows what there is"


class NoSuchQuestion(Absent):
    """Nobody asks that."""

    says = "no agent asks {question!r}"
    hint = "`fleet questions` lists what is asked"
