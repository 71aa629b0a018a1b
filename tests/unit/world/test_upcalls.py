"""The check that no lower layer calls up, and that it finds what it is for."""

from functools import partial
from types import SimpleNamespace

import pytest
import upcalls

from fleet.api.actor import Actor, FleetOpener
from fleet.api.fleet import Fleet
from fleet.store.transaction import Store
from fleet.surfaces.daemon.writer import Writer


@pytest.fixture
def context(tmp_path):
    with Fleet.open(str(tmp_path / "home"), actor="t") as fleet:
        yield fleet.context, fleet


def test_the_context_of_a_verb_holds_nothing_of_the_api(context):
    assert upcalls.upcalls(context[0]) == []


HOW = [
    "method",
    "partial",
    "argument of a partial",
    "of a verb",
    "within",
    "lambda",
    "default of a lambda",
    "method of a container",
    "attribute of a foreign object",
    "class",
    "object",
]


@pytest.mark.parametrize("how", HOW)
def test_a_function_of_a_higher_layer_is_found(context, how):
    context, fleet = context
    commit = fleet.commit
    given = {
        "method": commit,
        "partial": partial(commit),
        "argument of a partial": partial(print, commit),
        "of a verb": context.by.commit,
        "within": {"x": [commit]},
        "lambda": lambda: commit(),  # noqa: PLW0108
        "default of a lambda": lambda act=commit: act(),
        "method of a container": [commit].count,
        "attribute of a foreign object": SimpleNamespace(target=commit),
        "class": Fleet,
        "object": fleet,
    }
    context.world.git.repositories = given[how]
    found = upcalls.upcalls(context)
    assert found
    assert all("git.repositories" in each for each in found)


def test_what_the_world_makes_later_is_looked_at_too(context):
    context, fleet = context
    context.world.know_repositories(fleet.commit)
    assert any("git.repositories" in each for each in upcalls.upcalls(context))


def test_a_callable_on_a_class_is_found(context, monkeypatch):
    monkeypatch.setattr(Actor, "opener", Writer(Store).submit)
    assert any("opener is fleet.surfaces.daemon.writer.Writer" in each for each in upcalls.upcalls(context[1]))


SURFACE = "fleet.surfaces.daemon.test"


class Opener(FleetOpener):
    """Stands for an object of a surface."""

    __module__ = SURFACE

    def open(self, actor):
        return actor

    def close(self):
        return None


Opener.open.__module__ = Opener.close.__module__ = SURFACE


@pytest.mark.parametrize(
    ("make", "is_found"),
    [
        (Opener, False),
        (lambda: Opener().open, False),
        (lambda: Opener().close, True),
        (type("Bare", (), {"__module__": SURFACE}), True),
    ],
    ids=["object", "method of the interface", "other method", "object without an interface"],
)
def test_an_object_of_a_higher_layer_needs_an_interface_of_the_layer_that_holds_it(
    context, make, is_found, monkeypatch
):
    monkeypatch.setattr(Actor, "opener", make())
    assert bool(upcalls.upcalls(context[1])) == is_found


STORED = {
    "parameter": ("Tell", "self.kept = given"),
    "annotated attribute": ("int", "self.kept: Tell = print"),
    "annotated optional attribute": ("int", "self.kept: Tell | None = None"),
    "annotated parameter": ("Tell", "self.kept: object = given"),
    "partial": ("Tell", "self.kept = partial(given, 1)"),
    "argument of a partial": ("Tell", "self.kept = partial(print, end=given)"),
    "lambda": ("Tell", "self.kept = lambda: given()"),
    "function": ("Tell", "def inner():\n            return given()\n        self.kept = inner"),
    "other name": ("Tell", "other = given\n        self.kept = other"),
    "choice": ("Tell | None", "self.kept = given or print"),
    "list": ("Tell", "self.kept = [given]"),
    "item": ("Tell", "self.kept['x'] = given"),
    "appended": ("Tell", "self.kept.append(given)"),
    "called object": ("Asked", "self.kept = given"),
}
NOT_STORED = {
    "result": ("Tell", "self.kept = given()"),
    "argument": ("Tell", "self.kept = Other(given)"),
    "attribute": ("Tell", "self.kept = given.name"),
    "other type": ("int", "self.kept = given"),
}


@pytest.fixture
def source(tmp_path):
    for layer in upcalls.RANKS:
        (tmp_path / layer).mkdir()
    return tmp_path


HEAD = "Tell = Callable[[], None]\nclass Asked(Protocol):\n    def __call__(self) -> None: ...\n"


@pytest.mark.parametrize("how", [*STORED, *NOT_STORED])
def test_a_class_that_keeps_a_callable_it_was_given_is_found(source, how):
    kind, body = (STORED | NOT_STORED)[how]
    made = f"class A:\n    def __init__(self, given: {kind}) -> None:\n        {body}\n"
    (source / "world" / "x.py").write_text(HEAD + made)
    assert upcalls.stored_callables(source) == ({"world.x.A.kept"} if how in STORED else set())


def test_a_field_and_what_a_function_sets_from_outside_are_found(source):
    (source / "world" / "x.py").write_text(
        HEAD + "class B:\n    ask: Callable[[int], str]\n    n: int\n"
        "def wire(b: B, given: Tell) -> None:\n    b.told = given\n"
    )
    assert upcalls.stored_callables(source) == {"world.x.B.ask", "world.x.wire.told"}


def test_a_surface_may_keep_what_it_was_given(source):
    (source / "surfaces" / "x.py").write_text("class A:\n    ask: Callable[[int], str]\n")
    assert upcalls.stored_callables(source) == set()
