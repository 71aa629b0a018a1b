"""The table of who may do what: every changing method is in it, and every pair of role and act is decided by it."""

import ast
import inspect
import os
import socket
import subprocess
import sys
import textwrap

import pytest

from fleet.api.actor import Part
from fleet.api.fleet import PARTS, Fleet, part_class
from fleet.api.permits import Speaker
from fleet.errors.refused import NotAllowed
from fleet.model import names
from fleet.model.agents import roles
from fleet.surfaces.daemon.serving.connection import Connection
from fleet.surfaces.daemon.serving.requests import DaemonRequest
from fleet.world.process import surroundings
from fleet.world.process.surroundings import marks_above

# Methods that change nothing.
READS = {
    "agents": "list mirror output screen follow unattended",
    "claims": "inspect list",
    "coord": "handoff handoffs held lost show unheld",
    "dispatches": "check_start diff find list show",
    "engines": "all hooks limits show sandbox",
    "graph": "export markdown show slugs",
    "homes": "plan_repair show",
    "jobs": "dead_items find item items list logs named plan show",
    "merge": "ahead mergeable recorded",
    "messages": "question questions",
    "notices": "list",
    "operations": "follow last_upkeep list newest with_archived",
    "projects": "in_the_way list show targets",
    "reviews": "waiting work",
    "settings": "allowed approved read untrusted",
    "sweep": "kept_trees",
    "tasks": "list ready show why",
    "views": "changes doctor metrics nearest overview recap snapshot status timeline",
}
# What tmux and sessions call, which proves what it does by what is there.
MACHINERY = {"sessions.deaths", "sessions.launch", "sessions.settle", "sessions.settle_soon", "dispatches.resumable"}
DECISIONS = (
    "messages.answer", "messages.approve", "messages.approve_all", "merge.land", "merge.open_pull", "engines.lift", "settings.trust", "projects.begin", "projects.keep_environment",
    "projects.register", "engines.install_hooks", "jobs.run", "sweep.run",
)  # fmt: skip


def parts() -> dict[str, type[Part]]:
    """The class of each part of Fleet."""
    assert set(Fleet.__annotations__) == set(PARTS)
    return {name: part_class(name) for name in PARTS}


def public() -> dict[str, object]:
    """Every public method of every part, as `part.method`."""
    return {
        f"{name}.{method}": getattr(part, method)
        for name, part in parts().items()
        for method in dir(part)
        if not method.startswith("_")
    }


def acts_checked(function) -> set[str]:
    """The acts that a method asks leave for."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return {ast.literal_eval(call.args[0]) for call in calls if call.func.attr == "may"}


@pytest.mark.req("SEC-1")
def test_every_method_is_a_read_or_an_act_of_the_table():
    methods, reads = set(public()), {f"{part}.{name}" for part, names in READS.items() for name in names.split()}
    assert reads | MACHINERY <= methods
    assert methods - reads - MACHINERY - set(roles.ACTS) == set(), "say in model/agents/roles.py who may do it"
    assert set(roles.ACTS) - methods == set(), "the table speaks of what is not there"


@pytest.mark.req("SEC-1")
def test_what_is_no_act_asks_for_no_leave():
    for name in set(public()) - set(roles.ACTS):
        assert acts_checked(public()[name]) == set(), name


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
@pytest.mark.parametrize("role", [roles.REVIEWER, roles.COORDINATOR])
def test_the_rule_of_an_act_names_who_may_do_it_besides_a_person(role):
    some = {act: entry for act, entry in roles.ACTS.items() if role in entry.roles and entry.roles != roles.AGENTS}
    assert [act for act, entry in some.items() if role not in entry.rule] == []


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("act", [*DECISIONS, *roles.DAEMON_ACTS])
def test_no_agent_decides_for_its_person(act):
    assert roles.act_of(act).roles == ()


def test_who_has_which_role():
    kinds = {"worker": "worker", "fix": "worker", "rebase": "worker", "finisher": "worker", "reviewer": "reviewer"}
    for kind, role in {**kinds, "coord": "coordinator"}.items():
        assert roles.role_of(kind, "claude") == role
    assert roles.role_of("worker", "job") == "job step"
    assert Speaker.of("0a1b2c3d", None).role == "worker", "one that nobody knows has the least"


def test_which_freedom_is_freer():
    freer = {(wanted, own) for wanted in names.AUTONOMIES for own in names.AUTONOMIES if roles.is_freer(wanted, own)}
    assert freer == {(a, b) for n, a in enumerate(names.AUTONOMIES) for b in names.AUTONOMIES[:n]}
    assert [each for each in names.AUTONOMIES if not roles.is_freer(each, None)] == ["ask"]


LOOK = "import sys; from fleet.world.process.surroundings import marks_above; print(marks_above(sys.argv[1]))"


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


@pytest.mark.req("SEC-1")
def test_the_marks_of_a_client_are_read_once_for_its_connection_and_count_for_no_other_process_with_its_id(monkeypatch):
    """The kernel may give the id of a person's command that has ended to a process of an agent."""
    looks = []

    def marks_from(pid, _home):
        looks.append(pid)
        return [] if len(looks) == 1 else ["0a1b2c3d"]

    monkeypatch.setattr(surroundings, "_marks_from", marks_from)
    seen = []
    for _client in ("a person's command", "an agent"):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            connection = Connection(ours, pid=4711, is_for_agents=False)
            for number in (1, 2):
                surroundings.enter(DaemonRequest(connection, {"id": number, "method": "tasks.log"}).surroundings)
                seen.append(marks_above("/home"))
    surroundings.leave()
    assert seen == [[], [], ["0a1b2c3d"], ["0a1b2c3d"]]
    assert looks == [4711, 4711]
