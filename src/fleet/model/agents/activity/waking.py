"""Decide when to wake a coordinator that is an agent, and with which message.

fleet's own coordinator ticks at every change. An agent ticks only during its turns, so somebody has to wake it when its
turn has ended. Each thing to do has a key. The coordinator is woken at once for a thing whose key neither its last tick
nor an earlier wake has told it. It may ignore a wake; so it is woken again, after some time, while work still waits for
a tick.
"""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from fleet.model.results.coord import Briefing

_MOST_NEWS = 8
# How the keys of ready tasks, and of the number of agents at work, begin.
_READY, _ROOM = "ready ", "room "
# States of an agent that waits at its prompt after a good turn. After a failed turn it is told to continue, not woken.
RESTS = frozenset({"idle", "stopped", "finished"})


class Situation(Value):
    """What a coordinator would find if it ticked now."""

    next: Briefing
    to_mend: list[str]  # tasks that wait for an agent to mend them
    agent_reviews: bool  # whether an agent reviews work; else a person does
    reported: dict[str, str]  # agents that have reported and have not ended, with their report
    overdue: list[str]  # agents that are still there although they should have exited
    questions: dict[str, str]  # open questions, with the agent that asks
    over: list[str]  # engines whose limit or failed login is over
    since: int  # milliseconds since the coordinator was told something
    every: int  # milliseconds after which a tick is due while agents are at work or work waits for a tick


def _work_of_a_tick(found: Situation) -> dict[str, str]:
    """Return the work that the coordinator's next tick would do: for each key, such as `merge parser`, a sentence."""
    now = found.next
    return {
        **{f"{_READY}{slug}": f"task {slug} is ready" for slug in now.ready},
        **{f"merge {slug}": f"the work on {slug} waits to be merged" for slug in now.to_merge},
        **{f"mend {slug}": f"task {slug} waits to be mended" for slug in found.to_mend},
        **{f"review {slug}": f"the work on {slug} waits for a review" for slug in now.to_review if found.agent_reviews},
        **{f"handoff {ident}": f"agent {ident} waits to be handed off" for ident in now.handoffs},
        **{f"report {ident}": f"agent {ident} has reported {report}" for ident, report in found.reported.items()},
    }


def things_to_do(found: Situation) -> dict[str, str]:
    """Return what the coordinator has to do or to know: for each key, such as `merge parser`, a sentence."""
    now = found.next
    things = {
        **_work_of_a_tick(found),
        **{f"{each.status} {each.task} {each.reason}": f"task {each.task} is {each.status}" for each in now.trouble},
        **{f"overdue {ident}": f"agent {ident} has not exited yet" for ident in found.overdue},
        **{f"question {key}": f"agent {ident} asks its person something" for key, ident in found.questions.items()},
        **{f"over {engine}": f"{engine} can be tried again" for engine in found.over},
    }
    if now.ready:  # when an agent has ended, ready tasks may start, although the coordinator was told of them before
        count = len(now.working)
        things[f"{_ROOM}{count}"] = f"{count} agent{'' if count == 1 else 's'} at work, and tasks are ready"
    return things


def news(found: Situation, told: Collection[str]) -> list[str]:
    """Return a sentence for each thing to do that the coordinator was not told of: its key is not in `told`.

    If there is no such thing but a tick is due, return a sentence for each piece of work that waits for a tick; without
    such work, one sentence if agents are at work, else []. If no tick is due either, return [].
    """
    new_things = {key: text for key, text in things_to_do(found).items() if key not in told}
    has_ready = any(key.startswith(_READY) for key in new_things)
    new = [text for key, text in new_things.items() if not (has_ready and key.startswith(_ROOM))]
    if new or found.since < found.every:
        return new
    at_work = ["agents are at work, and a tick is due"] if found.next.working else []
    return list(_work_of_a_tick(found).values()) or at_work


def wake_text(sentences: list[str]) -> str:
    """Return the message that wakes a coordinator: the first eight sentences, and how many more there are."""
    more = [f"{len(sentences) - _MOST_NEWS} more"] if len(sentences) > _MOST_NEWS else []
    return f"There is something to do: {'; '.join([*sentences[:_MOST_NEWS], *more])}. Run `fleet coord tick`, and see what needs you."
