"""The dependencies of tasks as a graph: find paths and cycles."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Needs = dict[str, list[str]]
_SHOWN = 20


def needs_of(edges: Iterable[tuple[str, str]]) -> Needs:
    """Return for each task the tasks that it depends on, from pairs of a task and one dependency."""
    needs: Needs = {}
    for slug, needed in edges:
        needs.setdefault(slug, []).append(needed)
    return needs


def path_between(needs: Mapping[str, list[str]], start: str, goal: str) -> list[str] | None:
    """Return a shortest chain of dependencies from task `start` to task `goal`, both included; None without a chain."""
    previous: dict[str, str] = {start: ""}
    queue = [start]
    for slug in queue:
        if slug == goal:
            return _path_from_start(previous, goal)
        for needed in needs.get(slug, ()):
            if needed not in previous:
                previous[needed] = slug
                queue.append(needed)
    return None


def _path_from_start(previous: Mapping[str, str], goal: str) -> list[str]:
    """Return the path to `goal`, from a map of each task to the one before it on the path."""
    path = [goal]
    while previous[path[-1]]:
        path.append(previous[path[-1]])
    return path[::-1]


def find_cycle(needs: Mapping[str, list[str]]) -> list[str] | None:
    """Return the slugs along one cycle, with the first slug repeated at the end; None when there is no cycle."""
    unorderable = _unorderable_tasks(needs)
    if not unorderable:
        return None
    slug = min(unorderable)
    seen: dict[str, int] = {}
    path: list[str] = []
    while slug not in seen:
        seen[slug] = len(path)
        path.append(slug)
        slug = next(needed for needed in needs[slug] if needed in unorderable)
    return [*path[seen[slug] :], slug]


def _unorderable_tasks(needs: Mapping[str, list[str]]) -> set[str]:
    """Return the tasks that are on a cycle or depend on a task that is: they can never become ready."""
    waiting = {slug: len(set(needed)) for slug, needed in needs.items() if needed}
    wanted_by: Needs = {}
    for slug, needed in needs.items():
        for need in set(needed):
            wanted_by.setdefault(need, []).append(slug)
    queue = [slug for slug in wanted_by if slug not in waiting]
    for done_slug in queue:
        for slug in wanted_by.get(done_slug, ()):
            waiting[slug] -= 1
            if waiting[slug] == 0:
                del waiting[slug]
                queue.append(slug)
    return set(waiting)


def cycle_text(cycle: list[str]) -> str:
    """Return a cycle as text, for example "a → b → a". The middle of a long cycle is replaced by a count."""
    if len(cycle) <= _SHOWN:
        return " → ".join(cycle)
    half = _SHOWN // 2
    return " → ".join([*cycle[:half], f"… {len(cycle) - 2 * half:,} more …", *cycle[-half:]])
