"""`fleet engine check` proves an engine from inside: a real dispatch in a throw-away home, and what of its work arrived outside."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.commandline import FLEET, Answer
from cli.json_page import faults, read_page

from fleet.api.fleet import Fleet
from fleet.engines.reader import Engine, engine, read
from fleet.errors.given import BadSetting
from fleet.model.results.engines import Trial
from fleet.surfaces.cli.entry import run
from fleet.testing.engine_trial import COMMANDS, MESSAGE, clear, try_out
from fleet.testing.stub_model import LAST_WORDS, messages, responses

TINY = Path(__file__).with_name("tiny_agent.py")
PATIENCE = 60
OWN = """summary = "mine"
program = "{program}"
start = ["{{program}}", {words}]

[check]
dialect = "{dialect}"
"""
HANGS = '"-c", "echo waiting: really; exec sleep 100000"'
SCREEN = "\n[[screen]]\nstate = '{}'\nmatch = '^waiting: (?P<question>.*)$'\n"


def own(home: Path, words: str, *, program: str = "sh", dialect: str = "script", more: str = "") -> Engine:
    """An engine of the user's own."""
    path = home / "engines" / "mine.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWN.format(program=program, words=words, dialect=dialect) + more, encoding="utf-8")
    return read(path)


def tiny(home: Path, dialect: str) -> Engine:
    """An engine whose agent asks a model what to do, where its variables and its HOME say that the model is."""
    words = f'"-c", "exec {sys.executable} {TINY} $(cat $HOME/conf/dialect) $MODEL"'
    more = f"[check.env]\nMODEL = '{{url}}'\n[check.files]\n'conf/dialect' = '{dialect}'\n"
    return own(home, words, dialect=dialect, more=more)


def marked(home: Path) -> list[int]:
    """Processes that belong to a trial in this home."""
    mark = f"FLEET_HOME={home}/check/home".encode()
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        found += [pid] if mark in environment else []
    return found


def until(what) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


@pytest.fixture
def root(home: Path, tmux: None) -> Iterator[str]:
    """Where a trial is made; nothing may be left of it."""
    yield str(home / "check")
    left = (home / "check").exists()
    clear(str(home / "check"))
    until(lambda: marked(home) == [])
    assert not left


