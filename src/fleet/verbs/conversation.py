"""The conversation of an agent, and whether its engine can take it up again."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.verbs.ground import Ground


def known(ground: Ground, ident: str) -> str | None:
    """The engine's name of an agent's conversation: given at its start, or told by its hooks."""
    agent = ground.store.read(lambda rows: rows.one(q.AGENT_BY_ID, id=ident))
    return agent["conversation"] if agent else None


def can_go_on(engine: Engine, conversation: str | None) -> bool:
    """Whether the engine has words to resume it; one that keeps it in a file has to have that file."""
    if not engine.resume:
        return False
    if not any("{conversation}" in word for word in engine.resume):
        return True
    return conversation is not None and (not engine.transcript or _is_kept(engine, conversation))


def _is_kept(engine: Engine, conversation: str) -> bool:
    for pattern in engine.transcript:
        path = os.path.expanduser(os.path.expandvars(pattern)).replace("{conversation}", glob.escape(conversation))
        if glob.glob(path):
            return True
    return False
