"""SEC-3: at the socket for agents, a real agent reads what its role needs about its own project, and nothing else."""

import inspect
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live.homes.test_sandbox import asked, end_by_itself, person, serve  # noqa: F401 - fixtures
from staging.stage import Stage

from fleet.api.fleet import PARTS, Fleet, part_class
from fleet.errors.absent import NoSuchDispatch
from fleet.model.agents.actors import TOKEN
from fleet.model.agents.reads import READS
from fleet.model.agents.roles import ACTS
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

SECRET = "only the screen of another says this"
OTHER = "q"


@pytest.fixture
def doored(tmux: None, person: Path) -> Iterator[Stage]:  # noqa: F811
    """A home whose agents have only the socket, with its daemon, and a second project."""
    stage = Stage(settings='agents.door = "socket"\nnotify.command = ["a-secret-of-the-settings"]\n')
    daemon = serve(stage)
    shutil.copytree(stage.repository, f"{stage.root}/second")
    with stage.fleet() as fleet:
        fleet.projects.register(f"{stage.root}/second", OTHER)
        fleet.tasks.add(project=OTHER, title="Hidden", slug="hidden")
    yield stage
    end_by_itself(daemon)
    stage.end()


def sleeping(stage: Stage, fleet: Fleet, slug: str | None, *, project: str = PROJECT, kind: str = "worker") -> str:
    """An agent that shows a line and sleeps."""
    lines = ("sh", "-c", f"echo '{SECRET}'; exec sleep 1000")
    if slug is not None and not any(task.slug == slug for task in fleet.tasks.list(project=project)):
        fleet.tasks.add(project=project, title=slug, slug=slug)
    wanted = Wanted(project=project, slug=slug, kind=kind, engine="shell", command=lines)  # type: ignore[arg-type]
    ident = (fleet.dispatches.start if slug else fleet.coord.start)(wanted).id
    stage.launched(fleet, ident)
    stage.shows(fleet, ident, SECRET)
    return ident


def caller_of(stage: Stage, fleet: Fleet, ident: str) -> dict[str, Any]:
    who = stage.launched(fleet, ident)
    return {"dispatch": ident, "token": fleet.world.processes.variable(who, TOKEN)}


def other_methods() -> list[str]:
    """Every public method of the parts that is no act."""
    parts = ((name, part_class(name)) for name in PARTS)
    found = [f"{name}.{each}" for name, part in parts for each, _ in inspect.getmembers(part, inspect.isfunction)]
    return [method for method in found if "._" not in method and method not in ACTS]


@pytest.mark.req("SEC-3", "SEC-2")
def test_a_worker_reads_nothing_but_the_tasks_of_its_project(doored):
    with doored.fleet() as fleet:
        other = sleeping(doored, fleet, "other")
        ident = sleeping(doored, fleet, "t")
        caller = caller_of(doored, fleet, ident)
        needed = {name for name, read in READS.items() if "worker" in read.roles}
        for method in other_methods():
            names = ("ident", "name", "project", "given")
            told = asked(doored, method, dict.fromkeys(names, other), caller)
            assert told["error"]["code"] in ({2} if method in needed else {2, 14}), (method, told)
        arguments = {"ident": other, "history": True}
        refused = [
            asked(doored, "agents.screen", arguments, caller),
            asked(doored, "settings.read", {}, caller),
            asked(doored, "operations.list", {"which": {}, "limit": 9}, caller),
            asked(doored, "dispatches.show", {"ident": other}, caller),
            asked(doored, "messages.questions", {}, caller),
            asked(doored, "views.status", {}, caller),
            asked(doored, "tasks.show", {"project": OTHER, "slug": "hidden"}, caller),
            asked(doored, "tasks.list", {"project": OTHER}, caller),
            asked(doored, "projects.remote_control", {"project": PROJECT}, caller),
            asked(doored, "graph.export", {"project": OTHER}, caller),
            asked(doored, "command", {"words": ["task", "list", "-p", OTHER, "--json"]}, caller),
            asked(doored, "command", {"words": ["ps", "--json"]}, caller),
            asked(doored, "command", {"words": ["status", "--json"]}, caller),
        ]
        codes = [told["error"]["code"] if "error" in told else told["result"]["code"] for told in refused]
        assert codes == [14] * len(refused), refused
        assert "Hidden" not in json.dumps(refused)
        assert asked(doored, "tasks.show", {"project": PROJECT, "slug": "other"}, caller)["result"]["slug"] == "other"
        shown = asked(doored, "command", {"words": ["task", "show", "t", "-p", PROJECT, "--json"]}, caller)
        assert shown["result"]["code"] == 0, shown
        missing = asked(doored, "command", {"words": ["task", "show", "othr", "-p", PROJECT]}, caller)["result"]
        assert (missing["code"], "other" in missing["err"]) == (11, True), missing
        for each in (ident, other):
            fleet.dispatches.kill(each, "over")


