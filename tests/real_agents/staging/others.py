"""A scene with a real agent other than Claude Code in it: a person's throw-away home as its file's [check] has it, and its stub."""

import json
import os
import tempfile
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from real_agents.staging.stage import BIN, FOREIGN, PATIENCE, SURROUNDINGS, Stage

from fleet.engines.reader import BUILT_IN, read
from fleet.testing import scene
from fleet.testing.stub_model import StubModel

OTHERS = ("codex", "gemini", "opencode")
# Where each writes its conversations down, and what a line with a result has in it.
_KEEPS = {
    "codex": (".codex/sessions/*/*/*/*.jsonl", b"function_call_output"),
    "gemini": (".gemini/tmp/*/chats/*.jsonl", b"functionResponse"),
    "opencode": (".local/share/opencode/opencode.db*", b""),
}
_PRIVATE = BIN.parents[2] / "scenes"
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


def private_folder(**given: str) -> str:
    """Make the scene's folder where nobody else can write: Gemini CLI reads no settings below /tmp, and the sandbox of Codex works from no home there."""
    _PRIVATE.mkdir(mode=0o700, exist_ok=True)
    return tempfile.mkdtemp(**given | {"dir": str(_PRIVATE)})


class Others(Stage):
    """The stage, for one engine; the stub of its model does these commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, commands: list[str]) -> None:
        self.engine = read(BUILT_IN / f"{name}.toml")
        assert self.engine.check is not None
        self._check = self.engine.check
        self.model = Listening(self._check.dialect, commands)
        self.model.__enter__()
        monkeypatch.setattr(scene, "tempfile", SimpleNamespace(mkdtemp=private_folder))
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

    def starts(self, slug: str, autonomy: str) -> str:
        return self.dispatch(slug, "--engine", self.engine.name, "--autonomy", autonomy)

    def has_kept(self, result: str) -> bool:
        """Whether a result is written down in a conversation."""
        pattern, mark = _KEEPS[self.engine.name]
        lines = (line for path in self.person.glob(pattern) for line in path.read_bytes().splitlines())
        return any(mark in line and result.encode() in line for line in lines)

    def close(self) -> None:
        self.model.go_on.set()
        super().close()
        self.model.__exit__()
