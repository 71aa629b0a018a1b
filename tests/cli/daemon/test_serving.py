"""The daemon serves its home: one daemon, one door, the same answers, durable before they are given."""

import contextlib
import inspect
import json
import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest
from plugins import account
from sqlcompiler.schema import literals
from staging.daemon import PATIENCE, RunningDaemon

from fleet.api.fleet import PARTS, Fleet, part_class
from fleet.api.remote import door as fleet_door
from fleet.api.remote.acts import BESIDES, OWN, WAYS, is_forwarded
from fleet.api.remote.door import Door
from fleet.api.remote.json_types import CHOICES
from fleet.api.remote.parts import RemotePart
from fleet.errors import BadRequest, NoSuchTask, PathTaken
from fleet.model import VERSION, states
from fleet.model.agents.roles import ACTS
from fleet.surfaces.cli.hot import by_daemon
from fleet.surfaces.daemon.serving.loop import SocketLoop
from fleet.world.files.sockets import Listener, address_of, peer_of
from fleet.world.funnel import Funnel


def log_of(command_line, slug="a"):
    return [entry["message"] for entry in command_line.show(slug)["log"]]


@pytest.mark.req("IPC-1")
def test_a_change_goes_through_the_daemon_and_is_there_without_it(either, daemon):
    either.add("a")
    either("task", "log", "a", "through the daemon").ok()
    assert daemon.call("daemon.status")["requests"] >= 2
    daemon.stop()
    either.has_daemon = False
    assert log_of(either) == ["through the daemon"]


@pytest.mark.req("IPC-1")
def test_an_answer_is_given_after_the_change_is_durable(either, daemon):
    either.add("a")
    for number in range(5):
        either("task", "log", "a", f"line {number}").ok()
        daemon.kill()
        assert log_of(either)[-1] == f"line {number}"
        daemon.start()


@pytest.mark.req("IPC-1")
def test_errors_are_the_same_through_the_daemon_and_without_it(either, daemon):
    either.add("a")
    words = [
        ("task", "log", "b", "x"),
        ("task", "log", "b", "x", "--json"),
        ("task", "claim", "a", "--as", "0a1b2c3d"),
        ("task", "edit", "a", "--after", "a"),
        ("task", "log", "a", ""),
        ("kill", "nobody", "--reason", "x"),
    ]
    through = [either(*each) for each in words]
    daemon.stop()
    either.has_daemon = False
    assert through == [either(*each) for each in words]
    assert all(answer.code for answer in through)


@pytest.fixture(params=["directly", "by the daemon"])
def way(request, either) -> str:
    """Whether a daemon does what the test asks for."""
    if request.param == "by the daemon":
        request.getfixturevalue("daemon")
    return request.param


@pytest.mark.req("IPC-1", "CLAIMS-1")
def test_a_prompt_belongs_to_the_program_that_called_fleet(either, way):
    """The command line runs in this process, so the program is this one's parent."""
    either.add("a")
    either("claims", "acquire-prompt", "aaaaaaaa", "--owner", "a", stdin=b"the prompt\n").ok()
    with Fleet.open(str(either.home), asks_daemon=False) as opened:
        program = opened.world.processes.identify(os.getppid())
        assert opened.dispatches.show("aaaaaaaa").spawner == str(program)


@pytest.mark.req("IPC-3")
def test_a_second_daemon_refuses_and_names_the_first(fleet, served, program):
    answer = program("daemon", "run").refused(12, f"pid={served.pid}", "fleet daemon status")
    assert answer.out == ""
    assert served.call("daemon.status")["pid"] == served.pid


@pytest.mark.req("IPC-3")
def test_a_killed_daemon_leaves_its_home_to_the_next_one(fleet, served):
    served.kill()
    served.start()
    assert served.call("daemon.status")["pid"] == served.pid


