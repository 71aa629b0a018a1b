"""A record is what a frozen dataclass with slots and keywords is."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from fleet.records import field, record, replace


@record(frozen=True, slots=True, kw_only=True)
class Ours:
    """A record."""

    name: str
    size: int = 3
    parts: dict[str, Any] = field(default_factory=dict)
    seen: int = field(compare=False)

    @property
    def double(self) -> int:
        """Twice the size."""
        return self.size * 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """A dataclass."""

    name: str
    size: int = 3
    parts: dict[str, Any] = dataclasses.field(default_factory=dict)
    seen: int = dataclasses.field(compare=False)

    @property
    def double(self) -> int:
        """Twice the size."""
        return self.size * 2


both = pytest.mark.parametrize("made", [Ours, Theirs])


@both
def test_fields_are_given_by_name_or_have_a_default(made):
    one, other = made(name="a", seen=1), made(name="b", size=4, parts={"x": 1}, seen=2)
    assert (one.name, one.size, one.parts, one.seen, one.double) == ("a", 3, {}, 1, 6)
    assert (other.name, other.size, other.parts, other.double) == ("b", 4, {"x": 1}, 8)
    assert one.parts is not made(name="a", seen=1).parts


@both
@pytest.mark.parametrize("given", [{}, {"name": "a"}, {"name": "a", "seen": 1, "more": 2}, {"seen": 1, "more": 2}])
def test_a_missing_or_unknown_field_is_refused(made, given):
    with pytest.raises(TypeError):
        made(**given)


@both
def test_records_with_equal_fields_are_equal(made):
    assert made(name="a", seen=1) == made(name="a", seen=2)
    assert made(name="a", seen=1) != made(name="b", seen=1)
    assert made(name="a", seen=1) != "a"
    assert hash(made(name="a", parts=(), seen=1)) == hash(made(name="a", parts=(), seen=2))
    assert repr(made(name="a", seen=1)) == f"{made.__name__}(name='a', size=3, parts={{}}, seen=1)"


@both
def test_a_record_does_not_change(made):
    one = made(name="a", seen=1)
    with pytest.raises(AttributeError):
        one.name = "b"
    with pytest.raises((AttributeError, TypeError)):  # a dataclass of Python 3.11 gives a TypeError
        one.other = "b"
    with pytest.raises(AttributeError):
        del one.name
    assert one.name == "a"


@both
def test_a_record_can_be_copied_and_changed_on_the_way(made):
    one = made(name="a", parts={"x": [1]}, seen=1)
    assert dataclasses.replace(one, name="b") == made(name="b", parts={"x": [1]}, seen=1)
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    assert copy.deepcopy(one).parts["x"] is not one.parts["x"]
    assert dataclasses.is_dataclass(one)
    assert [each.name for each in dataclasses.fields(one)] == ["name", "size", "parts", "seen"]
    assert dataclasses.asdict(one) == {"name": "a", "size": 3, "parts": {"x": [1]}, "seen": 1}


def test_a_record_with_other_values_is_another_record():
    one = Ours(name="a", seen=1)
    assert replace(one, size=4) == Ours(name="a", size=4, seen=2)
    assert one.size == 3
    with pytest.raises(TypeError):
        replace(one, more=1)


def test_a_field_that_is_not_to_be_shown_is_not_shown():
    @record(frozen=True, slots=True, kw_only=True)
    class Secret:
        name: str
        token: str = field(default_factory=str, repr=False)

    assert "t0k3n" not in repr(Secret(name="a", token="t0k3n"))
    assert "name='a'" in repr(Secret(name="a", token="t0k3n"))
