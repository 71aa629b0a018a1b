"""Count where a module reads a state itself, instead of handing it on to a function that decides.

Asking whether a process lives counts, too: what follows from a death is for the decision.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Iterator

from deciding.known_types import UNKNOWN, Scope, Types

# Columns and fields that are always a state or a request, whatever the type of their row.
ALWAYS = frozenset({"exec_state", "recl_state", "asked_for", "holder", "candidate"})
# Those that are a state when their type is one of STATES, or unknown.
BY_TYPE = frozenset({"state", "phase", "report", "status"})
STATES = frozenset({"TaskStatus", "ShownStatus", "ExecState", "ReclState", "ReportState", "ReportAge", "ClaimState", "ItemState", "JobState", "JobPhase", "HandoffState", "NoticeState"})  # fmt: skip
# Functions and methods that ask something of a state that they are given.
_ASKING = frozenset(dir(builtins)) | {
    *(
        "get",
        "pop",
        "setdefault",
        "count",
        "index",
        "startswith",
        "endswith",
        "removeprefix",
        "issuperset",
        "fullmatch",
    ),
    *("__contains__", "__getitem__", "__eq__", "__ne__"),
}
# The function that says whether a process lives, and those that read an attribute whose name they are given.
LIFE = "life"
_BY_NAME = frozenset({"getattr", "attrgetter", "itemgetter", "hasattr"})


def count_reads(tree: ast.Module, types: Types) -> Counter[str]:
    """Return how often a module reads each watched name, other than to hand it on to a function or into a text."""
    counts: Counter[str] = Counter()
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for part in tree.body:
        scope = Scope(types, part)
        for node in ast.walk(part):
            counts.update(each for each in _names_read(node, scope) if not _is_handed_on(node, parents))
    return counts


def _names_read(node: ast.AST, scope: Scope) -> Iterator[str]:
    """Yield the watched names that a node itself reads."""
    match node:
        case ast.Attribute(ctx=ast.Load()):
            if node.attr in ALWAYS or (node.attr in BY_TYPE and _may_be_state(node, scope)):
                yield node.attr
        case ast.Subscript(ctx=ast.Load(), slice=ast.Constant(value=str() as name)):
            yield from {name} & (ALWAYS | BY_TYPE)
        case ast.Call():
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == LIFE:
                yield LIFE
            elif name in _BY_NAME:
                given = {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
                yield from given & (ALWAYS | BY_TYPE)
        case ast.MatchClass():
            yield from set(node.kwd_attrs) & (ALWAYS | BY_TYPE)
        case _:
            pass


def _may_be_state(node: ast.Attribute, scope: Scope) -> bool:
    """Return whether an attribute is a state: by its annotation, or because the type of its row is unknown."""
    row = scope.type_of(node.value)
    found = scope.of_attribute(row, node.attr)
    return UNKNOWN in found or bool(found & STATES)


def _is_handed_on(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return whether a state is only an argument of a call or a part of a text; True for a method that is called."""
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return not isinstance(node, ast.Call)
    is_text = False
    while isinstance(parent, ast.FormattedValue | ast.JoinedStr):
        is_text, node, parent = True, parent, parents.get(parent)
    if isinstance(parent, ast.keyword):
        parent = parents.get(parent)
    if isinstance(parent, ast.Call):
        name = getattr(parent.func, "attr", getattr(parent.func, "id", ""))
        return parent.func is not node and name not in _ASKING
    return is_text and not isinstance(parent, ast.Compare | ast.Match | ast.Subscript)
