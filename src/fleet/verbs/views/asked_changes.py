"""Show what an agent asks to write: its tool's input, compared with the file in the agent's worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.agents.changes import change_of
from fleet.world.files.text_below import text_below
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.results.agents import Question
    from fleet.verbs.context import Context


def with_change(context: Context, asked: Question) -> Question:
    """Return a question with what its tool would write; unchanged when it is no permission."""
    if asked.kind != "permission":
        return asked
    tree = f"{context.world.home}/{paths.worktree(asked.project, asked.task)}" if asked.task else ""
    return asked.replaced(change=change_of(asked.command, lambda path: text_below(tree, path) if tree else None))
