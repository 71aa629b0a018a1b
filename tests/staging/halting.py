"""A process that acts as fleet does and stops itself at one effect.

python halting.py before|during|after|end|never EFFECT VERB WORD…

It prints `halted PID` (during: of the program that performs the effect, which is stopped too), stops, and goes on when it is continued.
At the end: when the verb is over, and nothing of it is under way any more.
"""

import os
import signal
import sys

from fleet.api.fleet import Fleet
from fleet.verbs.dispatch.plan import Wanted
from fleet.world import world

SLEEP = ("sleep", "1000")


def coordinator(*words: str) -> Wanted:
    """With time enough to prove itself: a test that wants it over says so in the store."""
    return Wanted(project="p", slug=None, kind="coord", engine="shell", command=words or SLEEP, proof=600.0)


class Halt:
    """Stops at the first effect that begins so."""

    def __init__(self, where: str, effect: str) -> None:
        self.where = where
        self.effect = effect

    def before(self, effect: str) -> None:
        self._at("before", effect, os.getpid())

    def during(self, effect: str, pid: int) -> None:
        self._at("during", effect, pid)

    def after(self, effect: str) -> None:
        self._at("after", effect, os.getpid())

    def end(self) -> None:
        self._at("end", self.effect, os.getpid())

    def _at(self, where: str, effect: str, pid: int) -> None:
        if where == self.where and effect.startswith(self.effect):
            self.where = "never"
            if pid != os.getpid():
                os.kill(pid, signal.SIGSTOP)
            print(f"halted {pid}", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)


VERBS = {
    "dispatch": lambda f, slug: f.dispatches.start(Wanted(project="p", slug=slug, engine="shell", command=SLEEP)).id,
    "coord": lambda f: f.coord.start(Wanted(project="p", slug=None, kind="coord", engine="shell", command=SLEEP)).id,
    "repair": lambda f: f.homes.repair()["path"],
    "sweep": lambda f: f.sweep.run(kill=True),
    "notify": lambda f: f.notices.send_due(),
    "kill": lambda f, ident: f.dispatches.kill(ident, "halted"),
    "resume": lambda f, ident: f.dispatches.resume(ident).id,
    "settle": lambda f, ident: f.sessions.settle(ident),
    "merge": lambda f, slug: f.merge.task(project="p", slug=slug).commit,
    "rehearse": lambda f, slug: f.reviews.rehearse(project="p", slug=slug)["says"],
    "keep": lambda f, slug: f.sweep.keep(project="p", slug=slug).ref,
    "replace": lambda f, *words: f.coord.replace(coordinator(*words)).id,
    "tick": lambda f: f.coord.tick("p").epoch,
    "drain": lambda f: [entry.state for entry in f.coord.drain()],
}


def main() -> None:
    where, effect, verb, *words = sys.argv[1:]
    told = os.environ.get("TEST_FLEET_PROGRAM")
    if told:
        world.fleet_program = lambda: told
    with Fleet.open(actor=None if "FLEET_DISPATCH_ID" in os.environ else "halting") as fleet:
        fleet.funnel.watcher = halt = Halt(where, effect)
        said = VERBS[verb](fleet, *words)
        halt.end()
        print(said, flush=True)


if __name__ == "__main__":
    main()
