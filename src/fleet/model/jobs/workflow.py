"""The workflow of a job: setup, map and reduce. Faults of its document are reported with line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jmespath
from jmespath.exceptions import JMESPathError

from fleet import errors
from fleet.model.jobs import placeholders
from fleet.model.jobs.keys import JOB, MAP, RETRY, STEP
from fleet.model.jobs.steps import JobSteps, Step
from fleet.model.text.documents.nodes import UnreadableDocument
from fleet.model.text.documents.yaml_tree import parse
from fleet.model.text.times import duration
from fleet.records import field, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.states import InputSource
    from fleet.model.text.documents.nodes import DocumentFault, DocumentNode
    from fleet.model.text.documents.tables import Table

# Where the items come from when the document does not list them.
_OUTSIDE: tuple[InputSource, ...] = ("file", "command", "glob")
# The roots of the placeholders that each part of the document may use.
_KNOWN = {
    "setup": ("env",),
    "map": ("item", "setup", "env"),
    "reduce": ("setup", "map", "env"),
    "input": ("setup", "env"),
}
# What the reduce steps may read of the map, such as {map.results}.
OF_MAP = ("results", "failed", "total", "done")
# {setup.output}: the output of the last setup step. No step may have this name.
OUTPUT = "output"


@record(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and when a failed item is tried again; times in milliseconds.

    `attempts` is how often an item is tried in all. `backoff` is the wait after the first failure, `longest` the
    longest wait.
    """

    attempts: int
    backoff: int
    longest: int

    def wait(self, failures: int, fraction: float) -> int:
        """Return how many milliseconds to wait after this many failures.

        The time is `backoff` after the first failure and doubles with each further one, up to `longest`. `fraction`, a
        random number from 0 to 1, picks a moment in the second half of that time.
        """
        whole = min(self.backoff * 2 ** min(failures - 1, 40), self.longest)
        return int(whole * (0.5 + fraction / 2))


@record(frozen=True, slots=True, kw_only=True)
class Map:
    """The map part of a workflow: where the items come from, and the steps for each item.

    `given` is the list of items itself, or the file, command or glob that they come from; `source` says which of these.
    `breaker`: the job pauses when at least this many items fail alike, and they are more than half of those tried; 0:
    it never pauses for that. The other fields are keys of the document, which `keys.MAP` explains.
    """

    source: InputSource
    given: Any
    select: str | None
    steps: tuple[Step, ...]
    max_parallel: int
    isolation: str
    retry: Retry
    on_failure: str
    breaker: int


