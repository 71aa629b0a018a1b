"""A request that is repeated under its key gets the result of the first one, of the same class down to its parts."""

from fleet.model.results.value import Value
from fleet.model.tasks.markdown_list import Item
from fleet.verbs.tasks.edit import Edit

A = {"project": "p", "slug": "a"}
ITEMS = [Item(line=1, title="One", parent=None), Item(line=2, title="Two", parent=0)]
ACTS = [
    lambda fleet, key: fleet.tasks.add(project="p", title="A", slug="a", key=key),
    lambda fleet, key: fleet.tasks.edit(Edit(**A, title="B"), key=key),
    lambda fleet, key: fleet.tasks.claim(**A, key=key),
    lambda fleet, key: fleet.tasks.log(**A, message="hello", key=key),
    lambda fleet, key: fleet.tasks.artifact(**A, path="a.md", key=key),
    lambda fleet, key: fleet.tasks.unclaim(**A, key=key),
    lambda fleet, key: fleet.tasks.pause(**A, key=key),
    lambda fleet, key: fleet.tasks.block(**A, reason="no", key=key),
    lambda fleet, key: fleet.tasks.fail(**A, reason="no", key=key),
    lambda fleet, key: fleet.tasks.done(**A, message="bye", key=key),
    lambda fleet, key: fleet.tasks.retry(**A, key=key),
    lambda fleet, key: fleet.tasks.abandon(**A, key=key),
    lambda fleet, key: fleet.tasks.archive(**A, key=key),
    lambda fleet, key: fleet.graph.archive_ended(project="p", older_than="0s", key=key),
    lambda fleet, key: fleet.graph.ingest(project="p", lines=[b'{"slug": "b", "title": "B"}'], name="f", key=key),
    lambda fleet, key: fleet.graph.add_list(ITEMS, project="p", name="list.md", key=key),
]


def classes(value: object) -> object:
    """The class of a value, and those of the values in it."""
    if isinstance(value, list):
        return [classes(each) for each in value]
    return (type(value), [classes(each) for each in value.as_json().values()]) if isinstance(value, Value) else None


def test_a_repetition_gets_the_same_result(fleet):
    for number, act in enumerate(ACTS):
        first, again = act(fleet, f"k{number}"), act(fleet, f"k{number}")
        assert again == first, number
        assert isinstance(first, Value), number
        assert classes(again) == classes(first), number
