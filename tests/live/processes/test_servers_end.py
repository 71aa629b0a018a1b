"""The tmux server goes with its last session. A dispatch that comes at that moment is made on the next one."""

import os
import signal

import pytest
from staging.stage import is_alive

from fleet.testing.crash.scenarios import until


@pytest.mark.req("EXC-2", "STORE-7")
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_server_that_ends_while_a_dispatch_starts_is_followed_by_the_next(scene, once, where):
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        old = scene.server(fleet)

        def ends() -> None:
            os.kill(old, signal.SIGKILL)
            until(lambda: not is_alive(old))

        fleet.funnel.watcher = once(where, "publish inbox/", ends)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        fleet.funnel.watcher = None
        scene.launched(fleet, ident)
        (claim,) = [each for each in fleet.claims.list(kind="tmux_session") if each.dispatch == ident]
        assert claim.data["server"] == str(fleet.world.tmux.listing().server)
        assert f"/{old}/" not in claim.data["server"]
        assert claim.data["process"], "what the launch wrote beside it is kept"
