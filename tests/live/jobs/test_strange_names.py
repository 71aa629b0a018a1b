"""Files whose names are not UTF-8 are items as any others."""

import json
import os

import pytest

from fleet.testing.scene import PROJECT

IN_PLACE = """
name: strange
map:
  isolation: none
  input: {glob: "*.txt"}
  steps:
    - shell: 'test -e {item.path}'
  retry: {attempts: 1}
reduce:
  - shell: 'test "$(wc -l < {map.results})" = 3'
"""
BY_AGENTS = """
name: strange
map:
  input: {glob: "*.txt"}
  engine: scripted
  steps:
    - shell: 'cp {item.path} copy'
    - agent: |
        ```script
        commit Copy {item.path}
        ```
"""


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize("text", [IN_PLACE, BY_AGENTS], ids=["in place", "by agents"])
def test_a_file_whose_name_is_not_utf8_is_worked_on(text, either):
    with open(os.fsencode(either.repository) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"hello\n")
    either.git("add", ".")
    either.git("commit", "--quiet", "--message=a strange name")
    done = either.program("job", "run", either.write(text), "-p", PROJECT, "--json")
    assert (done.code, done.err) == (0, "")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert {each["label"] for each in events if each["event"] == "item"} >= {"caf?.txt"}
    assert events[-1]["items"]["done"] == 1
