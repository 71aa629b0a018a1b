"""SEC-3: an agent in a real bubblewrap has nothing of the home but its door, its prompt and its worktree, and does all its work."""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.account import command_of
from staging.daemon import PATIENCE
from staging.speaking import agent, scripted, until_state
from staging.stage import FLEET, Stage, answer

from fleet.api.fleet import Fleet
from fleet.errors.refused import NoAgentsDoor, SandboxRefused
from fleet.model.agents.actors import TOKEN
from fleet.store import seats
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed: sh checks/programs.sh bwrap"
)
BWRAP = 'agents.sandbox = "bwrap"\n'
KEY = "a key of mine"


def serve(stage: Stage) -> "subprocess.Popen[str]":
    """Start the home's daemon, and wait for its door."""
    child = stage.start(FLEET, "daemon", "run")
    until(lambda: greets(stage))
    return child


def end_by_itself(daemon: "subprocess.Popen[str]") -> None:
    """Let the daemon finish what it does, as `fleet daemon stop` would."""
    daemon.terminate()
    daemon.wait(PATIENCE)


def greets(stage: Stage) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(f"{stage.home}/{paths.AGENTS_SOCKET}")
            return b"protocol" in asked.recv(1000)
        except OSError:
            return False


@pytest.fixture
def person(monkeypatch, tmp_path) -> Path:
    """The home directory of a person who has a key."""
    home = tmp_path / "person"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text(KEY)
    (home / ".gitconfig").write_text("[user]\n\tname = agent\n\temail = agent@localhost\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FLEET_DIRECT", "1")  # what the test itself does needs no daemon
    return home


@pytest.fixture
def boxed(tmux: None, person: Path) -> Iterator[Stage]:
    """A home whose agents are started in bubblewrap, with its daemon."""
    stage = Stage(settings=BWRAP)
    daemon = serve(stage)
    yield stage
    end_by_itself(daemon)
    stage.end()


def run(stage: Stage, fleet: Fleet, slug: str, *lines: str) -> str:
    """Let an agent run these lines of a shell; what it printed."""
    ident = stage.dispatch(fleet, slug, "sh", "-c", "\n".join(lines))
    until(lambda: stage.told_again(fleet) and fleet.dispatches.show(ident).ended_at)
    return "\n".join(line.rstrip() for line in Path(stage.home, paths.log(ident)).read_text().splitlines())


@pytest.mark.req("SEC-3", "ENG-4")
def test_in_a_real_sandbox_an_agent_commits_logs_asks_is_answered_is_told_and_reports(boxed):
    steps = [
        "write f x",
        "commit Work",
        "log from inside",
        "ask make all",
        "choose Which? | A | B",
        "wait-message",
        "done",
    ]
    with boxed.fleet() as fleet:
        ident = scripted(boxed, fleet, *steps)
        for given in (["approve"], ["answer", "A"]):
            until_state(fleet, ident, "asks")
            until(lambda: boxed.program("questions", "--json").objects)
            (asked,) = boxed.program("questions", "--json").objects[0]
            said = boxed.program(given[0], asked["id"], *given[1:])
            assert said.code == 0, said
            until(lambda: asked["id"] not in boxed.program("questions", "--json").out)  # noqa: B023
        assert boxed.program("message", ident, "well done").code == 0
        boxed.ended(fleet)
        journal = fleet.dispatches.show(ident)
        assert (journal.report, journal.exec_state, journal.sandbox) == ("done", "done", "bwrap")
        assert [entry.message for entry in fleet.tasks.show(project=PROJECT, slug="t").log] == ["from inside"]
        assert boxed.git("log", "-1", "--format=%s", "worker/t") == "Work"
        shown = Path(boxed.home, paths.log(ident)).read_text()
        assert '"behavior": "allow"' in shown
        assert '"Which?": "A"' in shown
        assert "well done" in shown
        assert not Path(boxed.home, paths.LAST_HOOK_ERROR).exists()


