"""fleet doctor: what is wrong, and what to do about it."""

import shutil

import pytest


def findings(fleet, **how) -> dict[str, dict]:
    return {found["about"]: found for found in fleet("doctor", "--json", **how).json}


def test_doctor_looks_at_tools_home_disk_store_and_projects(fleet):
    found = findings(fleet)
    expected = [
        "python",
        "git",
        "tmux",
        "home",
        "disk",
        "daemon",
        "agents",
        "hooks",
        "store",
        "notifications",
        "project web",
    ]
    assert list(found) == expected
    assert all(each["ok"] for about, each in found.items() if about != "tmux")
    told = fleet("doctor").out.splitlines()
    assert f"✓ project web: {fleet.where}" in told


def test_what_is_well_needs_no_advice(fleet):
    assert {each["advice"] for each in findings(fleet).values() if each["ok"]} == {""}


def test_a_tool_that_is_missing_is_found_and_the_exit_code_says_so(fleet, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(shutil.which("git"))
    answer = fleet("doctor", env={"PATH": str(tmp_path / "bin")})
    assert (answer.code, answer.err) == (1, "")
    assert "✗ tmux: not installed — install tmux with your package manager" in answer.out.splitlines()


def test_an_old_tool_is_found(fleet, tmp_path):
    (tmp_path / "bin").mkdir()
    for name, says in (("git", "git version 1.8.3"), ("tmux", "tmux 2.9a")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (tmp_path / "bin" / name).chmod(0o755)
    found = findings(fleet, env={"PATH": f"{tmp_path / 'bin'}:/bin:/usr/bin"})
    assert (found["git"]["ok"], found["tmux"]["ok"]) == (False, False)
    assert found["tmux"]["says"] == "2.9, but 3.2 is the least"


@pytest.mark.req("STORE-10")
@pytest.mark.parametrize("folder", ["inbox", "inbox/archive", "handoffs", "dispatches/archive"])
def test_a_file_where_the_home_needs_a_folder_is_found(fleet, folder):
    place = fleet.home / folder
    place.parent.mkdir(exist_ok=True)
    place.write_text("in the way")
    answer = fleet("doctor")
    assert (answer.code, answer.err) == (1, "")
    said = f"✗ folder: {place} is not a folder, and fleet needs one there — move it away; fleet makes the folder itself"
    assert [line for line in answer.out.splitlines() if line.startswith("✗ folder")] == [said]


def test_a_home_that_others_can_read_is_found(fleet):
    fleet.home.chmod(0o755)
    assert findings(fleet)["home"] == {
        "about": "home",
        "ok": False,
        "says": f"{fleet.home} can be read by others",
        "advice": f"chmod 700 {fleet.home}",
    }


def test_a_repository_that_is_gone_is_found(fleet):
    fleet("init").ok()
    shutil.rmtree(fleet.where)
    found = findings(fleet, where=fleet.home)["project web"]
    assert (found["ok"], found["says"]) == (False, f"{fleet.where} is gone")
    assert "fleet project remove web" in found["advice"]


@pytest.mark.req("GRAPH-6")
def test_the_counts_of_blockers_are_right_after_a_life_of_changes(either):
    either.add("a")
    either.add("b", "--after", "a")
    either.add("c", "--after", "a", "--after", "b")
    for words in (
        ["done", "a"],
        ["abandon", "b"],
        ["retry", "a"],
        ["edit", "c", "--not-after", "a"],
        ["fail", "a", "-r", "x"],
    ):
        either("task", *words).ok()
    says = "readable, and every count of open blockers is right"
    assert findings(either)["store"] == {"about": "store", "ok": True, "says": says, "advice": ""}
    blockers = {slug: either.show(slug)["open_blockers"] for slug in "abc"}
    assert blockers == {"a": 0, "b": 1, "c": 0}
