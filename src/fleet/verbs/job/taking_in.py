"""Taking in: the items of a job, from a list, a file, a command or a glob."""

from __future__ import annotations

import glob
import json
import os
from typing import TYPE_CHECKING, Any

import jmespath
from jmespath.exceptions import JMESPathError

from fleet.errors import JobFailed
from fleet.model import filling, items
from fleet.verbs.job import doing

if TYPE_CHECKING:
    from fleet.model.workflow import Workflow
    from fleet.verbs.ground import Ground

_LIMIT = 3_600.0
_TAIL = 300


def items_of(ground: Ground, workflow: Workflow, where: doing.Where, values: dict[str, Any]) -> list[Any]:
    """Every item, in its order."""
    found = _picked(workflow, _given(ground, workflow, where, values))
    for number, data in enumerate(found, 1):
        if data is None or len(json.dumps(data, ensure_ascii=False)) > items.LONGEST:
            why = "is null" if data is None else f"is longer than {items.LONGEST} characters"
            raise JobFailed(job=where.job, why=f"item {number} of the input {why}", advice="mend the input")
    return found


def _given(ground: Ground, workflow: Workflow, where: doing.Where, values: dict[str, Any]) -> Any:  # noqa: ANN401
    wanted = workflow.map
    if wanted.source == "list":
        return wanted.given
    if wanted.source == "command":
        return parsed(_printed(ground, wanted.given, where, values))
    told = filling.fill(wanted.given, values)
    return _matching(where, told) if wanted.source == "glob" else parsed(_read(where, told))


def _printed(ground: Ground, command: str, where: doing.Where, values: dict[str, Any]) -> str:
    text, variables = filling.fill_shell(command, values)
    env = doing.environment(where) | variables
    done = ground.world.programs.run("job input", ["/bin/sh", "-c", text], limit=_LIMIT, cwd=where.cwd, env=env)
    if not done.ok:
        said = " ".join(done.err.split())[-_TAIL:]
        why = f"the input's command gave {done.status if done.status is not None else 'no status'}: {said}"
        raise JobFailed(job=where.job, why=why, advice="try it in the repository yourself")
    return done.out


def _read(where: doing.Where, name: str) -> str:
    tried = [os.path.join(folder, name) for folder in (where.cwd, where.folder) if folder]
    for path in dict.fromkeys(tried):
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="strict") as file:
                try:
                    return file.read()
                except UnicodeDecodeError:
                    raise JobFailed(job=where.job, why=f"the input {path} is not UTF-8", advice="convert it") from None
    shown = " nor ".join(dict.fromkeys(tried))
    advice = "let setup make it, or commit it; a resume reads it then"
    raise JobFailed(job=where.job, why=f"the input is not there: neither {shown}", advice=advice)


def _matching(where: doing.Where, pattern: str) -> list[dict[str, str]]:
    if os.path.isabs(pattern) or ".." in pattern.split("/"):
        raise JobFailed(
            job=where.job, why=f"the glob {pattern!r} leads out of the repository", advice="write it below its top"
        )
    found = glob.glob(pattern, root_dir=where.cwd, recursive=True)
    return [{"path": path} for path in sorted(found) if os.path.isfile(os.path.join(where.cwd, path))]


def parsed(text: str) -> Any:  # noqa: ANN401 - whatever was printed
    """JSON, JSON Lines, or one item a line."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return lines


def _picked(workflow: Workflow, given: Any) -> list[Any]:  # noqa: ANN401
    select = workflow.map.select
    try:
        found = jmespath.search(select, given) if select else given
    except JMESPathError as error:
        why = f"select failed: {' '.join(str(error).split())}"
        raise JobFailed(job=workflow.name, why=why, advice="try it with `jp`, on the input") from None
    if not isinstance(found, list):
        shown = "nothing" if found is None else f"a {type(found).__name__}"
        advice = 'say which part is the list of items with select, like select: "items"'
        raise JobFailed(job=workflow.name, why=f"the input is {shown}, not a list", advice=advice)
    return found
