"""A scene with the real Claude Code in it: a person's throw-away home that trusts the main repository, and a stub as its model."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commandline import Program
from real_agents.staging.stub_messages_api import Script, Server, Stub

from fleet.testing.scene import PROJECT, Scene
from fleet.world.home import paths

BIN = Path(__file__).parents[3] / ".build/agents/node_modules/.bin"
# In seconds; a busy machine may need more.
PATIENCE = int(os.environ.get("FLEET_PATIENCE", "150"))
KEY = "sk-ant-test"
NOWHERE = "http://127.0.0.1:9"
# Nothing but the stub is reached: what is not on loopback goes to a proxy that nobody is.
SURROUNDINGS = {
    "ANTHROPIC_API_KEY": KEY,
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "IS_SANDBOX": "1",
    "HTTP_PROXY": NOWHERE,
    "HTTPS_PROXY": NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost",
}
FOREIGN = ("ANTHROPIC_", "CLAUDE", "AI_AGENT", "GIT_", "XDG_", "http_proxy", "https_proxy", "no_proxy", "all_proxy")


def needs(name: str) -> None:
    """Leave a test out, and say why, where the real program is missing."""
    if not os.access(BIN / name, os.X_OK):
        pytest.skip(f"the real {name} is not installed: run `sh checks/agents.sh {name}`")
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")


def until(what: Callable[[], object], seen: Callable[[], str] = str) -> None:
    """Wait for something that a real agent is doing; say what was seen instead when it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, f"it did not happen within {PATIENCE} s: {seen()}"
        time.sleep(0.05)


class Model(Stub):
    """The stub, with turns that are held back until the test lets them go."""

    def answer(self, body, turn):
        if "hold" in turn:
            turn["hold"].wait(PATIENCE)
        return super().answer(body, turn)


