"""Notifications for real: terminals on tmux, programs that are killed, processes that race, apprise, a desktop's program."""

import http.server
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from staging.raw import select
from staging.stage import HALTING, PATIENCE, PROJECT, Terminal, answer

from fleet.store.migrations import MIGRATIONS
from fleet.testing.crash.scenarios import until
from fleet.world.files import terminals
from fleet.world.funnel import Funnel

SECRET = "t0p-s3cr3t"


def configured(stage, **notify: object) -> None:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in notify.items())
    config = Path(stage.home, "config.toml")
    config.write_text(f"{config.read_text().partition('[notify]')[0]}\n[notify]\n{lines}")


def failed(fleet, slug: str, reason: str = "no way") -> None:
    fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    fleet.tasks.fail(project=PROJECT, slug=slug, reason=reason)


def is_dead(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


@pytest.mark.req("NOTE-1")
def test_of_many_processes_that_send_at_once_one_tells(either, tmp_path):
    told = tmp_path / "told"
    configured(either, channels=["command"], command=["sh", "-c", f"cat >>{told}"])
    with either.fleet() as fleet:
        failed(fleet, "t")
        racing = [either.start(sys.executable, HALTING, "never", "", "notify") for _ in range(6)]
        assert [answer(each).code for each in racing] == [0] * 6
        fleet.notices.send_due()
        assert len(told.read_text().splitlines()) == 1
        assert [each.state for each in fleet.notices.list()] == ["told"]


@pytest.mark.req("NOTE-1")
def test_a_sender_that_was_killed_while_it_told_is_followed_by_one_who_knows(either, tmp_path):
    told = tmp_path / "told"
    configured(either, channels=["command"], command=["sh", "-c", f"cat >>{told}"], on=["failed"])
    with either.fleet() as fleet:
        failed(fleet, "t")
        sender = either.halted("during", "run notify.command", "notify")
        assert fleet.notices.send_due() == [], "it may be alive"
        assert [each.state for each in fleet.notices.list()] == ["sending"]
        sender.kill()
        sender.wait(PATIENCE)
        assert fleet.notices.send_due() == [], "a failure is told at most once"
        [notice] = fleet.notices.list()
        assert (notice.state, notice.trouble) == ("unsure", "the process that was sending it ended")


@pytest.mark.req("NOTE-1")
def test_a_daemon_tells_once_also_after_it_was_killed_and_started_again(either, tmp_path):
    told = tmp_path / "told"
    configured(either, channels=["command"], command=["sh", "-c", f"cat >>{told}"])
    for slug, times in (("t", 1), ("u", 2)):
        started = either.program("daemon", "start", "--json")
        assert started.code == 0, started
        with either.fleet() as fleet:
            failed(fleet, slug)
            until(lambda: [each.state for each in fleet.notices.list()] == ["told"] * times)  # noqa: B023 - at once
        assert len(told.read_text().splitlines()) == times
        os.kill(started.json["pid"], signal.SIGKILL)
        until(lambda: is_dead(started.json["pid"]))  # noqa: B023 - at once
    logged = either.program("daemon", "logs", "--json").objects
    assert [each["did"] for each in logged if each.get("duty") == "notify"] == [f"{PROJECT}/{slug} failed: told by command" for slug in "tu"]  # fmt: skip


@pytest.mark.req("NOTE-1", "SEC-4")
def test_an_attached_terminal_rings_and_shows_the_notice(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        scene.launched(fleet, ident)
        [nobody] = fleet.notices.test("terminal")
        assert (nobody.outcome, nobody.text) == ("absent", "no terminal is attached to fleet's tmux server")
        screen = Terminal(scene, "attach", ident, term="xterm-256color")
        until(fleet.world.tmux.clients)
        [told] = fleet.notices.test("terminal")
        assert told.outcome == "told", told
        assert told.text.startswith("/dev/pts/")
        screen.shows("\a\x1b]9;fleet: a test: this is how fleet tells you what needs you\a")
        configured(scene, channels=["terminal"])
        failed(fleet, "u", "it says; \\ and more")
        assert len(fleet.notices.send_due()) == 1
        screen.shows(f"\a\x1b]9;{PROJECT}/u failed: it says, \\ and more\a")
        screen.type("\x11")  # Ctrl+Q detaches
        screen.ended()
        until(lambda: not fleet.world.tmux.clients())
        assert fleet.notices.test("terminal")[0].outcome == "absent"


@pytest.mark.req("NOTE-1")
def test_a_terminal_that_takes_nothing_or_is_none_is_given_up(tmp_path):
    ours, theirs = pty.openpty()
    name = os.ttyname(theirs)
    termios.tcflow(theirs, termios.TCOOFF)  # as Ctrl+S does
    assert terminals.write(Funnel(), name, b"\a" * 100) == "it took nothing within 1 s"
    termios.tcflow(theirs, termios.TCOON)
    assert terminals.write(Funnel(), "/dev/null", b"\a") == "it is not a terminal"
    file = tmp_path / "file"
    file.touch()
    assert terminals.write(Funnel(), str(file), b"\a") == "it is not a terminal"
    assert file.read_bytes() == b""
    link = tmp_path / "link"
    link.symlink_to(name)
    assert terminals.write(Funnel(), str(link), b"\a") != ""
    os.close(ours)
    os.close(theirs)
    assert terminals.write(Funnel(), name, b"\a") != ""


@pytest.mark.req("NOTE-1", "SEC-4")
def test_a_desktop_gets_title_and_body_without_markup(scene, tmp_path, monkeypatch):
    program, said = tmp_path / "notify-send", tmp_path / "said"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{said}\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    configured(scene, channels=["desktop"])
    with scene.fleet() as fleet:
        failed(fleet, "t", "<b>bold</b> & <a href='x'>link</a>")
        assert fleet.notices.send_due() == [f"{PROJECT}/t failed: told by desktop"]
    expected = ["--app-name=fleet", "--", f"{PROJECT}/t failed", "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a href='x'&gt;link&lt;/a&gt;"]  # fmt: skip
    assert said.read_text().splitlines() == expected


class Inbox(http.server.BaseHTTPRequestHandler):
    """What apprise sends to an address of ours."""

    got: list[dict]

    def do_POST(self) -> None:
        type(self).got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None: ...


@pytest.fixture
def inbox():
    Inbox.got = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inbox)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.req("NOTE-1", "SEC-5")
def test_apprise_reaches_addresses_and_no_address_is_kept_or_shown(either, inbox):
    urls = [f"json://ann:{SECRET}@127.0.0.1:{inbox}/{SECRET}", f"json://127.0.0.1:1/{SECRET}"]
    configured(either, channels=["urls"], urls=urls)
    with either.fleet() as fleet:
        failed(fleet, "t", "see https://ann:pa55@example.com/x")
        [line] = fleet.notices.send_due()
        assert line == f"{PROJECT}/t failed: told by urls"
        [message] = Inbox.got
        assert (message["title"], message["message"]) == (f"{PROJECT}/t failed", "see https://…@example.com/x")
        [tried] = fleet.notices.test("urls")
        assert (tried.outcome, tried.text) == ("told", "json://…; not taken by json://…")
        said = [either.program(*words) for words in (["config", "show"], ["config", "show", "--json"], ["notify", "list", "--json"], ["ops", "--json"], ["doctor"])]  # fmt: skip
        assert "json://…" in said[0].out
        assert SECRET not in "".join(each.out + each.err for each in said)
        tables = {name.split()[2] for each in MIGRATIONS for name in each.text.split("\n") if name.startswith("CREATE TABLE")}  # fmt: skip
        kept = {name: repr(fleet.store.read(lambda rows, name=name: select(rows, f"SELECT * FROM {name}"))) for name in tables if not name.endswith("_new")}  # fmt: skip
        assert "notices" in kept
        assert [name for name, text in kept.items() if SECRET in text] == []


@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("value", [[f"{SECRET}"], [f"ntfy://{SECRET}", 5], f"ntfy://{SECRET}"])
def test_a_wrong_address_is_refused_without_being_shown(scene, value):
    config = Path(scene.home, "config.toml")
    before = config.read_text()
    configured(scene, urls=value)
    said = scene.program("notify", "test")
    config.write_text(before)
    assert said.code == 2
    assert "notify.urls" in said.err or "urls should be a list of addresses" in said.err
    assert SECRET not in said.out + said.err


@pytest.mark.req("SEC-5")
def test_no_address_is_in_the_list_of_processes(scene, inbox, tmp_path):
    """apprise gets the addresses on its standard input."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/words\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    configured(scene, urls=[f"json://127.0.0.1:{inbox}/{SECRET}"], channels=["urls"])
    code = "import sys; sys.executable = sys.argv.pop(1); from fleet.api.fleet import Fleet\nwith Fleet.open() as f: print(f.notices.test('urls')[0].outcome)"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, str(python)], env=scene.around(), capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "told\n"
    assert SECRET not in (tmp_path / "words").read_text()


@pytest.mark.req("NOTE-1")
def test_the_program_tries_the_channels_and_lists_what_was_told(scene, tmp_path):
    told = tmp_path / "told"
    none = scene.program("notify", "test", "--channel", "command")
    assert (none.code, none.out) == (1, "– command: notify.command is not set\n")
    configured(scene, channels=["command"], command=["sh", "-c", f"cat >>{told}"])
    tried = scene.program("notify", "test")
    assert (tried.code, tried.out, tried.err) == (0, "✓ command: sh\n", "")
    assert json.loads(told.read_text())["is_test"] is True
    assert scene.program("notify", "list").out == "nothing was told yet: the daemon sends notifications\n"
    with scene.fleet() as fleet:
        failed(fleet, "t", "bad \\ news")
        fleet.notices.send_due()
    shown = scene.program("notify", "list").out
    assert all(word in shown for word in ("told", "command", f"{PROJECT}/t failed", "bad \\ news"))


@pytest.mark.req("OBS-6")
def test_doctor_says_who_can_be_told_and_what_cannot_be_used(scene):
    def finding(**notify: object) -> dict:
        configured(scene, channels=["command", "urls"], **notify)
        [found] = [each for each in scene.program("doctor", "--json").json if each["about"] == "notifications"]
        return found

    assert (finding()["ok"], finding()["says"]) == (True, "no channel is set up")
    assert finding(command=["true"])["says"] == "by command"
    wrong = finding(command=["/nowhere/tell-me", SECRET])
    assert (wrong["ok"], wrong["says"]) == (False, "notify.command: tell-me is not installed")
    assert "fleet notify test" in wrong["advice"]
