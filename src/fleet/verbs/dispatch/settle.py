"""Settle: end a dispatch whose death is proven. Nothing else ends one."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleet.errors.absent import NoSuchDispatch
from fleet.errors.contested import WorktreeBusy
from fleet.errors.tools import GitRefused
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.settling import INTERRUPTED, STOPPED, Evidence, Outcome, outcome
from fleet.model.dispatch.steps import UNFINISHED
from fleet.model.identity import Identity
from fleet.model.tasks.pipeline import WORKING, after_work
from fleet.model.text import escapes
from fleet.model.text.times import HOUR, duration
from fleet.resources.tmux_session import TmuxSession
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.dispatch import remaining
from fleet.verbs.dispatch.find import archived
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.verbs.homes.ownership import offer, why_foreign

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.context import Ground
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing, Pane

LOG_BYTES = 2_000_000
CHANGED = "it changed again and again meanwhile; try again"
_TRIES = 3
_LOOKS = 50
_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Why a dispatch cannot be ended; empty when its death is proven.

    Strangers: processes in its worktree that fleet cannot attribute. Way: what a person can do about them. Unreadable: such as could not be looked into; they hinder nothing.
    """

    why: str = ""
    strangers: str = ""
    way: str = ""
    unreadable: str = ""


def settle(
    ground: Ground, ident: str, *, listing: Listing | None = None, why: str = "", undo: bool = False
) -> dict[str, Any]:
    """End a dispatch if its death is proven, and reclaim what it held; else say why not.

    Undo: its own dispatcher gives up. A session that is starting finds its dispatch ended and exits.
    """
    for _ in range(_TRIES):
        try:
            row = ground.dispatch(ident)
        except NoSuchDispatch:
            return _settled_before(ground, ident)
        found = _why_not(ground, row, listing, undo=undo)
        if found.why:
            who = {"strangers": found.strangers, "way": found.way} if found.strangers else {}
            return {"id": ident, "settled": False, "why": found.why} | who
        state = _ended(ground, row, why)
        if state:
            return {"id": ident, "settled": True, "exec_state": state, "left": reclaim(ground, ident)}
    return {"id": ident, "settled": False, "why": CHANGED}


def _settled_before(ground: Ground, ident: str) -> dict[str, Any]:
    """Somebody else was faster, and its journal is in the archive."""
    journal = archived(ground, ident)
    if journal is None:
        raise NoSuchDispatch(dispatch=ident)
    return {"id": ident, "settled": True, "exec_state": journal["exec_state"], "left": []}


def _why_not(ground: Ground, row: Row, listing: Listing | None, *, undo: bool) -> Hindrance:
    if row["exec_state"] not in UNFINISHED or (undo and row["exec_state"] == "pending"):
        return Hindrance()
    return hindrance(ground, row, listing or ground.world.tmux.listing())


def _ended(ground: Ground, row: Row, why: str) -> str:
    """What it has ended as; empty when it changed meanwhile."""
    if row["exec_state"] not in UNFINISHED:
        return str(row["exec_state"])
    pane = _last_look(ground, row)
    _keep_output(ground, row, pane)
    work = _work(ground, row)
    found = outcome(_evidence(ground, row, pane, why, work))
    return found.exec_state if ground.commit(_end(row, found, pane, ground, work))["settled"] else ""


def why_alive(ground: Ground, row: Row, listing: Listing) -> str:
    """Why the dispatch cannot be ended; empty when its death is proven."""
    return hindrance(ground, row, listing).why


def hindrance(ground: Ground, row: Row, listing: Listing, census: Census | None = None) -> Hindrance:
    """What keeps a dispatch from being ended. A census from before is good for a first look; settle itself takes its own."""
    foreign = why_foreign(ground, row)
    if foreign:
        return Hindrance(why=f"{foreign}; {offer(row['id'])}")
    if row["exec_state"] == "pending":
        return Hindrance(why=_why_starting(ground, row, listing))
    process = Identity.parse(row["process"] or "")
    life = ground.world.processes.life(process)
    if life != "dead":
        return Hindrance(why=f"its process is {life}{_why_unknown(ground, row, process)}")
    left = remaining.look(ground, row, census)
    if left.ours:
        return Hindrance(why=f"it left processes behind: {', '.join(str(each.pid) for each in left.ours)}")
    if left.strangers:
        who = remaining.named(ground, left.strangers)
        way = remaining.way_out(row["id"], left.strangers)
        why = f"{who} works in its worktree, and fleet cannot tell whose it is; {way}"
        return Hindrance(why=why, strangers=who, way=way)
    server = Identity.parse(row["server"] or "")
    silent = listing.server is None and server is not None and ground.world.processes.life(server) != "dead"
    why = "its tmux server does not say how it ended" if silent else ""
    return Hindrance(why=why, unreadable=remaining.named(ground, left.unreadable))


