"""Tending the dispatches of a project: settle what has ended, press what should have. Never waits for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors.contested import WorktreeBusy
from fleet.errors.families import FleetError
from fleet.errors.store import StoreReplaced
from fleet.errors.superseded import NotSeated
from fleet.model.identity import Identity
from fleet.model.text.times import SECOND, duration
from fleet.store import queries as q
from fleet.verbs.dispatch import remaining
from fleet.verbs.dispatch.end import kill_processes, press
from fleet.verbs.dispatch.settle import hindrance, settle
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.merge.merge import carry_on

if TYPE_CHECKING:
    from fleet.store.transaction import Row
    from fleet.verbs.context import Ground
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing


# A hook tells when it began, by a clock that is coarser than the one of a report.
_COARSE = SECOND
# How many seconds a child of an agent has to live before a tick writes it down: each write is followed by another tick.
_LASTING = 5.0


def tend_dispatches(ground: Ground, project: str, troubles: list[str]) -> list[str]:
    """Each unfinished agent of the project that has ended or outlived its work; coordinators are Replace's. What was done.

    One that cannot be tended does not keep the others from it.
    """
    rows = ground.store.read(lambda snapshot: snapshot.all(q.LISTED_DISPATCHES, project=project, ended=0))
    listing, census = ground.world.tmux.listing(), ground.world.processes.census() if rows else None
    mine = [row for row in rows if row["kind"] != "coord" and is_own(ground, row)]
    said = []
    for row in mine:
        try:
            what = _tended(ground, row, listing, census)
        except (NotSeated, StoreReplaced):
            raise
        except (FleetError, OSError) as error:
            said_so = error.spoken if isinstance(error, WorktreeBusy) else error
            troubles.append(f"{row['id']} of {row['slug']}: {said_so}")
            continue
        said += [f"{row['id']} ({row['kind']} of {row['slug']}): {what}"] if what else []
    return said


def _tended(ground: Ground, row: Row, listing: Listing, census: Census | None) -> str:
    if not hindrance(ground, row, listing, census).why:
        return settle_any(ground, row)
    life = ground.world.processes.life(Identity.parse(row["process"] or ""))
    if row["exec_state"] == "in_flight" and life == "dead":
        kill_processes(ground, row)
        return settle_any(ground, row)
    remaining.record(ground, row, census, lasting=_LASTING)
    return _pressed(ground, row) if life == "alive" and row["kind"] != "finisher" else ""


def settle_any(ground: Ground, row: Row) -> str:
    """Settle a dispatch; a finisher's merge is carried on from what git says."""
    done = settle(ground, row["id"])
    if done.get("strangers"):
        raise WorktreeBusy(project=row["project"], slug=row["slug"], who=done["strangers"], way=done["way"])
    if not done["settled"]:
        return ""
    carry_on(ground, row)
    return f"ended {done['exec_state']}"


def _pressed(ground: Ground, row: Row) -> str:
    """An agent that reported, lost its task or was asked before, and lives on."""
    now = ground.world.clock.now()
    if row["asked_for"] not in {None, "report"}:
        return _news(press(ground, row, asked_for=row["asked_for"], reason=row["asked_reason"] or ""))
    if row["report"]:
        over = now - row["reported_at"] >= duration(ground.setting("report_grace")) or _is_at_rest(ground, row)
        return _news(press(ground, row, asked_for="report", reason="it had reported")) if over else ""
    task = ground.store.read(lambda rows: rows.one(q.TASK_STATE, project=row["project"], slug=row["slug"]))
    if task is not None and task["assignee"] != row["id"]:
        return _news(press(ground, row, asked_for="superseded", reason="its task was taken away"))
    return ""


def _is_at_rest(ground: Ground, row: Row) -> bool:
    """Whether its own hooks say that the turn in which it reported is over: nothing more is to come of it."""
    heard = ground.store.read(lambda rows: rows.one(q.HEARD_AGENT, dispatch=row["id"]))
    return heard is not None and heard["state"] == "idle" and heard["state_at"] + _COARSE >= row["reported_at"]


def _news(said: str) -> str:
    return "" if said == "given time to exit" else said
