"""Prompts: whole or not there, seen by no shell, gone with their dispatch."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from staging.stage import FLEET, acted, answer, claim_of, standing

from fleet.testing.crash.scenarios import until

NASTY = 'it\'s "quoted" $(touch {root}/oops) `touch {root}/oops` \\n; & | > *\n\ttab\n{{slug}} {{title}} {{history}} %s äöü 🙂\n-- -x\n'
SHOW = 'cat "$FLEET_PROMPT_FILE" >prompt.txt && mv prompt.txt whole.txt; exec sleep 1000'


def prompt_seen(scene, fleet, slug: str, description: str, title: str = "T") -> str:
    """What the agent itself reads."""
    fleet.tasks.add(project="p", title=title, slug=slug, description=description)
    scene.dispatch(fleet, slug, "sh", "-c", SHOW)
    scene.forgiven |= {"worktree", "claim work", "journal", "workers", "lock"}  # what it read is uncommitted work
    until((scene.tree(slug) / "whole.txt").exists)
    return (scene.tree(slug) / "whole.txt").read_text(encoding="utf-8")


@pytest.mark.req("ENG-3", "DEL-1")
def test_a_prompt_of_200_kb_reaches_the_agent_whole(scene):
    text = "".join(f"line {number}: {'x' * 80}\n" for number in range(2_200))
    assert len(text) > 200_000
    with scene.fleet() as fleet:
        assert text in prompt_seen(scene, fleet, "t", text)


@pytest.mark.req("ENG-3")
def test_a_script_of_200_kb_reaches_the_scripted_agent(scene):
    padding = "".join(f"# {number} {'x' * 100}\n" for number in range(2_000))
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script=f"```script\n{padding}log it arrived\nhang\n```\n")
        until(lambda: fleet.tasks.show(project="p", slug="t").log)
        assert [line.message for line in fleet.tasks.show(project="p", slug="t").log] == ["it arrived"]


@pytest.mark.req("ENG-3")
def test_quotes_newlines_and_braces_reach_the_agent_as_they_were_written(scene):
    text = NASTY.format(root=scene.root)
    with scene.fleet() as fleet:
        seen = prompt_seen(scene, fleet, "t", text, title="$(touch oops) 'T' \"T\"")
    assert "$(touch oops) 'T' \"T\"" in seen
    assert not os.path.exists(f"{scene.root}/oops")
    assert text in seen, "what a person wrote is not a template"


@pytest.mark.req("ENG-3")
def test_the_words_of_a_command_reach_the_agent_without_any_shell_seeing_them(scene):
    words = ["printf", "<%s>", "it's", '"two words"', "$HOME", "a\nb", ";", "*"]
    scene.program("task", "add", "T", "--slug", "t", "-p", "p").ok()
    ident = answer(scene.start(FLEET, "dispatch", "t", "-p", "p", "--engine", "shell", "--json", "--", *words)).json[
        "id"
    ]
    with scene.fleet() as fleet:
        scene.ended(fleet)
        said = fleet.agents.output(ident)
    assert '<it\'s><"two words"><$HOME><a\nb><;><*>' in said


@pytest.mark.req("ENG-3")
@pytest.mark.parametrize("server", ["started by the parent agent", "there before"])
def test_variables_of_a_parent_agent_do_not_leak_into_a_child(scene, server):
    leaky = scene.around(
        CLAUDECODE="1", CLAUDE_CODE_ENTRYPOINT="cli", CLAUDE_CODE_SSE_PORT="1", FLEET_DISPATCH_ID="", TMUX="/x,1,1"
    )
    leaky.pop("FLEET_DISPATCH_ID")
    with scene.fleet() as fleet:
        if server == "there before":
            fleet.world.tmux.ensure_server()
        fleet.tasks.add(project="p", title="T", slug="t")
        words = ("sh", "-c", f"env >{scene.root}/env.new; mv {scene.root}/env.new {scene.root}/env; exec sleep 1000")
        done = answer(
            scene.start(FLEET, "dispatch", "t", "-p", "p", "--engine", "shell", "--json", "--", *words, env=leaky)
        )
        assert done.code == 0, done
        until(lambda: os.path.exists(f"{scene.root}/env"))
        told = dict(line.split("=", 1) for line in Path(f"{scene.root}/env").read_text().splitlines() if "=" in line)
        assert [name for name in told if name.startswith("CLAUDE")] == []
        assert told["FLEET_DISPATCH_ID"] == done.json["id"]
        assert (told["FLEET_HOME"], told["FLEET_PROJECT"], told["FLEET_TASK"]) == (scene.home, "p", "t")
        assert told["TMUX"].startswith(f"{scene.home}/tmux.sock")


@pytest.mark.req("DEL-1", "DEL-2", "DEL-4")
def test_an_inbox_file_is_private_and_goes_when_its_dispatch_ends_but_one_without_a_claim_stays(either):
    stray = Path(either.home, "inbox", "0123abcd.md")
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        stray.write_text("a person's")
        either.launched(fleet, ident)
        path = Path(either.home, "inbox", f"{ident}.md")
        assert path.stat().st_mode & 0o777 == 0o600
        fleet.dispatches.kill(ident, "a test")
        assert not path.exists()
        assert any("0123abcd" in line for line in standing(fleet.sweep.run(kill=True)))
        assert stray.read_text() == "a person's", "managed is what has a claim, not what has a name"
    stray.unlink()


@pytest.mark.req("DEL-5", "STORE-7")
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_kill_around_the_publishing_of_a_prompt_is_repaired_by_the_next_sweep(either, where):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        child = either.halted(where, "publish inbox/", "dispatch", "t")
        ident = fleet.dispatches.list()[0].id
        assert claim_of(fleet, "coord_prompt_inbox", ident).state == "allocating"
        assert acted(fleet.sweep.run(kill=True)) == [], "its actor lives"
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
        either.swept(fleet)
        assert fleet.files.names("inbox") == []
        assert fleet.tasks.show(project="p", slug="t").status == "open"
        fleet.tasks.abandon(project="p", slug="t")
        fleet.tasks.archive(project="p", slug="t")
        either.swept(fleet)
        assert not either.tree("t").exists(), "in a half-made tree nobody has worked"


@pytest.mark.req("DEL-6", "SWEEP-7")
def test_an_unknown_kind_in_the_database_is_shown_and_left_alone(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        scene.launched(fleet, ident)
        with sqlite3.connect(f"{scene.home}/fleet.db") as db:
            db.execute(
                "INSERT INTO claims (id, dispatch, host, kind, name, state, actor, effect_lock, data, created_at, updated_at)"
                " VALUES ('x', ?, ?, 'remote_control_inbox', 'rc/1', 'live', '', 'x', '{}', 1, 1)",
                (ident, fleet.world.host.id),
            )
        db.close()
        assert "remote_control_inbox" in {each.kind for each in fleet.claims.list()}
        fleet.dispatches.kill(ident, "a test")
        scene.swept(fleet)
        assert claim_of(fleet, "remote_control_inbox", ident).state == "live"
        assert "remote_control_inbox" in str(fleet.dispatches.show(ident))
    scene.forgiven = {"journal", "claim remote_control_inbox"}
