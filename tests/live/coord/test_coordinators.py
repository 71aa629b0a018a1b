"""Coordinators are agents: listed wherever agents are, remote-controlled if their project says so, and fleet's own runs by itself."""

import re
from pathlib import Path

import pytest
from live.coord.seats import on, replaced, rested, seat, seated, ticked, until
from staging.stage import FLEET, answer

from fleet.errors.store import WriteFailed
from fleet.verbs.projects import remote_control


@pytest.mark.req("OBS-7")
def test_coordinators_are_listed_wherever_agents_are(either):
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        for words in (["ps"], ["agents", "list"], ["dispatches", "list"]):
            shown = either.program(*words, "--json").json
            assert [(each["id"], each["kind"]) for each in shown] == [(ident, "coord")], words
            assert ident in either.program(*words).out
        assert [(each["who"], each["kind"]) for each in either.program("status", "--json").json["working"]] == [
            (ident, "coord")
        ]
        assert f"{ident} " in either.program("status").out
        assert either.program("dispatches", "show", ident, "--json").json["kind"] == "coord"
        assert f"p: {ident} is alive (epoch 1)" in either.program("coord", "status", "-p", "p").out


ARGUMENTS = 'echo "arguments: $*"; fleet coord tick; exec sleep 1000\n'


@pytest.mark.req("HAND-8")
def test_a_coordinators_spawn_and_handoff_write_the_marker_first_and_get_the_flag_and_a_worker_never(either):
    Path(either.home, "hand.sh").write_text(ARGUMENTS)
    with either.fleet() as fleet:
        assert fleet.projects.remote_control("p").remote_control is None
        fleet.tasks.add(project="p", title="T", slug="t", engine="hand")
        worker = answer(either.start(FLEET, "dispatch", "t", "-p", "p", "--json")).json["id"]
        either.shows(fleet, worker, "arguments:")
        assert "--afar" not in fleet.agents.screen(worker)
        assert fleet.projects.remote_control("p").remote_control is None, "a worker's start says nothing"
        first = fleet.coord.start(on("hand")).id
        assert fleet.projects.remote_control("p").remote_control == "up"
        either.shows(fleet, first, "arguments: --afar")
        fleet.projects.remote_control("p", "down")
        second = answer(either.start(FLEET, "handoff", first, "--json")).json["successor"]
        either.shows(fleet, second, "arguments:")
        assert "--afar" not in fleet.agents.screen(second)
        assert fleet.projects.remote_control("p").remote_control == "down", "what was said stays"
        fleet.projects.remote_control("p", "up")
        third = answer(either.start(FLEET, "handoff", second, "--json")).json["successor"]
        either.shows(fleet, third, "arguments: --afar")


@pytest.mark.req("HAND-9")
def test_a_marker_that_cannot_be_written_is_a_warning_and_the_handoff_succeeds(either, monkeypatch):
    Path(either.home, "hand.sh").write_text(ARGUMENTS)

    def broken(**_facts: str) -> None:
        raise WriteFailed(path="the store", why="no space left on device")

    monkeypatch.setattr(remote_control, "set_remote_control", broken)
    with either.fleet() as fleet:
        started = fleet.coord.start(on("hand"))
        first = rested(either, fleet, started.id)  # its own tick is over
        told = [*started.warnings, *fleet.coord.hand_off(first, reason="enough").warnings]
        assert ["`fleet rc up p`" in each for each in told] == [True, True]
        until(lambda: fleet.coord.drain("p") == [])
        [entry] = fleet.coord.handoffs("p")
        assert (entry.state, entry.successor) == ("done", seat(fleet).holder)
        either.shows(fleet, entry.successor, "arguments:")
        for ident in (first, entry.successor):
            assert "--afar" not in fleet.agents.screen(ident), "its command line stays plain"


def shown(fleet, ident: str) -> list[str]:
    """What fleet's own coordinator says, without the times; long lines are broken by the terminal."""
    lines: list[str] = []
    for line in fleet.agents.screen(ident, history=True).splitlines():
        found = re.fullmatch(r"\[fleet\] \d{4}-\d\d-\d\dT[\d:.]+Z (.*)", line)
        if found:
            lines.append(found[1])
        elif lines:
            lines[-1] += line
    return lines


