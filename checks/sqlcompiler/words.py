"""Split an SQL statement into words; the content of parentheses becomes a nested list."""

from __future__ import annotations

import re
from typing import TypeAlias

Node: TypeAlias = "str | list[Node]"

_WORD = re.compile(r"'(?:[^']|'')*'|:[a-z_]+|\d+|[A-Za-z_]\w*|<=|>=|<>|\|\||[-+*/=<>.,()]")
_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "ON", "SET", "WHEN", "THEN", "ELSE", "END", "CASE", "IN", "IS"),
    *("LIKE", "ESCAPE", "ORDER", "GROUP", "HAVING", "BY", "LIMIT", "UNION", "VALUES", "DO", "JOIN", "LEFT"),
)
_ENDS_OPERAND = frozenset({*_KEYWORDS, ",", "=", "<>", "<", ">", "<=", ">="})


class Unclear(Exception):
    """The compiler cannot determine something about a query. The message says what to write."""


def nested(statement: str) -> list[Node]:
    """Return the words of a statement, with parentheses as nested lists."""
    stack: list[list[Node]] = [[]]
    for word in _WORD.findall(statement):
        if word == "(":
            stack.append([])
        elif word == ")":
            group = stack.pop()
            stack[-1].append(group)
        else:
            stack[-1].append(word)
    return stack[0]


def split(nodes: list[Node], *separators: str) -> list[list[Node]]:
    """Return the parts between the separators, at this level of nesting."""
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if node in separators:
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def between(nodes: list[Node], begin: str, *ends: str) -> list[Node]:
    """Return the words after a keyword, up to the first of the ends; empty when the keyword is missing."""
    if begin not in nodes:
        return []
    rest = nodes[nodes.index(begin) + 1 :]
    stop = next((number for number, node in enumerate(rest) if node in ends), len(rest))
    return rest[:stop]


def operands(nodes: list[Node], at: int) -> tuple[list[Node], list[Node]]:
    """Return the words to the left and to the right of the operator at this position."""
    left, right = at, at + 1
    while left > 0 and not _ends(nodes[left - 1]):
        left -= 1
    while right < len(nodes) and not _ends(nodes[right]):
        right += 1
    return nodes[left:at], nodes[at + 1 : right]


def _ends(node: Node) -> bool:
    """Return whether a word ends an operand."""
    return isinstance(node, str) and node in _ENDS_OPERAND


def parameters(nodes: list[Node]) -> list[str]:
    """Return the names of all parameters, in the order of their first use."""
    names: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, list):
            names |= dict.fromkeys(parameters(node))
        elif node.startswith(":"):
            names[node[1:]] = None
    return list(names)
