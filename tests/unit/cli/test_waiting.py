"""While a command waits it says for what and for how long; never with --json."""

import io
import threading

import click
import pytest

from fleet.surfaces.cli.ui import streams, waiting


class Log(io.StringIO):
    """A stderr that is no terminal, and tells when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.said = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        self.said.set()
        return written


class Terminal(Log):
    def isatty(self) -> bool:
        return True


def wait_until_said(stream: Log) -> None:
    assert stream.said.wait(60)


def fail_after_a_while(stream: Log) -> None:
    with waiting.waiting("merging parser"):
        wait_until_said(stream)
        raise ValueError("no")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(waiting, "ON_TERMINAL", 0.0)
    monkeypatch.setattr(waiting, "ELSEWHERE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_elsewhere_a_line_says_what_is_waited_for_and_another_how_long_it_took(monkeypatch):
    stream = Log()
    monkeypatch.setattr("sys.stderr", stream)
    with waiting.waiting("merging parser"):
        wait_until_said(stream)
    first, last = stream.getvalue().splitlines()
    assert first == "merging parser …"
    assert last.startswith("merging parser: ")
    assert last.endswith("s")


@pytest.mark.usefixtures("impatient")
def test_on_a_terminal_one_line_moves_and_is_cleared_in_the_end(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with waiting.waiting("merging parser"):
        wait_until_said(stream)
    said = streams.escape_controls(stream.getvalue())
    assert "merging parser … 0s" in said
    assert said.endswith("\033[1G\033[K")
    assert "\n" not in said


@pytest.mark.usefixtures("impatient")
def test_nothing_is_written_when_the_output_is_json(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(waiting, "WaitNotice", None)
    merge = click.Command("merge", params=[click.Option(["--json"], is_flag=True)])
    with merge.make_context("merge", ["--json"]), waiting.waiting("merging parser"):
        pass
    assert stream.getvalue() == ""


def test_a_short_wait_is_not_mentioned(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(waiting, "ON_TERMINAL", 1000.0)
    with waiting.waiting("merging parser"):
        pass
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("impatient")
def test_the_line_is_cleared_when_the_command_fails(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with pytest.raises(ValueError, match="no"):
        fail_after_a_while(stream)
    assert streams.escape_controls(stream.getvalue()).endswith("\033[K")
