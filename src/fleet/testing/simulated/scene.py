"""A simulated scene: a home, a small repository and a simulated machine, removed when the scene is closed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.api.fleet import Fleet
from fleet.model.branches import HEADS, head_ref
from fleet.model.identity import Identity
from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.testing.simulated.clock import NEW_YEAR
from fleet.testing.simulated.machine import SimulatedMachine
from fleet.testing.simulated.world import SimulatedWorld
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from fleet.testing.simulated.processes import Process
    from fleet.testing.simulated.tmux import SimulatedPane, SimulatedServer

PROJECT = "p"
_MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own is made in it
_CONFIG = 'exit_grace = "1s"\nreport_grace = "1s"\nspawn_cooldown = "0s"\ntrust = "always"\n'
_GIT_CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = false
[user]
	name = scene
	email = scene@localhost
[gc]
	auto = 0
"""
_COMMAND = ("sleep", "1000")


class SimulatedScene:
    """The home and the simulated machine of one test. Agents are simulated processes that the test controls.

    `settings` are further lines of config.toml. With `cgroups`, the machine has control groups.
    """

    def __init__(self, *, settings: str = "", cgroups: bool = False) -> None:
        self.root = tempfile.mkdtemp(prefix="fleet-simulated-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None)
        self.home, self.repository = f"{self.root}/home", f"{self.root}/repository"
        os.mkdir(self.home, mode=0o700)
        Path(self.home, HOME_FILE).write_text(_CONFIG + settings, encoding="utf-8")
        groups = f"{self.root}/cgroup" if cgroups else ""
        if groups:
            os.mkdir(groups)
        self.machine = SimulatedMachine(cgroups=groups)
        self.clock = self.machine.clock
        self._opened: list[Fleet] = []
        _make_repository(self.repository)
        self.fleet = self.open()
        self.fleet.projects.register(self.repository, PROJECT)

    # who acts ---------------------------------------------------------------------------------------------------------
    def open(self, actor: str | None = "tester", process: Process | None = None) -> Fleet:
        """Open the home in a new process below the person's shell, or in the given process.

        With `actor` None, the environment of the process says who acts, as for an agent.
        """
        with self.machine.surroundings(process or self.machine.shell):
            fleet = Fleet.open(self.home, actor=actor)
        fleet.world = SimulatedWorld(self.home, fleet.funnel, fleet.record, machine=self.machine, process=process)
        self._opened.append(fleet)
        return fleet

    def process_of(self, fleet: Fleet) -> Process:
        """Return the simulated process of an opened fleet."""
        return self.machine.process(fleet.world.processes.me())

    @contextlib.contextmanager
    def speaking(self, ident: str) -> Iterator[Fleet]:
        """Open the home as an agent does: in a process below the agent, with the agent's environment; yield the fleet.

        At the end of the block that process ends.
        """
        agent = self.agent(ident)
        called = self.machine.table.spawn(agent.pid, ["fleet"], cwd=agent.cwd)
        fleet = self.open(actor=None, process=called)
        with self.machine.surroundings(called):
            yield fleet
        fleet.close()
        self.machine.table.exit(called)

    @contextlib.contextmanager
    def called_by_program(self) -> Iterator[tuple[Fleet, Process]]:
        """Let a new program run a command that opens the home; yield the opened fleet and the program.

        At the end of the block the command ends, and the program lives on.
        """
        program = self.machine.table.spawn(self.machine.shell.pid, ["program"])
        command = self.machine.table.spawn(program.pid, ["fleet"])
        fleet = self.open(process=command)
        yield fleet, program
        fleet.close()
        self.machine.table.exit(command)

    # a task's way -----------------------------------------------------------------------------------------------------
    def dispatch(self, slug: str, fleet: Fleet | None = None) -> str:
        """Dispatch a task without launching its agent; return the dispatch id.

        The task is added first, unless there is one, archived or not. `fleet` dispatches, by default the person's.
        """
        fleet = fleet or self.fleet
        if fleet.context.store.read(lambda rows: q.task_exists(rows, project=PROJECT, slug=slug)) is None:
            fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
        return fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="shell", command=_COMMAND)).id

    def launch(self, ident: str) -> Process:
        """Run the command of the agent's session, so that its process becomes the agent; return the process."""
        process = self.pane(ident).process
        fleet = self.open(actor=None, process=process)
        with self.machine.surroundings(process):
            launched = fleet.sessions.launch(ident)
        fleet.close()
        for handle in {launched.namespace_lock, *(launched.handles or ())} - {-1}:
            os.close(handle)
        process.become(launched.words, launched.env, launched.cwd)
        return process

    def work(self, slug: str) -> str:
        """Dispatch a task and launch its agent; return the dispatch id."""
        ident = self.dispatch(slug)
        self.launch(ident)
        return ident

    def commit(self, slug: str, name: str = "work", text: str = "work\n") -> str:
        """Write the file `name` in a task's worktree and commit it; return the commit's hash."""
        tree = f"{self.home}/{paths.worktree(PROJECT, slug)}"
        Path(tree, name).write_text(text, encoding="utf-8")
        self.git("add", name, cwd=tree)
        self.git("commit", "--quiet", f"--message={name}", cwd=tree)
        return self.git("rev-parse", "HEAD", cwd=tree)

    def report(self, ident: str, slug: str) -> None:
        """Report the task as done, as its agent."""
        with self.speaking(ident) as fleet:
            fleet.tasks.done(project=PROJECT, slug=slug)

    # the outside ------------------------------------------------------------------------------------------------------
    def agent(self, ident: str) -> Process:
        """Return the process of an agent; raise LookupError when it is gone or was never launched.

        A dead process is gone when the tmux server has noticed its death; until then it is returned as a zombie.
        """
        return self.machine.process(Identity.parse(self.fleet.context.dispatch(ident).process or ""))

    def exit(self, ident: str, status: int = 0) -> None:
        """Let the agent exit with a status."""
        self.machine.table.exit(self.agent(ident), status)

    @property
    def server(self) -> SimulatedServer:
        """Return the newest living tmux server; raise IndexError when there is none."""
        return list(self.machine.servers.values())[-1]

    def pane(self, ident: str) -> SimulatedPane:
        """Return the pane of a dispatch, on any living server; raise StopIteration when it has none."""
        panes = [pane for server in self.machine.servers.values() for pane in server.panes]
        return next(pane for pane in panes if pane.dispatch == ident)

    def reboot(self) -> None:
        """Close every opened fleet, boot the machine again, and open the home again as `fleet`."""
        for fleet in self._opened:
            fleet.close()
        self._opened.clear()
        self.machine.start()
        self.fleet = self.open()

    def git(self, *words: str, cwd: str | None = None) -> str:
        """Run git in the folder `cwd`, by default the repository; return its output, or raise CalledProcessError."""
        result = subprocess.run(["git", *words], cwd=cwd or self.repository, check=True, capture_output=True, text=True)
        return result.stdout.strip()

    def close(self) -> None:
        """Close every opened fleet and remove all files."""
        for fleet in self._opened:
            fleet.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Self:
        """Return the scene; it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the scene."""
        self.close()


def _make_repository(path: str) -> None:
    """Write a repository with one empty commit, as `git init` and `git commit` would, without starting git."""
    for folder in ("objects", HEADS):
        os.makedirs(f"{path}/.git/{folder}")
    Path(path, ".git/HEAD").write_text(f"ref: {head_ref('main')}\n", encoding="ascii")
    Path(path, ".git/config").write_text(_GIT_CONFIG, encoding="ascii")
    tree = _write_object(path, "tree", b"")
    who = f"scene <scene@localhost> {NEW_YEAR // SECOND} +0000"
    commit = _write_object(path, "commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\nfirst\n".encode())
    Path(path, ".git", head_ref("main")).write_text(f"{commit}\n", encoding="ascii")


def _write_object(path: str, kind: str, content: bytes) -> str:
    """Write a git object into the repository and return its id."""
    whole = f"{kind} {len(content)}".encode() + b"\0" + content
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    os.makedirs(f"{path}/.git/objects/{name[:2]}", exist_ok=True)
    Path(path, ".git/objects", name[:2], name[2:]).write_bytes(zlib.compress(whole))
    return name
