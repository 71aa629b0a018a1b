"""Take a snapshot: everything that the TUI draws at one moment, in the words of `fleet status`."""

from __future__ import annotations

from fleet.api.views.rows import counts_of, rows_of
from fleet.model.results.views import Snapshot
from fleet.model.text.times import DAY, iso
from fleet.store import queries as q
from fleet.verbs.views import operations
from fleet.verbs.views.at_work import agents_at_work
from fleet.verbs.views.status import status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.views import Overview
    from fleet.store.queries import KeptThing, ShownTask
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

_MOST_NAMED = 4
# How long a task is shown after it was merged and archived, in milliseconds.
_MERGED_FOR = DAY


def take_snapshot(context: Context, *, most: int = 200) -> Snapshot:
    """Return a snapshot of this moment; its `seq` is the number of the newest operation when it was begun.

    Changes that are committed meanwhile may be in it or not. `most`: how many entries each list of its page has at
    most.
    """
    return context.world.tmux.asking_once(lambda: _snapshot(context, most))


def _snapshot(context: Context, most: int) -> Snapshot:
    """Return a snapshot; `most`: how many entries each list of its page has at most."""
    seq = context.store.read(operations.newest)
    agents = agents_at_work(context)
    page = status(context, most=most, agents=agents)

    now = context.world.clock.now()

    def look(rows: Rows) -> tuple[list[ShownTask], list[KeptThing]]:
        return q.shown_tasks(rows, since=now - _MERGED_FOR), q.kept_things(rows)

    tasks, kept = context.store.read(look)
    rows = rows_of(page, agents, tasks, kept, now)
    return Snapshot(
        seq=seq,
        at=iso(now),
        page=page,
        agents=agents,
        rows=rows,
        counts=counts_of(rows),
        banner=banner_of(page, kept),
        tmux=_why_no_tmux(context) if any(agent.process and agent.source != "daemon" for agent in agents) else "",
        keys=context.value_of("keys").wrong,
    )


def banner_of(page: Overview, kept: list[KeptThing]) -> list[str]:
    """Return the banner's lines: what nobody needs and is not released, then what only other homes can release."""
    names: dict[str, list[str]] = {}
    for thing in kept:
        place = f"{thing.project}/{thing.slug}" if thing.slug else thing.dispatch or thing.name
        names.setdefault(thing.kind.replace("_", " "), []).append(place)
    return [*(_with_names(line, names) for line in page.reclaim), *page.elsewhere]


def trouble_lines(snapshot: Snapshot) -> list[str]:
    """Return what is wrong around fleet: tmux does not answer, the daemon has died, keys of the screen are wrong.

    [] when nothing is.
    """
    tmux = f"tmux does not answer: {snapshot.tmux}; agents cannot be seen or joined until it does"
    return [
        *([tmux] if snapshot.tmux else []),
        *([snapshot.page.daemon] if snapshot.page.daemon else []),
        *_wrong_keys(snapshot),
    ]


def _wrong_keys(snapshot: Snapshot) -> list[str]:
    """Return the line that names the wrong keys in the settings; [] when there are none."""
    return [f"the screen leaves out wrong keys: {'; '.join(snapshot.keys.splitlines())}"] if snapshot.keys else []


def _with_names(line: str, names: dict[str, list[str]]) -> str:
    """Return a line about things of one kind that are not released, with the names of up to four of them added.

    `names` has the names of the things by kind. A line about none of these kinds is returned unchanged.
    """
    for kind, places in names.items():
        if f" {kind}" in line.partition(":")[0]:
            more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
            return f"{line}: {', '.join(places[:_MOST_NAMED])}{more}"
    return line


def _why_no_tmux(context: Context) -> str:
    """Return why the tmux server does not answer; "" when it does."""
    listing = context.world.tmux.listing()
    return "" if listing.server is not None else listing.why or "no answer"
