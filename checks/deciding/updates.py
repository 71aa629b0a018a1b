"""Find the assignments in SQL that set a state to something other than a parameter.

A state should come from a step table, as the parameter `:after`.
"""

import re
from collections.abc import Iterator

# The columns of each table that hold a state, or of which a state is made.
COLUMNS = {
    "tasks": {"status"},
    "dispatches": {"exec_state", "recl_state"},
    "claims": {"state"},
    "items": {"state"},
    "jobs": {"state", "phase"},
    "handoffs": {"state"},
    "notices": {"state"},
    "seats": {"holder", "candidate"},
}
_UPDATE = re.compile(
    r"\bUPDATE\s+(?:ONLY\s+)?(?P<table>\w+)(?:\s+(?:AS\s+)?(?!SET\b)\w+)?\s+SET\b"
    r"|\bINSERT\s+INTO\s+(?P<into>\w+)(?P<between>[^;]*?)\bDO\s+UPDATE\s+SET\b",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?:\w+\.)?:\w+|CAST\(\s*:\w+\s+AS\s+TEXT\s*\)|excluded\.\w+", re.IGNORECASE)
_PIECE = re.compile(r"'[^']*'|\w+|\s+|.", re.DOTALL)
_ENDS = {"WHERE", "FROM", "RETURNING"}


def states_set(text: str) -> list[str]:
    """Return the assignments of a file's UPDATE statements that set a state to anything but a parameter.

    Those after ON CONFLICT DO are looked at, too.
    """
    clean = re.sub(r"--[^\n]*", "", text)
    found = []
    for match in _UPDATE.finditer(clean):
        columns = COLUMNS.get((match["table"] or match["into"]).lower(), set())
        for left, right in _assignments(clean[match.end() :]):
            names = {name.lower() for name in re.findall(r"\w+", left.rpartition(".")[2])}
            if names & columns and not _PARAMETER.fullmatch(right):
                found.append(f"{left} = {right}")
    return found


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield the two sides of each assignment of a SET clause, with single spaces."""
    for part in _split_clause(text):
        left, _, right = part.partition("=")
        yield " ".join(left.split()), " ".join(right.split())


def _split_clause(text: str) -> Iterator[str]:
    """Yield the assignments of the SET clause that a text begins with, split at the commas that are in no bracket and no CASE."""
    depth, part = 0, ""
    for piece in _PIECE.findall(text):
        word = piece.upper()
        depth += (word in {"(", "CASE"}) - (word in {")", "END"})
        if depth < 0 or (depth == 0 and (word in _ENDS or word == ";")):
            break
        if depth == 0 and piece == ",":
            yield part
            part = ""
        else:
            part += piece
    if part.strip():
        yield part
