"""Files that writers who were killed have left half written: swept when nobody writes them any more, and no earlier."""

import os
import signal
import sys
from pathlib import Path

import pytest
from staging.stage import FLEET

from fleet.errors.store import WriteFailed
from fleet.testing.crash.scenarios import until
from fleet.world.files import unfinished
from fleet.world.files.user_file import replacing

WRITER = "from fleet.world.files import unfinished; import sys, time\nprint(*unfinished.begin(sys.argv[1]), flush=True)\ntime.sleep(1000)\n"


def new_files(home: str) -> list[str]:
    return sorted(str(path) for path in Path(home).rglob("*.new"))


def writer(scene, path: Path):
    """A process that has begun a file and does not go on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    child = scene.start(sys.executable, "-c", WRITER, str(path))
    assert child.stdout is not None
    child.stdout.readline()
    return child


@pytest.mark.beneath_funnel
@pytest.mark.req("SWEEP-1")
@pytest.mark.parametrize(
    "name", ["tmux.conf", "jobs/3f2a9c01/report.html", "projects/p/coord-state.json", "logs/x.log"]
)
def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not(scene, name):
    with scene.fleet() as fleet:
        child = writer(scene, Path(scene.home, name))
        (made,) = new_files(scene.home)
        fleet.sweep.run(kill=True)
        assert new_files(scene.home) == [made]
        child.kill()
        child.wait()
        fleet.sweep.run(kill=False)
        assert new_files(scene.home) == [made], "a dry run touches nothing"
        fleet.sweep.run(kill=True)
        assert new_files(scene.home) == []


@pytest.mark.req("SWEEP-1")
def test_a_file_of_a_like_name_in_a_worktree_is_not_fleets(scene):
    scene.forgiven = {"worktrees/t"}
    tree = scene.tree("t") / "work"
    tree.mkdir(parents=True)
    (tree / "a.0123abcd.new").write_text("mine")
    with scene.fleet() as fleet:
        fleet.sweep.run(kill=True)
    assert (tree / "a.0123abcd.new").read_text() == "mine"


@pytest.mark.req("SWEEP-1")
def test_half_a_backup_and_a_link_that_was_not_put_in_place_are_swept(scene):
    backups = Path(scene.home, "backups")
    backups.mkdir(exist_ok=True)
    (backups / "fleet-schema3-1.db.making").write_text("half")
    (backups / "fleet-schema3-1.db.making-journal").write_text("half")
    (backups / "fleet-schema2-1.db").write_text("whole")
    Path(scene.home, "locks").mkdir(exist_ok=True)
    os.symlink(FLEET, f"{scene.home}/locks/fleet.0123abcd0123abcd")
    with scene.fleet() as fleet:
        fleet.sweep.run(kill=True)
    assert [path.name for path in backups.iterdir()] == ["fleet-schema2-1.db"]
    assert not [path for path in Path(scene.home, "locks").iterdir() if path.is_symlink()]


@pytest.mark.beneath_funnel
def test_a_sweep_between_making_and_locking_costs_the_writer_nothing(tmp_path, monkeypatch):
    real = unfinished._lock_temporary
    seen = []

    def late(handle: int) -> None:
        if not seen:
            seen.append(unfinished.discard_abandoned(str(next(tmp_path.iterdir()))))
        real(handle)

    monkeypatch.setattr(unfinished, "_lock_temporary", late)
    name, handle = unfinished.begin(str(tmp_path / "a"))
    assert (seen, os.path.exists(name)) == ([True], True)
    assert not unfinished.discard_abandoned(name)
    os.close(handle)
    assert unfinished.discard_abandoned(name)


@pytest.mark.beneath_funnel
@pytest.mark.req("CLI-1")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_a_file_of_a_persons_own_has_no_litter_beside_it(scene, ending):
    program = (
        "import sys, time\nfrom fleet.world.files.user_file import replacing\n"
        "with replacing(sys.argv[1]) as file:\n  file.write('half')\n  print('begun', flush=True)\n  time.sleep(1000)\n"
    )
    target = Path(scene.root, "export", "tasks.jsonl")
    target.parent.mkdir()
    target.write_text("old")
    child = scene.start(sys.executable, "-c", program, str(target))
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(ending)
    child.wait(60)
    if ending == signal.SIGKILL:  # nobody can tidy up then: the next one who writes it does
        assert len(new_files(str(target.parent))) == 1
        assert scene.program("task", "export", "-p", "p", "-o", str(target)).ok()
    else:
        assert target.read_text() == "old"
    until(lambda: list(target.parent.iterdir()) == [target])


def _write_on_a_full_disk(target: Path) -> None:
    with replacing(str(target)) as file:
        file.write("new")
        raise OSError(28, "No space left on device")


@pytest.mark.beneath_funnel
def test_a_disk_that_takes_nothing_leaves_the_old_file_and_no_litter(tmp_path):
    target = tmp_path / "a"
    target.write_text("old")
    with pytest.raises(WriteFailed):
        _write_on_a_full_disk(target)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
