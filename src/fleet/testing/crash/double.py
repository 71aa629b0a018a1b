"""Double deaths: a process is killed at an effect, and then its recovery is killed at one of the recovery's effects.

After each first death the recovery is played once without a death, to learn its effects. A second death that leaves the
same effects to do as an earlier one is not played again: there are a few dozen different recoveries, and hundreds of
ways into each.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from fleet.testing.crash.harness import Case, Death, Played, act_out, effects_of, kill_once, look_after, recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.testing.crash.scenarios import Scenario

# The parts of an effect's name that differ between plays: ids, pids, folders of the scene, times.
_OF_THE_PLAY = re.compile(r"fleet-scene-\w+|[0-9a-f]{6,}|\d+")
# The effects that a second death leaves to do, and the way of that death.
_Left = tuple[tuple[str, ...], str]


def double_cases(scenario: Scenario, store: str, *, offset: int, most: int) -> Iterator[Case]:
    """Kill a verb, then kill its recovery, at pairs of effects; yield each case.

    When `most` is 0, all pairs are played, without those that repeat an earlier one. Else random pairs are played
    until both deaths have happened in `most` of them, or none is left. `offset` is the seed of the random choice.
    """
    draw = random.Random(offset)  # noqa: S311 - nobody has to be kept from guessing it
    first_deaths = _without_repeats(effects := effects_of(scenario, store))
    draw.shuffle(first_deaths)
    recoveries: dict[Death, Played] = {}
    seen: set[_Left] = set()
    played = 0
    for first in first_deaths:
        recoveries[first] = recoveries.get(first) or _recovery_after(scenario, store, first)
        seconds = _new_deaths(recoveries[first], seen)
        draw.shuffle(seconds)
        for left, second in seconds[:1] if most else seconds:
            seen.add(left)
            yield (case := _run_double(scenario, store, (effects, first), (recoveries[first], second)))
            played += case.died
        if most and played >= most:
            return
        if most and len(seconds) > 1:
            first_deaths.append(first)  # its other second deaths come after those of the other first deaths


def _without_repeats(played: Played) -> list[Death]:
    """Return the deaths to try, without those that equal another one.

    Of the deaths before an effect only the first is left: each other one equals the death after the previous effect.
    """
    return [death for death in played.deaths() if death.way != "before" or death.number == 0]


def _recovery_after(scenario: Scenario, store: str, first: Death) -> Played:
    """Play a scenario with one death, then its recovery, which is not killed; return the effects of the recovery."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        kill_once(scene, lambda: act_out(scenario, scene), first)
        scenario.calm(scene)
        return recorded(scene, lambda: scenario.recover(scene))


def _new_deaths(recovery: Played, seen: set[_Left]) -> list[tuple[_Left, Death]]:
    """Return those deaths of a recovery that are not like one in `seen`, each with what identifies it.

    Two deaths are alike when they happen in the same way and leave the same effects to do.
    """
    names = [_OF_THE_PLAY.sub("*", effect) for effect in recovery.effects]
    deaths = [((tuple(names[death.number :]), death.way), death) for death in _without_repeats(recovery)]
    return [(left, death) for left, death in deaths if left not in seen]


def _run_double(scenario: Scenario, store: str, first: tuple[Played, Death], second: tuple[Played, Death]) -> Case:
    """Play a scenario with one death, its recovery with another, then recover completely; return the case with its faults.

    Each of the two is (the effects of what is killed, the death).
    """
    (played, death), (recovery, second_death) = first, second
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        before = kill_once(scene, lambda: act_out(scenario, scene), death)
        scenario.calm(scene)
        killed = kill_once(scene, lambda: scenario.recover(scene), second_death)
        faults, swept = look_after(scenario, scene)
    return Case(
        scenario=scenario.name,
        effect=played.effects[death.number],
        number=death.number,
        of=len(played.effects),
        way=death.way,
        second=recovery.effects[second_death.number],
        second_way=second_death.way,
        died=before.died and killed.died,
        faults=before.faults + killed.faults + faults,
        swept=swept,
    )
