"""Engines as data: their files, the words that start them, and what their recorded screens mean."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.engines.command import LONGEST_ARGUMENT, Filling, environment, words
from fleet.engines.reader import AUTONOMIES, BUILT_IN, STATES, all_engines, engine, read, state_of
from fleet.errors.families import Absent
from fleet.errors.given import BadName, BadSetting

SCREENS = Path(__file__).parents[2] / "data" / "screens"
RECORDED = sorted(SCREENS.glob("*/*.txt"))
NAMES = sorted(path.stem for path in BUILT_IN.glob("*.toml"))
AGENTS = ("aider", "claude", "codex", "gemini", "opencode")
ODD = "-x; $(touch /tmp/no) `id` \"two\" 'one' \\ \n{program} {prompt_file} $HOME * é\t!"

GOOD = """# start, match and state are words of a comment too
summary = "mine"
program = "mine"
start = ["{program}", "{autonomy}", "{model}", "--", "{prompt}"]
model = ["--model", "{model}"]
unset = ["MINE_*"]

[autonomy]
full = ["--yes"]

[env]
MINE = "1"

[[before]]
file = "~/.mine.json"
path = ["trusted"]
equals = true
why = "it was never set up"
advice = "run it once"

[[screen]]
state = "asks"
match = 'ask: (?P<question>.*)$'

