"""Name the next step of a task in a refusal, so that no refusal points at a command that is refused too."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet import errors
from fleet.verbs.views.next_steps import step_of_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.api.actor import Actor

# Refusals because of the state of a task. Others, such as a limit, say themselves what to do.
OF_STATE = (
    errors.IllegalStep,
    errors.NotReady,
    errors.NotMergeable,
    errors.NotResumable,
    errors.TaskHeld,
    errors.WorktreeRefused,
)


@contextmanager
def advised(by: Actor, verb: str, project: str, slug: str | None) -> Iterator[None]:
    """Let a refusal of the verb because of the task's state name the task's next step."""
    try:
        yield
    except OF_STATE as error:
        name_next_step(by, error, verb, project, slug)
        raise


def name_next_step(by: Actor, error: errors.FleetError, verb: str, project: str, slug: str | None) -> None:
    """Put the next step of the task into the error, unless it is the verb that was refused, or there is none to run."""
    step = step_of_task(by.view, project, slug) if slug else None
    if step is None or step.command is None or step.command.startswith(f"fleet {verb} "):
        return
    error.way = f"{step.says}: `{step.command}`"
