"""What agents cost, and what happens when a task, a project or a day has cost what it may."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fleet.engines.kept import conversations, tokens
from fleet.engines.reader import engine as read_engine
from fleet.errors.families import Absent
from fleet.errors.given import BadSetting
from fleet.errors.refused import NotAllowed, OverBudget
from fleet.model.agents.dialect import Dialect
from fleet.model.text.times import DAY, MINUTE, SECOND
from fleet.store import queries as q
from fleet.surfaces.cli.commands.views import recap as show_recap
from fleet.surfaces.cli.commands.views import status as show_status
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import hook
from fleet.verbs.agents.cost import allow_more
from fleet.verbs.agents.cost.budget_at_stop import why_over_budget
from fleet.verbs.agents.cost.count_tokens import CountingWork, count_project, count_step, search_key
from fleet.verbs.agents.hook import HookEvent, Reply
from fleet.verbs.agents.hook_answer import wait_for_messages
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

ENGINE = """\
summary = "sleeps"
program = "sleep"
start = ["{{program}}", "{{session}}", "1000"]
session = ["{{conversation}}"]
interactive = false
[usage]
files = ["{root}/{{conversation}}.jsonl"]
record = ["id"]
model = ["model"]
input = ["in"]
output = ["out"]
[[screen]]
state = "idle"
match = '^ready$'
"""
PRICES = "[m]\ninput = 1.0\noutput = 1.0\ncache_read = 0\ncache_write = 0\n"
DIALECT = Dialect({"engine": "one", "events": {"Stop": "stopped"}, "wait": 60})
DOLLAR = 1_000_000


def made(settings: str) -> SimulatedScene:
    """A scene whose engine `one` writes what it used, at a dollar for a million tokens of the model `m`."""
    scene = SimulatedScene(settings=settings)
    Path(scene.home, "engines").mkdir()
    Path(scene.home, "engines/one.toml").write_text(ENGINE.format(root=scene.root))
    Path(scene.home, "prices.toml").write_text(PRICES)
    Path(scene.repository, "fleet.toml").write_text('engine = "one"\n')
    return scene


@pytest.fixture
def limited():
    with made("[limits]\ncost_task = 5\n") as scene:
        yield scene


def work(scene: SimulatedScene, slug: str) -> str:
    if not scene.fleet.graph.slugs(project=PROJECT, prefix=slug):
        scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug=slug)).id
    scene.launch(ident)
    return ident


def use(scene: SimulatedScene, ident: str, tokens: int, *, model: str = "m") -> None:
    """Write, as the engine, that an answer took tokens."""
    agent = scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
    path = Path(scene.root, f"{agent.conversation}.jsonl")
    number = path.read_text().count("\n") if path.exists() else 0
    with path.open("a") as file:
        file.write(json.dumps({"id": f"{number}", "model": model, "in": tokens, "out": 0}) + "\n")


def stop(scene: SimulatedScene, ident: str) -> Reply:
    """End a turn of the agent, as its hook does it."""
    by = scene.fleet.context.by
    agent = scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
    over = why_over_budget(by, scene.home, agent)
    at = scene.clock.now()
    return hook.handle_event(
        HookEvent(
            by=by,
            home=scene.home,
            funnel=scene.fleet.funnel,
            dialect=DIALECT,
            dispatch=ident,
            name="Stop",
            payload={},
            at=at,
            new_question_id="0a0b0c0d",
            over_budget=over,
        )
    )


def woken(scene: SimulatedScene, ident: str) -> list[str]:
    """What the hook that waits beside the agent hands out at one look."""
    by = scene.fleet.context.by
    event = HookEvent(
        by=by,
        home=scene.home,
        funnel=scene.fleet.funnel,
        dialect=DIALECT,
        dispatch=ident,
        name="Stop",
        payload={},
        at=scene.clock.now(),
        new_question_id="0a0b0c0d",
    )
    return [message.text for message in wait_for_messages(event, scene.clock, lambda: True)]


def change(scene: SimulatedScene, statement: str, **values: object) -> None:
    with closing(sqlite3.connect(f"{scene.home}/{paths.DATABASE}")) as database, database:
        database.execute(statement, values)


def cost(scene: SimulatedScene, slug: str) -> tuple[int, float, int]:
    used = scene.fleet.tasks.show(project=PROJECT, slug=slug).used
    return used.tokens, used.dollars, used.unpriced


def test_what_an_agent_used_is_summed_for_it_its_task_its_project_and_the_day():
    with made("") as scene:
        first, second = work(scene, "a"), work(scene, "b")
        use(scene, first, 2 * DOLLAR)
        use(scene, second, DOLLAR)
        count_project(scene.fleet.context, PROJECT)
        count_project(scene.fleet.context, PROJECT)
        assert cost(scene, "a") == (2 * DOLLAR, 2.0, 0)
        assert {agent.id: agent.used.dollars for agent in scene.fleet.agents.list()} == {first: 2.0, second: 1.0}
        page = scene.fleet.views.status()
        assert (page.projects[0].used.dollars, page.today.dollars) == (3.0, 3.0)
        assert scene.fleet.views.recap(since=scene.clock.now() - DAY).spent.dollars == 3.0
        scene.clock.wait(DAY / SECOND)
        assert scene.fleet.views.status().today.tokens == 0


def test_a_tick_counts_a_file_once_a_minute_and_the_end_counts_the_rest():
    with made("") as scene:
        ident = work(scene, "a")
        use(scene, ident, DOLLAR)
        count_project(scene.fleet.context, PROJECT)
        use(scene, ident, DOLLAR)
        count_project(scene.fleet.context, PROJECT)
        assert cost(scene, "a")[1] == 1.0
        scene.clock.wait(2 * MINUTE / SECOND)
        count_project(scene.fleet.context, PROJECT)
        assert cost(scene, "a")[1] == 2.0
        use(scene, ident, DOLLAR)
        scene.exit(ident, 1)
        scene.fleet.sessions.settle(ident)
        assert cost(scene, "a")[1] == 3.0


@pytest.mark.parametrize("content", [None, "["])
def test_an_agent_whose_engine_file_is_gone_or_broken_does_not_keep_others_from_being_counted(content):
    with made("") as scene:
        other = Path(scene.home, "engines/other.toml")
        other.write_text(ENGINE.format(root=scene.root))
        for slug, engine in (("a", "other"), ("b", "one"), ("c", "other"), ("d", "one")):
            scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug, engine=engine)
            use(scene, work(scene, slug), DOLLAR)
            scene.clock.wait(1)
        other.unlink() if content is None else other.write_text(content)
        with pytest.raises(Absent if content is None else BadSetting, match="other"):
            count_project(scene.fleet.context, PROJECT)
        assert [cost(scene, slug)[1] for slug in "abcd"] == [0.0, 1.0, 0.0, 1.0]


def test_the_end_counts_all_pieces_of_a_long_file(monkeypatch):
    monkeypatch.setattr(tokens, "MOST_BYTES", 60)
    with made("") as scene:
        ident = work(scene, "a")
        for _ in range(5):
            use(scene, ident, DOLLAR)
        count_project(scene.fleet.context, PROJECT)
        assert cost(scene, "a")[1] == 1.0, "a tick reads a piece"
        scene.exit(ident, 1)
        scene.fleet.sessions.settle(ident)
        assert cost(scene, "a")[1] == 5.0


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        json.dumps({"id": "x", "model": "\ud800", "in": 1, "out": 0}),
        json.dumps({"id": "\ud800", "model": "m", "in": 1, "out": 0}),
        json.dumps({"id": "x", "model": "m", "in": 10**30, "out": 0}),
        json.dumps({"id": "x", "model": "m", "in": 2**63 - 1, "out": 0})
        + "\n"
        + json.dumps({"id": "y", "model": "m", "in": 2**63 - 1, "out": 0}),
    ],
    ids=["nested too deep", "model", "record", "number", "sum"],
)
def test_no_line_in_a_file_of_its_engine_keeps_a_dead_agent_from_being_settled(line):
    with made("") as scene:
        ident = work(scene, "a")
        use(scene, ident, DOLLAR)
        agent = scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
        with Path(scene.root, f"{agent.conversation}.jsonl").open("a") as file:
            file.write(f"{line}\n")
        use(scene, ident, DOLLAR)
        scene.exit(ident, 1)
        assert scene.fleet.sessions.settle(ident).settled
        assert cost(scene, "a")[1] >= 2.0


def keeps_conversations_itself(scene: SimulatedScene) -> None:
    """Make the engine one that cannot be given a conversation."""
    engine = Path(scene.home, "engines/one.toml")
    kept = f'[kept]\nfiles = "{scene.root}/*.jsonl"\nid = ["id"]\ndirectory = ["cwd"]\nbegun = ["at"]\n'
    given = engine.read_text().replace('session = ["{conversation}"]\n', "").replace('"{session}", ', "")
    engine.write_text(given + kept)


def looks_of(scene: SimulatedScene, ident: str) -> bool:
    """Whether the store has the time of a look for an agent's conversation."""
    return scene.fleet.store.read(lambda rows: q.usage_file(rows, path=search_key(ident))) is not None


