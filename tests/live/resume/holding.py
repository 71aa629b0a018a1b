"""A process that holds the gate of a task's work, or tries to: python holding.py HOME PROJECT SLUG HOW

It prints `held PID` and waits for its standard input to end; HOW says what it does besides.

    plain      nothing more                       stubborn   ignores SIGTERM
    fork       forks a child that lives on        exec       starts a program that lives on, with whatever it would inherit
    nobody     goes on as another user            raise      ends by an exception at the end
    race       waits for a line, then tries, and prints `won` or `refused`
    powerless  as another user prints whether the holder lives, and how a resume and a forced one are refused
"""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

from fleet.errors.contested import ResumeInProgress
from fleet.errors.families import FleetError
from fleet.verbs.resume import work_lock
from fleet.world.funnel import Funnel
from fleet.world.world import World

NOBODY = 65_534


def hold(world: World, name: str, how: str) -> None:
    told = os.getpid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the tests may ignore it
    with world.work_gate(name, "t"):
        if how == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if how == "fork":
            told = os.fork()
            if told == 0:
                for number in (0, 1, 2):
                    os.close(number)
                signal.pause()
        if how == "exec":
            told = subprocess.Popen(["sleep", "600"], close_fds=False, stdin=subprocess.DEVNULL).pid
        if how == "nobody":
            os.setuid(NOBODY)
        print(f"held {told}", flush=True)
        sys.stdin.read()
        if how == "raise":
            raise ZeroDivisionError


def race(world: World, name: str) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    context = SimpleNamespace(world=world)
    try:
        work_lock.lock_work_to_resume(context, world.work_gate(name, "t"), "t", force=False)
        print("won", flush=True)
    except ResumeInProgress:
        print("refused", flush=True)
    sys.stdin.read()


def powerless(world: World, name: str) -> None:
    os.setuid(NOBODY)
    gate = world.work_gate(name, "t")
    print(world.processes.life(gate.holder().who))
    for force in (False, True):
        try:
            work_lock.lock_work_to_resume(SimpleNamespace(world=world), gate, "t", force=force)
            print("taken")
        except FleetError as error:
            print(error.code, type(error).__name__, error)


def main() -> None:
    home, project, slug, how = sys.argv[1:]
    world, name = World(home, Funnel()), f"work-{project}/{slug}"
    if how == "race":
        race(world, name)
    elif how == "powerless":
        powerless(world, name)
    else:
        hold(world, name, how)


if __name__ == "__main__":
    main()
