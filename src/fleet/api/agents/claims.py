"""fleet.claims: what dispatches hold, and the prompt files of programs that write prompts themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.model.results.dispatches import ClaimView
from fleet.resources import class_of
from fleet.store import queries as q
from fleet.verbs.agents import prompts
from fleet.verbs.homes.disown import disown_claim
from fleet.verbs.views import claim_views

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Disowned, Inspected, PromptOutcome
    from fleet.store.queries import Claim
    from fleet.verbs.agents.prompts import WantedPrompt

    # The class has a method named `list`.
    ClaimViews = list[ClaimView]


class Claims(Part):
    """Claims: the things outside the database that dispatches hold."""

    __slots__ = ()

    def list(self, klass: str | None = None, kind: str | None = None) -> ClaimViews:
        """Return every claim that is not released, of one class or kind if given.

        A class is `exclusive`, for example, and a kind `worktree`. Seats and running agents are listed as claims too.
        """
        of_rows = self._by.store.read(lambda rows: claim_views.row_claims(rows, self._by.world.host.id))
        every = [*map(_claim_view, self._by.store.read(q.open_claims)), *of_rows]
        return [claim for claim in every if klass in {None, claim.class_} and kind in {None, claim.kind}]

    def inspect(self, ident: str) -> Inspected:
        """Return the claims of a dispatch, each with how the claimed thing looks now.

        The claims of an archived dispatch are returned as they were recorded. Raise Absent when there is no such
        dispatch, BadId when `ident` is no dispatch id.
        """
        return claim_views.inspect(self._by.view, ident)

    def disown(self, ident: str, kind: str, reason: str) -> Disowned:
        """Give up the claims of one kind of the dispatch or job `ident`, which another host or tmux socket made.

        `reason` is recorded. Nothing outside the database is touched. Raise Refused for a claim of this home.
        """
        self._by.may("claims.disown")
        return disown_claim(self._by.context, ident, kind, reason)

    def acquire_prompt(self, ident: str, content: str, wanted: WantedPrompt) -> PromptOutcome:
        """Write the prompt file of a dispatch into the home's folder `inbox`, and record the dispatch's claim on it.

        When no dispatch has this id, add a pending dispatch. The outcome is "acquired", or "already_acquired" when the
        dispatch has its prompt file: then nothing is written. Raise NotOwned when the dispatch has another owner,
        Superseded when it has ended.
        """
        self._by.may("claims.acquire_prompt")
        if "/" not in wanted.owner:  # only a task's slug
            wanted = replace(wanted, project=self._by.project_here(wanted.project))
        return prompts.acquire_prompt(self._by.context, ident, content, wanted)

    def release_prompt(self, ident: str, kind: str) -> PromptOutcome:
        """Release the claims of this kind that a dispatch holds, such as the claim on its prompt file.

        The outcome is "released", or "already_released" when the dispatch holds no such claim. Raise NotOwned for an
        exclusive claim of a dispatch that has not ended, Absent when there is no such dispatch.
        """
        self._by.may("claims.release_prompt")
        return prompts.release_prompt(self._by.context, ident, kind)

    def rewrite_prompt(self, new: str, old: str, content: str) -> PromptOutcome:
        """Hand the prompt file of the dispatch `old` over to the dispatch `new`, with new content.

        The outcome is "rewritten", or "already_rewritten" when an earlier call did it. Raise Absent when there is no
        dispatch `new`, or no prompt of `old`.
        """
        self._by.may("claims.rewrite_prompt")
        return prompts.rewrite_prompt(self._by.context, new, old, content)


def _claim_view(row: Claim) -> ClaimView:
    return ClaimView.made_of(row, class_=class_of(row.kind), data=json.loads(row.data))
