"""The fields that callers may give when they add a task are those of NewTask."""

import ast
import inspect

from fleet.verbs.tasks import add


def annotated(name: str) -> dict[str, str]:
    (found,) = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(add)))
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    lines = [each for each in found.body if isinstance(each, ast.AnnAssign)]
    return {each.target.id: ast.unparse(each.annotation) for each in lines}


def test_every_field_of_a_new_task_that_has_a_default_may_be_given():
    given, fields = annotated("TaskFields"), annotated("NewTask")
    assert {**given, "project": "str", "title": "str"}.keys() == fields.keys()
    assert {name for name in given if given[name] != fields[name]} == {"priority"}, "None: that of the settings"
