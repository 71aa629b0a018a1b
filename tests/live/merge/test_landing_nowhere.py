"""`fleet land` on a branch that is not there."""

from pathlib import Path

import pytest

from fleet.errors.families import Refused


@pytest.mark.req("MERGE-6")
@pytest.mark.parametrize("dry", [True, False])
def test_a_target_that_is_not_there_is_refused_and_not_made(scene, dry):
    scene.git("branch", "fleet/main")
    Path(scene.repository, "fleet.toml").write_text('target = "release"\n')
    with scene.fleet() as fleet, pytest.raises(Refused, match="release"):
        fleet.merge.land(project="p", dry=dry)
    assert scene.git("branch", "--list", "release") == ""
