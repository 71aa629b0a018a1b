"""A person is told of each transition once: across restarts, deaths of the sender and racing senders; quiet hours; digests."""

import json
import os
import time
from pathlib import Path

import pytest
from staging.stage import raw

from fleet.api.fleet import Fleet
from fleet.api.hooking import Hooking
from fleet.model.agents.dialect import Dialect
from fleet.model.agents.notices.messages import Message
from fleet.model.text.times import DAY, HOUR, MINUTE, SECOND, iso
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.homes.notices import send
from fleet.verbs.tasks.edit import Edit

DIALECT = Dialect({"engine": "x", "events": {"Ask": "asks", "Idle": "notified", "Worked": "worked"}, "shell": "Bash", "notices": {"idle": "idle"}, "wait": 0})  # fmt: skip
SEEN = """
summary = "a test's agent without hooks"
program = "sh"
start = ["{program}", "-c", "sleep 1000"]
interactive = true
[[screen]]
state = "idle"
match = "WAITING"
[[screen]]
state = "working"
match = "BUSY"
"""


class Killed(BaseException):
    """The process is killed here."""


@pytest.fixture
def told(scene: SimulatedScene) -> Path:
    """The file in which the person's command writes what it gets, a line for each message."""
    file = Path(scene.root, "told")
    settings(scene, command=["sh", "-c", f"cat >>{file}"])
    return file


def settings(scene: SimulatedScene, **notify: object) -> None:
    """Write the table [notify] of the home's settings, with the command as the only channel."""
    config = Path(scene.home, "config.toml")
    rest = config.read_text().partition("[notify]")[0]
    given = {"channels": ["command"], **notify}
    config.write_text(f"{rest}[notify]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()))


def messages(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def titles(file: Path) -> list[str]:
    return [each["title"] for each in messages(file)]


def hear(scene: SimulatedScene, ident: str, event: str, **payload: object):
    scene.clock.wait(1)
    hooking = Hooking(scene.home, ident, scene.fleet.store, scene.fleet.funnel)
    hooking._committer.clock = scene.clock
    return hooking.handle_event(DIALECT, event, payload, scene.clock.now())


def ask(scene: SimulatedScene, ident: str, command: str = "make deploy") -> str:
    return hear(scene, ident, "Ask", tool_name="Bash", tool_input={"command": command}).question


def fail(scene: SimulatedScene, slug: str, reason: str = "no way") -> None:
    if not scene.fleet.graph.slugs(project=PROJECT, prefix=slug):
        scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    scene.clock.wait(1)
    scene.fleet.tasks.fail(project=PROJECT, slug=slug, reason=reason)


def notices(scene: SimulatedScene) -> list[q.Notice]:
    return scene.fleet.store.read(lambda rows: q.newest_notices(rows, most=100))


def dies(fleet: Fleet, death: str) -> None:
    """Let the fleet's process be killed `before` or `after` an effect that begins so."""
    when, _, effect = death.partition(" ")

    class Watcher:
        def before(self, name: str) -> None:
            self.at("before", name)

        def during(self, name: str, pid: int) -> None: ...

        def after(self, name: str) -> None:
            self.at("after", name)

        def at(self, now: str, name: str) -> None:
            if now == when and name.startswith(effect):
                raise Killed

    fleet.funnel.watcher = Watcher()


@pytest.mark.req("NOTE-1")
def test_a_question_is_told_once_and_names_project_agent_and_question(scene, told):
    ident = scene.work("a")
    question = ask(scene, ident)
    assert scene.fleet.notices.send_due() == [f"{PROJECT}/a needs you (agent {ident}): told by command"]
    for _ in range(3):
        assert scene.fleet.notices.send_due() == []
        assert scene.open().notices.send_due() == [], "nor does another process, after a restart"
    [message] = messages(told)
    [notice] = message["notices"]
    assert message["title"] == f"{PROJECT}/a needs you (agent {ident})"
    assert "make deploy" in message["body"]
    assert message["is_test"] is False
    expected = {"project": PROJECT, "task": "a", "dispatch": ident, "question": question, "kind": "needs you"}
    assert {name: notice[name] for name in expected} == expected
    ask(scene, ident, "make other")
    assert len(scene.fleet.notices.send_due()) == 1, "another question is another transition"


@pytest.mark.req("NOTE-1")
def test_a_failure_is_told_once_with_its_reason_and_the_next_failure_again(scene, told):
    fail(scene, "a", "the tests hang")
    assert len(scene.fleet.notices.send_due()) == 1
    scene.fleet.tasks.edit(Edit(project=PROJECT, slug="a", title="another title"))
    assert scene.fleet.notices.send_due() == [], "a change of the task is no transition"
    scene.fleet.tasks.retry(project=PROJECT, slug="a")
    assert scene.fleet.notices.send_due() == []
    fail(scene, "a", "still")
    assert len(scene.fleet.notices.send_due()) == 1
    assert [(each["title"], each["body"]) for each in messages(told)] == [
        (f"{PROJECT}/a failed", "the tests hang"),
        (f"{PROJECT}/a failed", "still"),
    ]


@pytest.mark.req("NOTE-1")
def test_an_agent_that_waits_again_is_told_again_and_one_whose_state_is_not_known_is_not(scene, told):
    ident = scene.work("a")
    hear(scene, ident, "Idle", notification_type="idle", message="idle")
    assert scene.fleet.notices.send_due() == [f"p/a needs you (agent {ident}): told by command"], (
        scene.fleet.agents.list()
    )
    scene.agent(ident).is_hidden = True
    assert scene.fleet.notices.send_due() == []
    scene.agent(ident).is_hidden = False
    assert scene.fleet.notices.send_due() == [], "nobody could tell whether it still waited: it did"
    hear(scene, ident, "Worked", tool_name="Bash", tool_input={"command": "ls"})
    assert scene.fleet.notices.send_due() == []
    hear(scene, ident, "Idle", notification_type="idle", message="idle")
    assert scene.fleet.notices.send_due() == [f"p/a needs you (agent {ident}): told by command"]
    assert len(messages(told)) == 2


@pytest.mark.req("NOTE-1")
def test_what_a_screen_shows_is_told_once_as_long_as_nobody_can_say_that_it_ended(scene, told):
    """A screen does not tell since when: one that cannot be read is no end of it."""
    Path(scene.home, "engines").mkdir()
    Path(scene.home, "engines", "seen.toml").write_text(SEEN)
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug="a", engine="seen")).id
    scene.launch(ident)
    told_once = [f"p/a needs you (agent {ident}): told by command"]
    for shown, expected in (("WAITING", told_once), ("", []), ("WAITING", []), ("BUSY", []), ("WAITING", told_once)):
        scene.pane(ident).screen = shown
        scene.clock.wait(1)
        assert scene.fleet.notices.send_due() == expected, (shown, scene.fleet.agents.list())


