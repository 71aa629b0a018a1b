"""fleet.claims: what dispatches hold; and, for programs that write prompts by themselves, publishing and releasing them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.resources import class_of
from fleet.store import queries as q
from fleet.verbs.agents import prompts

if TYPE_CHECKING:
    from fleet.api.actor import Document, Documents
    from fleet.store.queries import Claim


class Claims(Part):
    """What is held."""

    __slots__ = ()

    def list(self, klass: str | None = None, kind: str | None = None) -> Documents:
        """Every claim that is not released, the row kinds included."""
        rows = self._by.store.read(lambda snapshot: q.open_claims(snapshot))
        found = [_claim(row) for row in rows] + self._row_claims()
        return [each for each in found if klass in {None, each["class"]} and kind in {None, each["kind"]}]

    def _row_claims(self) -> Documents:
        seats = [row for row in self._by.store.read(lambda rows: q.all_seats(rows)) if row.holder]
        agents_now = self._by.store.read(lambda rows: q.listed_dispatches(rows, project=None, ended=0))
        here = {"host": self._by.world.host.id, "class": "exclusive", "state": "live"}
        return [here | {"kind": "coord_spawn_marker", "name": row.project, "dispatch": row.holder} for row in seats] + [
            here | {"kind": "agent_record", "name": row.id, "dispatch": row.id} for row in agents_now
        ]

    def inspect(self, ident: str) -> Document:
        """What a dispatch holds."""
        return prompts.inspect(self._by.view, ident)

    def disown(self, ident: str, kind: str, reason: str) -> Document:
        """Give up a claim of another host or socket."""
        self._by.may("claims.disown")
        return prompts.disown(self._by.context, ident, kind, reason)

    def acquire_prompt(self, ident: str, content: str, wanted: Document) -> Document:
        """Publish a prompt for a dispatch."""
        self._by.may("claims.acquire_prompt")
        return prompts.acquire_prompt(self._by.context, ident, content, wanted)

    def release_prompt(self, ident: str, kind: str) -> Document:
        """Let go of one thing of a dispatch."""
        self._by.may("claims.release_prompt")
        return prompts.release_prompt(self._by.context, ident, kind)

    def rewrite_prompt(self, new: str, old: str, content: str) -> Document:
        """Hand an inbox over to a new owner."""
        self._by.may("claims.rewrite_prompt")
        return prompts.rewrite_prompt(self._by.context, new, old, content)


def _claim(row: Claim) -> Document:
    keep = ("id", "kind", "name", "state", "dispatch", "project", "slug", "job", "host", "actor", "failures")
    return {"class": class_of(row.kind)} | {name: row[name] for name in keep} | {"data": json.loads(row.data)}