[[screen]]
state = "idle"
match = '^ready$'
"""


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def own(home: Path, name: str, text: str) -> Path:
    path = home / "engines" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def filling(prompt: str = "go", **more) -> Filling:
    return Filling(program="/bin/agent", prompt=prompt, prompt_file="/home/x/p.md", **more)


# What a screen means


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("path", [path for path in RECORDED if path.parent.name != "any"], ids=ids)
def test_a_recorded_screen_is_read_as_its_file_name_says(path):
    state, _ = state_of(read(BUILT_IN / f"{path.parent.name}.toml"), path.read_text(encoding="utf-8"))
    assert state == path.stem.split("-")[0]


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("name", NAMES)
def test_shells_editors_and_other_engines_screens_are_unknown(name):
    others = [path for path in RECORDED if path.parent.name != name]
    read_as = {
        ids(path): state_of(read(BUILT_IN / f"{name}.toml"), path.read_text(encoding="utf-8")) for path in others
    }
    assert {path: seen for path, seen in read_as.items() if seen != ("unknown", "")} == {}


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "screen",
    ["", "\n \n\n", "\x00\x1b[31m\ufffd", "❯", "❯ 1. Yes\n" * 300, "─" * 80 + "\n❯ ls\n", "x" * 100_000, "─\n" * 500],
    ids=["nothing", "blank", "garbage", "a prompt", "choices", "half a box", "a long line", "lines"],
)
def test_what_is_not_recognised_is_unknown(name, screen):
    assert state_of(read(BUILT_IN / f"{name}.toml"), screen) == ("unknown", "")


@pytest.mark.req("ENG-2")
def test_every_state_of_claude_has_a_recorded_screen():
    seen = {path.stem.split("-")[0] for path in (SCREENS / "claude").iterdir()}
    assert seen == {*STATES, "unknown"}


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize(
    ("screen", "question"),
    [
        ("claude/asks-bash", "Bash command\n\n   echo hi > out.txt\n   scripted\n\n Do you want to proceed?"),
        ("claude/asks-edit-long", "Do you want to make this edit to README.md?"),
        ("claude/asks-question", "☐ Database\n\nWhich database?"),
        ("claude/limit-session", "You've hit your session limit · resets 6:52am (UTC)"),
        ("claude/limit-session-dialog", "You've hit your session limit · resets 6:52am (UTC)"),
        ("claude/retrying-2", "API error · Retrying in 5s · attempt 4/10"),
        ("claude/failed_turn-403", "Please run /login · API Error: 403 Forbidden"),
        ("codex/asks-command", ("Would you like to run the following command?\n\n  Environment: local\n\n"
         "  Reason: needs to write\n\n  $ echo hi > out.txt")),
        ("gemini/asks-command", "Shell  echo hi > out.txt"),
        ("opencode/asks-bash", "$ echo hi > out.txt"),
        ("opencode/asks-wide", "$ echo hi > out.txt"),
    ],
)  # fmt: skip
def test_the_question_on_a_screen_is_told(screen, question):
    text = (SCREENS / f"{screen}.txt").read_text(encoding="utf-8")
    assert state_of(read(BUILT_IN / f"{screen.split('/')[0]}.toml"), text)[1] == question


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("said", ["✻ Hatching… (3s)", "API Error: 529 Overloaded", "You've hit your limit", "❯ 1. Yes"])
def test_words_in_the_conversation_do_not_change_the_state(said):
    screen = (SCREENS / "claude" / "finished-1.txt").read_text(encoding="utf-8")
    told = re.sub(r"^● Done\.", f"● It now prints:\n\n  {said}\n\n● Done.", screen, flags=re.MULTILINE)
    assert told != screen
    assert state_of(read(BUILT_IN / "claude.toml"), told) == ("finished", "")


@pytest.mark.req("ENG-2")
def test_a_column_beside_the_question_is_not_part_of_it():
    screen = (SCREENS / "opencode" / "asks-wide.txt").read_text(encoding="utf-8")
    beside = re.sub(
        r"(# Shell command.*\n  ┃).*\n(.*out\.txt).*\n", rf"\1{' ' * 60}a/long/\n\2{' ' * 60}path\n", screen
    )
    assert beside != screen
    assert state_of(read(BUILT_IN / "opencode.toml"), beside) == ("asks", "$ echo hi > out.txt")


@pytest.mark.req("ENG-2")
def test_a_tall_pane_with_a_gap_reads_like_a_small_one():
    screen = (SCREENS / "codex" / "failed_turn-401.txt").read_text(encoding="utf-8")
    tall = screen.replace("\n \n", "\n \n" + " \n" * 100, 20)
    assert len(tall.splitlines()) > 200
    assert state_of(read(BUILT_IN / "codex.toml"), tall)[0] == "failed_turn"


# The files


@pytest.mark.req("ENG-1")
def test_every_built_in_engine_can_be_read(home):
    found = all_engines(str(home))
    assert sorted(found) == NAMES
    own = {"fleet": "{fleet}", "job": "{fleet}", "scripted": "{python}", "shell": ""}
    assert {name: (each.name, each.program) for name, each in found.items()} == {
        name: (name, own.get(name, name)) for name in NAMES
    }


@pytest.mark.req("ENG-1")
@pytest.mark.parametrize("name", AGENTS)
def test_an_agents_file_begins_with_what_was_checked(name):
    found = engine("", name)
    first = Path(found.source).read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"# .*\. (Checked with \d+\.\d+\.\d+: |Not checked: )", first)
    assert found.install
    assert bool(found.resume) == (name != "opencode")
    assert set(found.autonomy) <= set(AUTONOMIES)


@pytest.mark.req("ENG-1")
def test_a_file_of_the_users_own_works_like_a_built_in_one(home):
    own(home, "mine", GOOD)
    mine = engine(str(home), "mine")
    assert mine == all_engines(str(home))["mine"]
    assert words(mine, filling("go", autonomy="full", model="big")) == [
        "/bin/agent",
        "--yes",
        "--model",
        "big",
        "--",
        "go",
    ]
    assert state_of(mine, "…\nask: really?\n\n") == ("asks", "really?")
    assert mine.before[0].path == ("trusted",)


@pytest.mark.req("ENG-1")
def test_a_file_of_the_users_own_wins_over_a_built_in_one(home):
    path = own(home, "claude", GOOD)
    assert engine(str(home), "claude").source == str(path)
    assert all_engines(str(home))["claude"].summary == "mine"


@pytest.mark.req("ENG-1")
@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ('program = "mine"', "program = mine", 3, "Invalid value"),
        ('program = "mine"', "", 1, "this file lacks 'program'"),
        ('program = "mine"', "program = 3", 3, "program is 3, but should be a text"),
        ("start = [", "strat = [", 4, "unknown key 'strat' in this file"),
        ("start = [", 'start = "claude" # [', 4, "start is 'claude', but should be a list of words"),
        ('"--", "{prompt}"]', "3]", 4, "start is ['{program}', '{autonomy}', '{model}', 3], but should be a list of words"),
        ("model = [", 'interactive = "yes"\nmodel = [', 5, "interactive is 'yes', but should be true or false"),
        ("unset = [", 'exit_signal = "SIGKILL"\nunset = [', 6, "exit_signal is 'SIGKILL', but should be 'SIGTERM', 'SIGINT' or 'SIGHUP'"),
        ('full = ["--yes"]', 'all = ["--yes"]', 9, "unknown key 'all' in [autonomy]"),
        ('full = ["--yes"]', 'full = "--yes"', 9, "full is '--yes', but should be a list of words"),
        ("[env]", "[[env]]", 11, "env is [{'MINE': '1'}], but should be a table"),
        ("[[before]]", "[before]", 14, "before is a table, but should be written as [[before]]"),
        ("equals = true\n", "", 14, "[[before]] lacks 'equals'"),
        ('path = ["trusted"]', 'path = "trusted"', 16, "path is 'trusted', but should be a list of words"),
        ('state = "idle"', 'state = "lazy"', 26, "state is 'lazy', but should be 'working', 'asks'"),
        ("match = '^ready$'", "mach = '^ready$'", 25, "[[screen]] lacks 'match'"),
        ("match = '^ready$'", "match = '^(ready$'", 27, "match is no regular expression: missing )"),
        ("match = '^ready$'", 'match = """\n', 28, "Unterminated string"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_line(home, old, new, line, why):
    assert GOOD.count(old) == 1
    path = own(home, "mine", GOOD.replace(old, new))
    with pytest.raises(BadSetting) as caught:
        engine(str(home), "mine")
    assert str(caught.value).startswith(f"{path}:{line}: {why}")
    assert "fleet engine show claude" in caught.value.next_step