@pytest.mark.parametrize("races", [False, True])
def test_what_was_kept_of_looks_for_a_conversation_goes_with_the_agent(monkeypatch, races):
    with made("") as scene:
        keeps_conversations_itself(scene)
        ident = work(scene, "a")

        def end_meanwhile(*_, **__) -> None:
            monkeypatch.setattr(conversations, "only_conversation", lambda *_, **__: None)
            if races:
                assert scene.fleet.dispatches.kill(ident, "a test").settled

        monkeypatch.setattr(conversations, "only_conversation", end_meanwhile)
        count_project(scene.fleet.context, PROJECT)
        assert looks_of(scene, ident) is not races
        if not races:
            scene.fleet.dispatches.kill(ident, "a test")
        scene.fleet.tasks.abandon(project=PROJECT, slug="a")
        scene.fleet.tasks.archive(project=PROJECT, slug="a")
        scene.fleet.sweep.run(kill=True)
        assert scene.fleet.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)) is None
        assert not looks_of(scene, ident)


def test_the_conversation_of_an_agent_without_hooks_is_looked_for_once_a_minute_and_then_kept(monkeypatch):
    looks, found = [], [None, "talk"]
    monkeypatch.setattr(conversations, "only_conversation", lambda *_, **__: looks.append(1) or found[len(looks) - 1])
    with made("") as scene:
        keeps_conversations_itself(scene)
        Path(scene.root, "talk.jsonl").write_text(json.dumps({"id": "1", "model": "m", "in": DOLLAR, "out": 0}) + "\n")
        ident = work(scene, "a")
        for _ in range(3):
            count_project(scene.fleet.context, PROJECT)
        assert (len(looks), cost(scene, "a")[1]) == (1, 0.0)
        for _ in range(3):
            scene.clock.wait(2 * MINUTE / SECOND)
            count_project(scene.fleet.context, PROJECT)
        assert (len(looks), cost(scene, "a")[1]) == (2, 1.0)
        assert {agent.id: agent.conversation for agent in scene.fleet.agents.list()} == {ident: "talk"}


