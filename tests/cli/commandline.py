"""fleet's command line as tests call it: in this process where that is enough, as the real program where it is not."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fleet.surfaces.cli.entry import run
from fleet.surfaces.cli.hot import by_daemon

FLEET = Path(sys.executable).parent / "fleet"
CONFINED = Path(__file__).with_name("confined.py")
PATIENCE = 60


def make_repository(path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", path], check=True)
    return path


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def objects(self) -> list[Any]:
        """One object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]

    def ok(self) -> "Answer":
        assert (self.code, self.err) == (0, ""), self
        return self

    def refused(self, code: int, *words: str) -> "Answer":
        """One line on stderr that holds these words, no traceback, and this exit code."""
        assert self.code == code, self
        assert self.err.startswith("fleet: "), self
        assert self.err.endswith("\n"), self
        assert self.err.count("\n") == 1, self
        for word in words:
            assert word in self.err, self
        return self


class CommandLine:
    """One person at one fleet home, standing in one repository."""

    def __init__(self, home: Path, where: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.where = where
        self._patch = patch
        self._capsys = capsys
        # Whether a daemon serves the home; then commands go through it, as the launcher sees to.
        self.has_daemon = False

    def __call__(
        self, *words: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", where: Path | None = None
    ) -> Answer:
        """Run a command in this process."""
        self._capsys.readouterr()
        with self._patch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            patch.chdir(where or self.where)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            done, key = by_daemon.ask(list(words)) if self.has_daemon else ({}, None)
            if done.get("code") is not None:
                return Answer(done["code"], done["out"], done["err"])
            code = run(list(words), key)
        said = self._capsys.readouterr()
        return Answer(code, said.out, said.err)

    def said(self) -> str:
        """What came on standard output since the last command, if it did not end."""
        return self._capsys.readouterr().out

    def ask(self, *words: str, **how: Any) -> Any:
        """What a command answers with --json."""
        return self(*words, "--json", **how).ok().json

    def add(self, slug: str, *words: str) -> None:
        self("task", "add", f"The {slug}", "--slug", slug, *words).ok()

    def show(self, slug: str) -> dict[str, Any]:
        return self.ask("task", "show", slug)

    def everything(self) -> tuple[str, str]:
        """All that there is, to see that nothing was changed."""
        return self("task", "export").ok().out, self("ops", "--json", "--limit", "10000").ok().out


class Program:
    """The real program, as a process of its own."""

    def __init__(self, home: Path, where: Path) -> None:
        self.home = home
        self.where = where
        self.started: list[subprocess.Popen[str]] = []

    def start(
        self,
        *words: str | bytes,
        env: Mapping[str, str] | None = None,
        where: Path | None = None,
        under: tuple[str, ...] = (),
        **how: Any,
    ) -> "subprocess.Popen[str]":
        """Start a command; whatever it is doing at the end of the test is ended."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*([sys.executable, str(CONFINED), *under, "--"] if under else []), str(FLEET), *words]
        around = {**os.environ, "FLEET_HOME": str(self.home), **(env or {})}
        child = subprocess.Popen(command, env=around, cwd=where or self.where, text=True, **(pipes | how))
        self.started.append(child)
        return child

    def __call__(self, *words: str | bytes, stdin: str | None = None, **how: Any) -> Answer:
        """Run a command to its end."""
        if stdin is not None:
            how["stdin"] = subprocess.PIPE
        child = self.start(*words, **how)
        out, err = child.communicate(stdin, timeout=PATIENCE)
        return Answer(child.returncode, out or "", err or "")

    def end(self) -> None:
        for child in self.started:
            with child:
                child.kill()
