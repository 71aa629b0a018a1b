"""The agent of a command: named, picked from a list on a terminal, or the default."""

from types import SimpleNamespace

import click
import pytest

from fleet.errors.given import BadInput
from fleet.surfaces.cli.ui.picking import pick_agent


def agent(ident, state, started_at, task="t"):
    return SimpleNamespace(id=ident, state=state, started_at=started_at, project="p", task=task, detail="")


AGENTS = [agent("new", "working", "2026-02"), agent("old", "working", "2026-01"), agent("bad", "asks", "2026-03", None)]


class Asked:
    """A fleet with these agents, and a person who answers."""

    def __init__(self, monkeypatch, agents=(), answer=None, *, is_terminal=True):
        self.agents = SimpleNamespace(list=lambda: list(agents))
        self.dispatches = SimpleNamespace(find=lambda name: f"found {name}")
        self.defaults, self.answer = [], answer
        monkeypatch.setattr("fleet.surfaces.cli.ui.terminal.is_interactive", lambda: is_terminal)
        monkeypatch.setattr(click, "prompt", self.prompt)

    def prompt(self, _words, *, type, default, **_how):  # noqa: A002 - click's name
        self.defaults.append(default)
        return type.convert(self.answer, None, None)


def test_an_agent_that_is_named_is_looked_up_and_nobody_is_asked(monkeypatch):
    asked = Asked(monkeypatch, AGENTS)
    assert pick_agent(asked, "abc", default="@last") == "found abc"
    assert asked.defaults == []


@pytest.mark.parametrize(("answer", "chosen"), [("1", "bad"), ("2", "old"), ("3", "new")])
def test_problems_come_first_then_the_oldest(monkeypatch, capsys, answer, chosen):
    asked = Asked(monkeypatch, AGENTS, answer)
    assert pick_agent(asked, None, default="@last") == chosen
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["1", "bad", "asks", "p"],
        ["2", "old", "working", "p/t"],
        ["3", "new", "working", "p/t"],
    ]
    assert asked.defaults == ["1"]


def test_nothing_is_preselected_for_a_command_that_ends_an_agent(monkeypatch):
    asked = Asked(monkeypatch, AGENTS, "2")
    assert pick_agent(asked, None, ending=True) == "old"
    assert asked.defaults == [None]


def test_whoever_picks_none_ends_the_command_without_a_fault(monkeypatch, capsys):
    with pytest.raises(click.exceptions.Exit) as caught:
        pick_agent(Asked(monkeypatch, AGENTS, "q"), None)
    assert caught.value.exit_code == 0
    assert capsys.readouterr().out.endswith("nothing was chosen\n")


@pytest.mark.parametrize(
    ("agents", "is_terminal", "why"),
    [
        ([], True, "no agents are running"),
        (AGENTS, False, "name an agent: its id, a prefix of it, its task's slug, or @last"),
    ],
)
def test_without_a_list_the_default_counts_and_without_one_it_is_said(monkeypatch, agents, is_terminal, why):
    asked = Asked(monkeypatch, agents, is_terminal=is_terminal)
    assert pick_agent(asked, None, default="@last") == "found @last"
    with pytest.raises(BadInput, match=why):
        pick_agent(asked, None)
    assert asked.defaults == []
