"""The conversation of an agent, and whether its engine can take it up again."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING

from fleet.engines import command, kept, readiness
from fleet.engines.places import place
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.engines.kept import Kept
    from fleet.engines.reader import Engine
    from fleet.store.transaction import Row
    from fleet.verbs.ground import Ground

_PLACEHOLDER = re.compile(r"\{conversation(?::(\d+))?\}")
_LIMIT = 60.0


def known(ground: Ground, ident: str) -> str | None:
    """The engine's name of an agent's conversation: given at its start, or told by its hooks."""
    agent = ground.store.read(lambda rows: rows.one(q.AGENT_BY_ID, id=ident))
    return agent["conversation"] if agent else None


class Finder:
    """Finds the conversation of an attempt that has ended, where its engine keeps them. A command is asked once a project."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._printed: dict[tuple[str, str], list[object]] = {}

    def found(self, engine: Engine, row: Row) -> str | None:
        """The one that was begun in its worktree while it was at work; none when that is not clear."""
        since, until = row["launched_at"], row["ended_at"]
        if engine.kept is None or since is None or until is None:
            return None
        tree = f"{self._ground.world.home}/projects/{row['project']}/worktrees/{row['slug']}"
        records = (
            kept.in_files(engine.kept, since)
            if engine.kept.files
            else self._listed(engine, engine.kept, row["project"], tree)
        )
        return kept.the_one(engine.kept, records, tree, since=since, until=until)

    def _listed(self, engine: Engine, told: Kept, project: str, tree: str) -> list[object]:
        asked = (engine.name, project)
        if asked not in self._printed:
            program = readiness.program_of(engine, ())
            words = [word.replace("{program}", program) for word in told.list]
            env = command.environment(engine, os.environ, {})
            done = self._ground.world.programs.run("list conversations", words, limit=_LIMIT, env=env, cwd=tree)
            self._printed[asked] = kept.in_text(done.out) if done.ok else []
        return self._printed[asked]


def can_go_on(engine: Engine, conversation: str | None) -> bool:
    """Whether the engine has words to resume it; one that keeps it in a file has to have that file."""
    if not engine.resume:
        return False
    if not any("{conversation}" in word for word in engine.resume):
        return True
    return conversation is not None and (not engine.transcript or _is_kept(engine, conversation))


def _is_kept(engine: Engine, conversation: str) -> bool:
    return any(glob.glob(_pattern(told, conversation)) for told in engine.transcript)


def _pattern(told: str, conversation: str) -> str:
    """The file of a conversation. {conversation:8}: its name has no more than the first eight characters."""

    def filled(found: re.Match[str]) -> str:
        return glob.escape(conversation[: int(found[1])] if found[1] else conversation)

    return _PLACEHOLDER.sub(filled, place(told))
