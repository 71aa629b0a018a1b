"""A stand-in for a model behind Claude Code: the Messages API on loopback, answering with scripted turns.

    python stub_messages_api.py PORT TURNS.json        port 0: any free one; the one taken is printed

TURNS is a list; each turn is one of
    {"say": "Done."}                            words, and the turn ends
    {"run": "echo hi > out.txt"}                its Bash tool
    {"tool": "Write", "input": {…}}             any other tool of it
    {"error": 529, "headers": {…}, "says": "…"} the API's own error
and may also have "wait": 5 (seconds before the answer), "tokens": 1000 (what the request cost) and "times": 2 (an error
that passes: after so many the next turn is given).

Each request that offers tools takes the next turn of its conversation, counted by the tool results it carries, so that
several agents can share one stub and a resumed conversation goes on where it stopped. Past the last turn it repeats the last.
"""

import http.server
import json
import sys
import threading
import time
import uuid
from pathlib import Path

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
WORDS = {
    401: "invalid x-api-key",
    403: "Forbidden",
    429: "This request would exceed your rate limit",
    529: "Overloaded",
}


def results_in(body: dict) -> int:
    blocks = (
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    )
    return sum(block.get("type") == "tool_result" for block in blocks)


def message(body: dict, turn: dict) -> dict:
    ident = uuid.uuid4().hex
    if "say" in turn:
        block, stop = {"type": "text", "text": turn["say"]}, "end_turn"
    else:
        given = turn.get("input", {"command": turn.get("run"), "description": "scripted"})
        block = {"type": "tool_use", "id": f"toolu_{ident}", "name": turn.get("tool", "Bash"), "input": given}
        stop = "tool_use"
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": turn.get("tokens", 1000), "output_tokens": 20},
    }


def events(whole: dict):
    block = whole["content"][0]
    if block["type"] == "tool_use":
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


class Script:
    """The turns; an error that passes is struck out once it was given often enough."""

    def __init__(self, turns: list[dict]) -> None:
        self._turns = turns
        self._lock = threading.Lock()

    def turn_for(self, body: dict) -> dict:
        if not body.get("tools"):
            return {"say": "A title"}
        with self._lock:
            left = [turn for turn in self._turns if turn.get("times", 1) > 0]
            turn = left[min(results_in(body), len(left) - 1)]
            if "times" in turn:
                turn["times"] -= 1
            return turn


class Stub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script

    def log_message(self, *_):
        pass

    def send(self, data: bytes, kind: str = "application/json", *, status: int = 200, headers: dict | None = None):
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self):
        self.send(b"")

    def do_GET(self):
        self.send(b"{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "messages" not in body:
            self.send(b"{}")
        elif "count_tokens" in self.path:
            self.send(b'{"input_tokens": 10}')
        else:
            self.answer(body, self.script.turn_for(body))

    def answer(self, body: dict, turn: dict):
        time.sleep(turn.get("wait", 0))
        if status := turn.get("error"):
            fault = {
                "type": KINDS.get(status, "api_error"),
                "message": turn.get("says", WORDS.get(status, "Internal server error")),
            }
            data = json.dumps({"type": "error", "error": fault}).encode()
            return self.send(data, status=status, headers=turn.get("headers"))
        whole = message(body, turn)
        if not body.get("stream"):
            return self.send(json.dumps(whole).encode())
        lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events(whole))
        return self.send("".join(lines).encode(), "text/event-stream")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """An agent that is killed hangs up in the middle."""


def main(port: str, turns: str) -> None:
    Stub.script = Script(json.loads(Path(turns).read_text(encoding="utf-8")))
    server = Server(("127.0.0.1", int(port)), Stub)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:3])
