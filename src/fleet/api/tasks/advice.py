"""Add the next step of a task to a refusal, so that no refusal recommends a command that would be refused too."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet import errors
from fleet.verbs.views.next_steps import step_of_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.api.actor import Actor

# Errors that refuse because of the state of a task. Others, such as a reached limit, have a hint of their own.
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
    """Run the `with` block. To an error that refuses the verb because of the task's state, add the task's next step."""
    try:
        yield
    except OF_STATE as error:
        name_next_step(by, error, verb, project, slug)
        raise


def name_next_step(by: Actor, error: errors.FleetError, verb: str, project: str, slug: str | None) -> None:
    """Set `error.way` to the task's next step and its command. `verb` is the command that was refused, such as "merge".

    Do nothing when the task has no next step with a command, or when that command is the refused verb itself.
    """
    step = step_of_task(by.view, project, slug) if slug else None
    if step is None or step.command is None or step.command.startswith(f"fleet {verb} "):
        return
    error.way = f"{step.says}: `{step.command}`"
