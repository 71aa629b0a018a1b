"""Who may release what: the owner, from its own host and socket. What is unknown or foreign stays as it is."""

import json
import os
import signal
from pathlib import Path

import pytest
from staging.stage import acted, claim_of, raw, standing

from fleet.errors.absent import NoCoordinator
from fleet.errors.families import NotOwned, Refused, Superseded
from fleet.errors.refused import OtherHost
from fleet.errors.tools import TmuxRefused
from fleet.model.identity import Identity
from fleet.resources import KINDS
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.views.operations import OperationFilter
from fleet.world.tmux import Listing

SESSION = "tmux_session"
ELSEWHERE = "/elsewhere/tmux.sock"
COORD = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def session_of(scene, ident: str):
    return claim_of(scene.fleet, SESSION, ident)


def look(scene, ident: str) -> str:
    return KINDS[SESSION].look(session_of(scene, ident), scene.fleet.world)


def kill(scene, ident: str) -> None:
    scene.machine.table.signal(scene.agent(ident), signal.SIGKILL)


def panes(scene) -> list[str]:
    return [pane.session for server in scene.machine.servers.values() for pane in server.panes]


# the seat -----------------------------------------------------------------------------------------------------------------
def seats(scene) -> list[tuple[str, str | None, str, str]]:
    markers = scene.fleet.claims.list(kind="coord_spawn_marker")
    return [(each.name, each.dispatch, each.class_, each.state) for each in markers]


def seated(scene) -> str:
    ident = scene.fleet.coord.start(COORD).id
    scene.launch(ident)
    return ident


@pytest.mark.req("EXC-4")
def test_the_seat_is_listed_as_a_claim_until_its_coordinator_is_stopped(scene):
    assert seats(scene) == []
    ident = seated(scene)
    held = [(PROJECT, ident, "exclusive", "live")]
    assert seats(scene) == held
    kill(scene, ident)
    scene.fleet.sweep.run(kill=True)
    assert seats(scene) == held, "a dead holder keeps the seat"
    epoch = scene.fleet.coord.show(PROJECT).epoch
    assert scene.fleet.coord.stop(PROJECT, "enough").stopped
    assert seats(scene) == []
    assert scene.fleet.coord.show(PROJECT).epoch == epoch + 1
    with pytest.raises(NoCoordinator):
        scene.fleet.coord.stop(PROJECT, "again")


# owners -------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-5", "EXC-10", "SWEEP-7")
def test_a_session_of_another_socket_is_not_released_from_here_and_both_are_named(scene):
    ident = scene.work("a")
    kill(scene, ident)
    data = json.dumps({**session_of(scene, ident).data, "socket": ELSEWHERE})
    raw(scene.fleet, f"UPDATE claims SET home = NULL, data = '{data}' WHERE kind = '{SESSION}'")
    with pytest.raises(OtherHost) as caught:
        release(scene.fleet.context, session_of(scene, ident))
    assert ELSEWHERE in str(caught.value)
    assert scene.home in str(caught.value)
    scene.fleet.sweep.run(kill=True)
    assert session_of(scene, ident).state == "live"
    assert panes(scene) == [f"fleet-{ident}"]


@pytest.mark.req("EXC-5", "EXC-10", "SWEEP-7")
def test_a_claim_of_another_host_is_refused_and_given_up_by_a_person_alone(scene):
    ident = scene.work("a")
    with pytest.raises(Refused, match="of this home"):
        scene.fleet.claims.disown(ident, SESSION, "no reason")
    raw(scene.fleet, f"UPDATE claims SET host = 'moon' WHERE kind = '{SESSION}'")
    with pytest.raises(OtherHost, match="moon") as caught:
        release(scene.fleet.context, session_of(scene, ident))
    assert scene.fleet.world.host.id in str(caught.value)
    kill(scene, ident)
    scene.fleet.sweep.run(kill=True)
    assert session_of(scene, ident).state == "live"
    assert scene.fleet.claims.disown(ident, SESSION, "it sank").count == 1
    assert session_of(scene, ident).state == "released"
    assert panes(scene) == [f"fleet-{ident}"], "what was claimed is not touched"
    (newest,) = scene.fleet.operations.list(OperationFilter(), limit=1)
    assert (newest.why, "it sank" in json.dumps(newest.what)) == (f"disown {SESSION} of {ident}: it sank", True)


