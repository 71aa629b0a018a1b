"""What agents wrote reaches no terminal as control characters: every command that shows it, on a terminal and in a pipe."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from live.merge.test_review import configured, steady
from staging.speaking import call, hook, scripted
from staging.stage import FLEET, raw

from fleet.testing.crash.scenarios import until

EVIL = "x\x1b[2J\x1b]0;owned\x07\rfleet: all is well\x9b31m\u202egnp.exe\u2066\x7f\x08"
# ESC, other C0 but tab and newline, DEL, C1, bidirectional overrides and isolates, as bytes of UTF-8.
OBEYED = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
# Colours, and the line that says what a slow command waits for, which is drawn over itself.
COLOUR = re.compile(rb"\x1b\[(?:(?:0|1|2|3[1-6])m|1G|K)")
QUESTION = {"question": f"Which?\n{EVIL}", "options": [{"label": f"One {EVIL}"}, {"label": "Two"}]}


def piped(stage, *words: str) -> bytes:
    done = subprocess.run([FLEET, *words], env=stage.around(), cwd=stage.repository, capture_output=True, check=False)
    return done.stdout + done.stderr


def on_a_terminal(stage, *words: str) -> bytes:
    """What comes on a terminal in colours; the carriage returns before line ends are the terminal's own."""
    mine, theirs = pty.openpty()
    around = stage.around(TERM="xterm-256color")
    with subprocess.Popen(
        [FLEET, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=around, cwd=stage.repository
    ) as child:
        os.close(theirs)
        shown = b""
        while more := _read(mine):
            shown += more
        child.wait()
    os.close(mine)
    return COLOUR.sub(b"", shown.replace(b"\r\n", b"\n"))


def _read(number: int) -> bytes:
    try:
        return os.read(number, 65536)
    except OSError:
        return b""


def check(stage, *words: str, shows: str | None = "␛[2J") -> None:
    """Nothing that a terminal obeys comes out; that it was there is shown."""
    for said in (piped(stage, *words), on_a_terminal(stage, *words)):
        assert OBEYED.search(said) is None, (words, said)
        assert shows is None or shows in said.decode(), (words, said.decode())


def texts_in(document: object) -> list[str]:
    """Every text of a JSON document."""
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return [document] if isinstance(document, str) else [text for each in inner for text in texts_in(each)]


def quoted(text: str) -> str:
    return text.replace("'", "''")


def spoil(fleet) -> None:
    """What came into the store by ways that check nothing, an older fleet's or another program's."""
    for sql in (
        f"UPDATE tasks SET title = '{quoted(EVIL)}', description = '{quoted(EVIL)}', reason = '{quoted(EVIL)}'",
        f"UPDATE task_log SET message = '{quoted(EVIL)}\n{quoted(EVIL)}'",
        f"UPDATE operations SET why = '{quoted(EVIL)}'",
    ):
        raw(fleet, sql)


@pytest.mark.req("SEC-4")
def test_no_listing_of_tasks_sends_what_a_terminal_obeys(scene):
    with scene.fleet() as fleet:
        for slug in ("a", "b"):
            fleet.tasks.add(project="p", title=slug, slug=slug, after=() if slug == "a" else ("a",))
        fleet.tasks.log(project="p", slug="a", message="m")
        fleet.tasks.fail(project="p", slug="a", reason="r")
        spoil(fleet)
    check(scene, "status")
    check(scene, "task", "list")
    check(scene, "task", "show", "a")
    check(scene, "task", "graph")
    check(scene, "task", "graph", "--mermaid")
    check(scene, "task", "graph", "--dot")
    check(scene, "task", "why", "b", shows=None)
    check(scene, "ops")
    check(scene, "recap", shows=None)
    check(scene, "task", "export", "--markdown")
    check(scene, "dispatches", "list", shows=None)


@pytest.mark.req("SEC-4")
def test_json_escapes_them_and_says_exactly_what_was_written(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="a", slug="a")
        spoil(fleet)
    for words in (("task", "show", "a"), ("task", "list"), ("task", "graph"), ("task", "export"), ("status",)):
        said = piped(scene, *words, "--json")
        assert OBEYED.search(said) is None, said
        assert words == ("status",) or EVIL in texts_in(json.loads(said)), said


@pytest.mark.req("SEC-4")
def test_a_mistake_with_hostile_words_is_told_without_them(scene):
    for words in (("task", "show", EVIL), ("add", EVIL), (EVIL,), ("task", "list", f"--{EVIL}"), ("job", "run", EVIL)):
        check(scene, *words, shows=None)
    check(scene, "run", "x", "--engine", EVIL, shows=None)


@pytest.mark.req("SEC-4")
def test_work_is_reviewed_and_merged_without_what_a_terminal_obeys(scene):
    with scene.fleet("ann") as fleet:
        configured(scene, "review = 'person'\nverify = 'cat evil; cat evil >&2; exit 1'\n")
        steady(scene, fleet)
        evil = Path(scene.root, "evil")
        evil.write_text(f"{EVIL}\n")
        works = f'cp {evil} evil && cp {evil} "evil$(cat evil)" && git add . && git commit -qF evil && fleet done'
        scene.dispatch(fleet, "t", "sh", "-c", works)
        scene.ended(fleet)
        check(scene, "diff", "t")
        check(scene, "diff", "t", "--stat", shows=None)
        check(scene, "review", "t")
        check(scene, "review", "t", "--verify")
        fleet.reviews.judge(project="p", slug="t", verdict="accept")
        said = piped(scene, "merge", "t")
        assert (OBEYED.search(said), b"verify is red" in said, "␛[2J" in said.decode()) == (None, True, True), said
        check(scene, "task", "show", "t")
        check(scene, "status", shows=None)


@pytest.mark.req("SEC-4")
def test_questions_and_screens_of_agents_are_shown_without_what_a_terminal_obeys(scene):
    title = "\x1b]2;title\u202e\x1b\\"
    with scene.fleet() as fleet:
        steady(scene, fleet)
        ident = scripted(scene, fleet, "hang")
        hook(scene, ident, "PreToolUse", tool_name="AskUserQuestion", tool_input={"questions": [QUESTION]})
        asks = {"tool_name": "Bash", "tool_input": {"command": f"echo {EVIL}\nrm -rf {EVIL}"}}
        call(scene, ident, "PermissionRequest", **asks)
        until(fleet.messages.questions)
        check(scene, "questions")
        check(scene, "status")
        check(scene, "ps")
        check(scene, "questions", "--json", shows=None)
        shell = scene.dispatch(fleet, "s", "sh", "-c", f"printf '{title}'; printf 'a\\tb \u202e%s\\n' done; sleep 1000")
        scene.shows(fleet, shell, "done")
        check(scene, "peek", shell, shows="\\u202e")
        check(scene, "ps", shows=None)
        log = Path(scene.home, "logs", f"{shell}.log")
        fleet.dispatches.kill(shell, "a test")
        until(log.exists)
        log.write_text(EVIL)
        check(scene, "logs", shell)


@pytest.mark.req("SEC-4")
def test_nothing_that_a_person_decides_by_is_folded_without_a_word(scene):
    """The evil line is the twenty-sixth; the evil word the three hundred and first letter."""
    with scene.fleet() as fleet:
        long = "\n".join([*(f"echo {number}" for number in range(25)), "rm -rf ~"])
        ident = scripted(scene, fleet, "hang")
        for command in (long, f"echo {'x' * 400}; rm -rf /home"):
            call(scene, ident, "PermissionRequest", tool_name="Bash", tool_input={"command": command})
        until(lambda: len(fleet.messages.questions()) == 2)
        said = piped(scene, "questions").decode()
        assert "rm -rf ~" in said
        assert "rm -rf /home" in said
        seen = on_a_terminal(scene, "status").decode()
        assert re.search(r"… \d+ more characters: fleet questions", seen), seen


@pytest.mark.req("SEC-4")
def test_a_handoff_document_is_shown_without_what_a_terminal_obeys(scene):
    with scene.fleet() as fleet:
        steady(scene, fleet)
        ident = scripted(scene, fleet, "hang")
        document = Path(scene.root, "notes.md")
        document.write_text(EVIL)
        piped(scene, "handoff", ident, "--doc", str(document), "--reason", "a test")
        check(scene, "handoffs", "show", ident)
        check(scene, "handoffs", "list", "--all", shows=None)


@pytest.mark.req("SEC-4")
def test_a_program_in_a_pane_does_not_write_into_the_status_line(scene):
    """An old way to rename a window; its name is drawn beside what fleet says of the agent."""
    with scene.fleet() as fleet:
        ident = scene.dispatch(
            fleet, "t", "sh", "-c", "printf '\\033k#(touch owned)#[fg=red]\\033\\\\done'; sleep 1000"
        )
        scene.shows(fleet, ident, "done")
        said = scene.tmux("display-message", "-p", "-t", f"=fleet-{ident}:", "#{window_name} #{allow-rename}")
        assert said == "p/t 0\n"
