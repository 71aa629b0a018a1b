"""Where the environment of agents comes from: the asking person, or what `fleet up` kept; and that it goes with the launch."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from fleet.api.fleet import Fleet
from fleet.errors.given import BadSetting
from fleet.errors.refused import EngineMissing, VariablesMissing
from fleet.model.results.dispatches import ResumedMany
from fleet.model.results.projects import Chosen
from fleet.surfaces.cli.commands.projects.up import up as up_command
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.homes import environment
from fleet.verbs.jobs import records
from fleet.verbs.jobs.items.run_step import Where, agent_environment
from fleet.world.home import paths
from fleet.world.world import UNATTENDED, World

ENGINE = (
    'summary = "mine"\nprogram = "sleep"\nstart = ["{program}", "1000"]\npass = ["MY_KEY"]\nrequire = ["MY_NEED"]\n'
)
COORDINATOR = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


@pytest.fixture
def mine(scene: SimulatedScene) -> SimulatedScene:
    os.mkdir(f"{scene.home}/engines")
    Path(scene.home, "engines/mine.toml").write_text(ENGINE)
    Path(scene.repository, "fleet.toml").write_text('engine = "mine"\n')
    for slug in ("a", "b"):
        scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    return scene


@contextlib.contextmanager
def shell(**variables: str) -> Iterator[None]:
    """The environment of a person's shell."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "USER") if name in os.environ}
    with patch.dict(os.environ, kept | {"MY_NEED": "needed"} | variables, clear=True):
        yield


def start(scene: SimulatedScene, slug: str) -> str:
    return scene.fleet.dispatches.start(Wanted(project=PROJECT, slug=slug)).id


def waiting(scene: SimulatedScene, ident: str) -> Path:
    return Path(scene.home, paths.agent_environment(ident))


def database(scene: SimulatedScene) -> bytes:
    return b"".join(path.read_bytes() for path in Path(scene.home).glob("fleet.db*"))


def test_a_persons_dispatch_takes_what_the_engine_names_from_the_persons_shell(mine):
    with shell(MY_KEY="first-secret", OTHER="not named"):
        first = start(mine, "a")
    assert stat.S_IMODE(waiting(mine, first).stat().st_mode) == 0o600
    with shell(MY_KEY="exported-later"):
        second = start(mine, "b")
    agents = [mine.launch(ident) for ident in (first, second)]
    assert [agent.environment["MY_KEY"] for agent in agents] == ["first-secret", "exported-later"]
    assert "OTHER" not in agents[0].environment
    assert agents[0].environment["FLEET_DISPATCH_ID"] == first
    assert not waiting(mine, first).exists()
    assert b"first-secret" not in database(mine)
    assert b"exported-later" not in database(mine)


def test_what_the_tmux_server_has_decides_nothing(mine):
    with shell():
        ident = start(mine, "a")
    mine.pane(ident).process.environment["MY_KEY"] = "of the server"
    assert "MY_KEY" not in mine.launch(ident).environment


def test_a_launch_that_never_came_leaves_no_file(mine):
    with shell(MY_KEY="secret"):
        ident = start(mine, "a")
    assert waiting(mine, ident).exists()
    assert mine.fleet.dispatches.kill(ident, "a test").settled
    assert not waiting(mine, ident).exists()
    assert [each for each in mine.fleet.sweep.run(kill=True) if each.done] == []


def up(scene: SimulatedScene, **variables: str) -> None:
    with shell(**variables):
        scene.fleet.projects.begin(PROJECT, Chosen(engine="mine", autonomy="ask", review="none"))


