"""The daemon's unit under a real systemd of the user, started for the test in a mount namespace of its own."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from staging.stage import PATIENCE, Stage

from fleet.testing.crash.scenarios import until

SYSTEMD = "/lib/systemd/systemd"
# A manager starts only where /run says that systemd has booted the machine.
MANAGER = f"mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec {SYSTEMD} --user --log-target=null"
NAMESPACE = ("unshare", "--mount", "--propagation", "private")
ENTER = '#!/bin/sh\nexec nsenter --target {pid} --mount {program} "$@"\n'


def can_have_one() -> bool:
    """Whether this machine lets a test mount something, and has a systemd."""
    if not (os.path.exists(SYSTEMD) and shutil.which("unshare") and shutil.which("nsenter") and os.getuid() == 0):
        return False
    tried = [*NAMESPACE, "sh", "-c", "mount -t tmpfs none /run"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


class Manager:
    """A systemd of the user, and a stage whose `systemctl` asks it."""

    def __init__(self, stage: Stage, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.stage = stage
        (root / "runtime").mkdir(mode=0o700)
        (root / "bin").mkdir()
        patch.setenv("XDG_RUNTIME_DIR", str(root / "runtime"))
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        patch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
        nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*NAMESPACE, "sh", "-c", MANAGER], **nowhere)
        for name in ("systemctl", "loginctl"):
            program = root / "bin" / name
            program.write_text(ENTER.format(pid=self.process.pid, program=shutil.which(name)))
            program.chmod(0o700)
        patch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")

    def ask(self, *words: str) -> str:
        asked = ["systemctl", "--user", *words]
        return subprocess.run(asked, capture_output=True, text=True, check=False, timeout=PATIENCE).stdout.strip()

    def daemon(self) -> int:
        """The process of the home's daemon; 0 when none answers."""
        return self.stage.program("daemon", "status", "--json").json["pid"] or 0

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)


@pytest.fixture
def manager(scene: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    made = Manager(scene, tmp_path, monkeypatch)
    until(lambda: made.ask("is-system-running") == "running")
    yield made
    made.end()


@pytest.mark.req("IPC-6")
@pytest.mark.slow("a systemd is started, and starts daemons again")
@pytest.mark.skipif(not can_have_one(), reason="no systemd can be started in a namespace here")
def test_a_daemon_that_systemd_restarts_kills_and_stops_ends_no_agent(manager):
    stage = manager.stage
    installed = stage.program("daemon", "install", "--json")
    assert installed.code == 0, installed
    unit = installed.json["name"]
    until(manager.daemon)
    assert manager.ask("is-enabled", unit) == "enabled"
    started = stage.program("run", "Sleep", "--slug", "t", "--engine", "shell", "--json", "--", "sleep", "1000")
    with stage.fleet() as fleet:
        ident = started.json["id"]
        agent = stage.launched(fleet, ident)  # its tmux server was started by the daemon
        first = manager.daemon()
        manager.ask("restart", unit)
        until(lambda: manager.daemon() not in {0, first})
        second = manager.daemon()
        os.kill(second, signal.SIGKILL)
        until(lambda: manager.daemon() not in {0, second})
        removed = stage.program("daemon", "uninstall", "--json")
        assert (removed.code, removed.json["is_changed"]) == (0, True), removed
        until(lambda: not manager.daemon())
        assert not os.path.exists(installed.json["path"])
        assert [(each.id, each.state) for each in fleet.agents.list()] == [(ident, "running")], agent
