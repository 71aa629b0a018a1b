"""Status: what is going on, on one page. Who needs the person comes first."""

from __future__ import annotations

from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.verbs.tasks import review
from fleet.verbs.views.expiring_trash import expiring
from fleet.verbs.views.obstacles import hindrances
from fleet.verbs.views.overview import overview, questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import ClaimsElsewhere, ParkedTask
    from fleet.store.transaction import Row, Rows
    from fleet.verbs.context import Context

    Document = dict[str, Any]

MOST = 200
# What an agent waits for a person in, besides a question that it put by its hook.
_WAITS = frozenset({"asks", "dialog", "idle", "stopped, no report"})


def status(context: Context) -> Document:
    """Needs you, what is in the way, to review, failed, parked, being merged, working, held back; then the projects."""
    seen_at = iso(context.world.clock.now())
    at_work = [agent | {"state_at": agent["state_at"] or seen_at} for agent in agents_at_work(context)]
    here = {"host": context.world.host.id, "home": context.world.record.id, "socket": context.world.socket}
    found = context.store.read(lambda rows: _known(rows, context.world.clock.now(), here))
    found["reclaim"] += _left_by_runners(context)
    on_hand, asked, unmerged = found.pop("on_hand"), found.pop("asked"), found.pop("unmerged")
    return {
        "needs_you": [*(_asks(each) for each in asked), *_silent(at_work, {each["dispatch"] for each in asked})],
        "in_the_way": [*hindrances(context, found["projects"]), *_kept_worktrees(context, at_work)],
        **found,
        "reclaim": [*found["reclaim"], *expiring(context)],
        "merging": [
            *(_merging(row) for row in on_hand if row["stage"] == "finisher" and not row["attempted"]),
            *(_merging(row) for row in unmerged),
        ],
        "working": _working(on_hand, at_work),
    }


def _kept_worktrees(context: Context, at_work: list[Document]) -> list[Document]:
    """Worktrees of dead agents that are not handed on, because a process works in them that fleet cannot attribute."""
    dead = [agent for agent in at_work if agent["state"] == "exited"]
    if not dead:
        return []
    from fleet.verbs.dispatch.settle import kept_worktree

    found = ((agent["project"], kept_worktree(context, agent["id"])) for agent in dead)
    return [{"project": project, "text": kept.spoken} for project, kept in found if kept is not None]


def agents_at_work(context: Context, project: str | None = None) -> list[Document]:
    """Every unfinished dispatch as `agents` shows it. Where there is none, neither tmux nor an engine is asked."""
    if not context.store.read(lambda rows: q.listed_dispatches(rows, project=project, ended=0)):
        return []
    from fleet.verbs.agents.listing import agents

    return agents(context, project)


def _left_by_runners(context: Context) -> list[str]:
    """What dead runners of jobs left running, in words."""
    if not context.store.read(lambda rows: q.open_claims_of_jobs(rows)):
        return []
    from fleet.verbs.jobs.abandoned import left_by_runners

    return [f"job {each.job}: {each.in_words()}" for each in left_by_runners(context) if not each.foreign]


def _known(rows: Rows, now: int, here: dict[str, str]) -> Document:
    """What the store knows, in one snapshot."""
    parked = q.parked_tasks(rows, now=now, most=MOST)
    held = q.all_holds(rows)
    return {
        "review": review.waiting(rows),
        "failed": [_at(row, "changed_at") for row in q.failed_tasks(rows, most=MOST)],
        "parked": [_at(row, "changed_at") | {"not_before": iso_or_none(row.not_before)} for row in parked],
        "holds": [_at(row, "since") | {"until": iso_or_none(row.until)} for row in held],
        **overview(rows, now),
        "elsewhere": [_in_words(row, here) for row in q.claims_elsewhere(rows, **here)],
        "on_hand": q.tasks_on_hand(rows, most=MOST),
        "unmerged": q.unmerged_tasks(rows, most=MOST),
        "asked": questions(rows),
    }


def _at(row: ParkedTask, name: str) -> Document:
    return {**row, name: iso(row[name])}


def _asks(each: Document) -> Document:
    """A question that an agent put."""
    keep = ("project", "slug", "dispatch", "kind", "text", "command")
    return {name: each[name] for name in keep} | {"question": each["id"], "since": each["asked_at"], "source": "hook"}


def _silent(at_work: list[Document], asked: set[str]) -> list[Document]:
    """Agents that wait for somebody without having put a question."""
    return [
        {
            "project": agent["project"],
            "slug": agent["task"],
            "dispatch": agent["id"],
            "kind": agent["state"],
            "text": agent["detail"] or f"it is {agent['state']}",
            "command": None,
            "question": None,
            "since": agent["state_at"],
            "source": agent["source"],
        }
        for agent in at_work
        if agent["state"] in _WAITS and agent["id"] not in asked
    ]


def _merging(row: Row) -> Document:
    keep = ("project", "slug", "title", "pull_request")
    return {name: row[name] for name in keep} | {"since": iso(row["changed_at"])}


def _working(on_hand: list[Row], at_work: list[Document]) -> list[Document]:
    """Agents, coordinators too, with what they work on; and tasks that somebody claimed by name."""
    titles = {(row["project"], row["slug"]): row["title"] for row in on_hand}
    taken = {(agent["project"], agent["task"]) for agent in at_work}
    claimed = [
        row
        for row in on_hand
        if (row["project"], row["slug"]) not in taken
        and (row["attempted"] or row["stage"] not in {"review", "finisher"})
    ]
    return [_agent(agent, titles.get((agent["project"], agent["task"]))) for agent in at_work] + [
        {
            **{name: row[name] for name in ("project", "slug", "title")},
            "who": row["assignee"],
            "kind": None,
            "state": "claimed",
            "source": "store",
            "detail": "",
            "since": iso(row["started_at"] or row["changed_at"]),
            "started_at": iso(row["started_at"] or row["changed_at"]),
        }
        for row in claimed
    ]


def _agent(agent: Document, title: str | None) -> Document:
    keep = ("project", "kind", "state", "source", "detail", "started_at")
    return {name: agent[name] for name in keep} | {
        "slug": agent["task"],
        "title": title or ("coordinates" if agent["kind"] == "coord" else ""),
        "who": agent["id"],
        "since": agent["state_at"],
    }


def _in_words(row: ClaimsElsewhere, here: dict[str, str]) -> str:
    count = f"{row.n} claim{'' if row.n == 1 else 's'}"
    ways = "if that is no more, `fleet dispatches disown` gives up what it had"
    if row.home not in {None, here["home"]}:
        whose = f"{row.path} on {row.name}, host {row.host}" if row.path else f"{row.home}, host {row.host}"
        return f"{count} of another home ({whose}): only that home can release what it made; {ways}"
    if row.host != here["host"]:
        return f"{count} of another host ({row.host}): only that host can release what it made; {ways}"
    return f"{count} of another tmux socket ({row.tmux_socket}): only its fleet home can look at them"