@pytest.mark.req("SEC-3")
def test_it_reads_and_writes_nothing_that_is_not_its_own(boxed, person):
    with boxed.fleet() as fleet:
        other = boxed.dispatch(fleet, "other", "sleep", "1000")
        boxed.launched(fleet, other)
        git = f"{boxed.repository}/.git"
        shown = run(
            boxed,
            fleet,
            "t",
            f"cat {person}/.ssh/id {boxed.home}/fleet.db {boxed.home}/config.toml",
            f"ls -A {boxed.tree('other')} {boxed.repository}",
            'echo "home: $(ls -A $FLEET_HOME | tr "\\n" " ")"',
            'echo "prompts: $(ls -A $FLEET_HOME/inbox)"',
            f'echo "trees: $(ls -A {boxed.tree("t").parent})"',
            f'echo "person: $(ls -A {person} | tr "\\n" " ")"',
            f"for file in {git}/config {git}/hooks/pre-commit {git}/packed-refs .git $(git rev-parse --git-dir)/commondir; do",
            '(echo evil >> $file) 2>/dev/null && echo "wrote $file"; done',
            'grep -l "$FLEET_DISPATCH_ID\\|FLEET_TOKEN" /proc/[0-9]*/environ | wc -l; ls -d /proc/[0-9]* | wc -l',
            "tmux -S $FLEET_HOME/tmux.sock list-sessions && echo reached; echo over",
        )
        ident = fleet.dispatches.find("t")
        fleet.dispatches.kill(other, "over")
    assert KEY not in shown
    assert "SQLite format" not in shown
    assert "wrote" not in shown
    assert "reached" not in shown
    assert f"prompts: {ident}.md" in shown.splitlines()
    assert "home: bin door inbox projects" in shown.splitlines()
    assert "trees: t" in shown.splitlines()
    assert "person: .gitconfig" in shown.splitlines()
    assert shown.splitlines().count("over") == 1


@pytest.mark.req("SEC-3")
def test_it_gives_git_no_configuration_of_its_own_that_runs_outside(boxed, tmp_path):
    ran = tmp_path / "ran"
    boxed.git("config", "extensions.worktreeConfig", "true")
    evil = f'[filter "evil"]\\n\\tclean = touch {ran}; cat\\n\\tsmudge = touch {ran}; cat\\n'
    with boxed.fleet() as fleet:
        shown = run(
            boxed,
            fleet,
            "t",
            f"printf '{evil}' > $(git rev-parse --git-dir)/config.worktree && echo wrote",
            "echo '* filter=evil' > .gitattributes; echo x > f; git add f .gitattributes; git commit --quiet --message Work",
            "echo y > f; fleet done; echo told $?; git commit --quiet --all --message More; fleet done; echo told $?",
        )
        assert "wrote" not in shown, shown
        told = [line for line in shown.splitlines() if line.startswith("told")]
        assert told == ["told 14", "told 0"], shown
        assert fleet.dispatches.diff(project=PROJECT, slug="t")
        assert boxed.program("merge", "t").code == 0
    assert not ran.exists(), "git ran outside what the agent wrote inside"


