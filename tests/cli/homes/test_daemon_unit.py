"""The unit that starts the daemon: written for one home, enabled, removed, and never in the place of a foreign one."""

import os
import plistlib
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from staging.daemon import FLEET, RunningDaemon

from fleet.api.fleet import Fleet
from fleet.errors import DaemonSilent
from fleet.errors.families import ForeignUnit
from fleet.errors.refused import NotAllowed, NoUnitSystem
from fleet.errors.tools import UnitRefused
from fleet.surfaces.cli.commands.home.daemon_service import install, uninstall
from fleet.verbs.homes.units.install import is_run_by_unit, start_by_unit
from fleet.verbs.homes.units.launchd import Launchd
from fleet.verbs.homes.units.unit import Unit, escaped_path
from fleet.world.machine import Machine

SYSTEMCTL = """#!/bin/sh
echo "$*" >>"{calls}"
case "$*" in *{fails}*) echo "Failed: no such bus" >&2; exit 1;; esac
"""

# This one starts the daemon of a home, says whether it runs, and ends it. Where there is a file "ending", it does nothing at its
# first start, as systemd does while the last process of the unit ends.
STARTING = """#!/bin/sh
echo "$*" >>"{calls}"
case "$2" in
start) [ ! -e "{pid}.ending" ] || {{ rm "{pid}.ending"; exit 0; }}; FLEET_HOME="{home}" setsid "{fleet}" daemon run --detached </dev/null >/dev/null 2>&1 & echo $! >"{pid}";;
is-active) [ -e "{pid}" ] && [ -e "{home}/daemon.sock" ]; exit $?;;
disable) [ ! -e "{home}/daemon.sock" ] || kill "$(cat "{pid}")"; while [ -e "{home}/daemon.sock" ]; do sleep 0.02; done;;
esac
"""