@pytest.mark.req("SEC-3", "SEC-2")
def test_a_coordinator_reads_about_its_project_and_no_other(doored):
    with doored.fleet() as fleet:
        own, foreign = sleeping(doored, fleet, "t"), sleeping(doored, fleet, "hidden", project=OTHER)
        coordinator = sleeping(doored, fleet, None, kind="coord")
        caller = caller_of(doored, fleet, coordinator)
        assert SECRET in asked(doored, "agents.screen", {"ident": own}, caller)["result"]
        assert asked(doored, "dispatches.find", {"given": "t"}, caller)["result"] == own
        for words in (["status", "--json"], ["ps", "--json"]):
            told = asked(doored, "command", {"words": words}, caller)["result"]
            assert (told["code"], own in told["out"], foreign in told["out"]) == (0, True, False), told
        told = [
            asked(doored, "agents.screen", {"ident": foreign}, caller),
            asked(doored, "agents.output", {"ident": foreign}, caller),
            asked(doored, "dispatches.show", {"ident": foreign}, caller),
            asked(doored, "views.status", {"project": OTHER}, caller),
            asked(doored, "dispatches.check_start", {"wanted": {"project": OTHER, "slug": "hidden"}}, caller),
            asked(doored, "settings.read", {"project": PROJECT}, caller),
            asked(doored, "projects.remote_control", {"project": OTHER}, caller),
            asked(doored, "projects.remote_control", {"project": PROJECT, "to": "up"}, caller),
        ]
        assert "result" in asked(doored, "projects.remote_control", {"project": PROJECT}, caller)
        assert [each["error"]["code"] for each in told] == [14] * len(told), told
        assert "error" in asked(doored, "dispatches.find", {"given": foreign}, caller)
        fleet.coord.stop(PROJECT, "over")
        for each in (own, foreign):
            fleet.dispatches.kill(each, "over")


@pytest.mark.req("SEC-3")
def test_no_path_that_an_agent_names_is_opened_for_it(doored, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.with_suffix(".log").write_text(SECRET)
    hidden.with_suffix(".yml").write_text(SECRET)
    up = "../" * 20 + str(hidden).lstrip("/")
    with doored.fleet() as fleet:
        coordinator = sleeping(doored, fleet, None, kind="coord")
        caller = caller_of(doored, fleet, coordinator)
        tried = [
            *(asked(doored, f"agents.{name}", {"ident": up}, caller) for name in ("output", "screen", "mirror")),
            asked(doored, "agents.output", {"ident": Path(paths.DAEMON_LOG).stem}, caller),
            asked(doored, "jobs.plan", {"asked": {"project": PROJECT, "file": f"{hidden}.yml"}}, caller),
            asked(doored, "jobs.logs", {"ident": up}, caller),
            asked(doored, "coord.handoff", {"ident": up}, caller),
            asked(doored, "dispatches.show", {"ident": up}, caller),
        ]
        assert all("error" in told for told in tried), tried
        assert SECRET not in json.dumps(tried)
        fleet.coord.stop(PROJECT, "over")
    said = doored.program("logs", up)
    assert (said.code, SECRET in said.out) == (11, False), said
    with doored.fleet() as fleet, pytest.raises(NoSuchDispatch):
        fleet.agents.output(up)
