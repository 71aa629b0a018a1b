"""What can be run: dispatching agents, looking at them, ending them, merging their work, sweeping up."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fleet.api.permits import refuse_freer
from fleet.api.planning import Planning
from fleet.api.session import Session
from fleet.api.viewing import Viewing
from fleet.engines import reader
from fleet.errors.absent import NoSuchDispatch
from fleet.errors.families import Absent, FleetError
from fleet.model.branches import task_branch
from fleet.model.dispatch.claim import Claim
from fleet.model.text.times import iso_or_none
from fleet.resources import KINDS, class_of
from fleet.store import queries as q
from fleet.store import tasks
from fleet.verbs.coord import seat
from fleet.verbs.dispatch import dispatch, end, excuse, find, plan, prompts, reclaim, settle
from fleet.verbs.dispatch import keep_uncommitted as keep
from fleet.verbs.dispatch.apply_remedy import settle_attempt
from fleet.verbs.merge import branches, land, merge, recorded
from fleet.verbs.merge import restore as restore_merges
from fleet.verbs.sweep import journal_archive, sweep
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.api.permits import Speaker
    from fleet.engines.reader import Engine
    from fleet.store.transaction import Row, Rows
    from fleet.verbs.dispatch.plan import Wanted
    from fleet.verbs.sweep.finding import Finding
    from fleet.world.tmux import Pane

Document = dict[str, Any]
PHASES = ("orphans", "retry-releases", "reconcile-derived")
_TIMES = ("created_at", "updated_at", "launched_at", "ended_at", "reported_at", "asked_at")


class Running(Planning, Session, Viewing):
    """Runs agents."""

    # starting ---------------------------------------------------------------------------------------------------------
    def dispatch(self, wanted: Wanted) -> Document:
        """Start an agent on a task. One before it that ended without anybody noticing is settled first."""
        self._refuse_freer(self.may("dispatch", project=wanted.project), wanted)
        if wanted.slug:
            settle_attempt(self.ground, wanted.project, wanted.slug, speaker=self.speaker)
        return dispatch.dispatch(self.ground, wanted)

    def _refuse_freer(self, speaker: Speaker | None, wanted: Wanted) -> None:
        """An agent starts nothing that is freer than itself: no command of its own, no engine that knows no freedoms."""
        if speaker is None:
            return
        unguarded = "a command" if wanted.command else ""
        if wanted.engine and not self.engine(wanted.engine).autonomy:
            unguarded = unguarded or f"the engine {wanted.engine}"
        refuse_freer(speaker, "dispatch", autonomy=wanted.autonomy, unguarded=unguarded)

    def check_start(self, wanted: Wanted) -> None:
        """Refuse what could not start anyway."""
        plan.check_start(self.ground, wanted)

    def coord_spawn(self, wanted: Wanted) -> Document:
        """Start a project's coordinator, behind its gate."""
        self.may("coord_spawn")
        return seat.coord_spawn(self.ground, wanted)

    # looking ----------------------------------------------------------------------------------------------------------
    def find(self, given: str, project: str | None = None) -> str:
        """The dispatch that is meant; when none in the tables fits, an archived one."""
        here = self._project_or_none()
        try:
            return self.store.read(lambda rows: find.find(rows, given, project, here=here))
        except NoSuchDispatch:
            old = find.find_archived(self.view, given)
            if old is None:
                raise
            return old

    def _project_or_none(self) -> str | None:
        try:
            return self.project_here()
        except FleetError:
            return None

    def dispatches(self, project: str | None = None, *, ended: bool = True) -> list[Document]:
        """The journals in the tables."""
        if project is not None:
            self.view.project(project)
        rows = self.store.read(lambda snapshot: snapshot.all(q.LISTED_DISPATCHES, project=project, ended=int(ended)))
        held = self.store.read(_holders)
        return [_summary(row, held[row["id"]]) for row in rows]

    def journal(self, ident: str) -> Document:
        """One dispatch with its claims, live or archived alike; a live one is looked at anew."""
        live = self.store.read(lambda rows: reclaim.journal(rows, ident))
        handed = self.store.read(lambda rows: rows.one(q.HANDED_TO, dispatch=ident)) or {"successor": None}
        if live:
            return live | self._looked_at(live) | handed
        found = find.archived(self.view, ident)
        if found is None:
            raise NoSuchDispatch(dispatch=ident)
        return found | handed | {"archived": True}

    def _looked_at(self, live: Document) -> Document:
        """The bundle that it owns among its claims, each claim looked at anew."""
        place = {"project": live["project"], "slug": live["slug"] or ""}
        bundle = self.store.read(lambda rows: rows.one(q.BUNDLE_OF, **place))
        owned = (
            self.store.read(lambda rows: rows.all(q.CLAIMS_OF_BUNDLE, **place))
            if bundle and bundle["owner"] == live["id"]
            else []
        )
        held = owned + self.store.read(lambda rows: rows.all(q.CLAIMS_OF_DISPATCH, dispatch=live["id"]))
        seen = {row["kind"]: KINDS[row["kind"]].look(Claim.of(row), self.world) for row in held if row["kind"] in KINDS}
        shown = [*live["claims"], *(reclaim.claim_document(row) for row in owned)]
        return {"claims": [{**each, "look": seen.get(each["kind"])} for each in shown]}

    def claims(self, klass: str | None = None, kind: str | None = None) -> list[Document]:
        """Every claim that is not released, the row kinds included."""
        rows = self.store.read(lambda snapshot: snapshot.all(q.OPEN_CLAIMS))
        found = [_claim(row) for row in rows] + self._row_claims()
        return [each for each in found if klass in {None, each["class"]} and kind in {None, each["kind"]}]

    def _row_claims(self) -> list[Document]:
        seats = [row for row in self.store.read(lambda rows: rows.all(q.ALL_SEATS)) if row["holder"]]
        agents_now = self.store.read(lambda rows: rows.all(q.LISTED_DISPATCHES, project=None, ended=0))
        here = {"host": self.world.host.id, "class": "exclusive", "state": "live"}
        return [
            here | {"kind": "coord_spawn_marker", "name": row["project"], "dispatch": row["holder"]} for row in seats
        ] + [here | {"kind": "agent_record", "name": row["id"], "dispatch": row["id"]} for row in agents_now]

    def screen(self, ident: str, *, history: bool = False) -> str:
        """What an agent shows now; an ended one's last output."""
        pane = self._pane(ident)
        if pane is None:
            return self.output(ident)
        text = self.world.tmux.capture(pane, history=history or pane.dead)  # a death scrolls the screen
        if text is None and self._pane(ident) is None:
            return self.output(ident)  # it has just ended
        if text is None:
            raise Absent(what=f"answer from tmux about fleet-{ident}")
        return f"{text.rstrip()}\n" if text.strip() else ""

    def output(self, ident: str) -> str:
        """What was kept of an ended agent's output."""
        for name in (paths.log(ident), paths.log(ident, "verify")):
            with suppress(FileNotFoundError):
                return self.files_of_home(name)
        raise Absent(what=f"output of {ident}: its session is gone and nothing was kept")

    def files_of_home(self, name: str) -> str:
        """The text of a file of the home."""
        return self.world.files.read(name).decode("utf-8", "replace")

    def attach_words(self, ident: str) -> list[str]:
        """The command that attaches a terminal to an agent."""
        self.may("attach_words")
        pane = self._pane(ident)
        if pane is None:
            raise Absent(what=f"session of {ident}; `fleet logs {ident}` shows what it left")
        return self.world.tmux.attach_words(pane)

    def _pane(self, ident: str) -> Pane | None:
        return self.world.tmux.listing().pane_of(ident)

    def diff(self, *, project: str, slug: str, stat: bool = False) -> str:
        """What a task's branch changes, against the integration branch."""
        self.store.read(lambda rows: tasks.state(rows, project, slug))
        repository = self.ground.project(project)["path"]
        integration, _tip = branches.integration_branch(self.ground, project, repository)
        return self.world.git.diff(repository, integration, task_branch(slug), stat=stat)

    def why(self, *, project: str, slug: str) -> Document:
        """Why a task is not being worked on; of one whose agent is dead, who keeps its worktree."""
        found = super().why(project=project, slug=slug)
        attempt = self.store.read(lambda rows: rows.one(q.UNFINISHED_OF_TASK, project=project, slug=slug))
        kept = settle.kept_worktree(self.view, attempt["id"]) if attempt is not None else None
        return found | {"sentences": [kept.spoken, *found["sentences"]]} if kept is not None else found

    # ending -----------------------------------------------------------------------------------------------------------
    def stop(self, ident: str, reason: str = "stopped by a person") -> Document:
        """End an agent so that it can be resumed."""
        self.may("stop", agent=ident)
        return end.end(self.ground, ident, asked_for="stop", reason=reason)

    def kill(self, ident: str, reason: str) -> Document:
        """End the attempt."""
        self.may("kill", agent=ident)
        return end.end(self.ground, ident, asked_for="kill", reason=f"killed: {reason}")

    def excuse(self, ident: str, pids: Sequence[int]) -> Document:
        """Record that processes in the worktree of a dispatch are not the dispatch's. Ends nobody."""
        self.may("excuse")
        return excuse.excuse(self.ground, ident, pids)

    # work -------------------------------------------------------------------------------------------------------------
    def merge(self, *, project: str, slug: str) -> Document:
        """Merge a task's work into the integration branch."""
        self.may("merge", project=project)
        settle_attempt(self.ground, project, slug, speaker=self.speaker)
        return merge.merge(self.ground, project, slug)

    def mergeable(self, *, project: str) -> list[str]:
        """Tasks that are done and not merged."""
        return [row["slug"] for row in self.store.read(lambda rows: rows.all(q.MERGEABLE_TASKS, project=project))]

    def land(self, *, project: str, dry: bool = False, here: str | None = None) -> Document:
        """Move the target to the integration branch; also in the checkout that a person calls it in, but not for an agent.

        Dry, only say what would be moved.
        """
        if not dry:
            self.may("land")
        return land.land(self.ground, project, dry=dry, here=None if self.speaker else here)

    def merges(self, *, project: str) -> list[Document]:
        """Every recorded merge, newest first, and whether it is missing."""
        return recorded.list_merges(self.view, project)

    def restore_merges(self, *, project: str) -> Document:
        """Put missing merges back onto the integration branch."""
        self.may("restore_merges")
        return restore_merges.restore_merges(self.ground, project)

    def acknowledge_merges(self, *, project: str, reason: str) -> Document:
        """Record that missing merges are meant to be gone."""
        self.may("acknowledge_merges")
        return recorded.acknowledge_merges(self.ground, project, reason)

    def sweep(self, *, kill: bool, phases: frozenset[str] = frozenset(PHASES)) -> list[Finding]:
        """Look for what leaked, and release it if wanted."""
        if kill:
            self.may("sweep")
        return sweep.sweep(self.ground, kill=kill, phases=phases)

    def kept_trees(self) -> list[Document]:
        """Worktrees that nobody needs any more but that have uncommitted work."""
        return keep.dirty(self.ground)

    def keep(self, *, project: str, slug: str) -> Document:
        """Commit the uncommitted work of a worktree to a ref of its own, and let the worktree go."""
        self.may("keep")
        return keep.keep(self.ground, project, slug)

    def prune_archive(self, *, older_than: str | None = None) -> Document:
        """Remove old journals from the archive; their ids stay given out."""
        self.may("prune_archive")
        return journal_archive.prune(self.ground, older_than=older_than)

    # prompts, for programs --------------------------------------------------------------------------------------------
    def acquire_prompt(self, ident: str, content: str, wanted: Document) -> Document:
        """Publish a prompt for a dispatch."""
        self.may("acquire_prompt")
        return prompts.acquire_prompt(self.ground, ident, content, wanted)

    def release_prompt(self, ident: str, kind: str) -> Document:
        """Let go of one thing of a dispatch."""
        self.may("release_prompt")
        return prompts.release_prompt(self.ground, ident, kind)

    def rewrite_prompt(self, new: str, old: str, content: str) -> Document:
        """Hand an inbox over to a new owner."""
        self.may("rewrite_prompt")
        return prompts.rewrite_prompt(self.ground, new, old, content)

    def inspect(self, ident: str) -> Document:
        """What a dispatch holds."""
        return prompts.inspect(self.view, ident)

    def disown(self, ident: str, kind: str, reason: str) -> Document:
        """Give up a claim of another host or socket."""
        self.may("disown")
        return prompts.disown(self.ground, ident, kind, reason)

    # engines ----------------------------------------------------------------------------------------------------------
    def engines(self) -> dict[str, Engine]:
        """Every engine."""
        return reader.all_engines(self.home)

    def engine(self, name: str) -> Engine:
        """One engine."""
        return reader.engine(self.home, name)


def _holders(rows: Rows) -> Counter[str]:
    """How many things each dispatch holds; those of a bundle are its owner's."""
    owners = {(row["project"], row["slug"]): row["owner"] for row in rows.all(q.ALL_BUNDLES)}
    claims = rows.all(q.OPEN_CLAIMS)
    return Counter(claim["dispatch"] or owners.get((claim["project"], claim["slug"]), "") for claim in claims)


def _summary(row: Row, held: int) -> Document:
    keep = ("id", "kind", "project", "slug", "owner", "engine", "exec_state", "recl_state", "report", "blocked_reason")
    shown = {name: row[name] for name in keep} | {name: iso_or_none(row[name]) for name in _TIMES}
    return shown | {"claims": held}


def _claim(row: Row) -> Document:
    keep = ("id", "kind", "name", "state", "dispatch", "project", "slug", "job", "host", "actor", "failures")
    return {"class": class_of(row["kind"])} | {name: row[name] for name in keep} | {"data": json.loads(row["data"])}
