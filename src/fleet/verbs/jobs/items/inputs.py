"""Read the items of a job from a list, a file, a command or a glob."""

from __future__ import annotations

import glob
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jmespath
from jmespath.exceptions import JMESPathError

from fleet.errors.families import JobFailed
from fleet.model.jobs import items, placeholders
from fleet.model.states import assert_never
from fleet.model.text import escapes as shown
from fleet.verbs.jobs.items import run_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.jobs.placeholders import PlaceholderValues
    from fleet.model.jobs.workflow import Workflow
    from fleet.verbs.context import Context
    from fleet.verbs.jobs.items.own_processes import OwnProcesses

# How many seconds the input's command may run, how many characters of its errors are shown, and how many bytes it may
# print.
_LIMIT = 3_600.0
_TAIL = 300
_MOST = 64_000_000


@dataclass(frozen=True, slots=True)
class InputCommandContext:
    """What is needed to run the input's command: `own` starts its process.

    `check_wanted` raises when the job is interrupted or cancelled.
    """

    own: OwnProcesses
    check_wanted: Callable[[], None]


def items_of(
    context: Context,
    workflow: Workflow,
    where: run_step.Where,
    values: PlaceholderValues,
    command_context: InputCommandContext,
) -> list[object]:
    """Return every item of the input, in order. `values` are the values of the placeholders in the input.

    Raises JobFailed when the input cannot be read or is no list, when a placeholder in it has no value that can be used,
    or when an item is null, too long or nested too deep; and the error with which `check_wanted` of the context stops
    the command.
    """
    try:
        contents = _select_items(workflow, where.job, _read_source(context, workflow, where, values, command_context))
    except placeholders.Missing as error:
        advice = "correct the input, or the value"
        raise JobFailed(job=where.job, why=f"the input cannot be read: {error}", advice=advice) from None
    except RecursionError:
        why = f"the input is nested more than {items.DEEPEST} levels deep"
        raise JobFailed(job=where.job, why=why, advice="correct the input") from None
    for number, data in enumerate(contents, 1):
        if items.depth(data) > items.DEEPEST:
            why = f"item {number} of the input is nested more than {items.DEEPEST} levels deep"
            raise JobFailed(job=where.job, why=why, advice="correct the input")
        if data is None or len(json.dumps(data, ensure_ascii=False)) > items.LONGEST:
            why = "is null" if data is None else f"is longer than {items.LONGEST} characters"
            raise JobFailed(job=where.job, why=f"item {number} of the input {why}", advice="correct the input")
    return contents


def _read_source(
    context: Context,
    workflow: Workflow,
    where: run_step.Where,
    values: PlaceholderValues,
    command_context: InputCommandContext,
) -> object:
    """Return the input from its list, file, command or glob, before `select` is applied."""
    wanted = workflow.map
    match wanted.source:
        case "list":
            return wanted.given
        case "command":
            return parse_input(_run_command(context, wanted.given, where, values, command_context))
        case "file":
            return parse_input(_read_file(where, placeholders.fill(wanted.given, values)))
        case "glob":
            return _matching_files(where, placeholders.fill(wanted.given, values))
        case _:
            return assert_never(wanted.source)


def _run_command(
    context: Context,
    command: str,
    where: run_step.Where,
    values: PlaceholderValues,
    command_context: InputCommandContext,
) -> str:
    """Run the input's command and return its output. Raises JobFailed when it fails, or when it prints more than 64 MB.

    The files with its output are kept when it fails, and deleted when it prints too much. When it succeeds, only its
    error output is kept.
    """
    text, variables = placeholders.fill_shell(command, values)
    names = [where.file(1, kind) for kind in ("out", "log")]
    out, log = (f"{where.home}/{name}" for name in names)
    for name in names:
        context.world.files.unlink(name)  # left by an earlier run
    env = run_step.environment(where) | variables
    files = (out, log)

    def check_wanted() -> None:
        """Raise the error that stops the command, when the job is interrupted or cancelled, or too much has been printed."""
        command_context.check_wanted()
        _refuse_large_output(where, files)

    try:
        ended = command_context.own.run(
            "job input",
            ["/bin/sh", "-c", text],
            env=env,
            cwd=where.cwd,
            files=files,
            limit=_LIMIT,
            check_wanted=check_wanted,
        )
        _refuse_large_output(where, files)
    except JobFailed:  # the command was killed: its output is of no use
        for name in names:
            context.world.files.unlink(name)
        raise
    if not ended.ok:
        errors = shown.tail(" ".join(run_step.tail(log).split()), _TAIL)
        why = f"the input's command failed ({ended.why or f'exit status {ended.status}'}): {errors}"
        raise JobFailed(job=where.job, why=why, advice="try it in the repository yourself")
    with open(out, encoding="utf-8", errors="replace") as file:
        printed = file.read()
    for name in names if os.path.getsize(log) == 0 else names[:1]:
        context.world.files.unlink(name)
    return printed


