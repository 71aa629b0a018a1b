"""What hooks tell, weighed; what agents ask; when limits are reset: decided without acting."""

import dataclasses
import json
import os
import time
import tomllib

import pytest

from fleet.engines import hooks
from fleet.engines.kept import status_file
from fleet.engines.reader import all_engines, engine, read
from fleet.errors.families import BadInput
from fleet.errors.given import BadSetting
from fleet.model.agents import questions
from fleet.model.agents.activity.hook_events import BEAT, STATES, HookReport, agent_after_report
from fleet.model.agents.activity.limit_resets import reset_time
from fleet.model.agents.dialect import FIELDS, MEANINGS, Dialect, clean
from fleet.model.identity import Identity
from fleet.model.results.reports import Received
from fleet.store.queries import LivingAgent
from fleet.testing.scripted import perform
from fleet.testing.speaking import HookCaller
from fleet.verbs.agents import messages

SAID_BY_CODEX = "sha256:fdf2734c9e893e640b0e1e1eb6e61da8bbf50ba461745e42b875fc3e776cbd0f"
NOW = 1_794_723_761_000  # 2026-11-15T06:22:41Z
NOTHING = LivingAgent.from_json({"dispatch": "0a1b2c3d", "compacting": 0, "sent_back": 0, "failed_turns": 0})


def known(**more):
    return NOTHING.replaced(**{"state": "working", "detail": "", "state_at": NOW, "heartbeat_at": NOW} | more)


@pytest.mark.req("HOOK-2", "AGENT-1")
@pytest.mark.parametrize("state", STATES)
def test_a_report_that_is_older_than_what_is_known_changes_nothing(state):
    assert (
        agent_after_report(
            known(), HookReport(NOW - 1, state=state, detail="late", turn="failed", facts={"context": 9})
        )
        is None
    )


@pytest.mark.req("HOOK-2")
def test_a_newer_report_is_learnt_with_its_time():
    after = agent_after_report(known(), HookReport(NOW + 5, state="stopped", detail="bye"))
    assert (after.state, after.detail, after.state_at, after.heartbeat_at) == (
        "stopped",
        "bye",
        NOW + 5,
        NOW + 5,
    )


@pytest.mark.req("HOOK-2")
def test_of_two_reports_of_one_moment_the_one_that_nobody_waited_for_yields():
    stopped = known(state="stopped", detail="bye")
    assert agent_after_report(stopped, HookReport(NOW, state="working", yields=True)) is None
    assert agent_after_report(known(), HookReport(NOW, state="stopped", detail="bye")).state == "stopped"


@pytest.mark.req("HOOK-2")
def test_the_same_again_is_written_down_every_fifteen_seconds_only():
    assert agent_after_report(known(), HookReport(NOW + BEAT - 1, state="working")) is None
    after = agent_after_report(known(), HookReport(NOW + BEAT, state="working"))
    assert (after.heartbeat_at, after.state_at) == (NOW + BEAT, NOW)


@pytest.mark.req("HOOK-2", "ENG-2")
def test_what_a_report_does_not_speak_of_stays_known():
    before = known(context=40, tokens=80_000, conversation="c", detail="")
    after = agent_after_report(before, HookReport(NOW + BEAT, facts={"cost": 5, "context": None}))
    assert after == before.replaced(cost=5, heartbeat_at=NOW + BEAT)


@pytest.mark.req("AGENT-1")
def test_more_context_is_news_at_once_and_more_tokens_are_not():
    assert agent_after_report(known(context=40), HookReport(NOW + 1, facts={"context": 41})).context == 41
    assert agent_after_report(known(tokens=40), HookReport(NOW + 1, facts={"tokens": 41})) is None


