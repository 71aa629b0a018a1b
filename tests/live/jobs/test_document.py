"""A job's document: what is taken, what is refused and where it points, and that the published schema says the same."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors.given import BadWorkflow
from fleet.model.jobs import placeholders
from fleet.model.jobs.items import item_id, signature
from fleet.model.jobs.keys import schema
from fleet.model.jobs.workflow import Retry, faults, read
from fleet.model.text.documents.yaml_tree import parse
from fleet.verbs.jobs.items.inputs import parse_input

PUBLISHED = Path(__file__).parents[3] / "docs" / "reference" / "job.schema.json"
GOOD = """\
name: modernise
setup:
  - shell: ./tools/list-files > items.json
    name: listed
map:
  input: {file: items.json, select: "files[?lines > `100`]"}
  max_parallel: 5
  engine: claude
  steps:
    - agent: "Modernise {item.path} and commit."
      commit_required: true
      timeout: 30m
    - shell: "pytest -q {item.path}"
  retry: {attempts: 3, backoff: 10s, max: 5m}
  on_failure: dlq            # dlq | skip | stop
reduce:
  - agent: "Read {map.results} and write CHANGES.md. {setup.listed}"
  - shell: "git commit -am 'Summarise'"
"""


@pytest.mark.req("JOB-1")
def test_a_document_is_read_with_its_defaults():
    job = read(GOOD, "job.yml")
    first, second = job.map.steps
    assert (job.name, job.map.source, job.map.given, job.map.max_parallel) == ("modernise", "file", "items.json", 5)
    assert (first.kind, first.commit_required, first.timeout, first.engine) == ("agent", True, 1_800_000, "claude")
    assert (second.kind, second.commit_required, second.timeout) == ("shell", False, 3_600_000)
    assert (job.map.isolation, job.map.breaker, job.map.retry) == (
        "worktree",
        5,
        Retry(attempts=3, backoff=10_000, longest=300_000),
    )


# What is changed in the good document, where the fault is then, and what it says.
WRONG = [
    ("name: modernise", "name: [x]", "1:7", "but should be a name"),
    ("name: modernise", "nam: modernise", "1:1", "did you mean 'name'"),
    ("max_parallel: 5", "max_paralel: 5", "7:3", "did you mean 'max_parallel'"),
    ("max_parallel: 5", "max_parallel: 0", "7:17", "a whole number from 1 to 1000"),
    ("max_parallel: 5", "max_parallel: '5'", "7:17", "is '5'"),
    ("timeout: 30m", "timeout: soon", "12:16", "a duration like 30s"),
    ("backoff: 10s", "backof: 10s", "14:24", "did you mean 'backoff'"),
    ("on_failure: dlq", "on_failure: explode", "15:15", "'dlq', 'skip' or 'stop'"),
    ("commit_required: true", "commit_required: maybe", "11:24", "true or false"),
    ('    - shell: "pytest -q {item.path}"', "    - name: empty", "13:7", "exactly one of agent, shell"),
    ("  input: {file: items.json,", "  input: {file: items.json, glob: x,", "6:10", "found file and glob"),
    ("files[?lines", "files[?(lines", "6:37", "no JMESPath"),
    ("{map.results}", "{item.path}", "17:12", "{item.path} means nothing in reduce"),
    ("{setup.listed}", "{setup.lost}", "17:12", "{setup.lost} is not known"),
    ("{item.path} and commit", "{map.results} and commit", "10:14", "means nothing in map"),
    ("-q {item.path}", "-q ${item.path}", "13:14", "{item.path} cannot be filled in: a dollar sign is right before it"),
    ("{file: items.json,", "{command: 'cat $(({env.N}))',", "6:20", "{env.N} cannot be filled in: it is in $(( … ))"),
    ("    name: listed", "    name: listed\n    name: again", "5:5", "is there twice"),
    ("  steps:", "  steps: []\n  step:", "9:10", "a list with at least one value"),
    ("map:", "maps:", "5:1", "did you mean 'map'"),
    ("name: modernise", "name: modernise\nenv: {a-b: x}", "2:7", "'a-b' is not the name of a variable"),
    ("name: modernise", "name: modernise\nenv: {A: 1}", "2:10", "A is 1, but should be a text"),
    ("name: modernise", "name: modernise\n\tx: 1", "2:1", "this is no YAML"),
    ("name: modernise", "name: !!python/object:os.system x", "1:7", "is not used here"),
]


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize(
    ("old", "new", "place", "words"), WRONG, ids=[f"{place} {words}" for _, _, place, words in WRONG]
)
def test_a_fault_points_at_its_line_and_says_what_was_expected(old, new, place, words):
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    said = [f"{fault.line}:{fault.column} {fault.why} — {fault.advice}" for fault in faults(text)]
    assert any(each.startswith(f"{place} ") and words in each for each in said), said
    with pytest.raises(BadWorkflow, match=r"job.yml:\d+:\d+: "):
        read(text, "job.yml")


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["output"], ["no step can be named 'output': {setup.output} is the output of the last step of setup"]),
        (["a", "b", "a"], ["two steps of setup cannot both be named 'a'"]),
    ],
)
def test_a_name_that_a_step_cannot_have_is_refused_with_the_reason(names, said):
    setup = "".join(f"  - {{name: {name}, shell: 'true'}}\n" for name in names)
    text = f"name: n\nsetup:\n{setup}map:\n  input: [1]\n  steps: [{{shell: 'true'}}]\n"
    assert [fault.why for fault in faults(text)] == said


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize("text", ["", "- a\n", "name: n\n", "a: &x [*x]\n", "x" * 100_000, "name: n\nmap: 3\n"])
def test_whatever_is_given_the_answer_is_a_place_and_a_reason(text):
    assert all(fault.line >= 1 and fault.column >= 1 and fault.why for fault in faults(text))
    assert faults(text) != []


def obeys(value: Any, rule: dict[str, Any]) -> bool:
    """Whether a value obeys a JSON Schema, as far as ours go."""
    kinds = {"string": str, "boolean": bool, "integer": int, "array": list, "object": dict}
    if "type" in rule and (
        not isinstance(value, kinds[rule["type"]]) or (rule["type"] == "integer" and isinstance(value, bool))
    ):
        return False
    checks = [
        "enum" not in rule or value in rule["enum"],
        "pattern" not in rule or re.search(rule["pattern"], value) is not None,
        "minimum" not in rule or rule["minimum"] <= value <= rule["maximum"],
        "minItems" not in rule or len(value) >= rule["minItems"],
        "items" not in rule or all(obeys(each, rule["items"]) for each in value),
        "required" not in rule or (isinstance(value, dict) and set(rule["required"]) <= set(value)),
        "oneOf" not in rule or sum(obeys(value, each) for each in rule["oneOf"]) == 1,
        "propertyNames" not in rule or all(obeys(name, rule["propertyNames"]) for name in value),
    ]
    return all(checks) and _obeys_keys(value, rule)


def _obeys_keys(value: Any, rule: dict[str, Any]) -> bool:
    if "properties" not in rule and "additionalProperties" not in rule:
        return True
    rest = rule.get("additionalProperties", {})
    named = rule.get("properties", {})
    return all(
        obeys(each, named[key]) if key in named else rest is not False and obeys(each, rest)
        for key, each in value.items()
    )


@pytest.mark.req("JOB-1")
def test_the_published_schema_is_the_one_that_fleet_has():
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == schema()


# What a schema cannot say: expressions, placeholders, and what is wrong before there is a document.
BEYOND = ("no JMESPath", "means nothing", "cannot be filled in", "is not known", "twice", "no YAML", "not used here")


@pytest.mark.req("JOB-1")
def test_the_schema_and_the_checks_agree_on_every_document_above():
    assert obeys(parse(GOOD).plain, schema())
    judged = [(new, words) for old, new, _place, words in WRONG if not any(each in words for each in BEYOND)]
    assert len(judged) > 10
    for old, new, _place, words in WRONG:
        if not any(each in words for each in BEYOND):
            assert not obeys(parse(GOOD.replace(old, new, 1)).plain, schema()), new


NASTY = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30)


@pytest.mark.req("JOB-1")
@settings(max_examples=60, deadline=None)
@given(NASTY)
def test_a_shell_gets_every_value_as_it_is_in_quotes_and_out_of_them(value):
    text = 'printf "%s|" {item} "{item}" \'{item}\' "$(printf %s {item}x)" a\'b {item}\'"c {item}"'
    made, variables = placeholders.fill_shell(text, {"item": value})
    done = subprocess.run(
        ["/bin/sh", "-c", made], env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True, check=True
    )
    inside = value + "x"
    assert done.stdout.decode() == f"{value}|{value}|{value}|{inside}|ab {value}c {value}|"
    assert done.stderr == b""


def test_braces_that_are_no_placeholder_stay_and_doubled_ones_are_literal():
    text = "awk '{print $1}' ${HOME} { :; } {{item.x}} {other.thing} {item.x}"
    assert (
        placeholders.fill(text, {"item": {"x": [1, "é"]}})
        == "awk '{print $1}' ${HOME} { :; } {item.x} {other.thing} [1, \"é\"]"
    )
    with pytest.raises(placeholders.Missing, match="item has no 'y'"):
        placeholders.fill("{item.y}", {"item": {"x": 1}})
    with pytest.raises(placeholders.Missing, match="longer than"):
        placeholders.fill_shell("{item}", {"item": "x" * 200_000})


@pytest.mark.req("JOB-2")
def test_an_id_depends_on_content_alone():
    assert item_id({"a": 1, "b": [2]}) == item_id({"b": [2], "a": 1})
    assert len({item_id(each) for each in ("1", 1, 1.5, [1], {"1": 1}, True)}) == 6


@pytest.mark.req("JOB-3")
def test_failures_that_differ_only_in_the_item_have_one_signature():
    def of(path: str, number: int) -> str:
        return signature(
            "map step 1",
            f"noise\nfatal: {path}: line {number}: 'x{number}' not found in /tmp/{number}/x",
            {"path": path},
        )

    assert of("src/a.py", 12) == of("lib/b.c", 9) == "map step 1: fatal: ITEM: line N: '…' not found in PATH"
    assert of("src/a.py", 12) != signature("map step 2", "fatal: src/a.py: line 12", {"path": "src/a.py"})


@pytest.mark.req("JOB-3")
def test_the_wait_doubles_up_to_its_limit_with_some_chance_in_it():
    retry = Retry(attempts=9, backoff=1_000, longest=5_000)
    assert [retry.wait(failures, 0.0) for failures in (1, 2, 3, 4, 99)] == [500, 1_000, 2_000, 2_500, 2_500]
    assert [retry.wait(failures, 0.999) for failures in (1, 2)] == [999, 1_999]


@pytest.mark.req("JOB-1")
def test_a_document_or_an_input_that_is_nested_without_end_is_told_in_one_line(scene):
    deep = f"{'[' * 30_000}{']' * 30_000}"
    file = Path(scene.repository, "deep.yml")
    file.write_text(f"name: deep\nmap:\n  input: {deep}\n")
    for words in (("validate",), ("run",)):
        said = scene.program("job", *words, str(file))
        assert said.code == 2, said
        assert "deep.yml:3:" in said.out + said.err
        assert "nested more than 100 levels deep" in said.out + said.err
        assert "Traceback" not in said.err
    Path(scene.repository, "deep.json").write_text(deep)
    Path(scene.repository, "less.json").write_text(f"[{'[' * 150}{']' * 150}]")
    for name in ("deep.json", "less.json"):
        file.write_text(
            f"name: deep\nmap:\n  isolation: none\n  input: {{file: {name}}}\n  steps:\n    - shell: 'true'\n"
        )
        said = scene.program("job", "run", str(file))
        assert said.code == 1, said
        assert "nested more than 100 levels deep" in said.out + said.err
        assert "Traceback" not in said.err


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize("command", ["yes", "yes >&2", "yes | head -c 70000000"])
def test_an_input_that_prints_without_end_is_ended_and_does_not_fill_the_disk(scene, command):
    file = Path(scene.repository, "endless.yml")
    file.write_text(
        f"name: endless\nmap:\n  isolation: none\n  input: {{command: '{command}'}}\n  steps:\n    - shell: 'true'\n"
    )
    said = scene.program("job", "run", str(file))
    assert said.code == 1, said
    assert "the input's command printed more than 64 MB" in said.out + said.err
    assert sum(path.stat().st_size for path in Path(scene.home, "jobs").rglob("*") if path.is_file()) < 1_000_000


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('["a", "b"]', ["a", "b"]),
        ('{"items": [1]}', {"items": [1]}),
        ("1\n2\n", [1, 2]),
        ("1\n", [1]),
        ('"a"\n', ["a"]),
        ("12e4567\n", ["12e4567"]),
        ("a.py\n", ["a.py"]),
        ("null", None),
    ],
)
def test_input_is_json_or_a_line_for_each_item_also_when_it_is_one(text, items):
    assert parse_input(text) == items
