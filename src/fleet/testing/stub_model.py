"""A stub of a model, on loopback: it tells an agent to run one command after another, then says that it is done.

It has the interfaces of three vendors: "messages" (Anthropic), "responses" (OpenAI) and "contents" (Google). The next
command follows from the conversation in each request and nothing is remembered, so a repeated request gets the same
answer.
"""

from __future__ import annotations

import http.server
import json
import threading
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

Body = dict[str, Any]
LAST_WORDS = "Done."
# A request without tools asks for the title of the conversation.
_TITLE = "A title"
# After this many milliseconds Codex reports that a command is still running; its own default is ten seconds.
_PATIENCE = 30_000


class Answer(NamedTuple):
    """The answer to one request.

    `events` are sent, `trouble` is the output of the commands that have failed, `last` says that the conversation is over.
    """

    events: list[Body]
    trouble: Sequence[str] = ()
    last: bool = False


class StubModel:
    """An HTTP server that acts as the model while it is open.

    `dialect` names the interface, `commands` are those that the agent is told to run. `over`: the last answer was sent, so
    every command was tried. `trouble`: the output of the failed commands.
    """

    def __init__(self, dialect: str, commands: Sequence[str]) -> None:
        self._speak = DIALECTS[dialect]
        self._commands = commands
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.answer = self._answer
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self.over = False
        self.trouble: Sequence[str] = ()

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, body: Body) -> list[Body]:
        """Return the events that answer one request; record failed commands and the end of the conversation."""
        answer = self._speak(body, self._commands)
        self.trouble = answer.trouble or self.trouble
        self.over = self.over or answer.last
        return answer.events


class _Server(http.server.ThreadingHTTPServer):
    """The HTTP server of the stub, which hands the body of each request to the model to `answer`."""

    daemon_threads = True
    answer: Callable[[Body], list[Body]]

    def handle_error(self, *_: object) -> None:
        """Ignore errors: an agent that is killed closes its connection in the middle."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """The handler of a request: one to the model gets the stub's answer, any other an answer that says nothing."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_GET(self) -> None:
        self._send(b"{}")

    def do_POST(self) -> None:
        """Answer a request to the model, as a stream of events if it asks for one; any other by a fixed token count."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count" in self.path or not body.keys() & {"messages", "input", "contents"}:
            self._send(b'{"input_tokens": 10, "totalTokens": 10}')
            return
        events = self.server.answer(body)
        if not (body.get("stream") or "stream" in self.path):
            self._send(json.dumps(events[-1].get("response", events[0].get("message", events[0]))).encode())
            return
        text = "".join(f"{_event_line(each)}data: {json.dumps(each)}\n\n" for each in events)
        self._send(text.encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _event_line(event: Body) -> str:
    """Return the line that names an event in a stream; empty for an event without a type."""
    return f"event: {event['type']}\n" if "type" in event else ""


def messages(body: Body, commands: Sequence[str]) -> Answer:
    """Return the model's answer to a request in Anthropic's interface: run the next command, or end when all are done.

    The number of tool results in the request tells how many commands are done. A request without tools gets a title.
    OpenCode calls the tool bash, not Bash.
    """
    blocks = [block for turn in body["messages"] if isinstance(turn["content"], list) for block in turn["content"]]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    trouble = [_text(each["content"]) for each in results if each.get("is_error")]
    if not body.get("tools"):
        return Answer(list(_message(body, {"type": "text", "text": _TITLE})))
    if len(results) >= len(commands):
        return Answer(list(_message(body, {"type": "text", "text": LAST_WORDS})), trouble, last=True)
    use = {"command": commands[len(results)], "description": "told by the stub"}
    names = [str(each.get("name")) for each in body["tools"]]
    name = "bash" if "bash" in names else "Bash"
    block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": name, "input": use}
    return Answer(list(_message(body, block)), trouble)


def _text(content: object) -> str:
    """Return the content of a tool's result as one text."""
    return " ".join(str(each.get("text")) for each in content) if isinstance(content, list) else str(content)