def kept_worktree(ground: Ground, ident: str) -> WorktreeBusy | None:
    """The refusal that whoever needs the worktree of a dead agent gets, if a process keeps it that fleet cannot attribute."""
    row = ground.store.read(lambda rows: rows.one(q.DISPATCH_BY_ID, id=ident))
    if row is None or row["exec_state"] != "in_flight" or row["slug"] is None:
        return None
    found = hindrance(ground, row, ground.world.tmux.listing())
    if not found.strangers:
        return None
    return WorktreeBusy(project=row["project"], slug=row["slug"], who=found.strangers, way=found.way)


def _why_starting(ground: Ground, row: Row, listing: Listing) -> str:
    """Why a dispatch that was not launched yet may still be: its dispatcher, a program at work for it, or its session.

    Its dispatcher is judged first: whatever that had made before it died is there when the rest is looked at.
    """
    spawner = Identity.parse(row["spawner"])
    over = spawner is None or ground.world.processes.life(spawner) == "dead" or _gave_up(ground, spawner, row)
    held = [
        Claim.of(each) for each in ground.store.read(lambda rows: rows.all(q.CLAIMS_OF_DISPATCH, dispatch=row["id"]))
    ]
    busy = [claim for claim in held if not ground.world.effect_lock(claim.id).is_free()]
    if busy:
        return f"{busy[0]} is still being made"
    session = next((claim for claim in held if claim.kind == "tmux_session" and claim.state == "live"), None)
    seen = listing.pane_of(row["id"]) is not None or not (over or session)
    fresh = listing if seen else ground.world.tmux.listing()
    pane = fresh.pane_of(row["id"])
    if pane is not None and not pane.dead and _is_noticed(ground, fresh, pane):
        return "its session is starting"
    if session is not None:
        return "its session is unknown" if TmuxSession().judge(session, fresh, ground.world) == "unknown" else ""
    if over or spawner is None:
        return ""
    return f"process {spawner.pid} is starting it{_why_unknown(ground, row, spawner)}"


def _why_unknown(ground: Ground, row: Row, process: Identity | None) -> str:
    """Of another machine nothing can be proven here; a person can say that it is no more."""
    if process is None or process.host == ground.world.host.machine:
        return ""
    return f": it is of machine {process.host}, and this is {ground.world.host.machine}; {offer(row['id'])}"


def _is_noticed(ground: Ground, listing: Listing, pane: Pane) -> bool:
    """False: its process is dead, and tmux, which has not noticed, is told again."""
    who = ground.world.processes.identify(pane.pid)
    if listing.server is None or who is None or ground.world.processes.life(who) != "dead":
        return True
    ground.world.processes.signal(listing.server, signal.SIGCHLD)
    return False


def _gave_up(ground: Ground, spawner: Identity, row: Row) -> bool:
    """We are its dispatcher, and ask ourselves from outside the dispatch: it was asked to end."""
    return spawner == ground.world.processes.me() and row["asked_for"] is not None


def _last_look(ground: Ground, row: Row) -> Pane | None:
    """The pane as tmux leaves it, with its exit status.

    tmux notices a death a moment later than the kernel; and before 3.5 it sometimes loses the signal that tells it, and never
    notices. So it is told again, for a bounded time.
    """
    for _ in range(_LOOKS):
        listing = ground.world.tmux.listing()
        pane = listing.pane_of(row["id"])
        if pane is None or pane.status is not None or listing.server is None or row["exec_state"] != "in_flight":
            return pane
        ground.world.processes.signal(listing.server, signal.SIGCHLD)
        ground.world.clock.wait(_BETWEEN_LOOKS)
    return pane


def _evidence(ground: Ground, row: Row, pane: Pane | None, why: str, work: str | None) -> Evidence:
    process = Identity.parse(row["process"] or "")
    return Evidence(
        launched=row["exec_state"] == "in_flight",
        report=row["report"],
        report_reason=row["report_reason"],
        exit_status=pane.status if pane and pane.dead else None,
        asked_for=row["asked_for"],
        asked_reason=row["asked_reason"],
        other_boot=process is not None and process.boot != ground.world.host.boot,
        work=_has_work(ground, row, work),
        why_not_launched=why or "it was never launched",
    )


def _work(ground: Ground, row: Row) -> str | None:
    """Return the commit that the task's branch is at now that its agent is dead; None when there is none, or git does not say."""
    if row["slug"] is None:
        return None
    branch = f"worker/{row['slug']}"
    try:
        return ground.world.git.branches(ground.project(row["project"])["path"], branch).get(branch)
    except GitRefused:
        return None


def _has_work(ground: Ground, row: Row, work: str | None) -> bool:
    """New commits on the task's branch, or artifacts that this dispatch registered."""
    if row["slug"] is None:
        return False
    made = ground.store.read(lambda rows: rows.all(q.TASK_ARTIFACTS, project=row["project"], slug=row["slug"]))
    if any(each["actor"] == row["id"] for each in made):
        return True
    repository = ground.project(row["project"])["path"]
    return bool(row["base"] and work and ground.world.git.commits(repository, row["base"], work))


