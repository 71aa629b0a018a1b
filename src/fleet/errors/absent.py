"""Errors for things that do not exist: tasks, projects, dispatches, jobs, items, questions."""

from __future__ import annotations

from fleet.errors.families import Absent


class NoSuchTask(Absent):
    """The project has no task of this slug."""

    says = "project {project!r} has no task {slug!r}"
    hint = "`fleet task list -p {project}` lists the tasks"


class NoSuchProject(Absent):
    """No project is registered under this name."""

    says = "no project is registered as {project!r}"
    hint = "`fleet project list` lists the projects; `fleet project add PATH --name {project}` registers one"


class NoSuchDispatch(Absent):
    """There is no dispatch of this id."""

    says = "there is no dispatch {dispatch}"
    hint = "`fleet dispatches list` lists the dispatches"


class SessionUnseen(Absent):
    """tmux does not show the session of a running agent, for example because the tmux server was killed."""

    says = "tmux does not show the session of {dispatch}, which has not ended"
    hint = "`fleet stop {dispatch}` ends it and keeps its work"


class NoCoordinator(Absent):
    """The project has no coordinator: its seat is empty."""

    says = "project {project!r} has no coordinator"
    hint = "start one with `fleet coord start -p {project}`"


class NoSuchJob(Absent):
    """There is no job of this id."""

    says = "there is no job {job}"
    hint = "`fleet job list` lists the jobs"


class NoSuchItem(Absent):
    """The job has no item of this id."""

    says = "job {job} has no item {item}"
    hint = "`fleet job show {job} --items` lists the items"


class NoSuchQuestion(Absent):
    """No agent has asked this question, or the question is closed."""

    says = "no agent asks {question!r}"
    hint = "`fleet questions` lists the open questions"
