"""The trash of a home: files are moved aside and back, never copied or overwritten, and only what is in it is deleted."""

import os
from pathlib import Path

import pytest

from fleet.errors.families import Refused
from fleet.world.home import trash


@pytest.fixture
def tree(scene) -> Path:
    made = Path(scene.root, "tree")
    (made / "data").mkdir(parents=True)
    (made / "data" / "one").write_text("one\n")
    (made / "two").write_text("two\n")
    return made


@pytest.mark.req("ADO-11")
def test_what_is_put_aside_comes_back_as_it_was(scene, tree):
    world, number = scene.fleet.world, (tree / "data" / "one").stat().st_ino
    trash.put_aside(world, str(tree), "trash/t1", ["data", "two", "missing"])
    assert (os.listdir(tree), trash.is_there(world, "trash/t1"), trash.count(world, "trash/t1")) == ([], True, (2, 8))
    trash.put_aside(world, str(tree), "trash/t1", ["data", "two"])  # again, after a crash
    assert trash.count(world, "trash/t1") == (2, 8)
    assert trash.put_back(world, str(tree), "trash/t1")
    assert ((tree / "data" / "one").stat().st_ino, (tree / "two").read_text()) == (number, "two\n")
    assert not trash.is_there(world, "trash/t1")
    assert trash.put_back(world, str(tree), "trash/t1"), "there is nothing left to move"


@pytest.mark.req("ADO-11")
def test_nothing_newer_is_overwritten_by_what_comes_back_nor_by_what_goes(scene, tree):
    world = scene.fleet.world
    trash.put_aside(world, str(tree), "trash/t1", ["data", "two"])
    (tree / "data").mkdir()
    (tree / "data" / "one").write_text("newer\n")
    assert not trash.put_back(world, str(tree), "trash/t1"), "not all of it"
    assert ((tree / "data" / "one").read_text(), (tree / "two").read_text()) == ("newer\n", "two\n")
    assert Path(scene.home, "trash/t1/data/one").read_text() == "one\n"
    trash.put_aside(world, str(tree), "trash/t1", ["data/one"])
    kept = sorted(path.read_text() for path in Path(scene.home, "trash/t1/data").iterdir())
    assert kept == ["newer\n", "one\n"]


@pytest.mark.req("ADO-11")
def test_only_a_folder_of_the_trash_is_deleted_also_one_that_may_not_be_written_to(scene, tree):
    world = scene.fleet.world
    trash.put_aside(world, str(tree), "trash/t1", ["data"])
    os.chmod(f"{scene.home}/trash/t1/data", 0o500)
    for folder in ("projects", "trash", "trash/t1/data", "trash/../projects"):
        with pytest.raises(Refused, match="not in the trash"):
            trash.delete(world, folder)
    os.symlink(str(tree), f"{scene.home}/trash/link")
    with pytest.raises(Refused, match="not in the trash"):
        trash.delete(world, "trash/link")
    trash.delete(world, "trash/t1")
    trash.delete(world, "trash/t1")
    assert (os.listdir(f"{scene.home}/trash"), (tree / "two").read_text()) == (["link"], "two\n")