@pytest.mark.req("EXC-5")
def test_a_program_does_not_release_the_session_of_an_agent_at_work(scene):
    ident = scene.work("a")
    with pytest.raises(NotOwned, match=ident):
        scene.fleet.claims.release_prompt(ident, SESSION)
    assert session_of(scene, ident).state == "live"
    assert panes(scene) == [f"fleet-{ident}"]


@pytest.mark.req("EXC-10")
def test_a_program_that_means_another_host_or_socket_is_refused(scene):
    world = scene.fleet.world
    for field, mine in (("host_id", world.host.id), ("tmux_socket", world.tmux.socket)):
        wanted = WantedPrompt(owner=f"coord/{PROJECT}", **{field: "moon"})
        with pytest.raises(OtherHost, match="moon") as caught:
            scene.fleet.claims.acquire_prompt("aaaaaaaa", "x", wanted)
        assert mine in str(caught.value)
    assert scene.fleet.files.names("inbox") == []


@pytest.mark.req("EXC-6")
def test_releasing_what_is_released_or_gone_succeeds(scene):
    first, second = scene.work("a"), scene.work("b")
    for ident in (first, second):
        kill(scene, ident)
    remembered = session_of(scene, first)
    assert release(scene.fleet.context, remembered) == ""
    assert panes(scene) == [f"fleet-{second}"]
    for claim in (remembered, session_of(scene, first)):
        assert release(scene.fleet.context, claim) == ""
    scene.server.close(scene.pane(second))
    assert release(scene.fleet.context, session_of(scene, second)) == ""
    assert {session_of(scene, ident).state for ident in (first, second)} == {"released"}


# what is acquired ---------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-1")
def test_what_a_dispatch_needs_is_live_when_it_returns_and_what_could_not_be_made_is_not(scene, monkeypatch):
    ident = scene.dispatch("a")
    assert session_of(scene, ident).state == "live", "before anybody has launched it"
    assert {each.state for each in scene.fleet.claims.list() if each.kind != "agent_record"} == {"live"}

    def refuse(*_words, **_facts):
        allocating.extend(each.kind for each in scene.fleet.claims.list() if each.state == "allocating")
        raise TmuxRefused(what="make it", why="no")

    allocating: list[str] = []
    monkeypatch.setattr(scene.fleet.world.tmux, "create", refuse)
    monkeypatch.setattr(KINDS[SESSION], "release", refuse)
    with pytest.raises(TmuxRefused):
        scene.dispatch("b")
    assert SESSION in allocating, "the intent is recorded before anything is made"
    states = {each.kind: each.state for each in scene.fleet.claims.list() if each.dispatch not in {None, ident}}
    assert states.get(SESSION) == "failed_alloc"


@pytest.mark.req("EXC-11")
def test_a_second_launch_and_one_after_the_end_are_superseded(scene):
    ident = scene.work("a")
    agent = scene.agent(ident)
    for _ in range(2):
        with pytest.raises(Superseded):
            scene.launch(ident)
    assert scene.agent(ident) == agent
    late = scene.dispatch("b")
    process = scene.pane(late).process
    raw(scene.fleet, f"UPDATE dispatches SET exec_state = 'failed', ended_at = 1 WHERE id = '{late}'")
    with pytest.raises(Superseded):
        scene.launch(late)
    assert process.words[:1] != ("sleep",)


@pytest.mark.req("EXC-3")
def test_the_record_of_an_agent_is_archived_when_its_dispatch_ends(scene):
    ident = scene.work("a")

    def records() -> list[str]:
        return [each.state for each in scene.fleet.dispatches.show(ident).claims if each.kind == "agent_record"]

    assert records() == ["live"]
    assert [each.name for each in scene.fleet.claims.list(kind="agent_record")] == [ident]
    kill(scene, ident)
    scene.fleet.sweep.run(kill=True)
    assert records() == ["archived"]
    assert scene.fleet.claims.list(kind="agent_record") == []


