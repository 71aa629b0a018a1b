"""A task may be named as PROJECT/SLUG wherever its slug is taken, and status can be of one project."""

import pytest
from cli.commandline import make_repository


@pytest.fixture
def two(fleet, tmp_path):
    """The projects web, where the person is, and api; each has a task."""
    fleet("project", "add", str(make_repository(tmp_path / "elsewhere")), "--name", "api").ok()
    fleet("task", "add", "Ours", "--slug", "ours").ok()
    fleet("task", "add", "Theirs", "--slug", "theirs", "-p", "api").ok()
    return fleet


@pytest.mark.parametrize(
    "words",
    [
        "task log api/theirs hello",
        "task log api/theirs hello -p api",
        "task log -p api api/theirs hello",
        "task show api/theirs",
        "task why api/theirs",
        "task pause api/theirs",
        "task block api/theirs --reason no",
        "ops -t api/theirs",
        "ops -p api -t api/theirs",
    ],
)
def test_the_project_before_the_slug_is_the_commands_project(two, words):
    answer = two(*words.split()).ok()
    assert "api/theirs" in answer.out or "theirs is ready" in answer.out


def test_a_retry_names_the_task_as_people_do(two):
    two("task", "fail", "api/theirs", "--reason", "no").ok()
    assert two("task", "retry", "api/theirs").ok().out == "api/theirs is open again (it was failed)\n"


@pytest.mark.parametrize(
    "words",
    [
        "task log api/theirs hello -p web",
        "task pause api/theirs -p web",
        "task pause -p web api/theirs",
        "ops -t api/theirs -p web",
        "ops -p web -t api/theirs",
    ],
)
def test_two_projects_are_refused(two, words):
    answer = two(*words.split())
    assert answer.code == 2
    assert "api" in answer.err
    assert "web" in answer.err


def test_a_slug_with_two_slashes_is_no_slug(two):
    assert two("task", "log", "a/b/c", "hello").code == 2


def test_status_of_one_project_leaves_the_others_out(two):
    two("task", "fail", "theirs", "-p", "api", "--reason", "no").ok()
    two("task", "fail", "ours", "--reason", "no").ok()
    page = two("status", "-p", "api", "--json").ok().json
    assert [task["slug"] for task in page["failed"]] == ["theirs"]
    assert [project["name"] for project in page["projects"]] == ["api"]
    assert page["failed"][0]["next_step"]["command"] == "fleet task retry theirs -p api"
    assert "fleet task retry theirs -p api" in two("status", "-p", "api").ok().out
    assert two("status", "-p", "nothing").code == 11
