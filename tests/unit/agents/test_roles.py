"""The table of who may do what: every changing method is in it, and every pair of role and act is decided by it."""

import ast
import inspect
import os
import subprocess
import sys
import textwrap

import pytest

from fleet.api.jobs import Jobs
from fleet.api.permits import Speaker
from fleet.errors.refused import NotAllowed
from fleet.model.agents import roles
from fleet.world.process.ancestry import marks_above

# Methods that change nothing; and what tmux and sessions call, which proves what it does by what is there.
READS = {
    "agents", "all_operations", "caller", "check_start", "claims", "close", "coordinator", "dead_items", "diff", "dispatches",
    "engine", "engines", "examine", "export", "files", "files_of_home", "find", "find_job", "follow", "graph", "ground",
    "handoff", "handoffs", "home_shown", "hooks", "inspect", "item", "items", "job", "job_logs", "job_named", "jobs", "journal", "kept_trees",
    "limits", "markdown", "mergeable", "merges", "new_task", "newest", "open", "operations", "output", "overview", "plan_job", "plan_repair", "project",
    "project_here", "projects", "questions", "ready", "recap", "resumable", "screen", "settings", "slugs", "status", "task",
    "task_here", "tasks", "to_review", "untrusted", "view", "why", "work_of", "world",
}  # fmt: skip
MACHINERY = {"commit", "commit_anyway", "gate", "launch", "may", "settle", "settle_soon"}
DECISIONS = ("answer", "land", "pull", "lift", "trust", "begin", "register", "install_hooks", "run_job", "sweep")


def public() -> dict[str, object]:
    return {name: getattr(Jobs, name) for name in dir(Jobs) if not name.startswith("_")}


def acts_checked(function) -> set[str]:
    """The acts that a method asks leave for."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return {ast.literal_eval(call.args[0]) for call in calls if call.func.attr == "may"}


@pytest.mark.req("SEC-1")
def test_every_method_is_a_read_or_an_act_of_the_table():
    methods = {name for name, each in public().items() if callable(each) or isinstance(each, property)}
    assert methods - READS - MACHINERY - set(roles.ACTS) == set(), "say in model/agents/roles.py who may do it"
    assert set(roles.ACTS) - methods == set(), "the table speaks of what is not there"


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("act", roles.ACTS)
def test_every_act_asks_for_leave_under_its_own_name(act):
    assert acts_checked(public()[act]) == {act}


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("role", roles.ROLES)
@pytest.mark.parametrize("act", roles.ACTS)
def test_the_table_decides_every_pair(role, act):
    if role == roles.PERSON or role in roles.ACTS[act].roles:
        roles.check(act, role, who="x")
        return
    with pytest.raises(NotAllowed) as refused:
        roles.check(act, role, who=f"{role} 0a1b2c3d")
    assert refused.value.code == 14
    told = refused.value.spoken
    assert all(each in told for each in (role, "0a1b2c3d", roles.ACTS[act].what, roles.ACTS[act].rule, "person")), told


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("act", DECISIONS)
def test_no_agent_decides_for_its_person(act):
    assert roles.ACTS[act].roles == ()


def test_who_has_which_role():
    kinds = {"worker": "worker", "fix": "worker", "rebase": "worker", "finisher": "worker", "reviewer": "reviewer"}
    for kind, role in {**kinds, "coord": "coordinator"}.items():
        assert roles.role_of(kind, "claude") == role
    assert roles.role_of("worker", "job") == "job step"
    assert Speaker.of("0a1b2c3d", None).role == "worker", "one that nobody knows has the least"


def test_which_freedom_is_freer():
    freer = {(wanted, own) for wanted in roles.AUTONOMY for own in roles.AUTONOMY if roles.is_freer(wanted, own)}
    assert freer == {(a, b) for n, a in enumerate(roles.AUTONOMY) for b in roles.AUTONOMY[:n]}
    assert [each for each in roles.AUTONOMY if not roles.is_freer(each, None)] == ["ask"]


LOOK = "import sys; from fleet.world.process.ancestry import marks_above; print(marks_above(sys.argv[1]))"


@pytest.mark.req("SEC-1")
def test_a_process_knows_the_agents_above_it_of_its_own_home(tmp_path):
    home = str(tmp_path)
    inner = f"env -u FLEET_DISPATCH_ID {sys.executable} -c '{LOOK}' {home}; true"
    for name, value, found in (
        ("FLEET_DISPATCH_ID", "0a1b2c3d", ["0a1b2c3d"]),
        ("FLEET_RUNNER_OF", "0a1b2c3d", ["job 0a1b2c3d"]),
    ):
        for place, expected in ((home, found), ("/elsewhere", [])):
            env = {**os.environ, "FLEET_HOME": place, name: value}
            said = subprocess.run(["sh", "-c", inner], env=env, capture_output=True, text=True, check=True).stdout
            assert said.strip() == repr(expected)
    assert marks_above(home) == []
