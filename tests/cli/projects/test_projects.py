"""Projects: registered, listed, shown, forgotten; and how fleet knows which one is meant."""

import os
import re
import subprocess

import pytest
from cli.commandline import make_repository


def test_a_repository_is_registered_under_its_own_name_and_the_same_again_is_fine(fleet, repository):
    assert fleet("init").ok().out == f"project web is {repository} (it was already)\n"
    assert fleet("project", "add", str(repository)).ok().out == f"project web is {repository} (it was already)\n"
    assert (repository / ".git").is_dir()
    assert [path.name for path in repository.iterdir()] == [".git"]


def test_a_place_inside_the_repository_or_a_worktree_of_it_means_the_same_project(fleet, repository, tmp_path):
    git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", tmp_path / "tree"], check=True, capture_output=True)
    (repository / "deep" / "down").mkdir(parents=True)
    for place in (repository / "deep" / "down", tmp_path / "tree"):
        assert fleet("init", where=place).ok().out == f"project web is {repository} (it was already)\n"
    assert fleet("task", "list", where=repository / "deep" / "down").ok().out == "no tasks\n"


def test_a_submodule_is_a_repository_of_its_own(fleet, repository, tmp_path):
    """Its git directory lies inside that of the other; its checkout does not."""
    inner = make_repository(tmp_path / "inner")
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", inner, *who, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    subprocess.run(["git", "-C", repository, *who, "submodule", "--quiet", "add", inner, "part"], check=True)
    assert fleet.ask("init", where=repository / "part") == {"name": "part", "path": f"{repository}/part", "new": True}


def test_projects_are_listed_and_shown_with_their_counts(fleet, tmp_path):
    fleet.add("a")
    fleet.add("b", "--after", "a")
    fleet("task", "fail", "a", "-r", "no").ok()
    [head, row] = fleet("project", "list").ok().out.splitlines()
    assert head.split() == ["NAME", "READY", "OPEN", "WORKING", "DONE", "TROUBLE", "PATH"]
    assert row.split() == ["web", "0", "1", "0", "0", "1", str(fleet.where)]
    assert "failed       1" in fleet("project", "show", "web").ok().out
    [project] = fleet.ask("project", "list")
    assert project == fleet.ask("project", "show", "web")


def test_nothing_registered_says_how_to_begin(fleet, tmp_path):
    new = {"FLEET_HOME": str(tmp_path / "new")}
    listed, status = fleet("project", "list", env=new).ok().out, fleet("status", env=new).ok().out
    assert listed == "no projects yet: `fleet init` in a repository registers it\n"
    assert status == "no projects yet: run `fleet up` in a repository\n"


def test_outside_of_every_project_one_has_to_be_named(fleet, tmp_path):
    fleet("task", "list", where=tmp_path).refused(2, "no project", str(tmp_path), "-p PROJECT", "fleet init")
    assert fleet("task", "list", "-p", "web", where=tmp_path).ok().out == "no tasks\n"
    assert fleet("task", "list", env={"FLEET_PROJECT": "web"}, where=tmp_path).ok().out == "no tasks\n"


def test_an_empty_project_name_is_a_mistake_not_a_default(fleet):
    """`-p "$PROJECT"` with PROJECT unset must not act on whatever is here."""
    fleet.add("a")
    fleet("task", "log", "a", "hi", "-p", "").refused(2, "project name", "empty")
    fleet("task", "list", "-p", "").refused(2, "project name", "empty")


def test_an_unknown_project_is_absent(fleet):
    for words in (["task", "list"], ["task", "ready"], ["task", "graph"], ["task", "export"], ["config", "show"]):
        fleet(*words, "-p", "wbe").refused(11, "'wbe'", "fleet project list")
    fleet("project", "show", "wbe").refused(11, "'wbe'")
    fleet("project", "remove", "wbe").refused(11, "'wbe'")
    fleet("task", "add", "x", "-p", "wbe").refused(11, "'wbe'")


def test_a_name_or_a_repository_belongs_to_one_project(fleet, repository, tmp_path):
    other = make_repository(tmp_path / "other")
    fleet("project", "add", str(other), "--name", "web").refused(14, str(repository), "'web'", "fleet project show web")
    fleet("project", "add", str(repository), "--name", "other").refused(14, str(repository), "'web'")


def test_what_is_not_a_repository_is_refused(fleet, tmp_path):
    (tmp_path / "plain").mkdir()
    fleet("init", str(tmp_path / "plain")).refused(14, str(tmp_path / "plain"), "git init")
    fleet("init", str(tmp_path / "absent")).refused(14, str(tmp_path / "absent"))


def test_a_repository_whose_path_is_no_text_is_refused_in_one_line(fleet, program, tmp_path):
    strange = os.fsencode(tmp_path) + b"/caf\xe9"
    subprocess.run(["git", "init", "--quiet", strange], check=True)
    program("init", strange, "--name", "cafe").refused(2)
    program("init", "--name", "cafe", where=strange).refused(2, "not valid UTF-8")


def test_a_project_with_tasks_is_forgotten_only_when_that_is_said_and_they_are_kept(fleet):
    fleet.add("a")
    fleet("project", "remove", "web").refused(14, "1 task", "--with-tasks")
    fleet("task", "claim", "a").ok()
    fleet("project", "remove", "web", "--with-tasks").refused(14, "in progress", "fleet project remove web --yes")
    fleet("task", "unclaim", "a").ok()
    exported = fleet("task", "export").ok().out
    answer = fleet.ask("project", "remove", "web", "--with-tasks")
    assert fleet.ask("project", "list") == []
    fleet("init").ok()
    fleet("task", "import", answer["kept"]).ok()
    assert fleet("task", "export").ok().out == exported


@pytest.mark.parametrize("name", ["Web", "a/b", "..", ".x", "-x", "a" * 41, ""])
def test_a_name_that_could_be_no_directory_is_refused(name, fleet, tmp_path):
    other = make_repository(tmp_path / "other")
    fleet("project", "add", str(other), f"--name={name}").refused(2, "project name")


def test_status_shows_trouble_and_work_before_the_counts(fleet):
    for slug in ("good", "bad", "busy"):
        fleet.add(slug)
    fleet("task", "fail", "bad", "--reason", "two\nlines").ok()
    fleet("task", "claim", "busy", "--as", "bob").ok()
    lines = fleet("status").ok().out.splitlines()
    assert lines[:3] == ["Failed 1", "  web/bad  two lines", "      fleet task retry bad -p web"]
    assert lines[4] == "Working 1"
    assert re.fullmatch(r"  bob claimed \(store, \d+s\)  web/busy  The busy", lines[5])
    assert lines[-1].split() == [
        "web",
        "1",
        "0",
        "1",
        "1",
        "0",
        *["dispatches:", "0", "active,", "0", "blocked-reclaim"],
    ]
