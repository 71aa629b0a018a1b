"""The help of the whole: three parts, everyday words first."""

import pytest
from click.testing import CliRunner

from fleet.surfaces.cli.app import root
from fleet.surfaces.cli.table import PLUMBING


@pytest.mark.req("CLI-3")
def test_help_is_in_three_parts_in_everyday_words():
    said = CliRunner().invoke(root, ["--help"]).output
    parts = [said.index(title) for title in ("Every day:", "For agents", "Plumbing (")]
    assert parts == sorted(parts)
    everyday = said[parts[0] : parts[1]]
    assert all(
        f"\n  {name}" in everyday for name in ("init", "run", "status", "ps", "attach", "peek", "stop", "land", "clean")
    )
    assert not any(word in everyday for word in ("dispatch", "claim", "journal"))
    assert all(f"\n  {name}" in said[parts[1] : parts[2]] for name in ("log", "artifact", "done", "fail", "block"))
    assert "\n  launch" not in said


@pytest.mark.req("CLI-3")
def test_the_plumbing_is_out_of_the_way_in_one_group_and_described_when_asked_for():
    said = CliRunner().invoke(root, ["--help"]).output
    group = said[said.index("Plumbing (") :].splitlines()
    assert len(group) < 8, "names alone"
    described = CliRunner().invoke(root, ["--plumbing"]).output
    for entry in PLUMBING:
        assert entry.name in said
        assert entry.summary not in said
        assert f"\n  {entry.name} " in described
