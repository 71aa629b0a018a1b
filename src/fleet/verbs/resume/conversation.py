"""The conversation of an agent with its engine, and whether a successor can continue it."""

from __future__ import annotations

import glob
import re
from typing import TYPE_CHECKING

from fleet.engines.kept import conversations
from fleet.engines.program_files import expand_path
from fleet.store import queries as q
from fleet.verbs.dispatch.journal import archived_journal
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.store.queries import Dispatch, LeftAttempt
    from fleet.verbs.context import Context

_PLACEHOLDER = re.compile(r"\{conversation(?::(\d+))?\}")


def recorded_conversation(context: Context, ident: str) -> str | None:
    """Return the recorded id of an agent's conversation, set at its start or by its hooks; None when unknown."""
    agent = context.store.read(lambda rows: q.agent_by_id(rows, id=ident))
    return agent.conversation if agent else _archived_conversation(context, ident)


def _archived_conversation(context: Context, ident: str) -> str | None:
    """Return the conversation in an archived journal; None without a journal, or when an older fleet wrote it."""
    journal = archived_journal(context, ident)
    records = [claim.data for claim in journal.claims if claim.kind == "agent_record"] if journal else []
    known = records[0].get("conversation") if records else None
    return known if isinstance(known, str) else None


def conversation_kept_by_engine(context: Context, engine: Engine, row: Dispatch | LeftAttempt) -> str | None:
    """Return the conversation that began in the task's worktree during the attempt, as the engine's files tell.

    Returns None when no conversation or more than one began there, and when the engine keeps no such files.
    """
    since, until = row.launched_at, row.ended_at
    if engine.kept is None or since is None or until is None or row.slug is None:
        return None
    tree = f"{context.world.home}/{paths.worktree(row.project, row.slug)}"
    return conversations.only_conversation(engine.kept, tree, since=since, until=until)


def can_continue(engine: Engine, conversation: str | None) -> bool:
    """Return whether a successor on this engine can continue the conversation.

    True if the engine can resume without naming a conversation. Otherwise the conversation must be known, and its file
    must exist if the engine keeps conversations in files.
    """
    if not engine.resume:
        return False
    if not any("{conversation}" in word for word in engine.resume):
        return True
    return conversation is not None and (not engine.transcript or bool(transcript_files(engine, conversation)))


def transcript_files(engine: Engine, conversation: str) -> list[str]:
    """Return the paths of the existing files in which the engine has written a conversation; `conversation` is its id.

    The engine's file says where they are (`transcript`). Empty when it does not say, or when no such file exists.
    """
    return [found for path in engine.transcript for found in glob.glob(_pattern(path, conversation))]


def _pattern(path: str, conversation: str) -> str:
    """Return the glob pattern of a conversation's file. {conversation:8} means the first eight characters of its id."""

    def filled(match: re.Match[str]) -> str:
        """Return the conversation's id, cut to the length that the placeholder names, and escaped for glob."""
        return glob.escape(conversation[: int(match[1])] if match[1] else conversation)

    return _PLACEHOLDER.sub(filled, expand_path(path))
