"""The tree of errors: drawn, coded, worded; and raised with the facts that its words need."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from string import Formatter

import pytest

import fleet
from fleet import errors
from fleet.errors.families import FleetError
from fleet.surfaces.cli.table import GROUPS

SOURCE = Path(fleet.__file__).parent
CODES = {1, 2, 10, 11, 12, 13, 14}
RESERVED = {"code", "kind", "name", "message", "hint"}
DRAWN = re.compile(r"^    (?P<lead>[│├└─ ]*)(?P<name>[A-Z]\w+)(?: +(?P<code>\d+)(?= |$))?", re.MULTILINE)


def walk(kind: type[FleetError]) -> list[type[FleetError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in walk(child))]


for family in pkgutil.iter_modules(errors.__path__):
    importlib.import_module(f"{errors.__name__}.{family.name}")
ALL = [kind for kind in walk(FleetError) if kind.__module__.startswith(f"{errors.__name__}.")]
KINDS = {kind.__name__: kind for kind in ALL}
every_error = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


def needed(*texts: str) -> dict[str, str]:
    """The facts that a text is made of, each with its format."""
    found = {}
    for text in texts:
        for _before, name, spec, _conversion in Formatter().parse(text):
            if name is not None:
                found[name] = spec or found.get(name, "")
    return found


def facts_of(kind: type[FleetError]) -> dict[str, object]:
    return {name: 1.5 if spec else f"<{name}>" for name, spec in needed(kind.says, kind.hint).items()}


def drawn() -> list[tuple[str, str | None, int]]:
    """Each name of the picture with its parent and the code that holds for it."""
    stack: list[tuple[int, str, int]] = []
    found = []
    for line in DRAWN.finditer(errors.__doc__):
        depth = len(line["lead"])
        while stack and stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1] if stack else (0, None, 0)
        code = int(line["code"]) if line["code"] else parent[2]
        stack.append((depth, line["name"], code))
        found.append((line["name"], parent[1], code))
    return found


def test_the_picture_names_exactly_the_errors_that_there_are():
    assert sorted(name for name, _parent, _code in drawn()) == sorted(kind.__name__ for kind in ALL)


def test_the_picture_shows_who_descends_from_whom_and_which_code_each_has():
    real = {(kind.__name__, None if kind is FleetError else kind.__base__.__name__, kind.code) for kind in ALL}
    assert set(drawn()) == real


@every_error
def test_an_error_is_built_from_its_facts(kind):
    facts = facts_of(kind)
    error = kind(**facts)
    for name in needed(kind.says):
        assert str(facts[name]) in str(error)
    for name in needed(kind.hint):
        assert str(facts[name]) in error.next_step
    assert "{" not in str(error) + error.next_step
    assert str(error)


@every_error
def test_an_error_is_a_document_for_programs(kind):
    facts = facts_of(kind)
    assert not RESERVED & set(facts)
    document = kind(**facts).as_document()["error"]
    assert {name: document[name] for name in facts} == facts
    assert (document["code"], document["name"]) == (kind.code, kind.__name__)
    assert (document["kind"], set(document) >= RESERVED) == (kind.kind, True)


@every_error
def test_an_error_ends_the_process_with_a_documented_code_and_says_what_it_is(kind):
    assert kind.code in CODES
    assert kind.__doc__
    family = next(each for each in kind.__mro__ if "code" in vars(each))
    assert kind.kind == family.kind


@every_error
def test_the_words_of_an_error_read_well(kind):
    for text in (kind.says, kind.hint):
        assert text == text.strip()
        assert not text.endswith((".", "!"))
        assert "\n" not in text
    assert not re.search(r"\b(rm|kill|drop|delete|reset)\b -(?!CONT)", kind.hint), (
        "a hint never offers something destructive"
    )


def raised() -> list[tuple[str, str, set[str] | None]]:
    """Every place of the source where an error is made: where, which, and with which facts (None: cannot be told)."""
    names = {kind.__name__ for kind in ALL}
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                given = {word.arg for word in node.keywords}
                place = f"{path.relative_to(SOURCE)}:{node.lineno}"
                found.append((place, node.func.id, None if None in given else given))
    return found


def test_wherever_an_error_is_made_it_gets_the_facts_that_its_words_need():
    wrong = []
    for place, name, given in raised():
        kind = KINDS[name]
        if given is not None and not set(needed(kind.says, kind.hint)) <= given:
            wrong.append(f"{place}: {name} needs {sorted(needed(kind.says, kind.hint))}, got {sorted(given)}")
    assert wrong == []


def test_the_hint_names_only_commands_that_there_are():
    known = {entry.name for entries in GROUPS.values() for entry in entries}
    for kind in ALL:
        for words in re.findall(r"`fleet ([a-z]+)(?: ([a-z-]+))?", kind.hint):
            assert words[0] in known, f"{kind.__name__} speaks of `fleet {words[0]}`"
            assert words[0] != "task" or words[1] in {entry.name for entry in GROUPS["task"]} | {""}, kind.__name__
