"""Many processes at one home: `python crowd.py PROCESSES MUTATIONS`, with FLEET_HOME set.

Each child opens fleet by itself; they are forked from one that has loaded the modules already, because fifty loads of
psycopg would take longer than the thousand mutations. All wait until the last of them is there.
"""

import json
import os
import sys

import fleet.store.postgres  # noqa: F401 - loaded once, for all children
from fleet.api.fleet import Fleet


def work(number: int, mutations: int, start: int, ready: int) -> list[str]:
    """What this child was told is kept."""
    kept = []
    with Fleet.open(actor=f"worker-{number:02d}") as fleet:
        os.write(ready, b"x")
        os.read(start, 1)  # the end of the pipe: everybody is there
        for step in range(mutations):
            name = f"{number}.{step}"
            if step % 2:
                fleet.tasks.artifact(project="web", slug="a", path=name)
            else:
                fleet.tasks.log(project="web", slug="a", message=name)
            kept.append(name)
    return kept


def child(number: int, mutations: int, start: int, ready: int, answers: int) -> None:
    os.write(answers, (json.dumps(work(number, mutations, start, ready)) + "\n").encode())
    os._exit(0)


def main() -> None:
    processes, mutations = int(sys.argv[1]), int(sys.argv[2])
    start, go = os.pipe()
    ready, report = os.pipe()
    children = []
    for number in range(processes):
        child_id = os.fork()
        if child_id == 0:
            os.close(go)
            child(number, mutations, start, report, 1)
        children.append(child_id)
    for _ in children:
        os.read(ready, 1)
    os.close(go)
    ended = [os.waitpid(child_id, 0)[1] for child_id in children]
    sys.exit(any(ended))


main()
