"""The server: one that does not answer, lost its socket or was replaced says nothing about its sessions."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from staging.stage import acted, claim_of, is_alive

import fleet.world.tmux as tmux_module
from fleet.errors.tools import TmuxRefused
from fleet.resources import KINDS
from fleet.testing.crash.scenarios import until


@pytest.fixture
def stopped(monkeypatch):
    """Stops a server; that it does not answer is found out sooner."""

    def stop(server: int) -> None:
        monkeypatch.setattr(tmux_module, "LIMIT", 1.0)
        os.kill(server, signal.SIGSTOP)

    return stop


def look(fleet, ident: str) -> str:
    return KINDS["tmux_session"].look(claim_of(fleet, "tmux_session", ident), fleet.world)


def is_over(scene, server: int) -> bool:
    """Whether no agent of ours lives on a server; it is told again that somebody may have died."""
    os.kill(server, signal.SIGCHLD)
    panes = scene.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_dead}").splitlines()
    return not any(pane.startswith("fleet-") and pane.endswith(" 0") for pane in panes)


@pytest.mark.req("EXC-2", "EXC-7", "SWEEP-7", "AGENT-3")
def test_a_stopped_server_is_unknown_and_nothing_is_touched(scene, stopped):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who, server = scene.launched(fleet, ident), scene.server(fleet)
        stopped(server)
        assert look(fleet, ident) == "unknown"
        assert acted(fleet.sweep.run(kill=True)) == []
        with pytest.raises(TmuxRefused):
            scene.dispatch(fleet, "other", "sleep", "1000")
        os.kill(server, signal.SIGCONT)
        until(lambda: look(fleet, ident) == "ours")
        assert is_alive(who.pid)
        assert fleet.tasks.show(project="p", slug="other").status == "open"


@pytest.mark.req("EXC-2", "EXC-7")
@pytest.mark.parametrize("how", ["deleted", "renamed", "not a socket"])
def test_a_socket_taken_away_under_a_live_server_is_unknown_and_no_second_server_is_started(scene, how):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who, server = scene.launched(fleet, ident), scene.server(fleet)
        socket = f"{scene.home}/tmux.sock"
        os.rename(socket, f"{socket}.away") if how == "renamed" else os.unlink(socket)
        if how == "not a socket":
            os.mkdir(socket)
        assert look(fleet, ident) == "unknown"
        assert acted(fleet.sweep.run(kill=True)) == []
        if how == "not a socket":
            with pytest.raises(TmuxRefused):
                scene.dispatch(fleet, "other", "sleep", "1000")
            os.rmdir(socket)
            os.kill(server, signal.SIGUSR1)
        else:
            scene.dispatch(fleet, "other", "sleep", "1000")  # the living server was told to make its socket again
        assert scene.servers() == [server]
        assert is_alive(who.pid)
        until(lambda: look(fleet, ident) == "ours")


@pytest.mark.req("EXC-2", "EXC-7")
@pytest.mark.parametrize("slow", ["the dispatcher", "the session"])
def test_a_second_server_on_the_same_path_says_nothing_about_the_first_ones_sessions(scene, once, slow):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who, server = scene.launched(fleet, ident), scene.server(fleet)
        os.unlink(f"{scene.home}/tmux.sock")
        scene.start("tmux", "-f", "/dev/null", "-S", f"{scene.home}/tmux.sock", "new-session", "-d", "sleep 1000").wait(
            60
        )
        second = scene.server(fleet)
        assert second != server
        assert look(fleet, ident) == "unknown"
        assert acted(fleet.sweep.run(kill=True)) == []
        if slow == "the dispatcher":  # then the launch in the new session has its say before it
            fleet.funnel.watcher = once("after", "tmux new-session", lambda: until(lambda: is_over(scene, second)))
        with pytest.raises(TmuxRefused):
            scene.dispatch(fleet, "other", "sleep", "1000")
        fleet.funnel.watcher = None
        assert [agent.id for agent in fleet.agents.list()] == [ident]
        assert is_alive(who.pid)
        os.kill(second, signal.SIGKILL)
        os.kill(server, signal.SIGUSR1)
        until(lambda: look(fleet, ident) == "ours")


@pytest.mark.req("EXC-11", "EXC-2", "SWEEP-4")
def test_a_session_that_a_stopped_server_makes_later_finds_its_dispatch_ended(scene, stopped, once):
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        server = scene.server(fleet)
        fleet.funnel.watcher = once("before", "tmux new-session", lambda: stopped(server))
        with pytest.raises(TmuxRefused):
            scene.dispatch(fleet, "t", "sh", "-c", f"touch {scene.root}/launched; sleep 1000")
        fleet.funnel.watcher = None
        assert acted(fleet.sweep.run(kill=True)) == []
        os.kill(server, signal.SIGCONT)
        until(lambda: fleet.world.tmux.listing().server is not None)
        until(lambda: all(pane.dead for pane in scene.told_again(fleet).panes))
        until(lambda: fleet.sweep.run(kill=True) == [])
        assert not os.path.exists(f"{scene.root}/launched")
        assert fleet.tasks.show(project="p", slug="t").status == "open"


@pytest.mark.req("EXC-2", "EXC-7")
@pytest.mark.parametrize("locale", ["C", "POSIX", ""])
def test_sessions_are_seen_whatever_the_locale(scene, monkeypatch, locale):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        with monkeypatch.context() as patch:
            for name in ("LANG", "LC_CTYPE", "LC_ALL"):
                patch.setenv(name, locale)
            pane = fleet.world.tmux.listing().pane(f"fleet-{ident}")
            assert pane is not None
            assert (pane.pid, pane.dispatch, pane.home) == (who.pid, ident, fleet.world.tmux.home_id)
            assert look(fleet, ident) == "ours"


@pytest.mark.req("EXC-2", "EXC-7", "SWEEP-7")
def test_a_listing_that_cannot_be_understood_says_nothing(scene, monkeypatch):
    folder = Path(scene.root, "garbled")
    folder.mkdir()
    (folder / "tmux").write_text(f"#!/bin/sh\n{shutil.which('tmux')} \"$@\" | sed '2,$s/.*/nonsense/'\n")
    (folder / "tmux").chmod(0o700)
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
            assert fleet.world.tmux.listing().server is None
            assert look(fleet, ident) == "unknown"
            assert acted(fleet.sweep.run(kill=True)) == []
        assert look(fleet, ident) == "ours"
        assert is_alive(who.pid)