@pytest.fixture
def check(home: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def command(*words: str) -> Answer:
        monkeypatch.setenv("FLEET_HOME", str(home))
        monkeypatch.chdir(tmp_path)
        capsys.readouterr()
        return Answer(run(["engine", "check", *words]), *capsys.readouterr())

    return command


# The engines that come with fleet


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("name", ["scripted", "shell"])
def test_an_engine_without_a_model_is_proven_by_doing_it(check, name):
    answer = check(name).ok()
    assert answer.out.splitlines()[1:] == ["  trial      proven: it committed, logged and reported"]


@pytest.mark.req("ENG-4")
def test_for_programs_it_says_what_arrived(check):
    said = check("scripted", "--json").ok().json
    shapes, answers = read_page()
    assert faults(said, answers["engine check"], shapes) == []
    arrived = {"committed": True, "logged": True, "reported": True}
    assert said["ok"]
    assert said["trials"] == [{"autonomy": None, "sandbox": None, "verdict": "proven", "detail": "", **arrived}]


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize(
    ("name", "dialect", "files"),
    [
        ("claude", "messages", [".claude.json"]),
        ("codex", "responses", [".codex/config.toml"]),
        ("gemini", "contents", [".gemini/settings.json", ".gemini/trustedFolders.json"]),
        ("opencode", "messages", [".config/opencode/opencode.json"]),
        ("scripted", "script", []),
        ("shell", "command", []),
    ],
)
def test_these_say_how_they_are_proven(name, dialect, files):
    check = engine("", name).check
    assert (check.dialect, sorted(check.files)) == (dialect, files)
    where = [text for text in (*check.env.values(), *check.files.values()) if "{url}" in text]
    assert len(where) == (dialect not in {"script", "command"}), "it is sent to the stub, and nowhere else"


# With a stub of a model


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("dialect", ["messages", "responses"])
def test_an_agent_is_told_by_a_stub_of_its_model_what_to_do(home, root, dialect):
    arrived = {"committed": True, "logged": True, "reported": True}
    assert try_out(tiny(home, dialect), None, root) == Trial(autonomy=None, verdict="proven", detail="", **arrived)


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("dialect", ["messages", "responses"])
def test_what_failed_inside_is_told_outside(home, root, dialect):
    """A worktree whose index cannot be written, as in a sandbox that is too narrow; log and report do arrive."""
    tiny(home, dialect)
    path = home / "engines" / "mine.toml"
    path.write_text(path.read_text() + "[env]\nGIT_INDEX_FILE = '/nowhere/index'\n")
    found = try_out(read(path), None, root)
    assert (found.verdict, found.committed, found.logged, found.reported) == ("broken", False, True, True)
    assert "/nowhere/index.lock" in found.detail


@pytest.mark.req("ENG-4")
def test_a_command_that_failed_in_the_sandbox_is_asked_for_once_more_outside_and_then_given_up():
    said: list[dict] = []

    def next_call(result: str) -> dict:
        answer = responses({"tools": [{}], "input": said}, ["one", "two"])
        item = answer.events[1]["item"]
        if item["type"] == "function_call":
            said.extend([item, {"type": "function_call_output", "call_id": item["call_id"], "output": result}])
            return json.loads(item["arguments"])
        assert answer.last
        return {"said": item["content"][0]["text"], "trouble": answer.trouble}

    no, yes = "Process exited with code 1\nOutput:\nno", "Process exited with code 0"
    told = [next_call(result) for result in (no, no, yes, "")]
    assert [each.get("cmd") for each in told] == ["one", "one", "two", None]
    assert ["sandbox_permissions" in each for each in told] == [False, True, False, False]
    assert told[-1] == {"said": LAST_WORDS, "trouble": [no, no]}


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize(("speak", "body"), [(messages, {"messages": []}), (responses, {"input": []})])
def test_a_request_without_tools_is_for_a_title_and_ends_nothing(speak, body):
    answer = speak(body, COMMANDS)
    assert not answer.last
    assert "A title" in str(answer.events)
    assert COMMANDS[0] not in str(answer.events)


# What is said when it is not proven


@pytest.mark.req("ENG-4")
def test_work_without_a_word_to_fleet_is_broken(home, check):
    own(home, f'"-c", "git commit --quiet --allow-empty --message \'{MESSAGE}\'"')
    answer = check("mine")
    assert (answer.code, answer.err) == (14, "")
    assert "broken: no log, no report arrived" in answer.out


@pytest.mark.req("ENG-4")
def test_a_program_that_fails_is_broken_and_its_last_words_are_told(home, root):
    found = try_out(own(home, '"-c", "echo no key; exit 3"'), None, root)
    assert (found.verdict, found.committed, found.reported) == ("broken", False, False)
    assert found.detail == "no key"


@pytest.mark.req("ENG-4")
def test_an_agent_that_asks_a_person_is_no_failure(home, check):
    own(home, HANGS, more=SCREEN.format("asks"))
    answer = check("mine").ok()
    assert "asks before it commits: really" in answer.out


@pytest.mark.req("ENG-4")
def test_a_dialog_that_nobody_answers_is_broken(home, check):
    own(home, HANGS, more=SCREEN.format("dialog"))
    answer = check("mine", "--json")
    assert (answer.code, answer.json["ok"]) == (14, False)
    assert answer.json["trials"][0]["verdict"] == "broken"
    assert answer.json["trials"][0]["detail"] == "really"


@pytest.mark.req("ENG-4")
def test_what_decides_nothing_in_time_is_not_proven(home, root):
    found = try_out(own(home, HANGS), None, root, patience=0)
    assert found.verdict == "unproven"
    assert found.detail.startswith("nothing was decided within 0 s")


@pytest.mark.req("ENG-4")
def test_an_engine_that_does_not_say_how_is_not_proven(home, check):
    path = Path(own(home, HANGS).source)
    path.write_text(path.read_text().partition("[check]")[0])
    answer = check("mine")
    assert (answer.code, answer.err) == (1, "")
    assert "not proven: its file has no [check]" in answer.out


@pytest.mark.req("ENG-4")
def test_every_freedom_is_tried_and_one_that_is_named_alone(home, check):
    own(home, HANGS, more=SCREEN.format("asks") + "[autonomy]\nask = []\nedits = []\n")
    assert [each["autonomy"] for each in check("mine", "--json").ok().json["trials"]] == ["ask", "edits"]
    assert [each["autonomy"] for each in check("mine", "--json", "--autonomy", "ask").ok().json["trials"]] == ["ask"]
    refused = check("mine", "--autonomy", "full")
    assert refused.code == 14
    assert "refused: autonomy 'full' is refused for engine 'mine'" in refused.out


@pytest.mark.req("ENG-4", "ENG-6")
def test_what_would_stop_it_here_is_said_beside_the_proof(home, check, tmp_path):
    before = "file = '~/trusted.json'\npath = ['{repository}']\nequals = true\nwhy = 'no trust in {repository}'\nadvice = 'say yes'"
    files = "[check.files]\n'trusted.json' = '{\"{repository}\": true}'\n"
    own(home, HANGS, more=files + SCREEN.format("asks") + f"[[before]]\n{before}\n")
    answer = check("mine", "--json")
    assert answer.code == 14
    assert (answer.json["ok"], answer.json["advice"]) == (False, "say yes")
    assert f"no trust in {tmp_path}" in answer.json["why"]
    assert [each["verdict"] for each in answer.json["trials"]] == ["asks"]


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        (
            '"script"',
            '"greek"',
            6,
            "dialect is 'greek', but should be 'messages', 'responses', 'contents', 'script' or 'command'",
        ),
        ("dialect", "tongue", 6, "unknown key 'tongue' in [check]"),
        ('dialect = "script"', 'dialect = "script"\nenv = {A = 1}', 7, "A is 1, but should be a text"),
        ("[check]", "[[check]]", 5, "check is [{'dialect': 'script'}], but should be a table with dialect, env, files"),
    ],
)
def test_a_broken_check_is_named_with_its_line(home, old, new, line, why):
    path = Path(own(home, HANGS).source)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(BadSetting) as caught:
        read(path)
    assert str(caught.value) == f"{path}:{line}: {why}"


# Nothing is left, and nothing of the person's is used


@pytest.mark.req("ENG-4")
def test_nothing_of_the_persons_reaches_the_program(home, root, monkeypatch, tmp_path):
    monkeypatch.setenv("MY_API_KEY", "secret")
    told = tmp_path / "told"
    try_out(own(home, f'"-c", "env > {told}"'), None, root)
    seen = dict(line.partition("=")[::2] for line in told.read_text().splitlines())
    assert "MY_API_KEY" not in seen
    assert seen["HOME"] == f"{root}/person"
    assert seen["FLEET_HOME"] == f"{root}/home"


@pytest.mark.req("ENG-4")
def test_what_a_killed_check_left_is_cleared_by_the_next(home, check):
    own(home, HANGS)
    first = subprocess.Popen([FLEET, "engine", "check", "mine"], env=os.environ | {"FLEET_HOME": str(home)})
    try:
        until(lambda: first.poll() is not None or len(marked(home)) > 1)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert marked(home) != []
    check("scripted").ok()


@pytest.mark.req("ENG-4")
def test_one_check_at_a_time(home, check):
    with Fleet.open(str(home)) as fleet, fleet.gate("engine-check"):
        check("scripted").refused(12, "engine-check")