@pytest.mark.req("ENG-7", "AGENT-8")
def test_failed_turns_are_counted_until_one_goes_well_and_sent_back_ones_until_somebody_speaks():
    once = agent_after_report(known(), HookReport(NOW + 1, state="failed_turn", detail="x", turn="failed"))
    twice = agent_after_report(once, HookReport(NOW + 2, state="failed_turn", detail="y", turn="failed"))
    assert (once.failed_turns, twice.failed_turns) == (1, 2)
    assert agent_after_report(twice, HookReport(NOW + 3, state="working", turn="new")).failed_turns == 2
    assert agent_after_report(twice, HookReport(NOW + 3, state="working", turn="good")).failed_turns == 0
    back = agent_after_report(known(), HookReport(NOW + 1, state="working", detail="sent back", turn="back"))
    assert (back.sent_back, agent_after_report(back, HookReport(NOW + 2, state="working", turn="new")).sent_back) == (
        1,
        0,
    )


@pytest.mark.req("AGENT-1")
def test_compacting_is_over_with_the_next_state():
    after = agent_after_report(known(), HookReport(NOW + 1, state="compacting"))
    assert (after.compacting, agent_after_report(after, HookReport(NOW + 2, state="working")).compacting) == (1, 0)


@pytest.mark.req("LIMIT-1")
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("You've hit your session limit · resets 6:52am (UTC)", "2026-11-15T06:52"),
        ("You've hit your session limit · resets 6:22am (UTC)", "2026-11-16T06:22"),
        ("You've hit your weekly limit · resets Nov 19, 3:53am (UTC)", "2026-11-19T03:53"),
        ("… resets Jan 2, 12am (UTC)", "2027-01-02T00:00"),
        ("limit, resets 12pm (UTC)", "2026-11-15T12:00"),
        ("limit, resets 23:10 (UTC)", "2026-11-15T23:10"),
        ("limit, resets Nov ² 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets Nov 99999999999, 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets 99:99 or 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets 24:59 or 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets 13am or 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets 24:00 (UTC)", "2026-11-16T00:00"),
        ("limit, resets Nov 0, 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets Feb 31, 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets Feb 29, 7am (UTC)", "2026-11-15T07:00"),
        ("limit, resets Feb 28, 7am (UTC)", "2027-02-28T07:00"),
    ],
)
def test_the_time_of_a_reset_is_read_from_the_words(text, at):
    assert time.strftime("%Y-%m-%dT%H:%M", time.gmtime(reset_time(text, NOW) / 1_000)) == at


@pytest.mark.req("LIMIT-1")
def test_a_reset_without_a_zone_is_in_the_machines_own(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert reset_time("try again at 3:05 PM", NOW) == reset_time("resets 2:05pm (UTC)", NOW)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.req("LIMIT-1")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "try again later",
        "resets soon",
        "resets 5",
        "overloaded",
        "resets ²pm",
        "resets 3:0²",
        "try again at 99999999999:05",
        "resets 99:99",
        "resets 3:60",
        "resets 24:59",
        "resets 24:00pm",
    ],
)
def test_words_without_a_time_name_no_reset(text):
    assert reset_time(text, NOW) is None


@pytest.mark.req("ASK-1")
def test_a_permission_is_told_with_its_command():
    asked = questions.question("Bash", {"command": "rm -rf x\nls", "description": "d"}, "AskUserQuestion")
    assert (asked.kind, asked.text, asked.command) == ("permission", "Bash: rm -rf x", "rm -rf x\nls")
    other = questions.question("Write", {"file_path": "/a/b", "content": "c\x1b[31m"}, "AskUserQuestion")
    assert (other.text, "\x1b" in other.command, '"content"' in other.command) == ("Write: /a/b", False, True)


QUESTIONS = [
    {"question": "Which colour?", "multiSelect": False, "options": [{"label": "Red"}, {"label": "Blue"}]},
    {"question": "Which size?", "multiSelect": True, "options": [{"label": "S"}, {"label": "L"}]},
]


@pytest.mark.req("ASK-1")
@pytest.mark.parametrize(
    ("said", "answers"),
    [
        (["2", "1,2"], {"Which colour?": "Blue", "Which size?": "S, L"}),
        (["Red", "L"], {"Which colour?": "Red", "Which size?": "L"}),
        (["something else", "7"], {"Which colour?": "something else", "Which size?": "7"}),
    ],
)
def test_choices_are_numbers_or_words_one_for_each_question(said, answers):
    asked = questions.question("Ask", {"questions": QUESTIONS}, "Ask")
    assert asked.kind == "question"
    assert questions.answer(asked.kind, asked.choices, said).as_json() == {"answers": answers}
    with pytest.raises(BadInput, match="2 answers are wanted"):
        questions.answer(asked.kind, asked.choices, said[:1])


