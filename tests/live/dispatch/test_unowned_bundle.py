"""A dispatch that another program made: what it did not make is not called made by its launch."""

import pytest
from staging.stage import claim_of

from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": "p", "slug": "t"}
OTHER = "aaaaaaaa"


@pytest.mark.req("ADO-3", "ADO-10")
def test_the_launch_of_a_dispatch_that_does_not_own_the_bundle_leaves_a_half_made_tree_half_made(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        maker = scene.halted("after", "git worktree add", "dispatch", "t")
        maker.kill()
        maker.wait(60)
        scene.swept(fleet)
        assert claim_of(fleet, "worktree", slug="t").state == "allocating"
        fleet.claims.acquire_prompt(OTHER, "do it\n", WantedPrompt(owner="project/p/slug/t"))
        scene.program("launch", OTHER)  # it has no engine, and goes no further
        assert claim_of(fleet, "worktree", slug="t").state == "allocating"
        scene.swept(fleet)
        scene.launched(fleet, fleet.dispatches.start(Wanted(**TASK, engine="shell", command=("sleep", "1000"))).id)
        assert (scene.tree("t") / "README").read_text() == "a repository\n"