@pytest.mark.req("IPC-4")
def test_status_changes_settings_and_mutations_are_asked_for_at_one_socket(either, daemon):
    either.add("a")
    caller = {"as": "ann", "environ": {}}
    assert daemon.call("daemon.status")["running"] is True
    assert daemon.call("daemon.reload") is None
    assert daemon.call("tasks.add", {"project": "web", "title": "B", "slug": "b"}, caller=caller)["task"] == "b"
    assert daemon.call("tasks.log", {"project": "web", "slug": "b", "message": "x"}, caller=caller)["task"] == "b"
    assert [task["slug"] for task in daemon.call("tasks.ready", {"project": "web"})] == ["a", "b"]
    assert daemon.call("views.status")["projects"][0]["name"] == "web"
    assert daemon.call("subscribe", {"after": 0})["newest"] > 2


@pytest.mark.req("IPC-4")
def test_a_fleet_of_another_version_sees_the_daemon_and_ends_it(fleet, served, monkeypatch):
    monkeypatch.setattr(fleet_door, "VERSION", "9.9")
    assert fleet("daemon", "status").ok().out.startswith("the daemon of")
    assert "has ended" in fleet("daemon", "stop").ok().out
    assert served.process.wait(60) == 0


@pytest.mark.req("IPC-4")
def test_another_version_is_told_both_versions(served):
    door = served.connect()
    door._socket.sendall(json.dumps({"id": 1, "method": "daemon.reload", "fleet": "9.9"}).encode() + b"\n")
    answer = door.receive()
    error = answer["error"]
    door.close()
    assert answer["id"] == 1
    assert (error["name"], error["code"]) == ("OtherVersion", 14)
    assert "9.9" in error["message"]
    assert VERSION in error["message"]
    assert "fleet daemon restart" in error["hint"]


@pytest.mark.req("IPC-4")
def test_commands_of_another_version_work_without_the_daemon_and_its_status_says_why(fleet, served, monkeypatch):
    for place in (
        "fleet.api.remote.door",
        "fleet.surfaces.cli.hot.by_daemon",
        "fleet.surfaces.cli.commands.home.daemon",
    ):
        monkeypatch.setattr(f"{place}.VERSION", "9.9")
    fleet.add("a")
    fleet("task", "log", "a", "by itself").ok()
    assert log_of(fleet) == ["by itself"]
    said = fleet("daemon", "status").ok().out
    assert f"fleet {VERSION}" in said
    assert "commands of fleet 9.9 work without it; `fleet daemon restart` starts it with this version" in said


@pytest.mark.req("IPC-4")
def test_what_is_no_method_is_refused_by_name(served):
    for method in ("tasks.drop_everything", "tasks._by", "os.system", "sessions.launch", "agents.follow", ""):
        with pytest.raises(BadRequest, match="no method"):
            served.call(method)
    with pytest.raises(BadRequest, match="slugg"):
        served.call("tasks.log", {"project": "web", "slug": "a", "message": "x", "slugg": "a"})
    with pytest.raises(NoSuchTask):
        served.call("tasks.log", {"project": "web", "slug": "zz", "message": "x"}, caller={"as": "ann"})