@pytest.mark.req("ENG-1")
def test_a_file_that_is_not_text_is_named_with_its_line(home):
    path = own(home, "mine", GOOD)
    path.write_bytes(GOOD.encode().replace(b'"mine"', b'"m\xff"', 1))
    with pytest.raises(BadSetting, match=f"{path}:2: it is not UTF-8"):
        engine(str(home), "mine")


@pytest.mark.req("ENG-1")
def test_another_broken_file_does_not_matter(home):
    own(home, "broken", "summary = ")
    own(home, "mine", GOOD)
    assert engine(str(home), "mine").summary == "mine"


@pytest.mark.req("ENG-1")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("cluade", "did you mean 'claude'?"),
        ("code", "did you mean 'codex'?"),
        ("zzz", "there are aider, claude, codex"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(home, given, told):
    with pytest.raises(Absent) as caught:
        engine(str(home), given)
    assert str(caught.value).startswith(f"there is no engine '{given}' (")
    assert told in str(caught.value)


@pytest.mark.req("ENG-1")
def test_a_name_is_never_a_path(home):
    with pytest.raises(BadName):
        engine(str(home), "../claude")


# The words


@pytest.mark.req("ENG-3")
@pytest.mark.parametrize(
    ("name", "resume"),
    [
        (name, resume)
        for name in AGENTS
        for resume in (False, True)
        if name != "aider" and (name, resume) != ("opencode", True)
    ],
)
def test_a_prompt_is_one_word_whatever_is_in_it(name, resume):
    made = words(engine("", name), filling(ODD, conversation="c0ffee"), resume=resume)
    assert made[0] == "/bin/agent"
    assert [word for word in made if word.endswith(ODD)] == made[-1:]
    # Behind -- or behind its own option: a leading dash is no option.
    assert (made[-1] == ODD and "--" in made) or re.fullmatch(r"--[a-z-]+=", made[-1].removesuffix(ODD))
    assert any("c0ffee" in word for word in made) == (resume or bool(engine("", name).session))


@pytest.mark.req("ENG-3")
def test_the_words_arrive_without_a_shell(home):
    own(
        home,
        "echo",
        GOOD.replace(
            '"--", "{prompt}"]',
            '"-c", "import json, sys; print(json.dumps(sys.argv[1:]))", "{prompt}", "{prompt_file}"]',
        ),
    )
    made = words(engine(str(home), "echo"), Filling(program=sys.executable, prompt=ODD, prompt_file="/a b/$(c);'d'.md"))
    told = subprocess.run(made, check=True, capture_output=True, text=True).stdout
    assert json.loads(told) == [ODD, "/a b/$(c);'d'.md"]


@pytest.mark.req("ENG-3")
@pytest.mark.parametrize("name", [*AGENTS, "mine"])
@pytest.mark.parametrize("letter", ["x", "é", "语"])
def test_a_prompt_of_200_kb_goes_by_its_file(home, name, letter):
    own(home, "mine", GOOD)
    made = words(engine(str(home), name), filling(letter * (200_000 // len(letter.encode()))))
    assert max(len(word.encode()) for word in made) < 1_000
    assert "/home/x/p.md" in made[-1]


@pytest.mark.req("ENG-3")
def test_a_prompt_that_fits_is_given_whole():
    assert words(engine("", "claude"), filling("x" * LONGEST_ARGUMENT))[-1] == "x" * LONGEST_ARGUMENT


@pytest.mark.req("ENG-3")
def test_a_command_is_given_word_for_word():
    command = ("printf", "%s", ODD, "{prompt}", "")
    assert words(engine("", "shell"), filling(command=command)) == list(command)


@pytest.mark.req("ENG-3")
@pytest.mark.parametrize("name", [*AGENTS, "shell"])
def test_what_a_parent_agent_left_does_not_reach_the_child(name):
    left = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CODEX_THREAD_ID": "1",
        "CODEX_SANDBOX_NETWORK_DISABLED": "1",
        "GEMINI_CLI": "1",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "OPENCODE": "1",
    }
    kept = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CONFIG_DIR": "/c",
        "CODEX_HOME": "/x",
        "MY_CLAUDECODE": "1",
    }
    found = engine("", name)
    made = environment(found, left | kept, {"FLEET_TASK": "t"})
    assert made == kept | found.env | {"FLEET_TASK": "t"}
    assert not left.keys() & made.keys()


@pytest.mark.req("ENG-3")
def test_what_fleet_tells_the_agent_comes_last(home):
    own(home, "mine", GOOD)
    made = environment(engine(str(home), "mine"), {"MINE": "0", "MINE_TOO": "0"}, {"FLEET_TASK": "t"})
    assert made == {"MINE": "1", "FLEET_TASK": "t"}


@pytest.mark.req("ENG-3")
def test_settings_in_an_autonomy_are_json_when_they_arrive(home):
    own(home, "mine", GOOD.replace('full = ["--yes"]', "full = ['--settings', '{{\"sure\": true}}']"))
    made = words(engine(str(home), "mine"), filling(autonomy="full"))
    assert json.loads(made[made.index("--settings") + 1]) == {"sure": True}
