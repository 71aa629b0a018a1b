"""The check that no lower layer calls up, and that it finds what it is for."""

from functools import partial

import pytest
import upcalls

from fleet.api.fleet import Fleet


@pytest.fixture
def context(tmp_path):
    with Fleet.open(str(tmp_path / "home"), actor="t") as fleet:
        yield fleet.context, fleet


def test_the_context_of_a_verb_holds_nothing_of_the_api(context):
    assert upcalls.upcalls(context[0]) == []


@pytest.mark.parametrize("how", ["method", "partial", "of a verb", "within"])
def test_a_function_of_a_higher_layer_is_found(context, how):
    context, fleet = context
    given = {
        "method": fleet.commit,
        "partial": partial(fleet.commit),
        "of a verb": context.by.commit,
        "within": {"x": [fleet.commit]},
    }
    context.world.git.repositories = given[how]
    found = upcalls.upcalls(context)
    assert found
    assert all("git.repositories" in each for each in found)


def test_what_the_world_makes_later_is_looked_at_too(context):
    context, fleet = context
    context.world.know_repositories(fleet.commit)
    assert any("git.repositories" in each for each in upcalls.upcalls(context))


def test_a_class_that_keeps_a_callable_it_was_given_is_found(tmp_path):
    for layer in upcalls.RANKS:
        (tmp_path / layer).mkdir()
    (tmp_path / "world" / "x.py").write_text(
        "Tell = Callable[[], None]\n"
        "class A:\n    def __init__(self, told: Tell, n: int) -> None:\n        self.told = told\n        self.n = n\n"
        "class B:\n    ask: Callable[[int], str]\n    n: int\n"
    )
    assert upcalls.stored_callables(tmp_path) == {"world.x.A.told", "world.x.B.ask"}