def test_a_tick_takes_what_the_last_fleet_up_kept_not_the_first(mine):
    coordinator = str(mine.fleet.coord.start(COORDINATOR).id)
    with shell(MY_KEY="of the first hour", PATH=os.environ["PATH"]):
        mine.launch(coordinator)
    mine.agent(coordinator).environment["MY_KEY"] = "of the first hour"
    up(mine, MY_KEY="of-fleet-up", OTHER="not named")
    kept = Path(mine.home, paths.KEPT_ENVIRONMENT)
    assert (stat.S_IMODE(kept.stat().st_mode), "not named" in kept.read_text()) == (0o600, False)
    with mine.speaking(coordinator) as fleet:
        fleet.coord.tick(PROJECT)
        ident = fleet.dispatches.find("a")
    assert mine.launch(ident).environment["MY_KEY"] == "of-fleet-up"
    up(mine)
    with mine.speaking(coordinator) as fleet:
        assert "MY_KEY" not in environment.environment_of_agent(fleet.context, fleet.engines.show("mine"))


def test_a_command_that_fleet_started_by_itself_is_no_person(mine):
    up(mine, MY_KEY="kept")
    with shell(MY_KEY="of an agent", **{UNATTENDED: "1"}):
        assert environment.environment_of_agent(mine.fleet.context, mine.fleet.engines.show("mine"))["MY_KEY"] == "kept"


def test_the_persons_file_counts_over_what_was_kept_and_behind_the_shell(mine):
    file = Path(mine.root, "agents.env")
    file.write_text("# mine\nexport MY_KEY='in the file'\nMY_NEED=\"needed\"\n")
    file.chmod(0o600)
    with open(f"{mine.home}/config.toml", "a") as settings:
        settings.write(f'[environment]\nfile = "{file}"\n')
    up(mine, MY_KEY="kept")
    engine = mine.fleet.engines.show("mine")
    with shell(MY_KEY="of the shell"):
        asked = environment.environment_of_agent(mine.fleet.context, engine)
        ticked = environment.environment_of_agent(mine.fleet.context, engine, ticks=True)
    assert (asked["MY_KEY"], asked["MY_NEED"], ticked["MY_KEY"]) == ("of the shell", "needed", "in the file")
    file.chmod(0o644)
    with shell(), pytest.raises(BadSetting, match="others may read it"):
        start(mine, "a")
    file.chmod(0o600)
    file.write_text("s3cret value\n")
    with shell(), pytest.raises(BadSetting) as refused:
        start(mine, "a")
    assert "s3cret" not in str(refused.value)


def test_no_agent_is_started_without_what_its_engine_requires(mine):
    with shell(MY_NEED=""), pytest.raises(VariablesMissing, match="agents on mine lack MY_NEED"):
        start(mine, "a")
    assert mine.fleet.dispatches.list() == []


def test_what_is_required_and_missing_is_said_by_name_in_status(mine):
    with open(f"{mine.home}/config.toml", "a") as settings:
        settings.write('[environment]\npass = ["GH_TOKEN", "NPM_*"]\n')
    up(mine, MY_NEED="value-of-need")
    (obstacle,) = mine.fleet.views.status().in_the_way
    assert obstacle.kind == "VariablesMissing"
    assert "agents on mine lack GH_TOKEN: not set where" in obstacle.text
    assert "MY_NEED" not in obstacle.text
    up(mine, MY_NEED="value-of-need", GH_TOKEN="value-of-token")
    assert mine.fleet.views.status().in_the_way == []


def test_the_program_is_looked_for_on_the_path_that_the_agent_gets(mine):
    folder = Path(mine.root, "bin")
    folder.mkdir()
    (folder / "my-agent").symlink_to("/bin/sleep")
    Path(mine.home, "engines/mine.toml").write_text(ENGINE.replace('"sleep"', '"my-agent"'))
    up(mine)
    with shell(**{UNATTENDED: "1"}), pytest.raises(EngineMissing):
        start(mine, "a")
    up(mine, PATH=f"{folder}:{os.environ['PATH']}")
    with shell(**{UNATTENDED: "1"}):
        ident = start(mine, "a")
    assert mine.launch(ident).words == (f"{folder}/my-agent", "1000")


def test_a_broken_file_of_another_engine_keeps_nobody_from_starting(mine):
    Path(mine.home, "engines/other.toml").write_text("program = [")
    up(mine, MY_KEY="kept")
    with shell(**{UNATTENDED: "1"}):
        assert mine.launch(start(mine, "a")).environment["MY_KEY"] == "kept"