class Stage:
    """One scene, one person, one model; agents that `fleet dispatch` starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scene = Scene()
        self.person = Path(self.scene.root, "person")
        self._turns: list[dict[str, Any]] = []
        self._model = type("ThisModel", (Model,), {})
        self._server = Server(("127.0.0.1", 0), self._model)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self._surround(monkeypatch)
        self._furnish()
        self.program = Program(Path(self.scene.home), Path(self.scene.repository))
        self._daemon: subprocess.Popen[bytes] | None = None

    def serve(self, settings: str, *, exit_grace: str = "1s") -> None:
        """Add settings to the home's, and start its daemon."""
        written = Path(self.scene.home, "config.toml")
        before = written.read_text(encoding="utf-8").replace('exit_grace = "1s"', f'exit_grace = "{exit_grace}"')
        written.write_text(before + settings, encoding="utf-8")
        env, nowhere = {**os.environ, "FLEET_HOME": self.scene.home}, subprocess.DEVNULL
        fleet = str(Path(sys.executable).with_name("fleet"))
        self._daemon = subprocess.Popen([fleet, "daemon", "run"], env=env, stdout=nowhere, stderr=nowhere)
        until(lambda: Path(self.scene.home, paths.AGENTS_SOCKET).is_socket())

    def _surround(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set before the first dispatch: the scene's tmux server keeps the environment of whoever starts it."""
        for name in list(os.environ):
            if name.startswith(FOREIGN):
                monkeypatch.delenv(name)
        for name, value in SURROUNDINGS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HOME", str(self.person))
        monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{self._server.server_address[1]}")

    def _furnish(self) -> None:
        self.person.mkdir()
        (self.person / ".gitconfig").write_text("[user]\n\tname = agent\n\temail = agent@localhost\n", encoding="utf-8")
        self.trust(self.scene.repository)
        ended = {"type": "command", "command": f"cat >> {self.person}/ended.jsonl"}
        self.prefer({"hooks": {"SessionEnd": [{"hooks": [ended]}]}})

    def trust(self, *paths: str, **more: object) -> None:
        """What the person has answered before: the first questions, and trust in these folders and no other."""
        told = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {path: {"hasTrustDialogAccepted": True} for path in paths},
        }
        (self.person / ".claude.json").write_text(json.dumps(told | more), encoding="utf-8")

    def prefer(self, settings: dict[str, Any]) -> None:
        """Add to the person's own settings."""
        path = self.person / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(before | settings), encoding="utf-8")

    def play(self, *turns: dict[str, Any]) -> None:
        """What the model says, turn by turn."""
        self._turns += turns
        self._model.script = Script(list(turns))

    def worktree(self, slug: str) -> Path:
        return Path(self.scene.home, "projects", PROJECT, "worktrees", slug)

    def writes(self, slug: str, name: str = "out.txt") -> dict[str, Any]:
        """A turn that uses the program's own tool for files."""
        return {"tool": "Write", "input": {"file_path": str(self.worktree(slug) / name), "content": "hello\n"}}

    def add(self, slug: str) -> None:
        with self.scene.fleet() as fleet:
            fleet.tasks.add(
                project=PROJECT, title=f"Write {slug}", slug=slug, description="Write out.txt and commit it."
            )

    def dispatch(self, slug: str, *words: str) -> str:
        """`fleet dispatch`, as a person types it; the agent's id."""
        self.add(slug)
        return self.program("dispatch", slug, "-p", PROJECT, "--json", *words).ok().json["id"]

    def full_screen(self, slug: str, autonomy: str) -> str:
        return self.dispatch(slug, "--engine", "claude", "--autonomy", autonomy)

    def agent(self, ident: str) -> dict[str, Any]:
        """As `fleet ps` has it; nothing once it has ended."""
        with self.scene.fleet() as fleet:
            return next((each.as_json() for each in fleet.agents.list() if each.id == ident), {})

    def until_state(self, ident: str, wanted: str) -> dict[str, Any]:
        """Wait for a state; no dialog may come on the way, unless that is what is waited for."""
        agent: dict[str, Any] = {}

        def reached() -> bool:
            agent.update(self.agent(ident) or {"state": "ended"})
            assert agent["state"] == wanted or agent["state"] not in {"dialog", "ended"}, self.screen(ident)
            return agent["state"] == wanted

        until(reached, lambda: f"{agent.get('state')}\n{self.screen(ident)}")
        return agent

    def screen(self, ident: str) -> str:
        with self.scene.fleet() as fleet:
            return fleet.agents.screen(ident)

    def task(self, slug: str) -> dict[str, Any]:
        with self.scene.fleet() as fleet:
            return fleet.tasks.show(project=PROJECT, slug=slug).as_json()

    def journal(self, ident: str) -> dict[str, Any]:
        with self.scene.fleet() as fleet:
            return fleet.dispatches.show(ident).as_json()

    def until_settled(self, slug: str) -> str:
        """Wait until nobody works on a task any more; what became of it."""
        until(lambda: self._wake_tmux() or self.standing(slug) != "in_progress", lambda: str(self.task(slug)))
        return self.standing(slug)

    def standing(self, slug: str) -> str:
        """A task's status; `to merge` when its work is done and waits for that."""
        task = self.task(slug)
        return "to merge" if (task["status"], task["stage"]) == ("in_progress", "finisher") else task["status"]

    def _wake_tmux(self) -> None:
        """tmux before 3.5 may lose a SIGCHLD: the pane is dead, but its status and its hook come with the next one only."""
        with self.scene.fleet() as fleet:
            listing = fleet.world.tmux.listing()
        if listing.server and any(pane.dead and pane.status is None for pane in listing.panes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(listing.server.pid, signal.SIGCHLD)

    def ended_sessions(self) -> list[str]:
        """The reasons that the program gave to its own SessionEnd hooks: it ended by itself, not by SIGKILL."""
        path = self.person / "ended.jsonl"
        return [json.loads(line)["reason"] for line in path.read_text().splitlines()] if path.exists() else []

    def pid(self, ident: str) -> int:
        """Of the agent itself: the program is what the session runs, without anything between."""
        with self.scene.fleet() as fleet:
            pane = fleet.world.tmux.listing().pane(f"fleet-{ident}")
        assert pane is not None
        assert not pane.dead
        return pane.pid

    def environment_of(self, ident: str) -> dict[str, str]:
        """The agent's own, not that of its tools."""
        words = _environment(str(self.pid(ident)))
        return dict(word.decode().partition("=")[::2] for word in words if word)

    def processes(self, mark: str) -> list[int]:
        """All that carry this in their environment, but for the test itself."""
        found = (int(pid) for pid in os.listdir("/proc") if pid.isdigit() and mark.encode() in _environment(pid))
        return [pid for pid in found if pid != os.getpid()]

    def processes_of(self, ident: str) -> list[int]:
        return self.processes(f"FLEET_DISPATCH_ID={ident}")

    def close(self) -> None:
        """End everything, and see that nothing is left."""
        self.program.end()
        if self._daemon is not None:
            self._daemon.terminate()
            self._daemon.wait(PATIENCE)
        for turn in self._turns:
            if "hold" in turn:
                turn["hold"].set()
        self.scene.close()
        home = f"HOME={self.person}"
        until(lambda: not self.processes(home), lambda: f"processes {self.processes(home)} live on")
        shutil.rmtree(self.scene.root, ignore_errors=True)  # what was written by one that was just being killed
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        assert not Path(self.scene.root).exists()


def _environment(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return []
