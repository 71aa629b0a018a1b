"""A throwaway server and its files go however its owner dies; what keeps it from starting is said."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.testing import postgres, watchdog
from fleet.testing.crash.scenarios import until
from fleet.testing.postgres import PostgresUnavailable, ThrowawayPostgres

OWNER = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); sys.stdin.read()"
# Writes down its process and stays.
STAYS = ["sh", "-c", "echo $$ >pid.new; mv pid.new pid; exec sleep 1000"]


def words_of_watchdog(folder: Path, *commands: list[str]) -> list[str]:
    folder.mkdir()
    order = {"directory": str(folder), "uid": os.getuid(), "gid": os.getgid(), "commands": commands}
    return [sys.executable, "-I", "-S", watchdog.__file__, json.dumps(order)]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_owner_leaves_neither_the_server_nor_its_folder(tmp_path):
    folder = tmp_path / "server"
    words = [sys.executable, "-c", OWNER, *words_of_watchdog(folder, STAYS)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as owner:
        until((folder / "pid").exists)
        server = int((folder / "pid").read_text())
        owner.kill()
    until(lambda: not folder.exists())
    assert not is_there(server)


def test_a_command_that_fails_ends_the_others_and_its_log_stays_until_the_owner_has_read_it(tmp_path):
    folder = tmp_path / "server"
    fails = ["sh", "-c", "echo no room >&2; exit 3"]
    with subprocess.Popen(words_of_watchdog(folder, fails, ["touch", "second"]), stdin=subprocess.PIPE) as running:
        with pytest.raises(PostgresUnavailable, match="no room"):
            postgres.wait_until_ready(folder)
        assert sorted(os.listdir(folder)) == ["ended", "log"]
        running.communicate(b"\n")
    assert running.returncode == 0
    assert not folder.exists()


@pytest.mark.parametrize(("trap", "by"), [("", signal.SIGINT), ("trap '' INT; ", signal.SIGKILL)])
def test_a_server_is_asked_to_end_and_killed_when_it_does_not(trap, by, monkeypatch):
    monkeypatch.setattr(watchdog, "PATIENCE", 0.2 if trap else 60)
    child = subprocess.Popen(["sh", "-c", f"{trap}echo ready; exec sleep 1000"], stdout=subprocess.PIPE)
    with child:
        assert child.stdout.readline() == b"ready\n"
        watchdog.end_child(child)
    assert child.returncode == -by


def test_a_server_that_was_not_started_has_no_address(tmp_path):
    server = ThrowawayPostgres(tmp_path)
    with pytest.raises(PostgresUnavailable, match="was not started"):
        server.url()
    server.stop()
    with pytest.raises(PostgresUnavailable, match=f"no server in {tmp_path}/gone"):
        postgres.wait_until_ready(tmp_path / "gone")


def test_the_newest_server_is_taken_and_without_one_the_ways_to_get_one_are_said(tmp_path, monkeypatch):
    folders = [tmp_path / name / "bin" for name in ("9.6", "pginstall18", "15")]
    assert [each.parent.name for each in postgres.newest_first(iter(folders))] == ["pginstall18", "15", "9.6"]
    monkeypatch.setattr(postgres, "candidate_folders", lambda: iter(folders))
    with pytest.raises(PostgresUnavailable, match="set FLEET_POSTGRES_BIN, or install the extra 'dev'"):
        postgres.find_binaries()
    folders[2].mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (folders[2] / name).touch()
    assert postgres.find_binaries() == folders[2]


def test_a_server_that_does_not_start_says_why_and_leaves_no_folder(tmp_path):
    """Its programs are in a folder that only this user can read: for another user they are copied, with their libraries."""
    binaries = tmp_path / "package/pginstall/bin"
    for folder in (binaries, tmp_path / "package.libs", binaries.parent / "include"):
        folder.mkdir(parents=True)
    for name, does in (("postgres", "exit 0"), ("initdb", 'echo "no room in $(dirname "$0")"; exit 1')):
        (binaries / name).write_text(f"#!/bin/sh\n{does}\n")
        (binaries / name).chmod(0o755)
    server = ThrowawayPostgres(binaries)
    with pytest.raises(PostgresUnavailable, match=r"no room in .*package/pginstall/bin"), server:
        pass
    assert not server.directory.exists()
    copied = postgres.copy_installation(binaries, tmp_path / "copy", os.getuid(), os.getgid())
    assert copied == tmp_path / "copy/package/pginstall/bin"
    assert sorted(os.listdir(copied)) == ["initdb", "postgres"]
    assert (tmp_path / "copy/package.libs").is_dir()
    assert not (copied.parent / "include").exists()


@pytest.mark.parametrize("act", ["chown", "copy_installation", "Popen"])
def test_a_server_whose_watchdog_was_never_started_leaves_no_folder(act, tmp_path, monkeypatch):
    def fail(*_given, **_more):
        raise OSError("no room")

    made = tmp_path / "fleet-pg"
    monkeypatch.setattr(postgres.tempfile, "mkdtemp", lambda **_given: made.mkdir() or str(made))
    monkeypatch.setattr(postgres, "runs_as", lambda *_given: act != "copy_installation")
    owner = {"chown": postgres.os, "copy_installation": postgres, "Popen": postgres.subprocess}[act]
    monkeypatch.setattr(owner, act, fail)
    server = ThrowawayPostgres(tmp_path)
    with pytest.raises(OSError, match="no room"), server:
        pass
    assert not made.exists()
    with pytest.raises(PostgresUnavailable, match="was not started"):
        server.url()
