"""Documents that nobody can read, as those nested thousands of levels deep, are refused with a sentence and a line."""

import json

import pytest

from fleet.engines import reader
from fleet.errors.families import FleetError
from fleet.errors.given import BadSetting
from fleet.model.jobs import items
from fleet.model.settings import document
from fleet.model.settings.table import PROJECT_FILE
from fleet.model.tasks.markdown_list import read_list
from fleet.model.text.documents import yaml_tree

DEEP = 30_000
YAML = {
    "lists": f"name: x\nmap:\n  input: {'[' * DEEP}{']' * DEEP}\n",
    "mappings": f"name: x\nmap: {'{a: ' * DEEP}1{'}' * DEEP}\n",
    "unclosed": f"name: x\nmap: {'[' * DEEP}",
    "blocks": "".join(f"{' ' * n}a:\n" for n in range(1_000)),
    "aliases": "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1_000)),
}


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize("text", YAML.values(), ids=list(YAML))
def test_deep_yaml_is_refused_with_its_line(text):
    with pytest.raises(yaml_tree.UnreadableDocument, match="nested more than 100 levels deep") as caught:
        yaml_tree.parse(text)
    assert caught.value.fault.line >= (1 if text.startswith("a0") else 2)


@pytest.mark.req("JOB-1")
def test_a_truth_value_that_is_none_is_refused_with_its_place():
    assert yaml_tree.parse("a: !!bool Yes\nb: !!bool 'off'\n").plain == {"a": True, "b": False}
    with pytest.raises(yaml_tree.UnreadableDocument) as caught:
        yaml_tree.parse("name: x\na: !!bool maybe\n")
    assert (caught.value.fault.line, caught.value.fault.column) == (2, 4)
    assert caught.value.fault.why == "'maybe' is neither true nor false"


def test_yaml_of_a_hundred_levels_is_read():
    assert yaml_tree.parse(f"{'[' * 99}{']' * 99}").plain


@pytest.mark.parametrize("text", [f"a = 1\nengine = {'[' * DEEP}{']' * DEEP}\n", f"a = 1\n{'b.' * 2_000}c = 1\n"])
def test_deep_toml_is_refused_with_its_line(text):
    with pytest.raises(BadSetting, match=r"f\.toml:2: ") as caught:
        document.read("f.toml", text, PROJECT_FILE)
    assert len(str(caught.value)) < 100_000


def test_a_deep_engine_file_is_refused(tmp_path):
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "odd.toml").write_text(f"start = {'[' * DEEP}{']' * DEEP}\n")
    with pytest.raises(FleetError, match="nested too deep"):
        reader.engine(str(tmp_path), "odd")


def test_the_depth_of_an_item_is_counted_no_further_than_needed():
    assert items.depth("x") == 1
    assert items.depth([{"a": [1]}, 2]) == 4
    assert items.depth(json.loads("[" * 300 + "]" * 300)) == items.DEEPEST + 1


def test_a_deep_markdown_list_is_a_chain():
    found = read_list(f"{' ' * depth}- task {depth}" for depth in range(2_000)).items
    assert [item.parent for item in found] == [None, *range(1_999)]
