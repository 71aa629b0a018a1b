"""Every command in a home that was moved, before or while the command runs: an answer or an error in words, never a traceback."""

import os
from pathlib import Path

import click
import pytest
from cli.commandline import CommandLine
from cli.commands import COMMANDS

from fleet.api.fleet import Fleet
from fleet.store.sqlite import SqliteStore
from fleet.surfaces.cli.app import root

A = "aaaaaaaa"
# They never end by themselves, or become another program.
ENDLESS = {
    ("daemon", "run"),
    ("tui",),
    ("coord", "run"),
    ("coord", "watch"),
    ("attach",),
    ("coord", "attach"),
    ("task", "watch"),
    ("demo",),
}
HIDDEN = [
    ("claims", "acquire-prompt", "bbbbbbbb", "--owner", "t"),
    ("claims", "release", A, "--kind", "coord_prompt_inbox"),
    ("claims", "rewrite-prompt", A, "--target-old-id", A),
    ("claims", "inspect", A),
]
GIVEN = {
    "slug": "t",
    "ident": A,
    "agent": A,
    "dispatch": A,
    "project": "web",
    "name": "web",
    "path": "notes",
    "plan": "-",
}


def command_of(path: tuple[str, ...]) -> click.Command:
    found: click.Command = root
    for name in path:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name)
    return found


def value_of(param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[0])
    return "1" if isinstance(param.type, click.types.IntParamType) else GIVEN.get(param.name or "", "t")


def words_of(path: tuple[str, ...]) -> list[str]:
    """A call of a command with everything that it needs."""
    params = [param for param in command_of(path).params if param.required or isinstance(param, click.Argument)]
    words = [*path]
    for param in params:
        words += [value_of(param)] if isinstance(param, click.Argument) else [param.opts[0], value_of(param)]
    yes = any("--yes" in param.opts for param in command_of(path).params)
    return [*words, *(["--yes"] if yes else [])]


CALLS = [*(words_of(path) for path in COMMANDS if path not in ENDLESS), *map(list, HIDDEN)]


@pytest.fixture
def line(fleet: CommandLine) -> CommandLine:
    """A home with a task, a pending dispatch with a prompt, and a message."""
    fleet.add("t")
    fleet("claims", "acquire-prompt", A, "--owner", "t", stdin=b"prompt\n").ok()
    return fleet


def assert_in_words(words: list[str], code: int, err: str) -> None:
    known = {0, 1, 2, 10, 11, 12, 13, 14}
    assert code in known, words
    assert "Traceback" not in err, (words, err)
    if code not in {0, 1} and words[0] != "claims" and err:
        assert err.startswith(("fleet: ", "warning", "Usage")), (words, err)


@pytest.mark.req("DEL-5", "STORE-15")
@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_a_home_that_was_moved_before(line, words, monkeypatch):
    away = line.home.with_name("moved")
    os.rename(line.home, away)
    monkeypatch.setenv("FLEET_HOME", str(away))
    said = line(*words)
    assert_in_words(words, said.code, said.err)
    assert not line.home.exists()


class Mover:
    """Moves the home away, once: when it was opened, after the first read of its store, or before the first effect."""

    def __init__(self, home: Path, moment: str) -> None:
        self.home, self.moment, self.moved = home, moment, False

    def reach(self, moment: str) -> None:
        if moment == self.moment and not self.moved:
            os.rename(self.home, self.home.with_name("moved"))
            self.moved = True

    def before(self, _effect: str) -> None:
        self.reach("effect")

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        pass

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        opened, read = Fleet.open, SqliteStore.read

        def open_and_watch(*given, **how):
            fleet = opened(*given, **how)
            fleet.funnel.watcher = self
            self.reach("open")
            return fleet

        def read_and_move(store, work):
            found = read(store, work)
            self.reach("read")
            return found

        monkeypatch.setattr(Fleet, "open", open_and_watch)
        monkeypatch.setattr(SqliteStore, "read", read_and_move)


@pytest.mark.req("DEL-5", "STORE-15")
@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_a_home_that_is_moved_while_the_command_runs(line, words, monkeypatch):
    away = line.home.with_name("moved")
    for moment in ("open", "read", "effect"):
        mover = Mover(line.home, moment)
        with monkeypatch.context() as patch:
            mover.watch(patch)
            said = line(*words)
        assert_in_words(words, said.code, said.err)
        assert line.home.exists() != mover.moved, "it is not made anew"
        if mover.moved:
            os.rename(away, line.home)


def test_only_a_home_that_is_gone_explains_a_missing_file(line, monkeypatch):
    def lose_a_file(*_):
        raise FileNotFoundError(2, "No such file or directory", f"{line.home}/missing")

    monkeypatch.setattr(Fleet, "open", lose_a_file)
    with pytest.raises(FileNotFoundError):
        line("ops")
    os.rename(line.home, line.home.with_name("moved"))
    line("ops").refused(1, str(line.home), "moved or removed")