@pytest.mark.req("SEC-2", "SEC-3")
def test_it_speaks_for_nobody_else(boxed):
    with boxed.fleet() as fleet:
        other = boxed.dispatch(fleet, "other", "sleep", "1000")
        boxed.launched(fleet, other)
        shown = run(
            boxed,
            fleet,
            "t",
            "fleet log mine; echo own $?",
            f"{TOKEN}=0 fleet log evil; echo wrong $?",
            f"env -u {TOKEN} fleet log evil; echo none $?",
            f"FLEET_DISPATCH_ID={other} FLEET_TASK=other fleet log evil; echo other $?",
            "env -u FLEET_DISPATCH_ID fleet task log t evil -p p; echo person $?",
            "env -u FLEET_DISPATCH_ID fleet task add Evil -p p; echo adds $?",
            "fleet approve 0123abcd; echo approves $?",
            "fleet task add Evil -p p; echo plans $?",
            "fleet kill other --reason x; echo kills $?",
            "FLEET_DIRECT=1 fleet task list -p p; echo direct $?",
            "fleet inbox; echo inbox $?; fleet task show t >/dev/null; echo shows $?",
        )
        codes = dict(
            line.split() for line in shown.splitlines() if len(line.split()) == 2 and line.split()[1].isdigit()
        )
        assert {name: codes.get(name) for name in ("own", "inbox", "shows")} == {"own": "0", "inbox": "0", "shows": "0"}
        refused = {name: codes.get(name) for name in ("wrong", "none", "other", "person", "adds")}
        assert refused == dict.fromkeys(refused, "10")
        forbidden = {name: codes.get(name) for name in ("approves", "plans", "kills")}
        assert forbidden == dict.fromkeys(forbidden, "14")
        assert codes["direct"] != "0", "there is no home to open"
        logs = [entry.message for slug in ("t", "other") for entry in fleet.tasks.show(project=PROJECT, slug=slug).log]
        assert logs == ["mine"]
        assert fleet.graph.slugs(project=PROJECT, prefix="evil") == []
        assert agent(fleet, other).report is None
        fleet.dispatches.kill(other, "over")


@pytest.mark.req("SEC-3")
def test_no_variable_of_an_agent_leads_what_the_daemon_does_for_it(boxed, tmp_path):
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "sitecustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with boxed.fleet() as fleet:
        ident = boxed.dispatch(fleet, "t", "sleep", "1000")
        who = boxed.launched(fleet, ident)
        inside = fleet.world.processes.inside_sandbox(who)
        secret = fleet.world.processes.variable(inside, TOKEN)
        environ = {"PYTHONPATH": str(evil), "PATH": str(evil), "FLEET_HOME": str(evil)}
        caller = {"dispatch": ident, "token": secret, "environ": environ, "directory": str(evil)}
        told = asked(boxed, "coord.drain", {}, caller)
        assert told.get("result") == [], told
        assert not (tmp_path / "ran").exists()
        for method in ("daemon.stop", "subscribe", "daemon.status"):
            assert asked(boxed, method, {}, caller)["error"]["code"] == 2
        assert asked(boxed, "tasks.log", {"project": "p", "slug": "t", "message": "x"}, {})["error"]["code"] == 10
        fleet.dispatches.kill(ident, "over")
        assert asked(boxed, "tasks.list", {"project": "p"}, caller)["error"]["code"] == 10


def asked(stage: Stage, method: str, args: dict, caller: dict) -> dict:
    """The answer to a request at the door."""
    with socket.socket(socket.AF_UNIX) as door, door.makefile("rb") as lines:
        door.connect(f"{stage.home}/{paths.AGENTS_SOCKET}")
        request = {"id": 1, "method": method, "args": args, "caller": caller}
        door.sendall(json.dumps(request).encode() + b"\n")
        lines.readline()
        return json.loads(lines.readline())


@pytest.mark.req("SEC-3", "AGENT-4")
def test_it_is_asked_to_exit_by_a_signal_that_reaches_it_and_its_status_is_known(boxed):
    asks = "trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.1; done"
    with boxed.fleet() as fleet:
        ident = boxed.dispatch(fleet, "t", "sh", "-c", asks)
        who = boxed.launched(fleet, ident)
        boxed.shows(fleet, ident, "ready")
        assert Path(command_of(who.pid)[0]).name == "bwrap"
        os.kill(who.pid, signal.SIGTERM)
        os.kill(who.pid, signal.SIGINT)  # Ctrl-C in its terminal reaches bubblewrap, too
        assert fleet.world.processes.life(who) == "alive"
        ended = fleet.dispatches.stop(ident)
        assert ended.settled
        assert fleet.dispatches.show(ident).exit_status == 7
        assert "asked" in Path(boxed.home, paths.log(ident)).read_text()