def _message(body: Body, block: Body) -> Iterator[Body]:
    """Yield the events of one answer in Anthropic's interface; `body` is the request, `block` the answer's content."""
    text = block.get("text")
    empty = {**block, "input": {}} if text is None else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])} if text is None else None
    stop = {"stop_reason": "tool_use" if text is None else "end_turn", "stop_sequence": None}
    whole = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": body.get("model")}
    usage = {"input_tokens": 1000, "output_tokens": 20}
    content = [] if body.get("stream") else [block]
    yield {"type": "message_start", "message": {**whole, "content": content, **stop, "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    yield {"type": "content_block_delta", "index": 0, "delta": delta or {"type": "text_delta", "text": text}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def responses(body: Body, commands: Sequence[str]) -> Answer:
    """Return the model's answer to a request in OpenAI's interface, for Codex: run the next command, or end.

    As a model would, the stub asks to run a command that failed in the sandbox once more, outside the sandbox, before
    it goes on to the next. A request without tools gets a title.
    """
    if not body.get("tools"):
        return Answer(list(_response(_text_message(_TITLE))))
    calls = [each for each in body["input"] if each["type"] == "function_call"]
    results = {each["call_id"]: str(each["output"]) for each in body["input"] if each["type"] == "function_call_output"}
    failed = [each for each in calls if "exited with code 0" not in results.get(each["call_id"], "")]
    trouble = [results.get(each["call_id"], "") for each in failed]
    inside = [each for each in failed if "require_escalated" not in each["arguments"]]
    done_count = len(calls) - len(inside)
    if done_count >= len(commands):
        return Answer(list(_response(_text_message(LAST_WORDS))), trouble, last=True)
    given: Body = {"cmd": commands[done_count], "yield_time_ms": _PATIENCE}
    if inside and inside[-1] is calls[-1]:
        given |= {"sandbox_permissions": "require_escalated", "justification": "it failed in the sandbox"}
    ident = uuid.uuid4().hex
    call = {"type": "function_call", "id": f"fc_{ident}", "call_id": f"call_{ident}", "name": "exec_command"}
    return Answer(list(_response(call | {"arguments": json.dumps(given)})), trouble)


def _text_message(text: str) -> Body:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "content": content}


def _response(item: Body) -> Iterator[Body]:
    """Yield the events of one answer in OpenAI's interface; `item` is its content."""
    ident = f"resp_{uuid.uuid4().hex}"
    details = {"input_tokens_details": {"cached_tokens": 400}, "output_tokens_details": {"reasoning_tokens": 5}}
    usage = {"input_tokens": 1000, "output_tokens": 20, "total_tokens": 1020, **details}
    yield {"type": "response.created", "response": {"id": ident}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": ident, "output": [item], "usage": usage}}


def contents(body: Body, commands: Sequence[str]) -> Answer:
    """Return the model's answer to a request in Google's interface, for Gemini CLI: run the next command, or end.

    The number of tool results in the request tells how many commands are done; a result that a resumed conversation
    repeats counts once. A request without tools gets a title.
    """
    parts = [part for turn in body["contents"] for part in turn["parts"]]
    results = {each["id"]: each["response"] for part in parts if (each := part.get("functionResponse"))}
    trouble = [str(each) for each in results.values() if "error" in each or "Exit Code: " in str(each)]
    if not body.get("tools"):
        return Answer([_content({"text": _TITLE})])
    if len(results) >= len(commands):
        return Answer([_content({"text": LAST_WORDS})], trouble, last=True)
    given = {"command": commands[len(results)], "description": "told by the stub"}
    return Answer([_content({"functionCall": {"name": "run_shell_command", "args": given}})], trouble)


def _content(part: Body) -> Body:
    """Return an answer with one part in Google's interface."""
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    counted = {
        "promptTokenCount": 1000,
        "cachedContentTokenCount": 400,
        "candidatesTokenCount": 15,
        "thoughtsTokenCount": 5,
    }
    return {"candidates": [candidate], "usageMetadata": {**counted, "totalTokenCount": 1020}}


DIALECTS: dict[str, Callable[[Body, Sequence[str]], Answer]] = {
    "messages": messages,
    "responses": responses,
    "contents": contents,
}
