"""What verify and setup print: kept in a file by its beginning and its end, named, and shown."""

from pathlib import Path

import pytest
from live.merge.test_merging import done_task

from fleet.errors.refused import NotMergeable


@pytest.mark.req("MERGE-2")
def test_a_verify_that_prints_without_end_is_red_and_says_how_much_was_left_out(scene):
    with scene.fleet() as fleet:
        done_task(scene, fleet, "t")
        Path(scene.repository, "fleet.toml").write_text(
            'verify = "echo first; yes | head -c 20000000; echo last; exit 1"\n'
        )
        with pytest.raises(NotMergeable) as caught:
            fleet.merge.task(project="p", slug="t")
        why = str(caught.value)
        assert "first\n" in why
        assert "\nlast" in why
        assert "bytes left out here" in why
        assert len(why) < 6_000
        (log,) = Path(scene.home, "logs").glob("*.verify.log")
        assert 8_000_000 < log.stat().st_size < 10_000_000
        said = scene.program("logs", log.name.partition(".")[0]).ok().out
        assert said.startswith("first\n")
        assert said.endswith("last\n")


@pytest.mark.req("AGENT-5")
def test_a_setup_that_prints_much_and_fails_says_where_it_is_kept(scene):
    Path(scene.repository, "fleet.toml").write_text('[worktree]\nsetup = "yes | head -c 9000; echo broken; exit 1"\n')
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        scene.ended(fleet)
        reason = fleet.tasks.show(project="p", slug="t").reason
        assert "worktree.setup failed (1): (" in reason
        assert reason.endswith("broken")
        assert f"logs/{ident}.setup.log" in reason