@pytest.mark.req("NOTE-1")
def test_needs_and_failures_are_told_by_default_and_reviews_when_asked_for(scene, told):
    assert scene.fleet.settings.read()["notify.on"].value == ["needs you", "failed"]
    scene.fleet.tasks.add(project=PROJECT, title="b", slug="b")
    scene.fleet.tasks.block(project=PROJECT, slug="b", reason="no key")
    assert scene.fleet.notices.send_due() == []
    settings(scene, on=["blocked"], command=["sh", "-c", f"cat >>{told}"])
    assert scene.fleet.notices.send_due() == [f"{PROJECT}/b is blocked: told by command"]
    settings(scene, on=[], command=["sh", "-c", f"cat >>{told}"])
    fail(scene, "c")
    assert scene.fleet.notices.send_due() == []


@pytest.mark.req("NOTE-1")
@pytest.mark.parametrize(
    ("death", "times", "state"),
    [
        ("before commit notice", (1, 1), "told"),
        ("after commit notice", (1, 1), "told"),
        ("before commit tell", (1, 1), "told"),
        ("after commit tell", (1, 0), "unsure"),
        ("after run notify.command", (2, 1), "unsure"),
        ("before commit told", (2, 1), "unsure"),
        ("after commit told", (1, 1), "told"),
    ],
)
def test_a_killed_sender_tells_a_need_at_least_once_and_a_failure_at_most_once(scene, told, death, times, state):
    for kind, expected in zip(("needs you", "failed"), times, strict=True):
        told.unlink(missing_ok=True)
        ask(scene, scene.work("a")) if kind == "needs you" else fail(scene, "b")
        sender = scene.open()
        dies(sender, death)
        with pytest.raises(Killed):
            sender.notices.send_due()
        scene.fleet.notices.send_due()
        scene.fleet.notices.send_due()
        assert len(messages(told)) == expected, kind
    assert {each.kind: each.state for each in notices(scene)} == {"needs you": "told", "failed": state}