@pytest.mark.req("SEC-3", "AGENT-4")
def test_one_that_does_not_go_is_killed_with_all_that_it_left(boxed):
    left = "trap '' TERM HUP; setsid sleep 1234567 & env -i sleep 1234567 & echo ready; while :; do sleep 0.1; done"
    with boxed.fleet() as fleet:
        ident = boxed.dispatch(fleet, "t", "sh", "-c", left)
        boxed.launched(fleet, ident)
        boxed.shows(fleet, ident, "ready")
        assert fleet.dispatches.kill(ident, "enough").settled
    assert subprocess.run(["pgrep", "-f", "sleep 1234567"], check=False).returncode == 1


@pytest.mark.req("SEC-3")
def test_a_daemon_that_is_started_again_is_reached_by_the_same_agent(tmux, person):
    stage = Stage(settings=BWRAP)
    first = serve(stage)
    with stage.fleet() as fleet:
        lines = "fleet log one; until [ -e go ]; do sleep 0.1; done; rm go; fleet log two; sleep 1000"
        ident = stage.dispatch(fleet, "t", "sh", "-c", lines)
        log = lambda: [entry.message for entry in fleet.tasks.show(project=PROJECT, slug="t").log]  # noqa: E731
        until(lambda: log() == ["one"])
        first.kill()
        first.wait()
        (stage.tree("t") / "go").touch()  # it has to wait for its daemon
        serve(stage)
        until(lambda: log() == ["one", "two"])
        fleet.dispatches.kill(ident, "over")
    stage.end()


