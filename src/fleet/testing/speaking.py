"""How the scripted agent speaks to its hooks: as Claude Code does, from the settings file it is given.

Commands of an event run in its shell with the event's JSON on standard input; those marked async are not waited for. An
engine of your own that has hooks of this kind can be tested with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Payload = dict[str, Any]
STEPS = {
    "hook": "hook",
    "stop": "stop",
    "ask": "ask",
    "choose": "choose",
    "context": "context",
    "limit": "limit",
    "overloaded": "overloaded",
    "wait-message": "wait_message",
    "idle": "idle",
}
_PATIENCE = 300.0
_LOOK_AGAIN = 0.05


def _say(text: str) -> None:
    print(f"[scripted] {text}", flush=True)  # noqa: T201


class Voice:
    """One session's hooks."""

    def __init__(self, settings: str) -> None:
        self._settings: Payload = json.loads(Path(settings).read_text(encoding="utf-8")) if settings else {}

    def call(self, event: str, payload: Payload) -> list[Payload]:
        """Run the hooks of an event; the answers of those that are waited for."""
        whole = {"session_id": f"scripted-{os.getpid()}", "cwd": os.getcwd(), "hook_event_name": event, **payload}
        given = json.dumps(whole).encode()
        groups = self._settings.get("hooks", {}).get(event, [])
        entries = [entry for group in groups for entry in group["hooks"] if not entry.get("asyncRewake")]
        answers = [_run(entry["command"], given, wait=not entry.get("async")) for entry in entries]
        return [json.loads(answer) for answer in answers if answer.strip()]

    # steps ------------------------------------------------------------------------------------------------------------
    def hook(self, rest: str) -> None:
        """Call the hooks of an event."""
        event, _, payload = rest.partition(" ")
        _say(f"{event} answered {json.dumps(self.call(event, json.loads(payload or '{}')))}")

    def stop(self, rest: str) -> None:
        """End the turn."""
        for answer in self.call("Stop", {"last_assistant_message": rest, "background_tasks": []}):
            _say(f"sent back: {answer['reason']}")
            return
        _say("turn over")

    def ask(self, rest: str) -> None:
        """Ask for a permission."""
        _say(f"asks: {rest}")
        self._verdict("Bash", {"command": rest})

    def choose(self, rest: str) -> None:
        """Ask the person."""
        text, *options = [part.strip() for part in rest.split("|")]
        _say(f"asks: {text}")
        labels = [{"label": option, "description": ""} for option in options]
        self._verdict("AskUserQuestion", {"questions": [{"question": text, "options": labels, "multiSelect": False}]})

    def _verdict(self, tool: str, given: Payload) -> None:
        answers = self.call("PermissionRequest", {"tool_name": tool, "tool_input": given})
        verdict = answers[0]["hookSpecificOutput"]["decision"] if answers else {"behavior": "nobody answered"}
        _say(f"verdict {json.dumps(verdict)}")
        if verdict["behavior"] == "allow":
            self._result(tool, given)

    def _result(self, tool: str, given: Payload) -> bool:
        """A tool has run; whether something was told with its result."""
        answers = self.call("PostToolUse", {"tool_name": tool, "tool_input": given})
        for answer in answers:
            _say(f"told: {answer['hookSpecificOutput']['additionalContext']}")
        return bool(answers)

    def context(self, rest: str) -> None:
        """How full the context is."""
        window = {"used_percentage": int(rest), "total_input_tokens": int(rest) * 2_000}
        self._status({"context_window": window, "cost": {"total_cost_usd": 0.5}})

    def limit(self, rest: str) -> None:
        """End a turn at a limit that is reset in so many seconds."""
        reset = int(time.time() + float(rest.removesuffix("s")))
        self._status({"rate_limits": {"five_hour": {"used_percentage": 100, "resets_at": reset}}})
        self._failed("rate_limit", "You've hit your session limit")

    def overloaded(self, _rest: str) -> None:
        """End a turn by an error of the API."""
        self._failed("overloaded", "API Error: 529 Overloaded")

    def _failed(self, error: str, words: str) -> None:
        self.call("StopFailure", {"error": error, "last_assistant_message": words})

    def _status(self, payload: Payload) -> None:
        given = {"session_id": f"scripted-{os.getpid()}", "cwd": os.getcwd(), **payload}
        _run(self._settings["statusLine"]["command"], json.dumps(given).encode(), wait=True)

    def wait_message(self, _rest: str) -> None:
        """Use a tool again and again, until a message comes with a result."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and not self._result("Bash", {"command": "true"}):
            time.sleep(_LOOK_AGAIN)

    def idle(self, _rest: str) -> None:
        """Sit at the prompt; what is typed comes to the hooks of a prompt."""
        sys.stdout.write("\x1b[?2004h")  # what is pasted shall come in brackets
        _say("idle")
        typed = sys.stdin.readline()
        while "\x1b[200~" in typed and "\x1b[201~" not in typed:
            typed += sys.stdin.readline()
        typed = typed.replace("\x1b[200~", "").replace("\x1b[201~", "").strip()
        _say(f"typed: {json.dumps(typed)}")
        self.call("UserPromptSubmit", {"prompt": typed})


def _run(command: str, given: bytes, *, wait: bool) -> str:
    quiet = subprocess.DEVNULL
    out = subprocess.PIPE if wait else quiet
    child = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=out, stderr=quiet)
    if wait:
        return child.communicate(given)[0].decode()
    assert child.stdin is not None
    child.stdin.write(given)
    child.stdin.close()
    return ""