# what is seen -------------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-2", "EXC-7")
def test_another_server_on_the_socket_says_nothing_of_the_session(scene):
    ident = scene.work("a")
    first = scene.server
    os.unlink(first.socket)
    scene.fleet.world.tmux.ensure_server()
    assert look(scene, ident) == "unknown"
    kill(scene, ident)
    assert "unknown" in release(scene.fleet.context, session_of(scene, ident))
    assert session_of(scene, ident).state == "live"
    assert len(first.panes) == 1


@pytest.mark.req("EXC-2")
def test_a_dead_server_proves_the_session_gone_only_with_the_panes_process(scene):
    ident = scene.work("a")
    agent = scene.agent(ident)
    agent.ignores.add(signal.SIGHUP)
    scene.machine.table.signal(scene.server.process, signal.SIGKILL)
    assert look(scene, ident) == "unknown"
    scene.machine.table.exit(agent)
    assert look(scene, ident) == "absent"


@pytest.mark.req("EXC-2")
def test_another_boot_proves_a_death_that_nothing_contradicts(scene):
    ident = scene.work("a")
    who = Identity.parse(scene.fleet.context.dispatch(ident).process)
    scene.reboot()
    assert scene.fleet.world.processes.life(who) == "dead"
    assert scene.fleet.world.processes.life(None) == "unknown"
    still = scene.machine.table.spawn(1, ["sleep"], pid=who.pid + 5_000)
    seen = Identity(host=who.host, boot=who.boot, pid=still.pid, start=still.start)
    assert scene.fleet.world.processes.life(seen) == "unknown", "the same pid with the same start is there"


@pytest.mark.req("EXC-8")
def test_a_session_is_found_by_its_whole_name(scene):
    ident = scene.dispatch("a")
    (pane,) = scene.fleet.world.tmux.listing().panes
    listing = Listing(server=None, panes=(pane,), home=pane.home)
    assert listing.pane(f"fleet-{ident}") == pane
    assert listing.pane(f"fleet-{ident[:-1]}") is None
    assert listing.pane_of(ident) == pane
    assert listing.pane_of(ident[:-1]) is None


@pytest.mark.req("EXC-9", "SWEEP-3")
def test_a_session_without_our_mark_is_foreign_and_unknown_while_its_claim_is_allocating(scene):
    ident = scene.dispatch("a")
    pane = scene.pane(ident)
    pane.home = "somebody"
    assert look(scene, ident) == "foreign"
    pane.home = pane.dispatch = ""
    raw(scene.fleet, f"UPDATE claims SET state = 'allocating' WHERE kind = '{SESSION}'")
    assert look(scene, ident) == "unknown"
    raw(scene.fleet, f"UPDATE claims SET state = 'failed_alloc' WHERE kind = '{SESSION}'")
    assert look(scene, ident) == "foreign"
    found = scene.fleet.sweep.run(kill=True)
    assert any("our name but not our mark" in line for line in standing(found))
    assert not [line for line in acted(found) if "session" in line]
    assert panes(scene) == [f"fleet-{ident}"]


def test_while_git_lists_no_worktrees_only_a_half_made_one_in_which_nobody_worked_is_known_as_ours(scene, monkeypatch):
    scene.dispatch("a")
    index = Path(scene.repository, ".git/worktrees/a/index")

    def seen(state: str) -> str:
        raw(scene.fleet, f"UPDATE claims SET state = '{state}' WHERE kind = 'worktree'")
        return KINDS["worktree"].look(claim_of(scene.fleet, "worktree", slug="a"), scene.fleet.world)

    monkeypatch.setattr(type(scene.fleet.world.git), "worktrees", lambda _git, _repository: None)
    Path(scene.home, "projects/p/worktrees/a/work").touch()
    assert (seen("live"), seen("allocating")) == ("unknown", "unknown"), "somebody has worked in it"
    index.unlink()  # git writes it last
    assert (seen("live"), seen("allocating")) == ("unknown", "ours")