def test_a_model_without_a_known_price_counts_as_tokens_and_says_so(capsys):
    with made("") as scene:
        ident = work(scene, "a")
        use(scene, ident, 700, model="new")
        count_project(scene.fleet.context, PROJECT)
        assert cost(scene, "a") == (700, 0.0, 700)
        page = scene.fleet.views.status()
        assert (page.today.dollars, page.today.unpriced, page.projects[0].used.unpriced) == (0.0, 700, 700)
        show_status._print_page(page, scene.clock.now())
        since = scene.clock.now() - DAY
        recap = scene.fleet.views.recap(since=since)
        assert (recap.spent.dollars, recap.spent.unpriced) == (0.0, 700)
        show_recap._print_recap(recap)
        shown = capsys.readouterr().out
        assert shown.count("700 tokens, at a price that is not known") == 2
        assert "in all: p ?" in shown


def test_an_agent_step_of_a_job_counts_for_its_project():
    with made("") as scene:
        Path(scene.root, "talk.jsonl").write_text(json.dumps({"id": "1", "model": "m", "in": DOLLAR, "out": 0}) + "\n")
        engine = read_engine(scene.home, "one")
        step = CountingWork("0b0b0b0b", PROJECT, None)
        count_step(scene.fleet.context, engine, step, "talk", cwd=scene.repository, since=0)
        assert scene.fleet.views.status().projects[0].used.dollars == 1.0


def test_of_two_readers_of_the_same_answers_one_counts_them():
    with made("") as scene:
        ident = work(scene, "a")
        use(scene, ident, DOLLAR)
        other = scene.open("other").context
        agent = other.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
        assert why_over_budget(other.by, scene.home, agent) == ""
        count_project(scene.fleet.context, PROJECT)
        assert cost(scene, "a")[1] == 1.0


def test_an_agent_whose_task_has_cost_what_it_may_is_parked_at_its_turns_end_alive_and_asks(limited):
    ident = work(limited, "a")
    use(limited, ident, 4 * DOLLAR)
    assert stop(limited, ident).payload is not None, "within its budget it is sent back to report"
    use(limited, ident, DOLLAR)
    assert stop(limited, ident).payload is None
    (need,) = limited.fleet.views.status().needs_you
    assert (need.kind, need.slug) == ("over budget", "a")
    assert "the budget of task p/a is spent: $5.00 of $5.00 (limits.cost_task)" in need.text
    assert "`fleet limits allow 1 a -p p`" in need.text
    assert limited.fleet.sessions.settle(ident).why == "its process is alive"


def test_an_answer_that_is_written_a_moment_after_the_turns_end_is_counted_with_it(limited):
    ident = work(limited, "a")
    limited.clock.later(1, lambda: use(limited, ident, 5 * DOLLAR))
    assert stop(limited, ident).payload is None
    assert cost(limited, "a")[1] == 5.0


