"""An agent in a few lines: asks its model what to do, runs it in a shell, tells what came of it, until it hears plain words.

usage: python tiny_agent.py messages|responses URL
"""

import json
import subprocess
import sys
import urllib.request


def ask(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def run(command: str) -> tuple[int, str]:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def messages(url: str) -> None:
    said: list[dict] = [{"role": "user", "content": "begin"}]
    while True:
        block = ask(f"{url}/v1/messages", {"tools": [{"name": "Bash"}], "messages": said})["content"][0]
        if block["type"] == "text":
            return
        status, text = run(block["input"]["command"])
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": text, "is_error": status != 0}
        said += [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]


def responses(url: str) -> None:
    said: list[dict] = [{"type": "message", "role": "user", "content": "begin"}]
    while True:
        item = ask(f"{url}/v1/responses", {"tools": [{"name": "exec_command"}], "input": said})["output"][0]
        if item["type"] == "message":
            return
        status, text = run(json.loads(item["arguments"])["cmd"])
        told = f"Process exited with code {status}\nOutput:\n{text}"
        said += [item, {"type": "function_call_output", "call_id": item["call_id"], "output": told}]


if __name__ == "__main__":
    {"messages": messages, "responses": responses}[sys.argv[1]](sys.argv[2])