@pytest.mark.req("IPC-4")
def test_an_argument_of_a_wrong_type_is_refused_by_name(fleet, served):
    fleet.add("a")
    a = {"project": "web", "slug": "a"}
    for method, args, why in [
        ("tasks.log", {**a, "message": 5}, "'message' is a whole number, not a text"),
        ("tasks.log", {**a, "message": None}, "'message' is null, not a text"),
        ("tasks.done", {**a, "override": "yes"}, "'override' is a text, not true or false"),
        ("tasks.show", {"project": ["web"], "slug": "a"}, "'project' is a list, not a text"),
        ("tasks.ready", {"project": "web", "limit": "3"}, "'limit' is a text, not a whole number or null"),
        ("tasks.add", {"project": "web", "title": "b", "after": "a"}, "'after' is a text, not a list or null"),
        ("tasks.add", {"project": "web", "title": "b", "tags": [1]}, "'tags' has an element that is not a text"),
        ("tasks.add", {"project": "web", "title": "b", "titel": "c"}, "there is no argument 'titel'"),
        *((method, {"wanted": given}, "'wanted' is not an object") for method in ("tasks.edit", "coord.start", "dispatches.start")
          for given in (5, None, [])),
        ("reviews.judge", {**a, "verdict": "x"}, "'verdict' is 'x', not one of accept, send back"),
        ("projects.remote_control", {"project": "web", "to": []}, "'to' is a list, not a text or null"),
        ("projects.remote_control", {"project": "web", "to": "off"}, "'to' is 'off', not one of up, down"),
        ("notices.test", {"channel": "x"}, "'channel' is 'x', not one of desktop, terminal, command, urls"),
        ("jobs.plan", {"asked": "x"}, "'asked' is not an object"),
        ("tasks.edit", {"wanted": {**a, "title": 5}}, "'wanted.title' is a whole number, not a text or null"),
        ("messages.acknowledge", {"ids": "m1"}, "'ids' is a text, not a list"),
        ("engines.allow", {"dollars": True}, "'dollars' is true or false, not a number"),
    ]:  # fmt: skip
        with pytest.raises(BadRequest) as refused:
            served.call(method, args, key=f"{method} {why}", caller={"as": "ann"})
        assert why in str(refused.value)
    added = served.call("tasks.add", {"project": "web", "title": "b", "priority": None}, caller={"as": "ann"})
    assert added["title"] == "b"
    assert served.call("tasks.list", {"project": "web", "filters": None})
    assert served.call("projects.remote_control", {"project": "web", "to": None})["remote_control"] is None


@pytest.mark.req("IPC-4")
def test_every_argument_of_a_closed_set_of_words_is_checked_against_that_set():
    sets = literals(Path(states.__file__))
    parts = (part_class(part) for part in PARTS)
    methods = (method for part in parts for _, method in inspect.getmembers(part, inspect.isfunction))
    kinds = {str(each.annotation) for method in methods for each in inspect.signature(method).parameters.values()}
    used = {word for kind in kinds for word in kind.split(" | ")} & set(sets)
    assert used <= set(CHOICES)
    assert {name: frozenset(words) for name, words in CHOICES.items()} == {name: sets[name] for name in CHOICES}


@pytest.mark.req("IPC-5")
def test_the_sockets_are_private_and_another_user_is_not_answered(fleet, served):
    if os.geteuid() != 0:
        pytest.skip("only root can ask as another user; the next test shows it for everybody")
    for name in ("daemon.sock", "door/agents.sock"):
        assert (fleet.home / name).stat().st_mode & 0o777 == 0o600
    # Even where the files let everybody in, the kernel's word counts.
    for folder in [fleet.home, *fleet.home.parents][:-2]:
        folder.chmod(0o755)
    (fleet.home / "daemon.sock").chmod(0o666)
    asking = os.fork()
    if asking == 0:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(fleet.home / "daemon.sock"))
            os._exit(0 if asked.recv(100) == b"" else 1)
    assert os.waitpid(asking, 0)[1] == 0
    assert served.call("daemon.status")["running"] is True
    fleet.home.chmod(0o700)


@pytest.mark.req("IPC-5")
def test_a_connection_of_another_user_is_closed_before_it_is_greeted(tmp_path, monkeypatch):
    greeted = []
    listener = Listener(str(tmp_path / "daemon.sock"), Funnel())
    loop = SocketLoop(
        {listener: False}, greet=greeted.append, take_line=print, gone=print, work=list, log=lambda *_, **__: None
    )
    loop.open()
    for uid in (os.geteuid() + 1, os.geteuid()):
        monkeypatch.setattr("fleet.surfaces.daemon.serving.loop.peer_of", lambda _sock, uid=uid: (uid, 1))
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(listener.path)
            loop.run_once(1)
            assert len(greeted) == (uid == os.geteuid())
    loop.stop_listening()
    loop.close()