def test_messages_wait_while_the_budget_is_spent(limited):
    ident = work(limited, "a")
    use(limited, ident, 5 * DOLLAR)
    limited.fleet.messages.send("hello", agent=ident)
    assert stop(limited, ident).payload is None
    limited.pane(ident).screen = "ready"
    (sent,) = limited.fleet.messages.send("hello again", agent=ident)
    assert "the budget of task p/a is spent" in sent.how
    assert woken(limited, ident) == []
    limited.fleet.agents.tend(PROJECT)
    assert limited.pane(ident).typed == []
    limited.fleet.engines.allow(2, project=PROJECT, slug="a")
    limited.fleet.agents.tend(PROJECT)
    assert any("hello" in text for text in limited.pane(ident).typed)


def test_a_hook_hands_out_what_waits_once_no_budget_is_spent(limited):
    ident = work(limited, "a")
    use(limited, ident, 5 * DOLLAR)
    stop(limited, ident)
    limited.fleet.messages.send("hello", agent=ident)
    assert woken(limited, ident) == []
    config = Path(limited.home, "config.toml")
    good = config.read_text()
    config.write_text("[")
    assert woken(limited, ident) == [], "while the settings cannot be read it stays stopped"
    config.write_text(good.replace("cost_task = 5", "cost_task = 50"))
    assert woken(limited, ident) == ["hello"]


def test_a_message_that_asks_it_to_exit_reaches_an_agent_over_its_budget(limited):
    ident = work(limited, "a")
    use(limited, ident, 5 * DOLLAR)
    stop(limited, ident)
    limited.fleet.messages.send("hello", agent=ident)
    change(limited, "UPDATE dispatches SET asked_for = 'report' WHERE id = :id", id=ident)
    assert woken(limited, ident) == ["hello"]


def test_agents_of_another_home_are_not_told_to_go_on(limited):
    ident = work(limited, "a")
    use(limited, ident, 5 * DOLLAR)
    stop(limited, ident)
    change(limited, "UPDATE dispatches SET home = 'other' WHERE id = :id", id=ident)
    assert limited.fleet.engines.allow(2, project=PROJECT, slug="a").continued == []


def test_allowing_more_lets_the_agent_go_on_and_it_is_parked_again_when_that_is_spent(limited):
    ident = work(limited, "a")
    use(limited, ident, 5 * DOLLAR)
    stop(limited, ident)
    assert limited.fleet.engines.allow(2, project=PROJECT, slug="a").continued == [ident]
    assert limited.fleet.engines.allow(1, project=PROJECT, slug="a").continued == [], "it was told already"
    reply = stop(limited, ident).payload
    assert reply is not None
    assert allow_more.GO_ON in str(reply)
    use(limited, ident, 3 * DOLLAR)
    assert stop(limited, ident).payload is None


def test_a_raised_setting_lets_the_agent_go_on_at_the_next_tick(limited):
    ident = work(limited, "a")
    use(limited, ident, 5 * DOLLAR)
    stop(limited, ident)
    config = Path(limited.home, "config.toml")
    config.write_text(config.read_text().replace("cost_task = 5", "cost_task = 50"))
    assert allow_more.continue_allowed(limited.open("ticker").context, PROJECT) == [ident]


def test_an_agent_that_has_reported_is_not_parked(limited):
    ident = work(limited, "a")
    limited.commit("a")
    limited.report(ident, "a")
    use(limited, ident, 9 * DOLLAR)
    stop(limited, ident)
    assert [need.kind for need in limited.fleet.views.status().needs_you if need.kind == "over budget"] == []


@pytest.mark.parametrize(
    ("setting", "scope"), [("cost_task", "task p/a"), ("cost_project", "project p"), ("cost_day", "day ")]
)
def test_nothing_new_is_started_where_a_budget_is_spent(setting, scope):
    with made(f"[limits]\n{setting} = 0.5\n") as scene:
        ident = work(scene, "a")
        use(scene, ident, DOLLAR)
        scene.exit(ident, 1)
        scene.fleet.sessions.settle(ident)
        scene.fleet.tasks.retry(project=PROJECT, slug="a")
        with pytest.raises(OverBudget, match=f"the budget of {scope}"):
            work(scene, "a")
        if setting == "cost_task":
            work(scene, "b")
            return
        with pytest.raises(OverBudget):
            work(scene, "b")
        assert "the budget of" in "\n".join(scene.fleet.tasks.why(project=PROJECT, slug="b").sentences)


def test_the_budget_of_a_day_is_new_the_next_day():
    with made("[limits]\ncost_day = 1\n") as scene:
        use(scene, work(scene, "a"), DOLLAR)
        count_project(scene.fleet.context, PROJECT)
        with pytest.raises(OverBudget):
            work(scene, "b")
        scene.clock.wait(DAY / SECOND)
        work(scene, "b")


def test_an_agent_may_not_raise_its_own_budget(limited):
    ident = work(limited, "a")
    with limited.speaking(ident) as fleet, pytest.raises(NotAllowed):
        fleet.engines.allow(100, project=PROJECT, slug="a")
