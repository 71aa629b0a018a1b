"""A person may split an agent's window, or move panes about: the agent's pane is the one with its stamp, and the others are theirs."""

from pathlib import Path

import pytest
from staging.stage import acted, claim_of, is_alive

from fleet.resources import KINDS
from fleet.testing.crash.scenarios import until


def pane_of(scene, ident: str) -> str:
    return scene.tmux("display-message", "-p", "-t", f"=fleet-{ident}:", "#{pane_id}").strip()


def split(scene, ident: str, *command: str) -> str:
    """A person's pane before the agent's; where the agent's is."""
    pane = pane_of(scene, ident)
    scene.tmux("split-window", "-b", "-t", pane, *command)
    return pane


def person(scene, ident: str) -> int:
    """A person's editor in a split of an agent's window."""
    made = scene.tmux("split-window", "-P", "-F", "#{pane_pid}", "-t", pane_of(scene, ident), "sleep", "1000")
    return int(made)


def close(scene, *pids: int) -> None:
    """The person closes what they opened."""
    for line in scene.tmux("list-panes", "-a", "-F", "#{pane_pid} #{pane_id}").splitlines():
        pid, pane = line.split()
        if int(pid) in pids:
            scene.tmux("kill-pane", "-t", pane)


def swept(fleet):
    """The panes left by one sweep; the hint that the pane's death sent may hold the dispatch's lock during that sweep."""
    fleet.sweep.run(kill=True)
    return fleet.world.tmux.listing()


def at_work(scene, fleet, slug: str) -> tuple[str, int]:
    ident = scene.dispatch(fleet, slug, "sh", "-c", f"echo this is {slug}; exec sleep 1000")
    who = scene.launched(fleet, ident)
    scene.shows(fleet, ident, f"this is {slug}")
    return ident, who.pid