@pytest.mark.req("SEC-3", "ENG-5")
def test_a_sandbox_that_cannot_be_had_is_refused_before_anything_is_made(scene, monkeypatch, tmp_path):
    config = Path(scene.home, "config.toml")
    before = config.read_text()
    with scene.fleet() as fleet:
        config.write_text(before + BWRAP)
        with pytest.raises(NoAgentsDoor, match="none listens at"):
            scene.dispatch(fleet, "t", "sh", "-c", "true")
        places = [place for place in os.environ["PATH"].split(":") if not Path(place, "bwrap").exists()]
        for name in ("git", "tmux", "sh"):
            (tmp_path / name).symlink_to(shutil.which(name))
        monkeypatch.setenv("PATH", ":".join([str(tmp_path), *places]))
        with pytest.raises(SandboxRefused, match="not installed") as missing:
            scene.dispatch(fleet, "t", "sh", "-c", "true")
        assert "apt install bubblewrap" in missing.value.next_step
        (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
        (tmp_path / "bwrap").chmod(0o700)
        with pytest.raises(SandboxRefused, match="No permissions to create new namespace"):
            scene.dispatch(fleet, "t", "sh", "-c", "true")
        monkeypatch.undo()
        config.write_text(f'{before}{BWRAP}agents.sandbox_read = ["{scene.root}"]\n')
        with pytest.raises(SandboxRefused, match="has the fleet home in it"):
            scene.dispatch(fleet, "t", "sh", "-c", "true")
        assert fleet.dispatches.list() == []
        assert fleet.world.tmux.listing().server is None
        config.write_text(before)


@pytest.mark.req("SEC-3", "SEC-2")
def test_without_a_sandbox_the_door_alone_is_enough(tmux, person):
    stage = Stage(settings='agents.door = "socket"\n')
    serve(stage)
    with stage.fleet() as fleet:
        shown = run(
            stage,
            fleet,
            "t",
            'echo "$FLEET_DOOR"',
            "echo x > f; git add f; git commit --quiet --message Work",
            "fleet log 'by the door'; fleet done; echo $?",
        )
        assert f"{stage.home}/{paths.AGENTS_SOCKET}" in shown.replace("\n", "")
        assert [entry.message for entry in fleet.tasks.show(project=PROJECT, slug="t").log] == ["by the door"]
    stage.end()


@pytest.mark.req("ENG-5")
def test_ps_says_that_an_agent_is_in_a_sandbox(boxed):
    with boxed.fleet() as fleet:
        ident = boxed.dispatch(fleet, "t", "sleep", "1000")
        boxed.launched(fleet, ident)
        assert "in bwrap" in answer(boxed.start(FLEET, "ps")).out
        (shown,) = boxed.program("ps", "--json").objects[0]
        assert (shown["id"], shown["sandbox"]) == (ident, "bwrap")
        fleet.dispatches.kill(ident, "over")


@pytest.mark.req("ENG-4", "SEC-3")
def test_an_engine_is_tried_in_the_sandbox_that_agents_are_started_in(boxed):
    said = boxed.program("engine", "check", "shell", "--json")
    (trial,) = said.objects[0]["trials"]
    assert (said.code, trial["verdict"], trial["sandbox"]) == (0, "proven", "bwrap"), trial
    assert "reported in bwrap" in boxed.program("engine", "check", "shell").out


@pytest.mark.req("SEC-3")
def test_doctor_says_whether_agents_can_be_started_in_it(scene):
    assert "are started in no sandbox, by the home" in scene.program("doctor").out
    config = Path(scene.home, "config.toml")
    config.write_text(config.read_text() + BWRAP)
    said = scene.program("doctor")
    assert "none listens at" in said.out
    assert "fleet daemon start" in said.out
    serve(scene)
    assert "are started in bwrap, by the socket of the daemon" in scene.program("doctor").out


@pytest.mark.req("SEC-3", "SEC-2")
def test_it_hands_itself_off_to_another_in_a_sandbox(boxed):
    begin = 'if [ -n "$FLEET_PREDECESSOR" ]; then fleet log successor; exec sleep 1000; fi'
    with boxed.fleet() as fleet:
        first = boxed.dispatch(fleet, "t", "sh", "-c", f"{begin}; fleet handoff --reason full; exec sleep 1000")
        log = lambda: [entry.message for entry in fleet.tasks.show(project=PROJECT, slug="t").log]  # noqa: E731
        until(lambda: boxed.told_again(fleet) and "successor" in log())
        (successor,) = fleet.agents.list()
        assert successor.id != first
        assert successor.sandbox == "bwrap"
        fleet.dispatches.kill(successor.id, "over")


@pytest.mark.req("SEC-3", "REP-3")
def test_a_coordinator_in_it_plans_ticks_and_proves_itself_when_it_replaces_another(boxed):
    def coordinates(*lines: str) -> Wanted:
        command = ("sh", "-c", "; ".join(lines))
        return Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=command, proof=60)

    with boxed.fleet() as fleet:
        adds = "fleet task add More --slug more -p p; touch x 2>/dev/null && echo wrote"
        old = fleet.coord.start(coordinates("fleet coord tick", adds, "echo added", "exec sleep 1000")).id
        boxed.shows(fleet, old, "added\n")
        assert fleet.tasks.show(project=PROJECT, slug="more").status == "open"
        assert "wrote" not in fleet.agents.screen(old, history=True), (
            "it looks at the repository, and changes nothing there"
        )
        new = fleet.coord.replace(coordinates("fleet coord tick", "exec sleep 1000"))
        assert new.id != old
        assert fleet.store.read(lambda rows: seats.seat(rows, PROJECT)).holder == new.id
        fleet.coord.stop(PROJECT, "over")


@pytest.mark.req("SEC-3", "JOB-1")
def test_the_agent_steps_of_a_job_are_in_it(boxed):
    engine = Path(boxed.home, paths.ENGINES, "x.toml")
    engine.parent.mkdir()
    lines = "ls -A $FLEET_HOME; echo x > f; git add f; git commit --quiet --message Step; fleet task show seen -p p"
    engine.write_text(f'summary = "x"\nprogram = "sh"\nstart = ["{{program}}", "-c", "{lines}"]\ninteractive = false\n')
    Path(boxed.repository, "job.yml").write_text(
        "name: n\nmap:\n  input: [one]\n  engine: x\n  steps: [{agent: go, commit_required: true}]\n"
    )
    with boxed.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="Seen", slug="seen")
    done = boxed.program("job", "run", "job.yml", "--json")
    assert done.code == 0, done
    (log,) = Path(boxed.home, "jobs").glob("*/steps/*.log")
    assert log.read_text().split()[:4] == ["bin", "door", "jobs", "projects"]
    assert "Seen" in log.read_text()
