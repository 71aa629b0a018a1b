"""Branches, refs, sessions, paths of the home and variables are spelt in one file each."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import fleet

SOURCE = Path(fleet.__file__).parent
BRANCHES, PATHS, NAMES = SOURCE / "model/branches.py", SOURCE / "world/home/paths.py", SOURCE / "model/names.py"
GENERATED = SOURCE / "model/settings/values.py"
BRANCH = re.compile(r"\bworker/|\bfleet/(job-|main)|\brefs/(heads|fleet)\b")
FOLDERS = "projects|inbox|logs|locks|dispatches|jobs|rooms|trash|removed|handoffs|hooks|trust|operations|backups|bin"
# From the beginning of a text, or behind what an f-string puts before it: the home.
PATH = re.compile(
    rf"(^|\}}/)(({FOLDERS})/|(rooms|backups|trash)$|home\.json|fleet\.db|daemon\.sock|tmux\.(sock|conf))|/projects/"
)
# The prefix of a session alone, or what an f-string makes of it.
SESSION = re.compile(r"\bfleet-(\{\}|\(\[)?$|^fleet-[(\[]")
# A variable or the beginning of its setting, not a sentence about it.
VARIABLE = re.compile(r"^FLEET_[A-Z_]+[A-Z](=|$)")


def literals(source):
    """Each text of a module with its line, docstrings left out; what an f-string fills in is {}."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (said | parts):
            yield node.lineno, node.value


def spelt(pattern, files):
    return [
        f"{path.relative_to(SOURCE)}:{line} {text!r}"
        for path in files
        for line, text in literals(path.read_text(encoding="utf-8"))
        if pattern.search(text)
    ]


def written() -> list[Path]:
    """The files of the source that people write, but for the three, and the names that are needed before them."""
    found = (path for path in SOURCE.rglob("*.py") if "queries" not in path.parts)
    return sorted(set(found) - {BRANCHES, PATHS, NAMES, SOURCE / "model/__init__.py"})


@pytest.mark.slow("reads the whole source")
@pytest.mark.parametrize(
    ("pattern", "place"),
    [(BRANCH, BRANCHES), (PATH, PATHS), (SESSION, NAMES)],
    ids=["branches", "paths", "sessions"],
)
def test_a_name_is_spelt_in_its_own_file_alone(pattern, place):
    assert spelt(pattern, [place]), "the pattern finds what it looks for"
    assert spelt(pattern, written()) == []


def test_a_name_inside_an_f_string_is_found_and_a_docstring_is_not():
    source = '"""worker/x"""\ntree = f"{home}/projects/{p}/worktrees/{s}"\nbranch = f"worker/{s}"\n'
    texts = dict(literals(source))
    assert texts == {2: "{}/projects/{}/worktrees/{}", 3: "worker/{}"}
    assert PATH.search(texts[2])
    assert BRANCH.search(texts[3])


@pytest.mark.slow("reads the whole source")
def test_a_variable_of_fleet_is_spelt_in_one_file_alone():
    files = defaultdict(set)
    for path in (path for path in SOURCE.rglob("*.py") if "queries" not in path.parts):
        for _line, text in literals(path.read_text(encoding="utf-8")):
            if found := VARIABLE.match(text):
                files[found[0].rstrip("=")].add(str(path.relative_to(SOURCE)))
    assert len(files) > 15
    assert {name: places for name, places in files.items() if len(places) > 1} == {}


@pytest.mark.slow("reads the whole source")
def test_the_words_that_settings_and_commands_share_are_spelt_once():
    wanted = {("ask", "edits", "allowlist", "full"), ("config.toml",), ("interrupted",)}
    spelt = defaultdict(list)
    for path in sorted({*written(), NAMES} - {GENERATED}):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    pass
                case ast.Assign(value=value):
                    parts = [value]
                case _:
                    continue
            texts = tuple(part.value for part in parts if isinstance(part, ast.Constant))
            if texts in wanted:
                spelt[texts].append(str(path.relative_to(SOURCE)))
    assert {words: len(places) for words, places in spelt.items()} == dict.fromkeys(wanted, 1), spelt