@record(frozen=True, slots=True, kw_only=True)
class Workflow:
    """The whole workflow of a job."""

    name: str
    map: Map
    setup: tuple[Step, ...] = ()
    reduce: tuple[Step, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> JobSteps:
        """The steps of setup, of each item, and of reduce."""
        return JobSteps(setup=self.setup, map=self.map.steps, reduce=self.reduce)

    def agent_steps(self) -> list[Step]:
        """Return the steps of all parts that an agent performs."""
        return [step for step in (*self.setup, *self.map.steps, *self.reduce) if step.kind == "agent"]

    def variables(self) -> list[str]:
        """Return the names of all {env.NAME} in the steps and the input, sorted."""
        texts = [step.text for step in (*self.setup, *self.map.steps, *self.reduce)]
        texts += [self.map.given] if isinstance(self.map.given, str) else []
        names = [name.split(".") for text in texts for name in placeholders.names_in(text)]
        return sorted({path[1] for path in names if path[0] == "env" and len(path) > 1})


def read(text: str, file: str) -> Workflow:
    """Return the workflow that a job's document describes; `file` is shown in messages.

    Raise BadWorkflow, with the first fault, when the document is not valid.
    """
    all_faults = faults(text)
    if all_faults:
        first = all_faults[0]
        more = f" (and {len(all_faults) - 1} more)" if len(all_faults) > 1 else ""
        raise errors.BadWorkflow(
            file=file,
            line=first.line,
            column=first.column,
            why=f"{first.why}{more}",
            advice=first.advice or "correct it",
        )
    return _workflow_of(parse(text).plain)


def faults(text: str) -> list[DocumentFault]:
    """Return the faults of a job's document, in the order of lines; [] for a valid one.

    `select`, placeholders and names of steps are looked at only when there is no other fault. A document that cannot be
    parsed has one fault.
    """
    try:
        root = parse(text)
    except UnreadableDocument as error:
        return [error.fault]
    all_faults = list(JOB.faults(root, "the document"))
    if not all_faults:
        all_faults = [*_faults_of_select(root), *_faults_of_placeholders(root), *_faults_of_names(root)]
    return sorted(all_faults, key=lambda fault: (fault.line, fault.column))


def _faults_of_select(root: DocumentNode) -> Iterator[DocumentFault]:
    """Yield a fault if `select` is not a JMESPath expression."""
    given = root.value["map"].value["input"]
    select = given.value.get("select") if isinstance(given.value, dict) else None
    if select is not None:
        try:
            jmespath.compile(select.value)
        except JMESPathError as error:
            yield select.fault(f"select is no JMESPath: {' '.join(str(error).split())}", "jmespath.org shows how")


def _steps(root: DocumentNode) -> Iterator[tuple[str, DocumentNode]]:
    """Yield every step of the document as (part, step); the part is `setup`, `reduce` or `map`."""
    for part in ("setup", "reduce"):
        for step in root.value[part].value if part in root.value else ():
            yield part, step
    for step in root.value["map"].value["steps"].value:
        yield "map", step


def _faults_of_placeholders(root: DocumentNode) -> Iterator[DocumentFault]:
    """Yield a fault for each placeholder that can never have a value, or that is where no value can be quoted."""
    steps = root.value["setup"].value if "setup" in root.value else []
    outputs = {OUTPUT, *(step.value["name"].value for step in steps if "name" in step.value)}
    for part, step in _steps(root):
        text = step.value.get("agent") or step.value["shell"]
        yield from _faults_of_text(part, text, outputs)
        if "shell" in step.value:
            yield from _faults_of_quoting(text)
    given = root.value["map"].value["input"]
    for key in ("file", "command", "glob"):
        if isinstance(given.value, dict) and key in given.value:
            yield from _faults_of_text("input", given.value[key], outputs)
            if key == "command":
                yield from _faults_of_quoting(given.value[key])


def _faults_of_quoting(node: DocumentNode) -> Iterator[DocumentFault]:
    """Yield a fault for each placeholder of a shell command that is where no value can be quoted."""
    for name, why in placeholders.unquotable(node.value):
        problem, _, advice = why.partition("; ")
        yield node.fault(f"{{{name}}} cannot be filled in: {problem}", advice)


def _faults_of_text(part: str, node: DocumentNode, outputs: set[str]) -> Iterator[DocumentFault]:
    """Yield a fault for each placeholder in a text that can have no value there.

    `part` is the part of the document that the text is in; `outputs` are the names that may follow `setup.`.
    """
    for name in placeholders.names_in(node.value):
        head, *path = name.split(".")
        allowed = {"setup": outputs, "map": set(OF_MAP)}.get(head)
        if head not in _KNOWN[part]:
            known = ", ".join(f"{{{each}.…}}" for each in _KNOWN[part])
            yield node.fault(f"{{{name}}} means nothing in {part}", f"there are {known}")
        elif allowed is not None and (len(path) != 1 or path[0] not in allowed):
            shown = ", ".join(f"{{{head}.{each}}}" for each in sorted(allowed))
            yield node.fault(f"{{{name}}} is not known", f"there are {shown}")
        elif head == "env" and len(path) != 1:
            yield node.fault(f"{{{name}}} names no variable", "write {env.NAME}")


def _faults_of_names(root: DocumentNode) -> Iterator[DocumentFault]:
    """Yield a fault for each step name that occurs twice in its part, or that is the reserved `output`."""
    seen: set[tuple[str, str]] = set()
    for part, step in _steps(root):
        name = step.value.get("name")
        if name is None:
            continue
        if name.value == OUTPUT:
            why = f"no step can be named {OUTPUT!r}: {{setup.{OUTPUT}}} is the output of the last step of setup"
            yield name.fault(why, "choose another name")
        elif (part, name.value) in seen:
            yield name.fault(f"two steps of {part} cannot both be named {name.value!r}", "choose another name")
        seen.add((part, name.value))


def _workflow_of(given: dict[str, Any]) -> Workflow:
    """Return the workflow from the parsed and checked document."""
    map_keys = _with_defaults(MAP, given["map"])
    parts = {part: tuple(_step_of(each, map_keys) for each in given.get(part, ())) for part in ("setup", "reduce")}
    return Workflow(name=given["name"], map=_map_of(map_keys), env=given.get("env", {}), **parts)


def _map_of(given: dict[str, Any]) -> Map:
    """Return the map part of a workflow from its keys, which already include the defaults of the map.

    Missing keys of `retry` and of the steps get their defaults here.
    """
    listed = isinstance(given["input"], list)
    where = {} if listed else given["input"]
    source: InputSource = "list" if listed else next(key for key in _OUTSIDE if key in where)
    retry = _with_defaults(RETRY, given.get("retry") or {})
    return Map(
        source=source,
        given=given["input"] if listed else where[source],
        select=where.get("select"),
        steps=tuple(_step_of(each, given) for each in given["steps"]),
        max_parallel=given["max_parallel"],
        isolation=given["isolation"],
        retry=Retry(attempts=retry["attempts"], backoff=duration(retry["backoff"]), longest=duration(retry["max"])),
        on_failure=given["on_failure"],
        breaker=given["breaker"],
    )


def _step_of(given: dict[str, Any], around: dict[str, Any]) -> Step:
    """Return the step with these keys (`given`).

    Its engine, autonomy and model default to those in `around`, the keys of the map.
    """
    whole = _with_defaults(STEP, given)
    kind = "agent" if "agent" in given else "shell"
    agent = {key: given.get(key) or around.get(key) for key in ("engine", "autonomy", "model")}
    return Step(
        kind=kind,
        text=given[kind],
        name=given.get("name"),
        commit_required=whole["commit_required"],
        timeout=duration(whole["timeout"]),
        **agent,
    )


def _with_defaults(table: Table, given: dict[str, Any]) -> dict[str, Any]:
    """Return the given keys of a table, with the defaults of the missing ones."""
    return {name: key.default for name, key in table.keys.items() if key.default is not None} | given
