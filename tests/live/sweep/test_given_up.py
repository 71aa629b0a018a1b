"""What another machine made can be given up, that of its task too; what this one made is let go of, not given up."""

import pytest
from staging.stage import claim_of, is_alive

from fleet.errors.families import Refused
from fleet.world.host import Host


@pytest.mark.req("EXC-10")
def test_the_worktree_of_a_task_is_given_up_by_the_last_dispatch_and_only_from_elsewhere(scene, monkeypatch):
    scene.forgiven = {"worktree", "session", "process"}
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        for kind in ("worktree", "tmux_session"):
            with pytest.raises(Refused, match="of this home"):
                fleet.claims.disown(ident, kind, "a test")
        assert claim_of(fleet, "tmux_session", ident).state == "live"
    with monkeypatch.context() as patch:
        patch.setattr(Host, "id", "elsewhere")
        with scene.fleet() as fleet:
            fleet.claims.disown(ident, "worktree", "that machine is gone")
            assert fleet.claims.list(kind="worktree") == []
    assert (is_alive(who.pid), scene.tree("t").exists()) == (True, True), "the things themselves are not touched"
