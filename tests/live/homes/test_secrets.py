"""SEC-5: what fleet was handed as a secret is in no log, operation, journal, export or message."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from staging.raw import select
from staging.stage import Stage

from fleet.model.text.secrets import address, hidden
from fleet.store.migrations import MIGRATIONS
from fleet.testing.crash.scenarios import until

PASSWORD, TOKEN = "pg-s3cr3t", "env-s3cr3t"
JOB = """
name: n
map:
  isolation: none
  input: [one]
  steps: [{shell: "test -n {env.TOKEN}"}]
"""
COMMANDS = [
    ["config", "show"],
    ["doctor"],
    ["status"],
    ["recap"],
    ["ps"],
    ["ops", "--limit", "1000"],
    ["dispatches", "list"],
    ["dispatches", "show", "t"],
    ["claims", "list"],
    ["task", "show", "t"],
    ["task", "export"],
    ["job", "list"],
    ["job", "run", "job.yml", "--dry-run"],
    ["engine", "list"],
]


@pytest.fixture
def secretive(store_url: str) -> Iterator[Stage]:
    """A home whose database has a password in its address, where it has one."""
    url = store_url if store_url == "sqlite" else f"{store_url}&password={PASSWORD}"
    stage = Stage(store=url)
    yield stage
    stage.end()


def tables() -> list[str]:
    """Every table but that of jobs, which keeps the values that a resumed job needs."""
    found = [name for each in MIGRATIONS for name in re.findall(r"CREATE TABLE (\w+)", each.text)]
    return sorted({name.removesuffix("_new") for name in found} - {"jobs"})


def kept(stage: Stage, fleet) -> dict[str, str]:
    """All that fleet keeps, but the settings that the person wrote and the database's own files."""
    paths = (Path(folder, name) for folder, _, names in os.walk(stage.home) for name in names)
    files = {str(path): path for path in paths if path.is_file() and path.name != "config.toml"}
    texts = {name: path.read_text(errors="replace") for name, path in files.items() if "fleet.db" not in name}
    for table in tables():
        texts[table] = repr(fleet.store.read(lambda rows: select(rows, f"SELECT * FROM {table}")))  # noqa: B023
    return texts


@pytest.mark.req("SEC-5")
def test_no_secret_is_kept_or_shown(secretive):
    Path(secretive.repository, "job.yml").write_text(JOB)
    env = secretive.around(TOKEN=TOKEN, ANTHROPIC_API_KEY=TOKEN)
    said = []
    with secretive.fleet() as fleet:
        run = ["run", "Do", "--slug", "t", "--engine", "shell", "--", "sleep", "1000"]
        said.append(secretive.program(*run, env=env))
        who = secretive.launched(fleet, fleet.dispatches.find("t"))
        until(lambda: fleet.world.processes.variable(who, "FLEET_TOKEN"))  # `fleet launch` has become the agent
        token = fleet.world.processes.variable(who, "FLEET_TOKEN")
        assert len(token) == 64
        said.append(secretive.program("job", "run", "job.yml", "--json", env=env))
        ident = said[-1].objects[0]["job"]
        for words in [*COMMANDS, ["job", "show", ident], ["job", "logs", ident]]:
            said += [secretive.program(*words, env=env), secretive.program(*words, "--json", env=env)]
        said.append(secretive.program("kill", "t", "--reason", "enough", env=env))
        assert [each for each in said if each.code not in {0, 1}] == []
        shown = [each for each in said if any(secret in each.out + each.err for secret in (PASSWORD, TOKEN, token))]
        assert shown == []
        found = kept(secretive, fleet)
        assert "operations" in found
        assert [
            name for name, text in found.items() if any(secret in text for secret in (PASSWORD, TOKEN, token))
        ] == []


@pytest.mark.req("SEC-5")
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:secret@localhost:1/fleet",
        "postgresql://localhost:1/fleet?user=ann&password=secret",
        "postgresql://localhost:1/fleet?password=se@secret",
        "postgresql://ann:se/secret@localhost:1/fleet",
        "postgresql://ann:se?secret@localhost:1/fleet",
        "postgresql://ann:secret@localhost:port/fleet",
        "postgres+x://ann:secret@localhost/fleet",
        "mysql://ann:secret@localhost/fleet",
    ],
)
def test_a_password_is_in_no_message_however_the_address_is_written(scene, url):
    Path(scene.home, "config.toml").write_text(f'store = "{url}"\n')
    said = [scene.program(*words) for words in (["status"], ["status", "--json"], ["config", "show"], ["doctor"])]
    scene.forgiven.add("everything")
    Path(scene.home, "config.toml").write_text("")
    assert "secret" not in "".join(each.out + each.err for each in said), said
    assert all(each.code in {1, 2} for each in said if "SETTING" not in each.out)


@pytest.mark.req("SEC-5")
def test_a_token_in_the_address_of_a_remote_is_in_no_message():
    told = "fatal: unable to access 'https://x:ghp_secret@github.com/a/b/': no (see https://ghp_secret@h/x)"
    assert hidden(told) == "fatal: unable to access 'https://…@github.com/a/b/': no (see https://…@h/x)"
    assert hidden("ssh://git@github.com/a/b") == "ssh://git@github.com/a/b"
    assert hidden("https://docs.example.com/a?b=c") == "https://docs.example.com/a?b=c"
    assert address("postgresql:///fleet?host=/run") == "postgresql:///fleet?…"
    assert address("postgresql://ann:se?secret@localhost:1/fleet") == "postgresql://…"
    assert address("secret") == "…"
