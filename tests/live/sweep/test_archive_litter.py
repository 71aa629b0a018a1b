"""A journal that was never published whole: nobody reads it, and it goes once nobody writes it any more."""

import fcntl
from pathlib import Path

import pytest


@pytest.mark.req("AUD-2", "OBS-1", "CLI-1")
def test_half_a_journal_is_never_read_and_is_swept_unless_somebody_writes_it(scene):
    archive = Path(scene.home, "dispatches/archive")
    with scene.fleet() as fleet:
        kept = scene.killed(fleet, "kept")
        ident = scene.killed(fleet, "t")
        fleet.tasks.archive(project="p", slug="t")
        scene.swept(fleet)
        (whole,) = archive.iterdir()
        half, other = archive / f"{whole.name}.0123abcd.new", archive / f"{kept}-9000000000000000.json.0123abcd.new"
        for litter in (half, other):
            litter.write_text('{"id": ')
        assert fleet.dispatches.show(ident).id == ident
        assert [fleet.dispatches.find(given) for given in (ident, ident[:6], "t")] == [ident] * 3
        fleet.sweep.run(kill=False)
        assert half.exists()
        with other.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fleet.sweep.run(kill=True)
            assert sorted(archive.iterdir()) == sorted([whole, other]), "whoever archives the other is at it"
        fleet.sweep.run(kill=True)
        assert list(archive.iterdir()) == [whole]