def _keep_output(ground: Ground, row: Row, pane: Pane | None) -> None:
    """What the agent showed goes into a file before its session goes."""
    if pane is None:
        return
    text = ground.world.tmux.capture(pane, history=True)
    if text is not None:
        kept = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
        text = escapes.tail(f"{kept}\n", LOG_BYTES) if kept else ""
        ground.world.files.publish(f"logs/{row['id']}.log", text.encode())


def _end(row: Row, found: Outcome, pane: Pane | None, ground: Ground, work: str | None) -> Change:
    ident = row["id"]
    status = pane.status if pane and pane.dead else None
    most = ground.setting("limits.failed_spawns")
    cooldown = duration(ground.setting("spawn_cooldown"))
    review = ground.setting("review", row["project"])

    def write(tx: Tx) -> Row:
        tx.about(row["project"], row["slug"])
        tx.dispatch = ident
        ended = tx.run(
            q.END_DISPATCH,
            id=ident,
            before=row["exec_state"],
            after=found.exec_state,
            report=row["report"],
            asked_for=row["asked_for"],
            exit_status=status,
            reason=found.reason,
            work=work,
            at=tx.at,
        )
        if not ended:
            return {"settled": False}
        tx.run(q.ARCHIVE_AGENT, id=ident, at=tx.at)
        freed = settle_task(tx, row, found, (most, cooldown, review), work)
        tx.note(exec_state=found.exec_state, reason=found.reason, asked_for=row["asked_for"], commit=work, ready=freed)
        return {"settled": True}

    return Change(f"settle {ident}: {found.exec_state}{f' ({found.reason})' if found.reason else ''}", write)


def settle_task(tx: Tx, row: Row, found: Outcome, told: tuple[int, int, str | None], work: str | None) -> list[str]:
    """What becomes of the task, if this attempt still has it. Those that are ready now."""
    most, cooldown, review = told
    if row["slug"] is None or row["kind"] == "finisher":
        return []
    if row["exec_state"] == "pending" and row["handoffs"]:
        # The next one is handed the same work, by the same agent.
        tx.run(q.INHERIT_MESSAGES, dispatch=row["predecessor"], predecessor=row["id"])
    project, slug = row["project"], row["slug"]
    status, reason, stage = _becomes(tx, row, found, most, review)
    tx.note(stage=stage)
    moved = tx.run(
        q.SETTLE_TASK,
        project=project,
        slug=slug,
        id=row["id"],
        status=status,
        stage=stage,
        assignee=None if status == "open" else row["id"],
        reason=reason,
        work=work if found.exec_state == "done" and row["kind"] in WORKING else None,
        not_before=tx.at + cooldown if status == "open" else None,
        ended_at=tx.at if status == "failed" else None,
        at=tx.at,
    )
    return tasks.tell_dependents(tx, project, slug, before="in_progress", after=status) if moved else []


def _becomes(tx: Tx, row: Row, found: Outcome, most: int, review: str | None) -> tuple[str, str | None, str | None]:
    """The task's status after this attempt, why, and the stage that it goes on at."""
    if row["exec_state"] == "pending" and row["asked_for"] == "stop":
        return "blocked", STOPPED, None
    if row["exec_state"] == "pending" and row["asked_for"] is None:
        return *_count_failure(tx, row, found.reason or "", most), None
    if found.handed_off:
        return "in_progress", None, None
    if row["kind"] == "reviewer":
        return *_after_review(tx, row, found), None
    if found.exec_state == "done":
        return "in_progress", found.reason, after_work(row["kind"], review)
    return found.exec_state, found.reason, None


def _after_review(tx: Tx, row: Row, found: Outcome) -> tuple[str, str | None]:
    """A reviewer's verdict has moved the task on already. Without one the review is still to be done."""
    stage = tasks.state(tx, row["project"], row["slug"])["stage"]
    if stage != "review":
        return "in_progress", None
    return "blocked", f"the review ended without a verdict{f': {found.reason}' if found.reason else ''}"


def _count_failure(tx: Tx, row: Row, why: str, most: int) -> tuple[str, str | None]:
    """A failed spawn gives the task back; too many within an hour park it. That of a resume leaves it to be resumed."""
    place = {"project": row["project"], "slug": row["slug"]}
    tx.run(q.ADD_SPAWN_FAILURE, **place, dispatch=row["id"], at=tx.at, why=why)
    if row["resumes"]:
        return "blocked", f"{INTERRUPTED}: its resume did not start: {why}"
    count = (tx.one(q.COUNT_SPAWN_FAILURES, **place, since=tx.at - HOUR) or {"n": 0})["n"]
    if count >= most:
        return "blocked", f"{count} failed starts within an hour, the last: {why}"
    return "open", None