@pytest.mark.req("NOTE-1")
def test_of_two_senders_one_takes_a_notice(scene, told):
    fail(scene, "a")
    send.record_changes(scene.fleet.context)
    [due] = notices(scene)
    message = Message(title="t", body="b", notices=(due,))
    first = scene.fleet.context.commit(send.take(message, "one", "home-1"))
    second = scene.open().context.commit(send.take(message, "two", "home-2"))
    assert (first, second) == ([due.id], [])
    assert scene.fleet.notices.send_due() == [], "another home sends it, and may be alive"
    assert notices(scene)[0].sender == "home-1"


@pytest.mark.req("NOTE-1")
@pytest.mark.parametrize("is_taken", [False, True])
def test_what_is_over_before_it_was_told_lapses_also_when_its_sender_is_lost(scene, told, is_taken):
    question = ask(scene, scene.work("a"))
    send.record_changes(scene.fleet.context)
    [due] = notices(scene)
    if is_taken:
        message = Message(title="t", body="b", notices=(due,))
        scene.fleet.context.commit(send.take(message, "one", scene.fleet.context.world.record.id))
    scene.fleet.messages.approve(question)
    send.record_changes(scene.fleet.context)
    assert notices(scene)[0].state == ("sending" if is_taken else "lapsed")
    assert scene.fleet.notices.send_due() == []
    [notice] = notices(scene)
    assert (notice.state, notice.sender, notice.over_at is None) == ("lapsed", None, False)
    assert messages(told) == []


@pytest.mark.req("NOTE-1")
def test_each_home_of_a_store_tells_the_needs_of_its_own_agents(scene, told):
    ask(scene, scene.work("a"))
    own = scene.fleet.world.record.id
    raw(scene.fleet, "UPDATE dispatches SET home = 'another'")
    assert scene.fleet.notices.send_due() == []
    raw(scene.fleet, f"UPDATE dispatches SET home = '{own}'")
    assert len(scene.fleet.notices.send_due()) == 1
    raw(scene.fleet, "UPDATE notices SET home = 'another'")
    raw(scene.fleet, "UPDATE dispatches SET home = 'another'")
    assert scene.fleet.notices.send_due() == []
    assert scene.fleet.notices.list()[0].over_at is None, "that is for the other home to say"


@pytest.mark.req("NOTE-1")
def test_a_second_process_of_the_home_leaves_the_sending_to_the_first(scene, told):
    fail(scene, "a")
    with scene.fleet.world.gate(send.GATE):
        assert scene.open().notices.send_due() == []
        assert notices(scene) == []
    assert len(scene.open().notices.send_due()) == 1


