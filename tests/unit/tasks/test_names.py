"""Names that become ids, paths and refs, and how a task's step moves the count of its dependents' blockers."""

import itertools

import pytest

from fleet.errors.given import BadId, BadName
from fleet.model import names
from fleet.model.identity import Identity
from fleet.model.tasks import steps as tasks


@pytest.mark.parametrize(("before", "after"), list(itertools.product(tasks.STATUSES, tasks.STATUSES)))
def test_blockers_change_only_when_a_dependency_becomes_satisfied_or_stops_being_so(before, after):
    change = tasks.blockers_change(before, after)
    assert change == (before in {"done", "abandoned"}) - (after in {"done", "abandoned"})


@pytest.mark.req("STORE-1")
@pytest.mark.parametrize(
    "given", ["", "0000000", "000000001", "0000000G", "ABCDEF01", "3f2a 901", "../../aa", "3f2a9c0\n"]
)
def test_anything_but_eight_lower_case_hex_digits_is_no_dispatch_id(given):
    with pytest.raises(BadId) as caught:
        names.DispatchId(given)
    assert "8 lower-case hexadecimal digits" in caught.value.next_step


@pytest.mark.req("STORE-1")
def test_a_dispatch_id_is_a_type_of_its_own():
    assert isinstance(names.DispatchId("3f2a9c01"), names.DispatchId)
    assert names.DispatchId("3f2a9c01") == "3f2a9c01"


def test_a_text_that_no_identity_makes_is_no_identity():
    who = Identity(host="h", boot="b", pid=7, start="s")
    assert Identity.parse(str(who)) == who
    for pid in ("", "x", "-7", "²", "7" * 5_000):
        assert Identity.parse(f"h/b/{pid}/s") is None
    assert Identity.parse("h/b/7") is None


@pytest.mark.parametrize(
    "given", ["", "../x", "a/b", "-x", ".x", "a..b", "x.lock", "x.", "A", "é", "a b", "a\n", "x" * 81]
)
def test_a_slug_cannot_smuggle_a_path_a_flag_or_a_ref(given):
    with pytest.raises(BadName):
        names.slug(given)


def test_nobody_can_act_under_a_name_that_looks_like_a_dispatch():
    with pytest.raises(BadName):
        names.actor("3f2a9c01")
