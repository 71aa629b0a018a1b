"""The conversation of an agent, and whether its engine can take it up again."""

from __future__ import annotations

import glob
import re
from typing import TYPE_CHECKING

from fleet.engines import conversations
from fleet.engines.program_files import place
from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.store.queries import Dispatch, LeftAttempt
    from fleet.verbs.context import Context

_PLACEHOLDER = re.compile(r"\{conversation(?::(\d+))?\}")


def recorded_conversation(context: Context, ident: str) -> str | None:
    """The engine's name of an agent's conversation: given at its start, or reported by its hooks."""
    agent = context.store.read(lambda rows: q.agent_by_id(rows, id=ident))
    return agent.conversation if agent else None


def conversation_kept_by_engine(context: Context, engine: Engine, row: Dispatch | LeftAttempt) -> str | None:
    """The conversation that the engine keeps as begun in the worktree while the attempt ran; None when that is not clear."""
    since, until = row.launched_at, row.ended_at
    if engine.kept is None or since is None or until is None or row.slug is None:
        return None
    tree = f"{context.world.home}/{paths.worktree(row.project, row.slug)}"
    return conversations.the_one(engine.kept, tree, since=since, until=until)


def can_continue(engine: Engine, conversation: str | None) -> bool:
    """Whether the engine has words to resume the conversation, and has its file if it keeps conversations in files."""
    if not engine.resume:
        return False
    if not any("{conversation}" in word for word in engine.resume):
        return True
    return conversation is not None and (not engine.transcript or _is_kept(engine, conversation))


def _is_kept(engine: Engine, conversation: str) -> bool:
    return any(glob.glob(_pattern(path, conversation)) for path in engine.transcript)


def _pattern(path: str, conversation: str) -> str:
    """The file of a conversation. {conversation:8}: its name has no more than the first eight characters."""

    def filled(match: re.Match[str]) -> str:
        return glob.escape(conversation[: int(match[1])] if match[1] else conversation)

    return _PLACEHOLDER.sub(filled, place(path))
