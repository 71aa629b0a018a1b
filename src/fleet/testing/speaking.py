"""Call hooks as Claude Code does, from the settings file that the scripted agent gets.

The commands of an event run in the shell with the event's JSON on standard input; commands marked async are not waited
for. You can test your own engines with such hooks, too.
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
# The steps of a script that call hooks, and the method of HookCaller that performs each.
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
# Seconds: how long `wait_message` waits at most, and between two looks.
_PATIENCE = 300.0
_LOOK_AGAIN = 0.05
# The exit status of a step that needs a status line where there is none; that of an unknown step, too.
_NO_STATUS_LINE = 64


def _say(text: str) -> None:
    """Print a line that is marked as one of the scripted agent."""
    print(f"[scripted] {text}", flush=True)  # noqa: T201


class HookCaller:
    """The caller of one session's hooks, which are in the file at the path `settings`; "" when there are no hooks.

    The methods in STEPS are steps of a script: each takes the rest of the step's line.
    """

    def __init__(self, settings: str) -> None:
        self._path = settings
        self._settings: Payload = json.loads(Path(settings).read_text(encoding="utf-8")) if settings else {}

    def call(self, event: str, payload: Payload) -> list[Payload]:
        """Run the hooks of an event with `payload` on standard input; return the answers that they print as JSON.

        A hook that prints nothing, or is marked `async`, gives no answer; one marked `asyncRewake` is not run.
        """
        whole = {"session_id": f"scripted-{os.getpid()}", "cwd": os.getcwd(), "hook_event_name": event, **payload}
        given = json.dumps(whole).encode()
        groups = self._settings.get("hooks", {}).get(event, [])
        entries = [entry for group in groups for entry in group["hooks"] if not entry.get("asyncRewake")]
        answers = [_run(entry["command"], given, wait=not entry.get("async")) for entry in entries]
        return [json.loads(answer) for answer in answers if answer.strip()]

    # steps ------------------------------------------------------------------------------------------------------------
    def hook(self, rest: str) -> None:
        """Call the hooks of an event and print their answers; `rest` is EVENT or EVENT JSON."""
        event, _, payload = rest.partition(" ")
        _say(f"{event} answered {json.dumps(self.call(event, json.loads(payload or '{}')))}")

    def stop(self, rest: str) -> None:
        """End the turn with the last message `rest`.

        Print the reason when a hook sends the agent back to work, else print that the turn is over.
        """
        for answer in self.call("Stop", {"last_assistant_message": rest, "background_tasks": []}):
            _say(f"sent back: {answer['reason']}")
            return
        _say("turn over")

    def ask(self, rest: str) -> None:
        """Ask for the permission to run the command `rest`, and print the verdict. The command itself is not run."""
        _say(f"asks: {rest}")
        self._ask_permission("Bash", {"command": rest})

    def choose(self, rest: str) -> None:
        """Ask the person a question with options, and print the answer; `rest` is QUESTION | A | B."""
        text, *options = [part.strip() for part in rest.split("|")]
        _say(f"asks: {text}")
        labels = [{"label": option, "description": ""} for option in options]
        self._ask_permission(
            "AskUserQuestion", {"questions": [{"question": text, "options": labels, "multiSelect": False}]}
        )

    def _ask_permission(self, tool: str, given: Payload) -> None:
        """Ask whether a tool may run and print the verdict; if it may, call the hooks of the tool's result."""
        answers = self.call("PermissionRequest", {"tool_name": tool, "tool_input": given})
        verdict = answers[0]["hookSpecificOutput"]["decision"] if answers else {"behavior": "nobody answered"}
        _say(f"verdict {json.dumps(verdict)}")
        if verdict["behavior"] == "allow":
            self._finish_tool(tool, given)

    def _finish_tool(self, tool: str, given: Payload) -> bool:
        """Call the hooks of a tool's result and print the messages in their answers; return whether there were any."""
        answers = self.call("PostToolUse", {"tool_name": tool, "tool_input": given})
        for answer in answers:
            _say(f"told: {answer['hookSpecificOutput']['additionalContext']}")
        return bool(answers)

    def context(self, rest: str) -> None:
        """Report to fleet, through the command for the status line, that `rest` percent of the context are used."""
        window = {"used_percentage": int(rest), "total_input_tokens": int(rest) * 2_000}
        self._send_status({"context_window": window, "cost": {"total_cost_usd": 0.5}})

    def limit(self, rest: str) -> None:
        """End the turn at a usage limit that resets after `rest` seconds: a number, which an "s" may follow."""
        reset = int(time.time() + float(rest.removesuffix("s")))
        self._send_status({"rate_limits": {"five_hour": {"used_percentage": 100, "resets_at": reset}}})
        self._fail_turn("rate_limit", "You've hit your session limit")

    def overloaded(self, _rest: str) -> None:
        """End the turn with an API error."""
        self._fail_turn("overloaded", "API Error: 529 Overloaded")

    def _fail_turn(self, error: str, words: str) -> None:
        """Call the hook of a turn that the API failed, with the kind of error and the agent's last message."""
        self.call("StopFailure", {"error": error, "last_assistant_message": words})

    def _send_status(self, payload: Payload) -> None:
        """Run the command for the status line in the agent's settings, with this JSON on its standard input.

        Without such a command say what is missing, and exit with status 64.
        """
        try:
            command = self._settings["statusLine"]["command"]
        except KeyError:
            place = f"{self._path} has no command for it" if self._path else "there is no --settings FILE"
            _say(f"cannot send the status line: {place}")
            sys.exit(_NO_STATUS_LINE)
        given = {"session_id": f"scripted-{os.getpid()}", "cwd": os.getcwd(), **payload}
        _run(command, json.dumps(given).encode(), wait=True)

    def wait_message(self, _rest: str) -> None:
        """Pretend to run a tool again and again, until a hook's answer brings a message, for at most five minutes."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and not self._finish_tool("Bash", {"command": "true"}):
            time.sleep(_LOOK_AGAIN)

    def idle(self, _rest: str) -> None:
        """Wait at the prompt for typed text, and call the hooks of a prompt with it."""
        sys.stdout.write("\x1b[?2004h")  # ask the terminal to bracket pasted text
        _say("idle")
        typed = sys.stdin.readline()
        while "\x1b[200~" in typed and "\x1b[201~" not in typed:
            typed += sys.stdin.readline()
        typed = typed.replace("\x1b[200~", "").replace("\x1b[201~", "").strip()
        _say(f"typed: {json.dumps(typed)}")
        self.call("UserPromptSubmit", {"prompt": typed})


def _run(command: str, given: bytes, *, wait: bool) -> str:
    """Run a hook's command in the shell with this input; return its output. Without `wait` return "" while it runs."""
    quiet = subprocess.DEVNULL
    out = subprocess.PIPE if wait else quiet
    child = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=out, stderr=quiet)
    if wait:
        return child.communicate(given)[0].decode()
    assert child.stdin is not None
    child.stdin.write(given)
    child.stdin.close()
    return ""
