"""Compile a module without docstrings and without the annotations of functions, which hot commands never look at.

They are a quarter of a module's bytecode, and a hot command would read them for nothing.
"""

from __future__ import annotations
import __future__

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

# Functions of modules with this prefix keep their annotations: api/remote/wire.py reads there what the arguments of a
# request are.
_ANNOTATED = "fleet.api."
_FUTURE = "__future__"


def lean_code(name: str, source: str) -> CodeType | None:
    """Return the code of a module without docstrings and without the annotations of its functions.

    `source` is the path of its source file. A module of `fleet.api` keeps its annotations. None when the source cannot
    be read or has an error.
    """
    try:
        with open(source, encoding="utf-8") as file:
            tree = ast.parse(file.read(), source)
        for node in list(ast.walk(tree)):
            _drop_docstring(node)
            if not name.startswith(_ANNOTATED):
                _drop_annotations(node)
        flags = __future__.annotations.compiler_flag
        code: CodeType = compile(_without_future(tree), source, "exec", flags, dont_inherit=True)
    except (OSError, ValueError, SyntaxError):
        return None
    return code


def _drop_docstring(node: ast.AST) -> None:
    """Remove the docstring of a module, a class or a function."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), node.body[0])]


def _drop_annotations(node: ast.AST) -> None:
    """Remove the annotation from one node of a syntax tree: a function's return type, or an argument's type.

    The node is changed in place. Other nodes are left as they are.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None
    elif isinstance(node, ast.arg):
        node.annotation = None


def _without_future(tree: ast.Module) -> ast.Module:
    """Remove the import of __future__ from a module, in place, and return it: the compiler gets it by a flag."""
    tree.body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == _FUTURE)]
    return tree
