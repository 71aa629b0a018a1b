"""Graphs as JSON Lines, as a function: bytes in, nodes and findings out."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.model.tasks.interchange import FIELDS, FINDINGS_SHOWN, TaskToImport, check_graph, findings_text, read_lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SLUG = st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True)


def read(*found: object):
    return read_lines([json.dumps(each).encode() for each in found])


@pytest.mark.req("GRAPH-11")
@given(lines=st.lists(st.binary(max_size=60), max_size=5))
def test_whatever_the_bytes_each_line_is_a_node_left_out_or_a_finding(lines):
    reading = read_lines(lines)
    said = [line for line in lines if line.strip()]
    assert len(reading.nodes) + reading.left_out + len(reading.findings) == len(said)
    numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    named = [node.line for node in reading.nodes] + [
        int(each.split(":")[0].removeprefix("line ")) for each in reading.findings
    ]
    assert sorted(set(named)) == sorted(named)
    assert set(named) <= set(numbers), "each is named by its own number"


KEYS = [
    "slug",
    "id",
    "kind",
    "title",
    "status",
    "priority",
    "after",
    "blocked_by",
    "tags",
    "labels",
    "log",
    "comments",
    "dependencies",
    "issue_type",
    "assigned",
    "artifacts",
    "created_at",
    "description",
]


@pytest.mark.req("GRAPH-11")
@given(found=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
def test_whatever_the_object_it_is_a_node_left_out_or_a_finding(found):
    """Of any tool, of any version, written by hand: never anything but these three."""
    reading = read(found)
    assert len(reading.nodes) + reading.left_out + len(reading.findings) == 1
    for finding in reading.findings:
        assert finding.startswith("line 1: ")


@pytest.mark.req("GRAPH-11")
def test_blank_lines_count_but_say_nothing():
    reading = read_lines([b"\n", b"  \n", b'{"slug": "a", "title": "A"}\n', b"\r\n", b"{"])
    assert [node.line for node in reading.nodes] == [3]
    assert [finding.split(":")[0] for finding in reading.findings] == ["line 5"]


@given(
    found=st.fixed_dictionaries(
        {"slug": SLUG, "title": st.just("T")},
        optional={
            "paused": st.booleans(),
            "attempts": st.integers(0, 99),
            "priority": st.integers(-1_000, 1_000),
            "tags": st.lists(SLUG, unique=True),
            "after": st.lists(SLUG, unique=True),
        },
    )
)
def test_what_is_well_formed_is_taken_as_it_is(found):
    [node] = read(found).nodes
    for name, value in found.items():
        assert getattr(node, name) == value


def test_every_field_of_the_form_is_a_field_of_the_node():
    assert {name for name in TaskToImport.__dataclass_fields__ if name != "line"} == set(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_a_wrong_kind_is_a_finding_that_names_it(name):
    whole = {"slug": "a", "title": "A", name: {"strange": object.__name__}}
    [finding] = read(whole).findings
    assert name in finding


@pytest.mark.req("GRAPH-7")
@given(data=st.data())
def test_a_graph_has_a_finding_exactly_when_it_has_a_cycle(data):
    slugs = [f"t{number}" for number in range(data.draw(st.integers(1, 6)))]
    after = {slug: data.draw(st.lists(st.sampled_from(slugs), unique=True, max_size=2)) for slug in slugs}
    reading = read(*({"slug": slug, "title": "T", "after": after[slug]} for slug in slugs))
    check_graph(reading, set())
    assert bool(reading.findings) == has_cycle(after)
    for finding in reading.findings:
        path = finding.split("a cycle: ")[1].split(" → ")
        assert path[0] == path[-1]
        assert all(there in after[here] for here, there in pairwise(path))


def has_cycle(after: dict[str, list[str]]) -> bool:
    left = dict(after)
    while left:
        free = [slug for slug, needs in left.items() if not set(needs) & set(left)]
        if not free:
            return True
        for slug in free:
            del left[slug]
    return False


def test_many_findings_are_told_up_to_a_number():
    findings = [f"line {number}: no" for number in range(FINDINGS_SHOWN + 3)]
    assert findings_text(findings).endswith("; and 3 more")
    assert findings_text(findings[:2]) == "line 0: no; line 1: no"
    assert findings_text(findings).count("line ") == FINDINGS_SHOWN
