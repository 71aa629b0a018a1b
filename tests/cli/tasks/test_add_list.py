"""fleet add: a title, or a Markdown list, all or nothing."""

import pytest

PLAN = b"""\
# Sprint

- [ ] Design the API
      Use REST.
  - [ ] Write the server
  - [ ] Write the client
    - [ ] Test the client
- [x] Buy milk
- [ ] Write the docs
"""


def tasks(fleet) -> dict:
    return {slug: fleet.show(slug) for slug in (task["slug"] for task in fleet.ask("task", "list"))}


@pytest.mark.req("CLI-2")
def test_a_list_becomes_tasks_and_an_indented_item_comes_after_the_one_above(either):
    said = either("add", "-", stdin=PLAN).ok().out
    found = tasks(either)
    assert {slug: task["after"] for slug, task in found.items()} == {
        "design-the-api": [],
        "write-the-server": ["design-the-api"],
        "write-the-client": ["design-the-api"],
        "test-the-client": ["write-the-client"],
        "write-the-docs": [],
    }
    assert found["design-the-api"]["description"] == "Use REST."
    assert said.splitlines()[0] == "added 5 tasks to web (2 lines left out: ticked, or not items)"
    assert "  ├─ · write-the-server" in said
    assert [task["slug"] for task in either.ask("task", "ready")] == ["design-the-api", "write-the-docs"]


@pytest.mark.req("CLI-2")
def test_a_file_of_that_name_is_read_and_its_tasks_get_what_is_said_for_all(either):
    (either.where / "plan.md").write_bytes(PLAN)
    either.add("first")
    done = either.ask(
        "add", "plan.md", "--tag", "sprint", "--priority", "3", "--after", "first", "--verify", "make test"
    )
    assert len(done["tasks"]) == 5
    found = tasks(either)
    assert found["design-the-api"]["after"] == ["first"], "what waits for no other item waits for it"
    assert found["write-the-server"]["after"] == ["design-the-api"]
    assert {(task["priority"], *task["tags"], task["verify"]) for slug, task in found.items() if slug != "first"} == {
        (3, "sprint", "make test")
    }


@pytest.mark.req("CLI-2")
def test_all_or_nothing_with_the_line_of_each_fault(either):
    before = either.everything()
    long = "x" * 501
    said = either("add", "-", stdin=f"- good\n- {long}\n  - below\n- {long}\n".encode()).refused(14, "line 2", "line 4")
    assert "501" in said.err
    either("add", "-", "--after", "nobody", stdin=PLAN).refused(11, "nobody")
    either("add", "-", "--after", "nobody", "--dry-run", stdin=PLAN).refused(11, "nobody")
    either("add", "-", stdin=b"no items here\n").refused(2, "no items")
    assert either.everything() == before


def test_a_dry_run_shows_the_same_and_changes_nothing(either):
    before = either.everything()
    planned = either.ask("add", "-", "--dry-run", stdin=PLAN)
    assert either.everything() == before
    assert (planned["dry_run"], planned["left_out"]) == (True, 2)
    assert either.ask("add", "-", stdin=PLAN)["tasks"] == planned["tasks"]


def test_titles_that_are_taken_get_a_number_and_children_follow_their_own_parent(either):
    either("add", "Build").ok()
    done = either.ask("add", "-", stdin=b"- Build\n  - Test\n- Build\n  - Test\n")
    assert [(task["slug"], task["after"]) for task in done["tasks"]] == [
        ("build-2", []),
        ("test", ["build-2"]),
        ("build-3", []),
        ("test-2", ["build-3"]),
    ]


def test_a_title_is_one_task_and_takes_the_options_of_one(either):
    either.add("first")
    said = either(
        "add", "Fix the login page", "-d", "All of it.", "--after", "first", "--not-before", "2099-01-01"
    ).ok()
    assert said.out == "added web/fix-the-login-page, after first\n"
    shown = either.show("fix-the-login-page")
    assert (shown["description"], shown["after"], shown["not_before"][:4]) == ("All of it.", ["first"], "2099")
    operation = either("ops", "--json", "--limit", "1").ok().objects[0]
    assert (operation["slug"], operation["why"]) == ("fix-the-login-page", "add web/fix-the-login-page")


def test_the_description_of_a_title_may_come_from_standard_input(either):
    either("add", "Fix the login page", "-d", "-", stdin="Alles.\nÜberall.\n".encode()).ok()
    assert either.show("fix-the-login-page")["description"] == "Alles.\nÜberall."


def test_a_title_that_ends_like_a_file_is_a_title_when_there_is_none(fleet):
    assert fleet("add", "Write README.md").ok().out == "added web/write-readme-md\n"


def test_one_list_under_one_key_is_added_once(either):
    first = either.ask("add", "-", "--key", "sprint", stdin=PLAN)
    assert either.ask("add", "-", "--key", "sprint", stdin=PLAN) == first
    assert len(either.ask("task", "list")) == 5
    either("add", "-", "--key", "sprint", stdin=b"- another\n").refused(14, "sprint")


def test_what_does_not_fit_a_list_is_refused(fleet):
    (fleet.where / "plan.md").write_bytes(b"- caf\xe9\n")
    fleet("add", "plan.md").refused(2, "UTF-8")
    fleet("add", "-", "-d", "words", stdin=PLAN).refused(2, "--description")


@pytest.mark.req("CLI-2")
def test_braces_name_what_an_item_waits_for_in_the_list_or_in_the_project_and_its_model(either):
    either.add("before")
    plan = b"- Ship it {after: api, before}\n  - Tell all {after: api}\n- Design the API {slug: api} {model: haiku}\n"
    either("add", "-", "--model", "opus", stdin=plan).ok()
    found = tasks(either)
    assert {slug: (sorted(task["after"]), task["model"]) for slug, task in found.items() if slug != "before"} == {
        "ship-it": (["api", "before"], "opus"),
        "tell-all": (["api", "ship-it"], "opus"),
        "api": ([], "haiku"),
    }
    assert [task["slug"] for task in either.ask("task", "ready")] == ["before", "api"]


@pytest.mark.req("CLI-2", "GRAPH-7")
def test_braces_that_name_nothing_a_cycle_or_a_taken_slug_add_nothing(either):
    either.add("taken")
    before = either.everything()
    either("add", "-", stdin=b"- a\n- b {after: nobody}\n").refused(14, "line 2", "'nobody' is neither")
    either("add", "-", stdin=b"- a {after: b}\n- b {after: a}\n").refused(14, "a → b → a")
    either("add", "-", stdin=b"- a {slug: taken}\n").refused(14, "taken")
    either("add", "-", stdin=b"- a {model: --yolo}\n").refused(14, "line 1", "model")
    assert either.everything() == before
