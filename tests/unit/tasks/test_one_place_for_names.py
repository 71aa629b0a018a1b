"""Branches, refs, sessions and paths of the home are spelt in one file each."""

import ast
import re
from pathlib import Path

import pytest

import fleet

SOURCE = Path(fleet.__file__).parent
BRANCHES, PATHS, NAMES = SOURCE / "model/branches.py", SOURCE / "world/home/paths.py", SOURCE / "model/names.py"
BRANCH = re.compile(r"\bworker/|\bfleet/(job-|main)|\brefs/(heads|fleet)\b")
FOLDERS = "projects|inbox|logs|locks|dispatches|jobs|rooms|trash|removed|handoffs|hooks|trust|operations|backups|bin"
# From the beginning of a text, or behind what an f-string puts before it: the home.
PATH = re.compile(rf"(^|\}}/)(({FOLDERS})/|(rooms|backups|trash)$|home\.json|fleet\.db|tmux\.(sock|conf))|/projects/")
# The prefix of a session alone, or what an f-string makes of it.
SESSION = re.compile(r"\bfleet-(\{\})?$")


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
    """The files of the source that people write, but for the three."""
    found = (path for path in SOURCE.rglob("*.py") if "queries" not in path.parts)
    return sorted(set(found) - {BRANCHES, PATHS, NAMES})


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
