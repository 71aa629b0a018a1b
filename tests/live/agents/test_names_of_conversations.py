"""A conversation's name goes onto a command line when it is resumed: what would be a flag or a path there is not kept."""

import pytest
from staging.speaking import agent, hook, scripted


@pytest.mark.req("HOOK-2", "ENG-3")
def test_what_cannot_be_a_name_on_a_command_line_is_not_kept(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "hang")
        for odd in ("--dangerously-skip-permissions", "../../elsewhere", "a b"):
            hook(scene, ident, "SessionStart", session_id=odd)
            assert agent(fleet, ident).conversation.startswith("scripted-"), odd
        hook(scene, ident, "SessionStart", session_id="0199-ab_c.d")
        assert agent(fleet, ident).conversation == "0199-ab_c.d"
