"""In a sandbox a pid means somebody else, or nobody: whoever looks from there at an agent outside knows nothing of it."""

import shutil
import subprocess
import sys

import pytest
from staging.stage import FLEET, HALTING, acted, answer, is_alive, status_of

from fleet.world.host import Host
from fleet.world.process.processes import Processes

SANDBOX = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.fixture
def at_work(scene):
    """An agent, and its process."""
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        yield ident
        assert is_alive(who.pid)
        assert status_of(fleet, "t")[0] == "in_progress"
        assert [each.id for each in fleet.agents.list()] == [ident]


@pytest.mark.req("EXC-2", "EXC-7", "AGENT-3", "SWEEP-7")
def test_who_is_in_another_room_of_this_boot_ends_nobody(scene, at_work, monkeypatch):
    with monkeypatch.context() as patch:
        boot = Host().boot.partition(".")[0]
        patch.setattr(Host, "boot", f"{boot}.pid:[7]")
        with scene.fleet() as fleet:
            assert acted(fleet.sweep.run(kill=True)) == []
            assert fleet.sessions.settle(at_work).why == "its process is unknown"


@pytest.mark.req("EXC-2", "EXC-7", "SWEEP-7")
def test_a_server_whose_process_cannot_be_seen_says_nothing(scene, at_work, monkeypatch):
    with scene.fleet() as fleet, monkeypatch.context() as patch:
        patch.setattr(Processes, "identify", lambda *_: None)
        listing = fleet.world.tmux.listing()
        assert (listing.server, listing.panes) == (None, ())
        assert "sandbox" in listing.why


@pytest.fixture
def sandbox() -> tuple[str, ...]:
    can = shutil.which("unshare") and subprocess.run([*SANDBOX, "true"], capture_output=True, check=False)
    if not can or can.returncode != 0:
        pytest.skip("no sandbox can be made here")
    return SANDBOX


@pytest.mark.req("EXC-2", "EXC-7", "AGENT-3", "SWEEP-7")
@pytest.mark.parametrize("looks", ["a sweep", "a hint"])
def test_from_within_a_sandbox_nobody_outside_is_ended(scene, at_work, sandbox, looks):
    words = {
        "a sweep": (FLEET, "maintenance", "sweep-leaks", "--kill", "--json"),
        "a hint": (sys.executable, HALTING, "never", "", "settle", at_work),
    }[looks]
    said = answer(scene.start(*sandbox, *words))
    assert said.code == 0, said
    if looks == "a sweep":
        assert [each["what"] for each in said.json if each["done"]] in ([], ["projects/p/coord-state.json"])
    else:
        assert "settled=False" in said.out