class System:
    """A person's own folder, and a `systemctl` on PATH that only writes down what it is asked."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root, self.calls = root, root / "calls"
        self.units = root / "ann/.config/systemd/user"
        (root / "bin").mkdir()
        patch.setenv("HOME", str(root / "ann"))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        patch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")
        self.fails("nothing at all")

    def fails(self, word: str) -> None:
        """Let systemctl fail when it is asked with this word."""
        for name in ("systemctl", "launchctl", "loginctl"):
            program = self.root / "bin" / name
            program.write_text(SYSTEMCTL.format(calls=self.calls, fails=f"'{word}'"))
            program.chmod(0o700)

    def starts(self, home: Path) -> None:
        """Let systemctl start and end a real daemon of this home."""
        program = self.root / "bin" / "systemctl"
        program.write_text(STARTING.format(calls=self.calls, home=home, pid=self.root / "pid", fleet=FLEET))

    def asked(self) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return [line.removeprefix("--user ") for line in lines if line != "--user show-environment"]


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    return System(tmp_path, monkeypatch)


def lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


@pytest.mark.req("IPC-6")
def test_a_unit_is_written_for_this_home_and_ends_nobody_but_the_daemon(system, home):
    with Fleet.open(str(home)) as fleet:
        unit = fleet.homes.install_daemon()
        program = fleet.world.fleet_program
        again = fleet.homes.install_daemon()
    name = f"fleet-daemon-{escaped_path(str(home))}.service"
    assert Path(unit.path) == system.units / name
    text = lines(unit.path)
    for line in ("KillMode=process", "Restart=on-failure", f'ExecStart="{program}" daemon run', f'Environment="FLEET_HOME={home}"'):  # fmt: skip
        assert line in text
    assert program.startswith("/")
    made = [stat.S_IMODE(os.stat(path).st_mode) for path in (unit.path, system.units, system.units.parents[1])]
    assert made == [0o600, 0o700, 0o700]
    enabled = [f"enable --now -- {name}", "show-user --property=Linger --value"]
    assert system.asked() == ["daemon-reload", *enabled] * 2
    assert (unit.is_changed, again.is_changed) == (True, False)
    assert any("enable-linger" in note for note in unit.notes)


def test_the_default_home_has_the_plain_name_and_is_started_later_on_request(system, tmp_path):
    default = tmp_path / "ann/.fleet"
    default.parent.mkdir()
    with Fleet.open(str(default)) as fleet:
        unit = fleet.homes.install_daemon(start=False)
    assert Path(unit.path) == system.units / "fleet-daemon.service"
    assert "enable -- fleet-daemon.service" in system.asked()


def test_uninstall_stops_the_daemon_and_removes_only_our_unit(system, home):
    with Fleet.open(str(home)) as fleet:
        unit = fleet.homes.install_daemon()
        other = system.units / "other.service"
        other.write_text("[Service]\n")
        system.asked()
        gone = fleet.homes.uninstall_daemon()
        assert (gone.is_installed, gone.is_changed) == (False, True)
        assert sorted(os.listdir(system.units)) == ["other.service"]
        assert system.asked() == [f"disable --now -- {unit.name}.service", "daemon-reload"]
        assert fleet.homes.uninstall_daemon().is_changed is False
        assert system.asked() == []


@pytest.mark.req("IPC-6")
def test_a_daemon_that_runs_hands_over_to_the_unit_and_is_started_by_it_from_then_on(system, fleet):
    system.starts(fleet.home)
    with RunningDaemon(fleet.home) as first, Fleet.open(str(fleet.home)) as opened:
        fleet.has_daemon = True
        unit = opened.homes.install_daemon()
        assert first.process.wait(60) == 0
        second = fleet("daemon", "status", "--json").ok().json["pid"]
        assert (
            unit.notes[0]
            == f"the daemon that ran (process {first.pid}) has ended, and systemd has started process {second}"
        )
        name = f"{unit.name}.service"
        asked = system.asked()
        assert (f"enable -- {name}" in asked, f"start -- {name}" in asked) == (True, True)
        assert opened.homes.install_daemon().is_changed is False
        assert fleet("daemon", "status", "--json").ok().json["pid"] == second, "it is the unit's own"
        system.asked()
        third = fleet("daemon", "restart", "--json").ok().json["pid"]
        assert third != second
        assert f"start -- {name}" in system.asked()
        removed = fleet("daemon", "uninstall").ok().out
        assert f"the daemon (process {third}) has ended" in removed
        assert "`fleet daemon start` starts one without systemd" in removed
        fleet.has_daemon = False
        system.asked()
        fleet("daemon", "start").ok()
        assert system.asked() == [], "there is no unit any more"
        fleet("daemon", "stop").ok()


@pytest.mark.req("IPC-6")
@pytest.mark.req("IPC-6")
def test_a_unit_is_started_again_that_was_still_ending_at_its_first_start(system, fleet):
    with Fleet.open(str(fleet.home)) as opened:
        name = f"{opened.homes.install_daemon(start=False).name}.service"
    system.starts(fleet.home)
    system.asked()
    (system.root / "pid.ending").touch()
    started = fleet("daemon", "start", "--json").ok().json
    assert started["running"]
    fleet("daemon", "stop").ok()
    assert [asked for asked in system.asked() if asked.startswith("start")] == [f"start -- {name}"] * 2


def test_a_unit_for_later_leaves_the_daemon_that_runs(system, fleet):
    with RunningDaemon(fleet.home) as running, Fleet.open(str(fleet.home)) as opened:
        opened.homes.install_daemon(start=False)
        assert running.call("daemon.status")["pid"] == running.pid
        system.fails("start --")
        running.stop()
        fleet("daemon", "start").refused(1, "systemd did not start the daemon: Failed: no such bus")


def test_a_daemon_that_does_not_answer_keeps_a_unit_from_being_installed(system, fleet):
    with RunningDaemon(fleet.home) as running, Fleet.open(str(fleet.home)) as opened:
        os.kill(running.pid, signal.SIGSTOP)
        try:
            with pytest.raises(DaemonSilent):
                opened.homes.install_daemon()
        finally:
            os.kill(running.pid, signal.SIGCONT)
    assert not system.units.exists()


def test_a_unit_that_fleet_did_not_write_or_of_another_home_is_left_alone(system, home):
    with Fleet.open(str(home)) as fleet:
        path = Path(fleet.homes.install_daemon().path)
        ours = path.read_text()
        for text, owner in (
            ("[Service]\nExecStart=/bin/true\n", "fleet did not write it"),
            (ours.replace(fleet.world.record.id, "ffffffff"), "another fleet home, ffffffff"),
        ):
            path.write_text(text)
            for act in (fleet.homes.install_daemon, fleet.homes.uninstall_daemon):
                system.asked()
                with pytest.raises(ForeignUnit, match=owner):
                    act()
                assert system.asked() == []
            assert path.read_text() == text


def test_without_systemd_for_the_user_nothing_is_written_and_the_way_is_said(system, home):
    system.fails("show-environment")
    with Fleet.open(str(home)) as fleet:
        with pytest.raises(NoUnitSystem, match="loginctl enable-linger"):
            fleet.homes.install_daemon()
        assert not system.units.exists()


def test_a_unit_that_systemd_does_not_take_is_removed_again(system, home):
    system.fails("enable")
    with Fleet.open(str(home)) as fleet:
        with pytest.raises(UnitRefused, match="no such bus"):
            fleet.homes.install_daemon()
        assert os.listdir(system.units) == []


def test_a_unit_that_was_there_stays_when_systemd_fails(system, home):
    with Fleet.open(str(home)) as fleet:
        path = Path(fleet.homes.install_daemon().path)
        system.fails("able")
        for act in (fleet.homes.install_daemon, fleet.homes.uninstall_daemon):
            with pytest.raises(UnitRefused):
                act()
        assert path.exists()


@pytest.mark.req("SEC-1")
def test_an_agent_installs_nothing(system, home, monkeypatch):
    Fleet.open(str(home)).close()
    monkeypatch.setenv("FLEET_DISPATCH_ID", "0a1b2c3d")
    with Fleet.open(str(home)) as fleet:
        for act in (fleet.homes.install_daemon, fleet.homes.uninstall_daemon):
            with pytest.raises(NotAllowed):
                act()
    assert not system.units.exists()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze here")
def test_systemd_itself_understands_the_unit_of_a_strange_path(system, tmp_path):
    strange = tmp_path / 'a "strange" %h $HOME \\ päth'
    with Fleet.open(str(strange)) as fleet:
        unit = fleet.homes.install_daemon()
    words = ["systemd-analyze", "verify", "--user", "--man=no", "--recursive-errors=no", unit.path]
    checked = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})  # fmt: skip
    assert [line for line in checked.stderr.splitlines() if "fleet-daemon" in line] == []
    assert checked.returncode == 0, checked.stderr
    escaped = subprocess.run(["systemd-escape", "--path", strange], capture_output=True, text=True, check=True).stdout
    assert escaped_path(str(strange)) == escaped.strip()


def test_a_very_long_path_still_has_a_name_of_its_own():
    one, other = (escaped_path(f"/{'x' * 300}/{end}") for end in "ab")
    assert one != other
    assert len(f"fleet-daemon-{one}.service") < 255


def test_on_macos_a_launchd_agent_is_written_that_leaves_its_children_alone(system, home, monkeypatch):
    monkeypatch.setattr(Machine, "is_mac", lambda _machine: True)
    with Fleet.open(str(home)) as fleet:
        unit = fleet.homes.install_daemon()
        found = plistlib.loads(Path(unit.path).read_bytes())
        assert found["ProgramArguments"] == [fleet.world.fleet_program, "daemon", "run"]
        assert found["AbandonProcessGroup"] is True
        assert found["EnvironmentVariables"]["FLEET_HOME"] == str(home)
        assert Path(unit.path).parent == system.root / "ann/Library/LaunchAgents"
        assert f"bootstrap gui/{os.getuid()} {unit.path}" in system.asked()
        Path(unit.path).write_text("no property list")
        with pytest.raises(ForeignUnit):
            fleet.homes.uninstall_daemon()
        Path(unit.path).unlink()
        assert fleet.homes.uninstall_daemon().is_changed is False
        assert Launchd(fleet.world).home_of("<plist><array/></plist>") is None


def test_on_macos_a_daemon_is_started_by_its_launchd_agent(system, home, monkeypatch):
    monkeypatch.setattr(Machine, "is_mac", lambda _machine: True)
    with Fleet.open(str(home)) as fleet:
        unit = fleet.homes.install_daemon(start=False)
        assert not any("bootstrap" in line for line in system.asked())
        assert start_by_unit(fleet.world)
        assert f"bootstrap gui/{os.getuid()} {unit.path}" in system.asked()
        assert not is_run_by_unit(fleet.world)
        program = system.root / "bin/launchctl"
        program.write_text('#!/bin/sh\necho "  state = running"\n')
        assert is_run_by_unit(fleet.world)


def test_a_unit_names_the_program_by_its_absolute_path(tmp_path):
    unit = Unit(home="/h", home_id="1", is_default=True, program="/opt/fleet", path="/bin")
    assert unit.words == ("/opt/fleet", "daemon", "run")
    assert unit.name == "fleet-daemon"


def test_the_commands_say_what_was_done(system, home, monkeypatch):
    monkeypatch.setenv("FLEET_HOME", str(home))
    for command, words in (
        (install, "systemd starts the daemon of"),
        (uninstall, "no longer starts the daemon of"),
        (uninstall, "nothing was done"),
    ):
        told = CliRunner().invoke(command, [], catch_exceptions=False)
        assert told.exit_code == 0
        assert words in told.output
        assert "Examples:" in CliRunner().invoke(command, ["--help"]).output
    assert '"is_installed": true' in CliRunner().invoke(install, ["--json"]).output