def test_a_file_of_variables_that_cannot_be_read_is_an_error_and_not_an_empty_one(mine):
    up(mine, MY_KEY="kept")
    Path(mine.home, paths.KEPT_ENVIRONMENT).write_text("{")
    with shell(**{UNATTENDED: "1"}), pytest.raises(BadSetting, match="cannot be read"):
        start(mine, "a")


@pytest.mark.parametrize("own", [True, False])
def test_an_agent_step_of_a_job_gets_only_what_its_engine_and_the_person_name(mine, own):
    with open(f"{mine.home}/config.toml", "a") as settings:
        settings.write('[environment]\npass = ["GH_*"]\n')
    where = Where(home=mine.home, job="0a0b0c0d", project=PROJECT, item="i", attempt=1, cwd=mine.repository, own=own)
    given = {"MY_KEY": "key", "GH_TOKEN": "token", "OTHER": "not named", "FLEET_TASK": "of another", "GIT_DIR": "there"}
    with shell(**given):
        env = agent_environment(mine.fleet.context, mine.fleet.engines.show("mine"), where)
    assert (env["MY_KEY"], env["GH_TOKEN"], env["MY_NEED"]) == ("key", "token", "needed")
    assert not {"OTHER", "FLEET_TASK", "GIT_DIR"} & env.keys()
    told = {"FLEET_HOME": mine.home, "FLEET_PROJECT": PROJECT, "FLEET_JOB": "0a0b0c0d", "FLEET_ITEM": "i"}
    assert told.items() <= env.items()


@pytest.mark.parametrize("attended", [True, False])
def test_a_job_that_a_person_resumes_gets_that_persons_variables(mine, attended):
    home = mine.fleet.world.record.id
    job = records.NewJob(
        id="0a0b0c0d", project=PROJECT, name="j", source="name: j\n", folder="/", parameters={}, home=home
    )
    mine.fleet.commit(records.create(job, ()))
    with shell(**({} if attended else {UNATTENDED: "1"})):
        assert mine.fleet.dispatches.resume_all().jobs == ["0a0b0c0d"]
    assert mine.machine.started == [("resume", "0a0b0c0d")]
    assert mine.machine.started_for_person == ([("resume", "0a0b0c0d")] if attended else [])


@pytest.mark.parametrize("for_person", [True, False])
def test_what_fleet_starts_for_a_person_is_not_unattended(mine, monkeypatch, for_person):
    passed: list[dict[str, str]] = []
    world = mine.fleet.world
    monkeypatch.setattr(world.programs, "start_detached", lambda _effect, _words, *, env, cwd: passed.append(env))  # noqa: ARG005
    with shell(MY_KEY="of the person", FLEET_DISPATCH_ID="0a0b0c0d"):
        World.start_fleet(world, "resume", "x", for_person=for_person)
    (env,) = passed
    assert (env["MY_KEY"], UNATTENDED in env, "FLEET_DISPATCH_ID" in env) == ("of the person", not for_person, False)


def test_up_keeps_the_new_variables_before_it_resumes_anybody(mine, monkeypatch):
    up(mine, MY_KEY="old")
    part, kept = type(mine.fleet.dispatches), []

    def resume_all(_part, _project):
        kept.append("new-key" in Path(mine.home, paths.KEPT_ENVIRONMENT).read_text())
        return ResumedMany(resumed=[], waiting=[], jobs=[])

    monkeypatch.setattr(part, "resumable", lambda _part, _project: [SimpleNamespace(interrupted=True)])
    monkeypatch.setattr(part, "resume_all", resume_all)
    monkeypatch.setattr(Fleet, "open", lambda **_given: contextlib.nullcontext(mine.fleet))
    with shell(MY_KEY="new-key"):
        said = CliRunner().invoke(up_command, [mine.repository, "--yes", "--json"], catch_exceptions=False)
    assert (said.exit_code, kept) == (0, [True]), said.output
