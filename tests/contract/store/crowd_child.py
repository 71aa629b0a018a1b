"""One of a crowd: says it is here, waits for the word, does its part, says what it was told."""

import itertools
import json
import os
import sys
import time
from pathlib import Path

from fleet.api.fleet import Fleet
from fleet.store import queries as q
from fleet.verbs.views.operations import OperationFilter


def working(rows) -> int:
    return q.count_tasks(rows, project="p").working


def free_task(rows) -> str:
    return q.ready_tasks(rows, project="p", now=1 << 60, most=1)[0].slug


def take(tx, slug: str) -> bool:
    actor = f"racer-{os.getpid()}"
    return q.claim_task(tx, project="p", slug=slug, after="in_progress", actor=actor, at=tx.at) == 1


def limited(fleet: Fleet, most: str) -> dict:
    def work(tx):
        return {"got_in": working(tx) < int(most) and take(tx, free_task(tx))}

    return fleet.store.transact("race", work, fleet.caller())


def unlimited(fleet: Fleet, most: str, racers: str) -> dict:
    """Checks before the transaction: the mistake. Nobody writes before all have looked."""
    room = fleet.store.read(working) < int(most)
    looked = Path(fleet.home, "looked")
    looked.mkdir(exist_ok=True)
    (looked / str(os.getpid())).touch()
    while len(os.listdir(looked)) < int(racers):
        time.sleep(0.01)
    if not room:
        return {"got_in": False}
    return fleet.store.transact("race", lambda tx: {"got_in": take(tx, free_task(tx))}, fleet.caller())


def log(fleet: Fleet, count: str) -> dict:
    said = [f"{os.getpid()} says {number}" for number in range(int(count))]
    for message in said:
        fleet.tasks.log(project="p", slug="t", message=message)
    return {"logged": said}


def follow(fleet: Fleet, after: str, count: str) -> dict:
    found = fleet.operations.follow(OperationFilter(), after=int(after))
    return {"seen": [each.seq for each in itertools.islice(found, int(count))]}


def rotate(fleet: Fleet, times: str) -> dict:
    return {"moved": [fleet.operations.rotate(older_than="0s").moved for _ in range(int(times))]}


def main() -> None:
    home, verb, *words = sys.argv[1:]
    with Fleet.open(home, actor="crowd") as fleet:
        print("here", flush=True)
        sys.stdin.readline()
        print(json.dumps(globals()[verb](fleet, *words)))


main()