@pytest.mark.req("REP-4")
def test_fleets_own_coordinator_ticks_by_itself_says_so_in_prose_and_ends_when_it_is_superseded(either):
    Path(either.home, "hand.sh").write_text("exec sleep 1000\n")
    Path(either.home, "prompts").mkdir()
    Path(either.home, "prompts", "coord.md").write_text("```script\nhook SessionStart {}\nhang\n```\n")
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = fleet.coord.start(on("fleet")).id
        fleet.tasks.add(project="p", title="T", slug="t", engine="hand")
        until(lambda: any("(worker of t, hand)" in line for line in shown(fleet, ident)))
        assert shown(fleet, ident)[0] == "coordinating p"
        assert len([line for line in shown(fleet, ident) if "worker of t" in line]) == 1
        new = fleet.coord.replace(on("scripted")).id  # proves itself, and never asks the old one to exit
        either.exited(fleet, ident)
        assert fleet.context.dispatch(ident).asked_for is None
        assert f"{ident} does not coordinate project 'p': {new} does" in shown(fleet, ident)[-1]
        assert shown(fleet, ident)[-1].endswith("this coordinator ends")
        until(lambda: either.told_again(fleet).pane(f"fleet-{ident}").status == 0)


def test_fleets_own_coordinator_survives_broken_settings_and_goes_on_when_they_are_mended(either):
    Path(either.home, "hand.sh").write_text("exec sleep 1000\n")
    with either.fleet() as fleet:
        ident = fleet.coord.start(on("fleet")).id
        until(lambda: shown(fleet, ident))
        project = Path(either.repository, "fleet.toml")
        project.write_text("review = 7\n")
        until(lambda: any("trouble: stages" in line and "fleet.toml:1" in line for line in shown(fleet, ident)))
        project.unlink()
        fleet.tasks.add(project="p", title="T", slug="t", engine="hand")
        until(lambda: fleet.tasks.show(project="p", slug="t").status == "in_progress")
        config = Path(either.home, "config.toml")
        whole = config.read_text()
        config.write_text(f"{whole}tick_every = 7\n")
        until(lambda: any("this tick failed, the next one tries again" in line for line in shown(fleet, ident)))
        config.write_text(whole)
        fleet.tasks.add(project="p", title="U", slug="u", engine="hand")
        until(lambda: fleet.tasks.show(project="p", slug="u").status == "in_progress")


@pytest.mark.req("REP-12")
def test_fleets_own_coordinator_replaces_itself(either):
    with either.fleet() as fleet:
        old, new = replaced(either, fleet)
        third = answer(either.start(FLEET, "coord", "replace", "-p", "p", "--json")).json
        assert (third["engine"], third["replaces"]) == ("fleet", new)
        until(lambda: [agent.id for agent in fleet.agents.list()] == [third["id"]])  # it retires them both by itself
        assert {fleet.dispatches.show(each).exec_state for each in (old, new)} == {"done"}
        until(lambda: any("You coordinate p now" in line for line in shown(fleet, third["id"])))
        assert fleet.coord.stop("p", "enough").stopped
        said = answer(either.start(FLEET, "coord", "tick", "-p", "p"))
        assert (said.code, "coord start" in said.err) == (14, True)


def test_a_person_is_told_how_it_stands(either):
    with either.fleet() as fleet:
        assert "has no coordinator; `fleet coord start -p p`" in either.program("coord", "status", "-p", "p").out
        assert answer(either.start(FLEET, "coord", "stop", "-p", "p")).code == 11
        assert answer(either.start(FLEET, "coord", "run", "-p", "p")).code == 2
        ident = seated(either, fleet)
        assert ticked(either, ident)["epoch"] == 1
        assert f"{ident} no longer coordinates p; the seat is empty" in either.program("coord", "stop", "-p", "p").out
        assert seat(fleet).epoch == 2