@pytest.mark.req("ASK-1")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("allow", {"allow": True}),
        ("Yes", {"allow": True}),
        ("1", {"allow": True}),
        ("deny", {"allow": False, "reason": "never"}),
        ("use rsync", {"allow": False, "reason": "use rsync"}),
    ],
)
def test_a_permission_is_allowed_denied_or_answered_with_an_instruction(said, kept):
    assert questions.answer("permission", [], [said], "never").as_json() == kept
    with pytest.raises(BadInput):
        questions.answer("permission", [], [" "])


@pytest.mark.req("MSG-1")
@pytest.mark.parametrize("text", ["/exit", "!rm -rf x", "# note", "@file", "line\nline"])
def test_what_is_typed_never_begins_with_a_mark_that_means_something(text):
    made = messages.line(Received(id="0a1b2c3d", kind="message", sender="ann", text=text))
    assert made.startswith("[fleet message 0a1b2c3d]")
    assert messages.ids_in(made) == ["0a1b2c3d"]
    assert messages.ids_in("[fleet message nonsense") == []


@pytest.mark.req("HOOK-1", "ENG-2")
@pytest.mark.parametrize("name", [name for name, made in all_engines("").items() if made.hooks])
def test_the_hooks_of_every_engine_mean_something_and_call_fleet(name):
    made = engine("", name)
    assert set(made.hooks.events.values()) <= set(MEANINGS)
    assert set(made.hooks.later) | set(made.hooks.wakes) <= set(made.hooks.events)
    assert "{hooks}" in made.start or made.hooks.env, "it is given them"
    assert not made.resume or "{hooks}" in made.resume or made.hooks.env
    text = hooks.settings(made, "full", "/a b/fleet") + "".join(hooks.words_of_events(made, "/a b/fleet"))
    assert all(f"exec '/a b/fleet' hook {event} --engine {name}" in text for event in made.hooks.events)


@pytest.mark.req("HOOK-1")
def test_only_fleets_own_hooks_are_trusted_by_codex():
    """The hash is one that Codex 0.166.0 said, of its `hooks/list`, for this command."""
    made = dataclasses.replace(engine("", "codex"), name="x")
    words = hooks.words_of_events(made, "/f")
    assert not any("bypass" in word for word in (*words, *made.hooks.words, *made.start))
    (told,) = [word for word in words if word.startswith("hooks.state=")]
    states = tomllib.loads(told)["hooks"]["state"]
    assert len(states) == len(made.hooks.events)
    assert states["/<session-flags>/config.toml:stop:0:0"] == {"trusted_hash": SAID_BY_CODEX}


@pytest.mark.req("HOOK-2")
def test_reports_are_asynchronous_and_what_is_answered_is_not():
    made = engine("", "claude").hooks
    assert {made.events[event] for event in made.later} == {"prompted", "notified", "failed", "compacting"}


@pytest.mark.req("HOOK-1", "ENG-5")
def test_the_one_settings_file_of_claude_also_answers_for_full_autonomy():
    made = engine("", "claude")
    assert '"skipDangerousModePermissionPrompt": true' in hooks.settings(made, "full", "fleet")
    assert "skipDangerous" not in hooks.settings(made, "ask", "fleet")
    assert made.start.count("{hooks}") == made.resume.count("{hooks}") == 1
    assert not any("--settings" in word for words in made.autonomy.values() for word in words)


GOOD = 'summary = "m"\nprogram = "m"\nstart = ["{program}", "{hooks}"]\n'


