"""The daemon's unit under a real systemd of the user, started for the test in a mount namespace and a control group of its own.

A systemd takes over the control group that it is started in: it moves every process there into a subgroup, also those of
others. So it gets a group of its own, and sees no hierarchy of groups in which it has none.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from staging.stage import PATIENCE, Stage

from fleet.testing.crash.scenarios import until
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.process.cgroups import Cgroups
from fleet.world.process.programs import Programs

SYSTEMD = "/lib/systemd/systemd"
# A manager starts only where /run says that systemd has booted the machine. $0: the control group that it is to have.
MANAGER = f"""
echo 0 >"$0/cgroup.procs" || exit 1
while read -r _ at type _; do [ "$type" != cgroup ] || umount "$at" || exit 1; done </proc/mounts
mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec {SYSTEMD} --user --log-target=null
"""
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

    def __init__(self, stage: Stage, root: Path, group: Path, patch: pytest.MonkeyPatch) -> None:
        self.stage = stage
        (root / "runtime").mkdir(mode=0o700)
        (root / "bin").mkdir()
        patch.setenv("XDG_RUNTIME_DIR", str(root / "runtime"))
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        patch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
        nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*NAMESPACE, "sh", "-c", MANAGER, str(group)], **nowhere)
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


def is_removed(group: Path) -> bool:
    """Remove a control group and its subgroups; False while a process is in one of them."""
    for folder, _folders, _files in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not group.exists()


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of the test's own, until whatever the scene has left in it is gone."""
    place = Cgroups(Funnel(), "0" * 12, programs=Programs(Funnel()), clock=Clock()).place_for("a" * 8, os.getpid())
    if place is None:
        pytest.skip("no control group can be made here")
    made = Path(os.path.dirname(place), f"systemd-{secrets.token_hex(6)}")
    made.mkdir()
    yield made
    until(lambda: is_removed(made))


@pytest.fixture
def manager(group: Path, scene: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    made = Manager(scene, tmp_path, group, monkeypatch)
    until(lambda: made.ask("is-system-running") == "running")
    yield made
    made.end()


@pytest.mark.req("IPC-6")
@pytest.mark.slow("a systemd is started, and starts daemons again")
@pytest.mark.skipif(not can_have_one(), reason="no systemd can be started in a namespace here")
def test_a_daemon_that_systemd_restarts_kills_and_stops_ends_no_agent(manager):
    stage = manager.stage
    alone = stage.program("daemon", "start", "--json").json["pid"]
    installed = stage.program("daemon", "install", "--json")
    assert installed.code == 0, installed
    assert (
        int(manager.ask("show", "--property=MainPID", "--value", installed.json["name"])) == manager.daemon() != alone
    )
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
        third = stage.program("daemon", "restart", "--json").json["pid"]
        assert int(manager.ask("show", "--property=MainPID", "--value", unit)) == third
        removed = stage.program("daemon", "uninstall", "--json")
        assert (removed.code, removed.json["is_changed"]) == (0, True), removed
        until(lambda: not manager.daemon())
        assert not os.path.exists(installed.json["path"])
        assert [(each.id, each.state) for each in fleet.agents.list()] == [(ident, "running")], agent
