"""Scene: a temporary home, repository and tmux server for a test, and a check that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model import FLEET_HOME
from fleet.model.settings.setting_names import HOME_FILE
from fleet.store import queries as q
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.home import home_record, paths
from fleet.world.process.cgroups import Cgroups
from fleet.world.process.programs import Programs

if TYPE_CHECKING:
    from typing import Self

    from fleet.world.funnel import Watcher

_IDENTITY = {
    "GIT_AUTHOR_NAME": "scene",
    "GIT_AUTHOR_EMAIL": "scene@localhost",
    "GIT_COMMITTER_NAME": "scene",
    "GIT_COMMITTER_EMAIL": "scene@localhost",
}
PROJECT = "p"
_PATIENCE = 10.0


class Scene:
    """A temporary home, repository and tmux server for one test. Closing it removes everything.

    `store` is "sqlite", or the address of a PostgreSQL server, on which the scene gets its own database. `settings` are
    further lines of config.toml, `trust` is the setting of that name. The repository is registered as the project
    PROJECT. `watcher`, when a test has set it, watches the effects of every fleet that is opened afterwards.
    """

    def __init__(self, *, store: str = "sqlite", settings: str = "", trust: str = "always") -> None:
        self._database = _Database(store) if store.startswith("postgres") else None
        self.watcher: Watcher | None = None
        self.root = tempfile.mkdtemp(prefix="fleet-scene-", dir="/tmp")
        self.home = f"{self.root}/home"
        self.repository = f"{self.root}/repository"
        os.mkdir(self.home, mode=0o700)
        Path(self.home, HOME_FILE).write_text(
            f'store = "{self._database.url if self._database else store}"\nexit_grace = "1s"\nreport_grace = "1s"\nspawn_cooldown = "0s"\n'
            f'daemon = "never"\ntrust = "{trust}"\n{settings}',
            encoding="utf-8",
        )
        self._make_repository()
        with self.fleet() as fleet:
            fleet.projects.register(self.repository, PROJECT)

    def fleet(self, actor: str = "tester") -> Fleet:
        """Open the scene's home in the name of `actor`, with the scene's watcher; return the fleet, which you close."""
        fleet = Fleet.open(self.home, actor=actor)
        if self.watcher is not None:
            fleet.funnel.watcher = self.watcher
        return fleet

    def git(self, *words: str, cwd: str | None = None) -> str:
        """Run git in the folder `cwd`, by default the repository; return its output, or raise CalledProcessError."""
        env = os.environ | _IDENTITY
        result = subprocess.run(
            ["git", *words], cwd=cwd or self.repository, env=env, check=True, capture_output=True, text=True
        )
        return result.stdout.strip()

    def dispatch(self, fleet: Fleet, slug: str, *command: str, engine: str = "shell", script: str = "") -> str:
        """Start an agent on the task `slug`; return the id of the dispatch.

        The task is added first, unless there is one, archived or not. `script` is then its description, which a scripted
        agent follows.
        """
        if fleet.context.store.read(lambda rows: q.task_exists(rows, project=PROJECT, slug=slug)) is None:
            fleet.tasks.add(project=PROJECT, title=slug, slug=slug, description=script)
        return fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine=engine, command=command)).id

    def leftovers(self) -> list[str]:
        """Return a line for each thing that the home still has and that should be gone; empty when nothing is left.

        Looked for are sessions, processes, worktrees, prompts, environment files, claims on things outside the
        database, journals, control groups, locks and folders of the project. A session whose name begins with "by" is
        a bystander, and is not listed.
        """
        with self.fleet() as fleet:
            world = fleet.world
            left = [
                f"session {pane.session}" for pane in world.tmux.listing().panes if not pane.session.startswith("by")
            ]
            left += [
                f"process {who.pid}"
                for whom in world.processes.marks().values()
                for who in whom
                if self._is_ours(who.pid)
            ]
            left += [
                f"process {who.pid} of job {job}"
                for job, whom in world.processes.marks_of_jobs().items()
                for who in whom
            ]
            left += [
                f"worktree {tree.path}" for tree in world.git.worktrees(self.repository) or () if self.home in tree.path
            ]
            left += [f"inbox {name}" for name in world.files.names(paths.INBOX) if name != "archive"]
            left += [f"environment {name}" for name in world.files.names("environments")]
            left += [f"claim {claim.kind} {claim.state}" for claim in fleet.claims.list() if claim.kind in _OUTSIDE]
            left += [f"journal {each.id} {each.exec_state}" for each in fleet.dispatches.list()]
            left += [f"cgroup {path}" for path in world.cgroups.all_of_home(os.getpid())]
            left += [f"lock {name}" for name in world.files.names(paths.EFFECT_LOCKS)]
            for folder in (paths.WORKERS, paths.WORKTREES, paths.MERGES):
                left += [f"{folder}/{name}" for name in world.files.names(paths.project_folder(PROJECT, folder))]
        return left

    def _is_ours(self, pid: int) -> bool:
        """Return whether a process has this home in its environment; False when the environment cannot be read."""
        try:
            return f"{FLEET_HOME}={self.home}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def close(self) -> None:
        """Kill every process of the scene, and remove its files and its database."""
        subprocess.run(
            ["tmux", "-S", f"{self.home}/{paths.TMUX_SOCKET}", "kill-server"], capture_output=True, check=False
        )
        for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
            if name.isdigit() and int(name) != os.getpid() and self._is_ours(int(name)):
                try:
                    os.kill(int(name), signal.SIGKILL)
                except ProcessLookupError:
                    continue
        _remove_cgroups(self.home)
        shutil.rmtree(self.root, ignore_errors=True)
        if self._database:
            self._database.close()

    def __enter__(self) -> Self:
        """Return the scene; it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the scene."""
        self.close()

    def _make_repository(self) -> None:
        os.mkdir(self.repository)
        self.git("init", "--quiet", "--initial-branch=main")
        Path(self.repository, "README").write_text("a repository\n", encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=first")


def make_repository(path: str) -> None:
    """Create a repository with a first commit in the folder `path`; further commits in it have an author, "demo"."""
    Path(path, "src").mkdir(parents=True)
    Path(path, "README.md").write_text("# demo\n", encoding="utf-8")
    who = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"]
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        [*who, "commit", "--quiet", "-m", "first"],
    ):
        subprocess.run(["git", *words], cwd=path, check=True)
    for name, value in (("user.name", "demo"), ("user.email", "demo@localhost")):
        subprocess.run(["git", "config", name, value], cwd=path, check=True)


# The kinds of the claims on things outside the database.
_OUTSIDE = (
    *("tmux_session", "cgroup", "worktree", "worker_dir", "coord_prompt_inbox", "agent_environment"),
    *("merge_tree", "warm_tree", "job_process"),
)


def _remove_cgroups(home: str) -> None:
    """Remove the control groups of killed agents. Try for up to ten seconds, until their last processes are gone."""
    try:
        record = home_record.read(home)
    except errors.FleetError:  # the test has damaged the home
        record = None
    funnel = Funnel()
    groups = Cgroups(funnel, record.id if record else "none", programs=Programs(funnel), clock=Clock())
    until = time.monotonic() + _PATIENCE
    while (left := groups.all_of_home(os.getpid())) and time.monotonic() < until:
        for path in left:
            with contextlib.suppress(OSError):
                groups.remove(path)
        time.sleep(0.01)


class _Database:
    """A PostgreSQL database for one scene, on the server at the given address."""

    def __init__(self, beside: str) -> None:
        from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - only a scene on PostgreSQL needs its driver

        self._beside = beside
        self._name = f"scene_{secrets.token_hex(6)}"
        self._do(f"CREATE DATABASE {self._name}")
        self.url = make_conninfo(beside, dbname=self._name)
        if not self.url.startswith("postgres"):
            self.url = _as_address(self.url)

    def close(self) -> None:
        """Drop the database."""
        self._do(f"DROP DATABASE IF EXISTS {self._name} WITH (FORCE)")

    def _do(self, sql: str) -> None:
        import psycopg  # noqa: PLC0415 - only a scene on PostgreSQL needs its driver

        with psycopg.connect(self._beside, autocommit=True) as connection:
            connection.execute(sql.encode())


def _as_address(conninfo: str) -> str:
    """Return connection settings as a postgresql:// address."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - only a scene on PostgreSQL needs its driver

    parts = conninfo_to_dict(conninfo)
    name = parts.pop("dbname")
    return f"postgresql:///{name}?{urlencode({key: str(value) for key, value in parts.items()})}"