def _refuse_large_output(where: run_step.Where, files: tuple[str, ...]) -> None:
    """Raise JobFailed when the command's output files have grown larger than 64 MB."""
    if sum(os.path.getsize(path) for path in files if os.path.exists(path)) <= _MOST:
        return
    why = f"the input's command printed more than {_MOST // 1_000_000} MB"
    raise JobFailed(job=where.job, why=why, advice="let it print less, or write a file and name that as the input")


def _read_file(where: run_step.Where, name: str) -> str:
    """Return the text of the input file: from the checkout, else from the folder of the job's document.

    Raises JobFailed when neither has the file, or when it cannot be read or is not UTF-8.
    """
    tried = [os.path.join(folder, name) for folder in (where.cwd, where.folder) if folder]
    for path in dict.fromkeys(tried):
        if os.path.isfile(path):
            try:
                with open(path, encoding="utf-8", errors="strict") as file:
                    return file.read()
            except UnicodeDecodeError:
                raise JobFailed(job=where.job, why=f"the input {path} is not UTF-8", advice="convert it") from None
            except OSError as error:
                why = f"the input {path} cannot be read: {error.strerror}"
                raise JobFailed(job=where.job, why=why, advice="make it readable; a resume reads it then") from None
    shown = " nor ".join(dict.fromkeys(tried))
    advice = "let setup make it, or commit it; a resume reads it then"
    raise JobFailed(job=where.job, why=f"the input is not there: neither {shown}", advice=advice)


def _matching_files(where: run_step.Where, pattern: str) -> list[dict[str, str]]:
    """Return the files of the checkout that match the glob, each as {"path": path}.

    Raises JobFailed for a pattern that leads out of the checkout.
    """
    if os.path.isabs(pattern) or ".." in pattern.split("/"):
        raise JobFailed(
            job=where.job,
            why=f"the glob {pattern!r} leads out of the repository",
            advice="write a pattern inside the repository",
        )
    paths = glob.glob(pattern, root_dir=where.cwd, recursive=True)
    return [{"path": path} for path in sorted(paths) if os.path.isfile(os.path.join(where.cwd, path))]


def parse_input(text: str) -> object:
    """Return a job's input parsed as JSON, else as JSON Lines, else as a list of its lines.

    An object, a list and null are returned as they are, any other single value as a list of one. A single number with a
    fraction or an exponent stays a text, because `12e4567` may be a commit.
    """
    try:
        whole = json.loads(text)
    except ValueError:
        pass
    else:
        if whole is None or isinstance(whole, list | dict):
            return whole
        return [text.strip() if isinstance(whole, float) else whole]
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return lines


def _select_items(workflow: Workflow, job: str, given: object) -> list[object]:
    """Return the list that the workflow's JMESPath expression `select` picks from the input `given`.

    Without an expression it is the input itself. Raises JobFailed, which names the job by its id `job`, when the result is
    not a list.
    """
    select = workflow.map.select
    try:
        selected = jmespath.search(select, given) if select else given
    except JMESPathError as error:
        why = f"select failed: {' '.join(str(error).split())}"
        raise JobFailed(job=job, why=why, advice="try it with `jp`, on the input") from None
    if not isinstance(selected, list):
        shown = "nothing" if selected is None else f"a {type(selected).__name__}"
        advice = 'say which part is the list of items with select, like select: "items"'
        raise JobFailed(job=job, why=f"the input is {shown}, not a list", advice=advice)
    return selected
