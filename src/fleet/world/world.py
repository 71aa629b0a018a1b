"""World: one object through which everything outside the database is reached."""

from __future__ import annotations

import os
import sys

from fleet.fast import made_once
from fleet.model import (
    FLEET_DISPATCH_ID,
    FLEET_DOOR,
    FLEET_HOME,
    FLEET_ITEM,
    FLEET_JOB,
    FLEET_PROJECT,
    FLEET_PROMPT_FILE,
    FLEET_REPLACE_NONCE,
    FLEET_RUNNER_OF,
    FLEET_TASK,
    FLEET_TOKEN,
)
from fleet.world.clock import Clock
from fleet.world.home import home_record, paths
from fleet.world.home.tmux_socket import socket_of
from fleet.world.host import Host
from fleet.world.ids import Ids
from fleet.world.process.pid_namespaces import PidNamespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from fleet.model.identity import Identity
    from fleet.world.files.daemon_process import DaemonProcess
    from fleet.world.files.files import Files
    from fleet.world.files.gates import Gate
    from fleet.world.files.locks import FileLock
    from fleet.world.funnel import Funnel
    from fleet.world.git.git import Git
    from fleet.world.git.proofs import GitProofs
    from fleet.world.git.remotes import GitRemotes
    from fleet.world.home.home_record import HomeRecord
    from fleet.world.machine import Machine
    from fleet.world.process.cgroups import Cgroups
    from fleet.world.process.job_commands import JobCommands
    from fleet.world.process.processes import Processes
    from fleet.world.process.programs import Programs
    from fleet.world.tmux import Tmux

# Marks a fleet command that fleet itself has started: no person's shell is behind it.
UNATTENDED = "FLEET_UNATTENDED"
# The variables by which a process is known as an agent, or as a command of a job.
_SPEAKING = frozenset(
    (
        FLEET_DISPATCH_ID,
        FLEET_TASK,
        FLEET_PROJECT,
        FLEET_TOKEN,
        FLEET_DOOR,
        FLEET_REPLACE_NONCE,
        FLEET_PROMPT_FILE,
        FLEET_RUNNER_OF,
        FLEET_JOB,
        FLEET_ITEM,
    )
)


