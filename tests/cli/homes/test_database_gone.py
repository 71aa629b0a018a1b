"""A home remembers that it has a database: an empty one is never made in its place without a person's word."""

import json
import os
import subprocess

import pytest
from cli.commandline import FLEET


@pytest.mark.req("STORE-15")
def test_a_deleted_database_is_not_no_projects_yet(fleet):
    fleet.add("a")
    os.rename(fleet.home / "fleet.db", fleet.home / "kept.db")
    told = (str(fleet.home), "fleet.db is not there", "restore-a-backup.md", "new-database")
    for words in (["status"], ["task", "list"], ["add", "b"], ["clean", "--yes"]):
        fleet(*words).refused(1, *told)
    found = {each["about"]: each for each in fleet("doctor", "--json").json}["store"]
    assert all(word in f"{found['says']} {found['advice']}" for word in told)
    assert not (fleet.home / "fleet.db").exists()
    os.rename(fleet.home / "kept.db", fleet.home / "fleet.db")
    assert [each["slug"] for each in fleet.ask("task", "list")] == ["a"]


@pytest.mark.req("STORE-15")
def test_a_person_may_begin_with_a_new_one_and_that_is_the_first_operation(fleet):
    fleet.add("a")
    fleet("home", "new-database", "--reason", "a test").refused(14, "has its database")
    os.unlink(fleet.home / "fleet.db")
    (fleet.home / "fleet.db-wal").unlink(missing_ok=True)
    (fleet.home / "fleet.db-shm").unlink(missing_ok=True)
    before = json.loads((fleet.home / "home.json").read_text())
    fleet("home", "new-database", "--reason", "there is no backup").ok()
    assert [each["why"] for each in fleet("ops", "--json").ok().objects] == [
        "begin with a new database: there is no backup"
    ]
    assert json.loads((fleet.home / "home.json").read_text()) == before, "it is the same home"
    fleet("status").ok()


@pytest.mark.req("STORE-15")
def test_a_home_whose_settings_name_another_store_than_it_has_says_so(fleet):
    fleet.add("a")
    record = json.loads((fleet.home / "home.json").read_text())
    (fleet.home / "home.json").write_text(json.dumps(record | {"database": "postgresql"}))
    fleet("status").ok()
    assert json.loads((fleet.home / "home.json").read_text())["database"] == "sqlite", "a store that is there is used"
    (fleet.home / "home.json").write_text(json.dumps(record | {"database": "postgresql"}))
    os.rename(fleet.home / "fleet.db", fleet.home / "kept.db")
    fleet("status").refused(1, "postgresql", "config.toml")
    os.rename(fleet.home / "kept.db", fleet.home / "fleet.db")


@pytest.mark.req("STORE-15")
def test_a_home_record_that_cannot_be_understood_is_refused_and_kept(fleet):
    fleet.add("a")
    before = (fleet.home / "home.json").read_text()
    kept = fleet.home / "locks" / "home.json"
    assert kept.read_text() == before
    for each in (kept, fleet.home / "home.json"):
        each.write_text('{"id": ')
    fleet("status").refused(1, "home.json cannot be understood")
    assert (fleet.home / "home.json").read_text() == '{"id": '
    kept.write_text(before)
    fleet("status").ok()
    assert (fleet.home / "home.json").read_text() == before


@pytest.mark.req("STORE-15")
def test_a_home_is_shown_and_its_record_is_private(fleet):
    fleet.add("a")
    shown = fleet.ask("home", "show")
    assert (shown["path"], shown["database"], shown["moved"], len(shown["id"])) == (
        str(fleet.home),
        "sqlite",
        False,
        12,
    )
    assert (fleet.home / "home.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("STORE-15")
@pytest.mark.parametrize("mark", ["FLEET_DISPATCH_ID", "FLEET_RUNNER_OF"])
def test_what_an_agent_started_begins_with_no_new_database(fleet, mark):
    fleet.add("a")
    os.rename(fleet.home / "fleet.db", fleet.home / "kept.db")
    words = f"env -u {mark} {FLEET} home new-database --reason mine; exit $?"
    around = {**os.environ, "FLEET_HOME": str(fleet.home), mark: "20261115-000000-abcd"}
    said = subprocess.run(["sh", "-c", words], env=around, cwd=fleet.where, capture_output=True, text=True, check=False)
    assert (said.returncode, "only a person" in said.stderr) == (14, True), said
    assert not (fleet.home / "fleet.db").exists()


@pytest.mark.req("STORE-15")
@pytest.mark.parametrize("what", ["folder", "pipe"])
def test_a_database_that_is_no_file_is_called_that(fleet, what):
    fleet.add("a")
    path = fleet.home / "fleet.db"
    os.rename(path, fleet.home / "kept.db")
    path.mkdir() if what == "folder" else os.mkfifo(path)
    said = fleet("task", "list").refused(1, str(path), "not a regular file")
    assert "space" not in said.err