@pytest.mark.req("IPC-5")
def test_on_macos_the_peer_of_a_connection_is_read_from_its_kernel_too(monkeypatch):
    class Connection:
        """Answers as XNU does: struct xucred for LOCAL_PEERCRED, a pid for LOCAL_PEERPID; SOL_LOCAL is 0."""

        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            groups = (20, *[0] * 15)
            answers = {(0, 1, 76): struct.pack("=IIhxx16I", 0, 501, 1, *groups), (0, 2, 4): struct.pack("i", 4242)}
            return answers[level, option, size]

    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    assert peer_of(Connection()) == (501, 4242)


def test_a_socket_that_a_killed_daemon_had_not_finished_is_replaced_and_a_foreign_file_is_left(tmp_path):
    unfinished = tmp_path / "daemon.sock.new"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(unfinished))
    listener = Listener(str(tmp_path / "daemon.sock"), Funnel())
    listener.open()
    listener.close()
    assert list(tmp_path.iterdir()) == []
    unfinished.write_text("mine")
    with pytest.raises(PathTaken, match=f"{unfinished} is in the way"):
        listener.open()
    assert unfinished.read_text() == "mine"


@pytest.mark.parametrize("has_proc", [True, False])
def test_a_socket_is_reached_at_a_path_that_is_too_long_for_the_kernel(tmp_path, monkeypatch, has_proc):
    is_dir, here = os.path.isdir, os.getcwd()
    monkeypatch.setattr("os.path.isdir", lambda path: is_dir(path) and (has_proc or path != "/proc/self/fd"))
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    listener = Listener(str(folder / "daemon.sock"), Funnel())
    listening = listener.open()
    with socket.socket(socket.AF_UNIX) as asking, address_of(listener.path) as address:
        assert address.startswith("/proc/self/fd/") == has_proc
        asking.connect(address)
        listening.accept()[0].close()
    assert os.getcwd() == here
    listener.close()
    assert list(folder.iterdir()) == []


def test_a_socket_that_cannot_be_made_is_closed(tmp_path):
    before = os.listdir("/proc/self/fd")
    listener = Listener(str(tmp_path / ("x" * 200)), Funnel())
    with pytest.raises(OSError, match="too long") as refused:
        listener.open()
    assert os.listdir("/proc/self/fd") == before, refused
    listener.close()