@pytest.mark.req("ENG-1", "HOOK-1")
@pytest.mark.parametrize(
    ("table", "line", "why"),
    [
        ('[hooks]\nwords = "x"', 5, "words is 'x', but should be a list"),
        ('[hooks]\nword = ["x"]', 5, "unknown key 'word' in .hooks"),
        ('[hooks.events]\nStop = "over"', 5, "Stop is 'over', but should be '"),
        ('[hooks]\nwait = "1h"', 5, "wait is '1h', but should be a whole number"),
        ('[hooks.errors]\nlimit = "wait"', 5, "limit is 'wait', but should be '"),
        ('[hooks.fields]\nword = "x"', 5, "unknown key 'word' in fields"),
        ('[status_file]\nfile = "x"', 4, "lacks 'pid'"),
        ('[status_file]\nstates = "x"', 5, "states is 'x', but should be a table"),
        ('[status_file]\nfiles = "x"', 5, "unknown key 'files' in .status_file"),
    ],
)
def test_a_mistake_in_the_tables_is_named_with_its_line(tmp_path, table, line, why):
    path = tmp_path / "mine.toml"
    path.write_text(f"{GOOD}{table}\n")
    with pytest.raises(BadSetting, match=why) as caught:
        read(path)
    assert f"mine.toml:{line}:" in str(caught.value)


@pytest.mark.req("ENG-2")
def test_a_session_file_counts_for_the_very_process_it_names(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    told = engine("", "claude").status_file
    path = tmp_path / ".claude" / "sessions" / "77.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"pid": 77, "procStart": "123", "status": "busy", "statusUpdatedAt": 5}')
    who = Identity(host="h", boot="b", pid=77, start="123")
    assert status_file.state_of(told, who) == ("working", "", 5)
    assert status_file.state_of(told, Identity(host="h", boot="b", pid=77, start="124"))[0] == "unknown"
    assert status_file.state_of(told, Identity(host="h", boot="b", pid=78, start="123"))[0] == "unknown"
    path.write_text('{"pid": 77, "procStart": "123", "status": "dreaming"}')
    assert status_file.state_of(told, who)[0] == "unknown"
    path.write_text("[" * 200_000)
    assert status_file.state_of(told, who)[0] == "unknown"
    path.unlink()
    os.mkfifo(path)
    assert status_file.state_of(told, who)[0] == "unknown", "nobody waits for a writer of a pipe"


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize(
    ("at", "read"), [("5", 5), ("10" + "0" * 30, None), ("-1", None), ("true", None), ("5.5", None)]
)
def test_a_time_in_a_session_file_that_cannot_be_is_no_time(tmp_path, monkeypatch, at, read):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".claude" / "sessions" / "77.json"
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"pid": 77, "procStart": "123", "status": "busy", "statusUpdatedAt": {at}}}')
    who = Identity(host="h", boot="b", pid=77, start="123")
    assert status_file.state_of(engine("", "claude").status_file, who) == ("working", "", read)


def test_facts_are_found_where_the_dialect_says():
    told = Dialect({"engine": "x", "events": {}, "fields": {"context": "a.b"}})
    assert told.field({"a": {"b": 4}}, "context") == 4
    assert told.field({"a": 7}, "context") is None
    assert told.text({"session_id": 5}, "conversation") == ""
    assert set(told.fields) == set(FIELDS)
    assert clean("a\x00b\x1b[0m\nc\r\n\ud800") == "a␀b␛[0m\nc\n\\ud800"
    assert clean("x" * 5_000) == f"{'x' * 4_000}… (1,000 more characters)"


@pytest.mark.parametrize("step", ["context 45", "limit 60s"])
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (None, "there is no --settings FILE"),
        ({"hooks": {}}, "{path} has no command for it"),
        ({"statusLine": {}}, "{path} has no command for it"),
    ],
)
def test_the_scripted_agent_says_what_it_lacks_for_a_step_that_needs_a_status_line(
    tmp_path, capfd, settings, why, step
):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(settings))
    with pytest.raises(SystemExit) as ended:
        perform(step, HookCaller(str(path) if settings else ""))
    assert ended.value.code == 64
    said = capfd.readouterr().out.splitlines()[-1]
    assert said == f"[scripted] cannot send the status line: {why.format(path=path)}"