@pytest.mark.req("EXC-8", "AGENT-1")
def test_the_process_and_the_screen_are_the_agents_own(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sh", "-c", "echo the agent; exec sleep 1000")
        who = scene.launched(fleet, ident)
        scene.shows(fleet, ident, "the agent")
        split(scene, ident, "sh", "-c", "echo a person; exec sleep 1000")
        listing = fleet.world.tmux.listing()
        panes = [pane for pane in listing.panes if pane.session == f"fleet-{ident}"]
        assert (len(panes), panes[0].pid == who.pid) == (2, False), "the person's is listed first"
        assert listing.pane_of(ident).pid == who.pid
        assert [pane.dispatch for pane in panes] == ["", ident], "only the agent's is stamped"
        assert "the agent" in fleet.agents.screen(ident, history=True)
        close(scene, panes[0].pid)


@pytest.mark.req("AGENT-3", "AGENT-5")
def test_how_the_agent_ended_is_what_its_own_pane_says(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sh", "-c", "read line; exit 3")
        scene.launched(fleet, ident)
        pane = split(scene, ident, "true")
        until(lambda: len(scene.told_again(fleet).panes) == 1)
        assert fleet.dispatches.list(ended=False), "a person's pane that ends says nothing of the agent"
        scene.tmux("send-keys", "-t", pane, "Enter")
        scene.ended(fleet)
        assert fleet.tasks.show(project="p", slug="t").reason == "exit status 3, without a report"


@pytest.mark.req("EXC-9", "SWEEP-3", "AGENT-7")
def test_a_persons_editor_in_a_split_outlives_the_agent(scene):
    with scene.fleet() as fleet:
        ident, agent = at_work(scene, fleet, "t")
        editor = person(scene, ident)
        until(lambda: b"FLEET_HOME" in Path(f"/proc/{editor}/environ").read_bytes())  # tmux has become the editor
        marks = Path(f"/proc/{editor}/environ").read_bytes()
        assert b"FLEET_DISPATCH_ID" not in marks
        assert f"FLEET_HOME={scene.home}".encode() in marks, "so that the person's fleet is this one"
        assert fleet.dispatches.kill(ident, "a test").settled
        assert (is_alive(agent), is_alive(editor)) == (False, True)
        assert claim_of(fleet, "tmux_session", ident).state == "released"
        assert acted(fleet.sweep.run(kill=True)) == []
        assert is_alive(editor)
        close(scene, editor)


@pytest.mark.req("EXC-9", "EXC-8", "SWEEP-3")
@pytest.mark.parametrize("ends", ["the one whose session it is", "the one that was moved"])
def test_an_agent_whose_pane_was_joined_to_anothers_ends_alone(scene, ends):
    with scene.fleet() as fleet:
        (host, one), (guest, other) = at_work(scene, fleet, "host"), at_work(scene, fleet, "guest")
        scene.tmux("join-pane", "-s", pane_of(scene, guest), "-t", pane_of(scene, host))
        assert {pane.session for pane in fleet.world.tmux.listing().panes} == {f"fleet-{host}"}
        assert "this is guest" in fleet.agents.screen(guest)
        assert acted(fleet.sweep.run(kill=True)) == [], "both are at work"
        going, staying = ((host, one), (guest, other)) if ends.endswith("is") else ((guest, other), (host, one))
        assert fleet.dispatches.kill(going[0], "a test").settled
        assert (is_alive(going[1]), is_alive(staying[1])) == (False, True)
        assert fleet.world.tmux.listing().pane_of(going[0]) is None
        assert acted(fleet.sweep.run(kill=True)) == []
        assert [agent.id for agent in fleet.agents.list()] == [staying[0]]
        assert is_alive(staying[1])


@pytest.mark.req("AGENT-3", "AGENT-5")
def test_the_end_of_an_agent_in_anothers_session_is_noticed(scene):
    with scene.fleet() as fleet:
        host, _pid = at_work(scene, fleet, "host")
        guest = scene.dispatch(fleet, "guest", "sh", "-c", "read line; exit 3")
        scene.launched(fleet, guest)
        pane = pane_of(scene, guest)
        scene.tmux("join-pane", "-s", pane, "-t", pane_of(scene, host))
        scene.tmux("send-keys", "-t", pane, "Enter")
        until(lambda: scene.told_again(fleet) and [each.id for each in fleet.dispatches.list(ended=False)] == [host])
        assert fleet.tasks.show(project="p", slug="guest").reason == "exit status 3, without a report"


@pytest.mark.req("EXC-8")
def test_attach_goes_to_where_the_agents_pane_is(scene):
    with scene.fleet() as fleet:
        (host, _one), (guest, _other) = at_work(scene, fleet, "host"), at_work(scene, fleet, "guest")
        pane = pane_of(scene, guest)
        scene.tmux("join-pane", "-d", "-s", pane, "-t", pane_of(scene, host))
        words = fleet.agents.attach_words(guest)
        target = words[words.index("-t") + 1]
        assert scene.tmux("display-message", "-p", "-t", target, "#{session_name} #{pane_id}").split() == [
            f"fleet-{host}",
            pane,
        ]


@pytest.mark.req("EXC-9")
def test_what_a_person_started_in_a_dead_agents_pane_is_theirs(scene):
    scene.forgiven = {"session", "journal", "claim tmux_session", "lock"}
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
        until(lambda: scene.told_again(fleet).pane_of(ident).dead)
        scene.tmux("respawn-pane", "-t", pane_of(scene, ident), "sleep", "1000")
        theirs = fleet.world.tmux.listing().pane_of(ident).pid
        assert KINDS["tmux_session"].look(claim_of(fleet, "tmux_session", ident), fleet.world) == "foreign"
        fleet.sweep.run(kill=True)
        assert is_alive(theirs)


@pytest.mark.req("EXC-9", "SWEEP-3")
@pytest.mark.parametrize("split_by_a_person", [False, True])
def test_a_session_that_an_older_fleet_stamped_is_ended_only_while_it_has_one_pane(scene, split_by_a_person):
    with scene.fleet() as fleet:
        ident, agent = at_work(scene, fleet, "t")
        for option in ("@fleet_dispatch", "@fleet_home", "@fleet_pane"):
            scene.tmux("set-option", "-p", "-u", "-t", f"=fleet-{ident}:", option)
        for option, value in {"@fleet_dispatch": ident, "@fleet_home": fleet.world.tmux.home_id}.items():
            scene.tmux("set-option", "-t", f"=fleet-{ident}:", option, value)
        assert fleet.world.tmux.listing().pane_of(ident).pid == agent
        editor = person(scene, ident) if split_by_a_person else None
        done = fleet.dispatches.kill(ident, "a test")
        assert done.settled
        assert not is_alive(agent)
        if editor is None:
            assert done.left == []
        else:
            assert is_alive(editor)
            assert done.left != []
            close(scene, editor)
            until(lambda: swept(fleet).pane_of(ident) is None)
        assert fleet.world.tmux.listing().pane_of(ident) is None


@pytest.mark.req("EXC-9")
def test_a_pane_that_lost_its_stamp_since_it_was_listed_is_not_ended(scene):
    with scene.fleet() as fleet:
        ident, agent = at_work(scene, fleet, "t")
        listed = fleet.world.tmux.listing().pane_of(ident)
        scene.tmux("set-option", "-p", "-t", f"=fleet-{ident}:", "@fleet_home", "somebody")
        assert fleet.world.tmux.kill(listed) is False
        assert is_alive(agent)
        scene.tmux("set-option", "-p", "-t", f"=fleet-{ident}:", "@fleet_home", listed.home)


@pytest.mark.req("EXC-9")
def test_a_hint_of_a_pane_that_is_no_agents_does_nothing(scene):
    said = scene.program("settle", "--hint", "fleet-")
    assert (said.code, said.out, said.err) == (0, "", "")