def agents_of(home, ident, *, program):
    """The processes that bear the mark of a dispatch and have become its program."""
    mark = f"FLEET_DISPATCH_ID={ident}".encode()
    bearing = set()
    for pid in account.processes_of(str(home)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a command that ends meanwhile
            marked = mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if marked and Path(f"/proc/{pid}/comm").read_text().strip() == program:
                bearing.add(pid)
    return bearing


@pytest.mark.req("IPC-6")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_no_agent_ends_with_the_daemon(fleet, served, end, tmux):
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=fleet.where, check=True)
    fleet.add("a")
    ident = fleet("dispatch", "a", "--engine", "shell", "--json", "--", "sleep", "600").ok().json["id"]
    deadline = time.monotonic() + PATIENCE
    while fleet.ask("ps")[0]["state"] != "running" and time.monotonic() < deadline:
        time.sleep(0.01)
    # While `fleet launch` becomes the agent, the process has no environment for a moment.
    while not (before := agents_of(fleet.home, ident, program="sleep")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(served.pid, end)
    if end != signal.SIGHUP:
        served.process.wait(PATIENCE)
        served.start()
    assert [(agent["id"], agent["state"]) for agent in fleet.ask("ps")] == [(ident, "running")]
    assert agents_of(fleet.home, ident, program="sleep") == before
    assert before
    fleet("kill", ident, "--reason", "the test is over").ok()


@pytest.mark.req("IPC-1")
def test_every_change_that_fleet_offers_goes_through_the_daemon(fleet, served, monkeypatch):
    """Each act of the table of roles, and each change besides, is sent to the daemon, or says why the asking process does it.

    What is in neither is shown to be a read by tests/unit/agents/test_reads.py.
    """
    asked = []
    monkeypatch.setattr(Door, "call", lambda _door, method, _args, **_how: asked.append(method) or {"result": None})
    with Fleet.open() as opened:
        assert opened.door is not None
        for act in (*ACTS, *BESIDES):
            part, _, method = act.partition(".")
            own = RemotePart(part, part_class(part)(opened), opened)
            monkeypatch.setattr("fleet.api.remote.parts.arguments", lambda *_: {})
            if is_forwarded(act):
                getattr(own, method)()
            else:
                assert OWN[act]
    assert set(asked) == {act for act in WAYS if act not in OWN}
    assert {*ACTS, *BESIDES} == set(WAYS)
    assert set(OWN) < set(WAYS)
    assert set(PARTS) >= {act.partition(".")[0] for act in WAYS}


def test_a_home_with_a_long_path_has_a_daemon_too(fleet, tmp_path, monkeypatch):
    home = tmp_path / ("deep" * 30) / "home"
    home.parent.mkdir()
    os.rename(fleet.home, home)
    monkeypatch.setenv("FLEET_HOME", str(home))
    fleet("home", "repair", "--yes").ok()
    assert len(str(home / "daemon.sock")) > 108
    with RunningDaemon(home) as running:
        fleet.has_daemon = True
        fleet.add("a")
        fleet("task", "log", "a", "x").ok()
        taken, here = running.call("daemon.status")["requests"], os.getcwd()
        assert taken >= 2
        monkeypatch.setattr(by_daemon, "_DESCRIPTORS", "/nowhere")  # as on macOS
        fleet("task", "log", "a", "y").ok()
        assert running.call("daemon.status")["requests"] == taken + 2, "the log, and this question"
        assert os.getcwd() == here
    os.rename(home, fleet.home)


def test_commands_work_while_the_daemon_is_stopped(fleet, served, monkeypatch):
    """A stopped process accepts connections and never answers."""
    fleet.add("a")
    monkeypatch.setattr("fleet.surfaces.cli.hot.by_daemon._GREETING", 0.2)
    monkeypatch.setattr("fleet.api.remote.door.GREETING", 0.2)
    os.kill(served.pid, signal.SIGSTOP)
    try:
        fleet("task", "log", "a", "alone").ok()
    finally:
        os.kill(served.pid, signal.SIGCONT)
    assert log_of(fleet) == ["alone"]


@pytest.mark.req("IPC-2")
def test_a_hot_command_waits_less_for_the_greeting_than_for_the_answer(monkeypatch):
    """A daemon that works has greeted at once; one that is suspended never does, and nobody waits 20 seconds to learn that."""
    waited = []

    class Connection:
        def __init__(self):
            self.chunks = [b'{"fleet": ', b'"x"}\n', b'{"id": ', b"1}\n"]
            self.limit = None

        def settimeout(self, seconds):
            self.limit = seconds

        def recv(self, _most):
            waited.append(self.limit)
            return self.chunks.pop(0)

        def ignore(self, *_given):
            pass

        connect = sendall = close = ignore

    monkeypatch.setattr("fleet.fast.unix_socket", Connection)
    assert by_daemon.exchange("/daemon.sock", b"") == {"id": 1}
    assert waited == [5, 5, 20, 20]


def test_a_deleted_socket_comes_back_and_a_foreign_file_is_left_alone(fleet, served):
    path = fleet.home / "daemon.sock"
    path.unlink()
    served.connect().close()
    path.unlink()
    path.write_text("mine")
    deadline = time.monotonic() + PATIENCE
    while served.process.poll() is None and time.monotonic() < deadline and path.read_text() == "mine":
        if socket_is_served(fleet.home / "door/agents.sock"):
            break
    fleet("task", "list").ok()
    said = fleet("daemon", "status").ok().out
    assert f"{path} is in the way" in said
    assert "move it away" in said
    assert "kill" not in said
    fleet("daemon", "stop").refused(12, f"{path} is in the way", "move it away")
    assert path.read_text() == "mine"
    path.unlink()
    served.connect().close()


def socket_is_served(path) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(str(path))
        return bool(asked.recv(10))
