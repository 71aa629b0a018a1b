"""A person may split the window of an agent: its pane is still the one that was made first."""

import pytest

from fleet.testing.scenarios import until


def split(scene, ident: str, *command: str) -> str:
    """A person's pane before the agent's; where the agent's is."""
    pane = scene.tmux("display-message", "-p", "-t", f"=fleet-{ident}:", "#{pane_id}").strip()
    scene.tmux("split-window", "-b", "-t", pane, *command)
    return pane


@pytest.mark.req("EXC-8", "AGENT-1")
def test_the_process_and_the_screen_are_the_agents_own(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sh", "-c", "echo the agent; exec sleep 1000")
        who = scene.launched(fleet, ident)
        scene.shows(fleet, ident, "the agent")
        split(scene, ident, "sh", "-c", "echo a person; exec sleep 1000")
        panes = [pane for pane in fleet.world.tmux.listing().panes if pane.session == f"fleet-{ident}"]
        assert (len(panes), panes[0].pid == who.pid) == (2, False), "the person's is listed first"
        assert fleet.world.tmux.listing().pane(f"fleet-{ident}").pid == who.pid
        assert "the agent" in fleet.screen(ident, history=True)


@pytest.mark.req("AGENT-3", "AGENT-5")
def test_how_the_agent_ended_is_what_its_own_pane_says(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sh", "-c", "read line; exit 3")
        scene.launched(fleet, ident)
        pane = split(scene, ident, "true")
        until(lambda: any(each.dead for each in scene.told_again(fleet).panes))
        assert fleet.dispatches(ended=False)
        scene.tmux("send-keys", "-t", pane, "Enter")
        scene.ended(fleet)
        assert fleet.task(project="p", slug="t")["reason"] == "exit status 3, without a report"