class World:
    """Everything outside the database of one fleet home: clock, files, processes, git, tmux and locks."""

    def __init__(self, home: str, funnel: Funnel, record: HomeRecord | None = None) -> None:
        self.home = home
        self.record = record or home_record.read(home) or _new_record(home)
        self.funnel = funnel
        self.clock = Clock()
        self.ids = Ids()
        self.host = Host(self.record.host, funnel)
        self.socket = socket_of(home, funnel)
        self.namespaces = PidNamespaces(home, self.host.boot, self.socket)
        self.namespaces.enter()
        self.fleet_program = fleet_program()
        # The repositories of all projects; None: any is trusted.
        self.repositories: frozenset[str] | None = None
        # Set when this process is the daemon of the home.
        self.daemon: DaemonProcess | None = None

    @made_once
    def files(self) -> Files:
        """Return the files of the home."""
        from fleet.world.files.files import Files

        return Files(self.home, self.funnel)

    @made_once
    def machine(self) -> Machine:
        """Return the object for programs, disk space, and files outside the home."""
        from fleet.world.machine import Machine

        return Machine(self.funnel)

    @made_once
    def programs(self) -> Programs:
        """Return the object that starts other programs."""
        from fleet.world.process.programs import Programs

        return Programs(self.funnel, lambda: self.namespaces.lock_descriptor)

    @made_once
    def job_commands(self) -> JobCommands:
        """Return the object that starts the commands of jobs."""
        from fleet.world.process.job_commands import JobCommands

        return JobCommands(self.funnel, self.home)

    @made_once
    def processes(self) -> Processes:
        """Return the processes of this machine."""
        from fleet.world.process.processes import Processes

        return Processes(self.host, self.funnel, self.home, self.socket, clock=self.clock)

    @made_once
    def git(self) -> Git:
        """Return the object that runs git on repositories and worktrees."""
        from fleet.world.git.git import Git

        git = Git(self.programs, self.namespaces.sees_everyone, self.home)
        git.repositories = self.repositories
        return git

    @made_once
    def proofs(self) -> GitProofs:
        """Return the object that asks git for proofs about branches and commits."""
        from fleet.world.git.proofs import GitProofs

        return GitProofs(self.git)

    @made_once
    def remotes(self) -> GitRemotes:
        """Return the remotes of repositories."""
        from fleet.world.git.remotes import GitRemotes

        return GitRemotes(self.git)

    @made_once
    def cgroups(self) -> Cgroups:
        """Return the control groups of agents."""
        from fleet.world.process.cgroups import Cgroups

        return Cgroups(self.funnel, self.record.id, programs=self.programs, clock=self.clock)

    @made_once
    def tmux(self) -> Tmux:
        """Return the tmux server of the home."""
        from fleet.world.tmux import Tmux

        return Tmux(
            self.home,
            home_id=self.record.id,
            files=self.files,
            programs=self.programs,
            processes=self.processes,
            cgroups=self.cgroups,
            clock=self.clock,
            fleet=self.fleet_program,
        )

    def know_repositories(self, paths: frozenset[str]) -> None:
        """Set the repositories of all projects; git is run only in worktrees that belong to one of them."""
        self.repositories = paths
        if "git" in self.__dict__:
            self.git.repositories = paths

    def close(self) -> None:
        """Release the lock that records that this process uses the home."""
        self.namespaces.leave()

    def start_fleet(self, *words: str, for_person: bool = False, more: dict[str, str] | None = None) -> None:
        """Start another fleet command in the background, without the identity of the agent that this process may be.

        The command runs outside that agent's control group, if it can leave it. The caller does not learn whether it
        could be started. `for_person`: a person has asked for it, and the agents that it starts get the variables of
        that person's shell. `more` are additional environment variables.
        """
        env = {name: value for name, value in os.environ.items() if name not in _SPEAKING}
        env |= ({} if for_person else {UNATTENDED: "1"}) | (more or {})
        started = self.cgroups.outside([self.fleet_program, *words])
        self.programs.start_detached(
            f"start fleet {words[0]}", started, env=env | {FLEET_HOME: self.home}, cwd=self.home
        )

    def daemon_gate(self) -> Gate:
        """Return the gate that this home's daemon holds while it lives. The gate's file names the exact process."""
        return self.work_gate("daemon", "daemon")

    def starting(self, dispatch: str) -> AbstractContextManager[None]:
        """Return a context manager for the code in which this thread starts a dispatch.

        In the daemon it records the dispatch until the `with` block ends; in other processes it does nothing.
        """
        from contextlib import nullcontext

        return nullcontext() if self.daemon is None else self.daemon.starting(dispatch)

    def daemon_process(self) -> Identity | None:
        """Return the process of this home's daemon, to which no verb sends a signal; None when none is known to live.

        The daemon holds its gate while it lives, so the exact process that the gate's file names is the daemon.
        """
        if self.daemon is not None:
            return self.processes.me()
        holder = self.daemon_gate().holder()
        return holder.who if holder is not None and self.processes.life(holder.who) == "alive" else None

    def has_lost_daemon(self) -> bool:
        """Return whether this home's daemon died: its gate's file, which it empties at exit, names a dead process.

        False in the daemon itself.
        """
        holder = self.daemon_gate().holder() if self._is_daemon_named() else None
        return holder is not None and self.processes.life(holder.who) == "dead"

    def suspended_daemon(self) -> int | None:
        """Return the pid of this home's daemon if a signal has stopped it, so that it answers nobody; else None.

        None in the daemon itself.
        """
        process = self.daemon_process() if self._is_daemon_named() else None
        if process is None or process.pid not in self.processes.census().stopped_in(process):
            return None
        return process.pid

    def _is_daemon_named(self) -> bool:
        """Return whether the file of the daemon's gate names a process other than this one. Imports nothing.

        False in the daemon itself. The process may be dead.
        """
        path = f"{self.home}/{paths.lock('daemon')}"
        return self.daemon is None and os.path.exists(path) and os.path.getsize(path) > 0

    def daemon_pid(self) -> int | None:
        """Return the pid of this home's daemon; None when none is known to live."""
        process = self.daemon_process()
        return process.pid if process is not None else None

    def gate(self, name: str) -> Gate:
        """Return a named exclusive lock of this home."""
        from fleet.world.files.gates import Gate

        return Gate(f"{self.home}/{paths.lock(name)}", home=self.home, clock=self.clock, host=self.host)

    def project_gate(self, project: str, name: str, subject: str = "") -> Gate:
        """Return a named exclusive lock of one project.

        The gate's file says what the gate is held for, if `subject` is given.
        """
        from fleet.world.files.gates import Gate

        path = f"{self.home}/{paths.project_lock(project, name)}"
        return Gate(path, home=self.home, clock=self.clock, host=self.host, subject=subject)

    def work_gate(self, name: str, subject: str) -> Gate:
        """Return the gate of one piece of work. The process that starts or resumes the work holds it.

        `name` names the gate's file. The file says what the work is (`subject`) and exactly which process holds it.
        """
        from fleet.world.files.gates import Gate

        path, me = f"{self.home}/{paths.lock(name)}", self.processes.me()
        return Gate(path, home=self.home, clock=self.clock, host=self.host, subject=subject, who=me)

    def git_gate(self, repository: str) -> Gate:
        """Return the gate for git commands that fail when two of them run at once in a repository."""
        import hashlib

        return self.gate(f"git-{hashlib.sha256(repository.encode()).hexdigest()[:16]}")

    def effect_lock(self, claim: str) -> FileLock:
        """Return the effect lock of a claim, given the claim's id.

        The process that performs the claim's effect holds it, and its children inherit it.
        """
        from fleet.world.files.locks import FileLock

        return FileLock(f"{self.home}/{paths.effect_lock(claim)}", home=self.home)

    def forget_effect_lock(self, claim: str) -> None:
        """Remove the file of the effect lock of a claim that is archived."""
        path = f"{self.home}/{paths.effect_lock(claim)}"
        if os.path.lexists(path):
            self.funnel.through("forget effect lock", lambda: _remove_lock_file(path))


def _remove_lock_file(path: str) -> None:
    try:  # noqa: SIM105 - contextlib costs what a reader need not pay
        os.unlink(path)
    except FileNotFoundError:
        pass


def _new_record(home: str) -> HomeRecord:
    from fleet.world.home.home_change import unsaved

    return unsaved(home)


def fleet_program() -> str:
    """Return the absolute path of the command `fleet`, which may not be on tmux's PATH.

    The one beside the running Python comes first, then the one on this process's PATH. If there is neither, return the
    path that it would have beside Python.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "fleet")
    if os.access(beside, os.X_OK):
        return beside
    import shutil

    found = shutil.which(os.path.basename(sys.argv[0])) if os.path.basename(sys.argv[0]) == "fleet" else None
    return os.path.abspath(found or shutil.which("fleet") or beside)