@pytest.mark.req("NOTE-1")
def test_in_quiet_hours_nobody_is_told_and_after_them_what_still_waits(scene, told, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    midnight = scene.clock.now() // DAY * DAY + DAY
    settings(scene, quiet="22:00-07:00", command=["sh", "-c", f"cat >>{told}"])
    scene.clock.set(midnight - 2 * HOUR)
    waiting, answered = scene.work("a"), scene.work("b")
    ask(scene, waiting)
    over = ask(scene, answered)
    assert scene.fleet.notices.send_due() == []
    scene.clock.set(midnight + 7 * HOUR - SECOND)
    assert scene.fleet.notices.send_due() == []
    scene.fleet.messages.approve(over)
    scene.clock.set(midnight + 7 * HOUR)
    assert len(scene.fleet.notices.send_due()) == 1
    assert titles(told) == [f"{PROJECT}/a needs you (agent {waiting})"], "what was answered meanwhile is not told"
    monkeypatch.undo()
    time.tzset()


@pytest.mark.req("NOTE-1")
def test_more_than_a_few_a_minute_become_one_digest(scene, told):
    for slug in "abc":
        fail(scene, slug)
    assert len(scene.fleet.notices.send_due()) == 3
    for slug in "defgh":
        fail(scene, slug, f"reason of {slug}")
    [line] = scene.fleet.notices.send_due()
    assert line == "fleet: 5 failed: told by command"
    digest = messages(told)[-1]
    assert digest["body"].splitlines()[0] == f"{PROJECT}/d failed: reason of d"
    assert [each["task"] for each in digest["notices"]] == list("defgh")
    fail(scene, "i")
    fail(scene, "j")
    assert scene.fleet.notices.send_due() == [], "one digest a minute"
    scene.clock.wait(61)
    assert scene.fleet.notices.send_due() == [f"{PROJECT}/i failed: told by command", f"{PROJECT}/j failed: told by command"]  # fmt: skip
    assert scene.fleet.notices.send_due() == []


@pytest.mark.req("NOTE-1")
def test_a_channel_that_fails_is_tried_again_later_and_given_up_at_last(scene, told):
    broken = Path(scene.root, "broken")
    broken.touch()
    settings(scene, command=["sh", "-c", f"test -e {broken} && exit 3; cat >>{told}"])
    fail(scene, "a")
    assert scene.fleet.notices.send_due() == [f"{PROJECT}/a failed: nobody was told, command failed (sh exited with status 3)"]  # fmt: skip
    assert scene.fleet.notices.send_due() == [], "not at once"
    broken.unlink()
    scene.clock.wait(31)
    assert len(scene.fleet.notices.send_due()) == 1
    assert len(messages(told)) == 1
    broken.touch()
    fail(scene, "b")
    rounds = 0
    while scene.fleet.notices.send_due() or notices(scene)[0].state == "due":
        scene.clock.wait(601)
        rounds += 1
        assert rounds < 20
    assert (notices(scene)[0].state, notices(scene)[0].attempts) == ("failed", 5)
    assert scene.fleet.notices.list()[0].trouble == "command: sh exited with status 3"


@pytest.mark.req("NOTE-1")
def test_without_a_channel_nothing_is_lost_and_nothing_is_committed(scene, told):
    settings(scene, channels=["command"])
    ask(scene, scene.work("a"))
    scene.fleet.notices.send_due()
    before = scene.fleet.operations.newest()
    for _ in range(5):
        assert scene.fleet.notices.send_due() == []
    assert scene.fleet.operations.newest() == before
    settings(scene, command=["sh", "-c", f"cat >>{told}"])
    assert len(scene.fleet.notices.send_due()) == 1


@pytest.mark.req("NOTE-1")
def test_what_failed_long_ago_is_no_news_and_what_waits_always_is(scene, told):
    settings(scene, on=["needs you", "blocked"], command=["sh", "-c", f"cat >>{told}"])
    ident = scene.work("a")
    ask(scene, ident)
    scene.fleet.tasks.add(project=PROJECT, title="b", slug="b")
    scene.fleet.tasks.block(project=PROJECT, slug="b", reason="no key")
    scene.clock.set(scene.clock.now() + DAY + MINUTE)
    assert len(scene.fleet.notices.send_due()) == 1
    assert titles(told) == [f"{PROJECT}/a needs you (agent {ident})"]
    assert {each.kind: each.state for each in notices(scene)} == {"needs you": "told", "blocked": "lapsed"}


@pytest.mark.req("NOTE-1")
def test_a_clock_that_was_a_year_ahead_neither_repeats_nor_silences(scene, told):
    now = scene.clock.now()
    fail(scene, "a")
    assert len(scene.fleet.notices.send_due()) == 1
    scene.clock.set(now + 365 * DAY)
    scene.fleet.notices.send_due()
    for slug in "bcde":
        fail(scene, slug)
    assert len(scene.fleet.notices.send_due()) == 1, "a digest"
    scene.clock.set(now + 10 * SECOND)
    assert scene.fleet.notices.send_due() == [], "a is told already"
    for slug in "fghij":
        fail(scene, slug)
    assert len(scene.fleet.notices.send_due()) == 1
    assert len(messages(told)) == 3


@pytest.mark.req("NOTE-1", "SEC-4")
def test_no_control_character_of_an_agent_reaches_the_command(scene, told):
    ident = scene.work("a")
    ask(scene, ident, "echo \x1b]0;owned\x07 \x9b31m \u202e")
    assert len(scene.fleet.notices.send_due()) == 1
    [message] = messages(told)
    text = message["title"] + message["body"].replace("\n", "")
    assert text.isprintable(), text
    assert "owned" in text
    fail(scene, "b", "right \u202e to left \u200b")
    assert len(scene.fleet.notices.send_due()) == 1
    assert messages(told)[-1]["body"] == "right \\u202e to left \\u200b"


@pytest.mark.req("NOTE-1")
def test_a_command_that_hangs_or_floods_is_ended_and_the_others_are_told(scene, told, monkeypatch):
    monkeypatch.setattr("fleet.verbs.homes.notices.channels._COMMAND_LIMIT", 0.5)
    pids = Path(scene.root, "pid")
    settings(scene, command=["sh", "-c", f"echo $$ >{pids}; yes"])
    fail(scene, "a")
    assert scene.fleet.notices.send_due() == [f"{PROJECT}/a failed: nobody was told, command failed (no answer within 0.5 s)"]  # fmt: skip
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


@pytest.mark.req("NOTE-1")
def test_the_list_shows_what_was_told_newest_first(scene, told):
    fail(scene, "a", "first")
    scene.fleet.notices.send_due()
    scene.clock.wait(1)
    fail(scene, "b", "second")
    scene.fleet.notices.send_due()
    newest, oldest = scene.fleet.notices.list()
    assert (newest.task, newest.state, newest.channels, newest.body) == ("b", "told", ["command"], "second")
    assert (oldest.task, oldest.over_at, oldest.trouble) == ("a", None, "")
    assert newest.told_at == iso(scene.clock.now())
    assert [each.task for each in scene.fleet.notices.list(most=1)] == ["b"]


@pytest.mark.req("NOTE-1")
@pytest.mark.parametrize(
    ("channel", "found", "why"),
    [
        ("desktop", ("macos",), "osascript is not installed"),
        ("desktop", ("DISPLAY",), "notify-send is not installed (Debian: libnotify-bin)"),
        ("desktop", ("notify-send",), "this process belongs to no desktop"),
        ("terminal", (), "no terminal is attached to fleet's tmux server"),
        ("urls", (), "notify.urls is not set"),
    ],
)
def test_a_channel_that_cannot_be_used_says_why(scene, monkeypatch, channel, found, why):
    machine = type(scene.fleet.world.machine)
    monkeypatch.setattr(machine, "is_mac", lambda _machine: "macos" in found)
    monkeypatch.setattr(machine, "has", lambda _machine, program: program in found)
    monkeypatch.setattr(machine, "variable", lambda _machine, name: name if name in found else "")
    (tried,) = scene.fleet.notices.test(channel)
    assert (tried.channel, tried.outcome, tried.text) == (channel, "absent", why)


@pytest.mark.req("NOTE-1")
def test_on_macos_the_desktop_is_told_by_osascript_and_a_failure_says_its_status(scene, monkeypatch, tmp_path):
    program = tmp_path / "osascript"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{tmp_path}/words\nexit $(cat {tmp_path}/status)\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(type(scene.fleet.world.machine), "is_mac", lambda _machine: True)
    for status, outcome, text in ((0, "told", "osascript"), (3, "failed", "osascript exited with status 3")):
        (tmp_path / "status").write_text(f"{status}")
        (tried,) = scene.fleet.notices.test("desktop")
        assert (tried.outcome, tried.text) == (outcome, text)
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:6:2] == ["-e"] * 3
    assert words[3] == "display notification (item 2 of argv) with title (item 1 of argv)"


@pytest.mark.req("NOTE-1")
def test_addresses_without_apprise_say_how_it_is_installed(scene, monkeypatch):
    config = Path(scene.home, "config.toml")
    config.write_text(f'{config.read_text()}notify.urls = ["json://127.0.0.1:1/x"]\n')
    monkeypatch.setattr(type(scene.fleet.world.machine), "has_module", lambda _machine, _name: False)
    (tried,) = scene.fleet.notices.test("urls")
    assert (tried.outcome, tried.text) == ("failed", "`pip install 'fleet-agents[notify]'` installs apprise")
