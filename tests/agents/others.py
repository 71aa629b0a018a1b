"""A scene with a real agent other than Claude Code in it: a person's throw-away home as its file's [check] has it, and its stub."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from agents.stage import BIN, FOREIGN, PATIENCE, SURROUNDINGS, Stage

from fleet.engines.reader import BUILT_IN, read
from fleet.testing.stub_model import StubModel

OTHERS = ("codex", "gemini", "opencode")
_THEIRS = ("CODEX", "GEMINI", "GOOGLE_", "OPENAI_", "OPENCODE")


class Listening(StubModel):
    """Keeps what the agents send, but for requests without tools, which are no turns; may hold its answers back."""

    def __init__(self, dialect: str, commands: list[str]) -> None:
        super().__init__(dialect, commands)
        self.heard: list[str] = []
        self.hold_at = ""
        self.go_on = threading.Event()

    def _answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        said = json.dumps(body, ensure_ascii=False)
        if body.get("tools"):
            self.heard.append(said)
            if self.hold_at and self.hold_at in said:
                self.go_on.wait(PATIENCE)
        return super()._answer(body)


class Others(Stage):
    """The stage, for one engine; the stub of its model does these commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, commands: list[str]) -> None:
        self.engine = read(BUILT_IN / f"{name}.toml")
        assert self.engine.check is not None
        self._check = self.engine.check
        self.model = Listening(self._check.dialect, commands)
        self.model.__enter__()
        super().__init__(monkeypatch)

    def _surround(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in list(os.environ):
            if name.startswith((*FOREIGN, *_THEIRS)):
                monkeypatch.delenv(name)
        told = {name: self._filled(value) for name, value in self._check.env.items()}
        for name, value in (SURROUNDINGS | told | {"HOME": str(self.person)}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)

    def _furnish(self) -> None:
        for name, text in self._check.files.items():
            path = self.person / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(text), encoding="utf-8")
        (self.person / ".gitconfig").write_text("[user]\n\tname = agent\n\temail = agent@localhost\n", encoding="utf-8")

    def _filled(self, text: str) -> str:
        facts = {"{url}": self.model.url, "{repository}": self.scene.repository, "{person}": str(self.person)}
        for name, value in facts.items():
            text = text.replace(name, value)
        return text

    def starts(self, slug: str) -> str:
        return self.dispatch(slug, "--engine", self.engine.name, "--autonomy", "full")

    def has_kept(self, text: str) -> bool:
        """Whether the program has written it down anywhere in the person's home."""
        return any(text.encode() in _bytes(path) for path in self.person.rglob("*") if path.is_file())

    def close(self) -> None:
        self.model.go_on.set()
        super().close()
        self.model.__exit__()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
