"""Run or resume a job: read its document, refuse a job that cannot run, record the job, and call the runner."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.jobs import items
from fleet.model.jobs.workflow import Workflow, faults, read
from fleet.model.results.jobs import Fault, JobPlan, Validation
from fleet.model.text.secrets import HIDDEN
from fleet.store import queries as q
from fleet.verbs.homes.ownership import refuse_foreign
from fleet.verbs.jobs import records
from fleet.verbs.jobs.items import run_step
from fleet.verbs.jobs.run import run_to_end
from fleet.verbs.resume.work_lock import lock_work_to_resume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.model.results.jobs import JobEnded
    from fleet.model.states import JobPart
    from fleet.store.queries import Job
    from fleet.verbs.context import Context
    from fleet.verbs.jobs.progress import Tell
    from fleet.verbs.jobs.run import StillWanted
    from fleet.world.files.gates import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A person's request to run a job.

    `file` is the path of the job's document; `variables` are given with --set. Without `id` the job gets a new id.
    """

    project: str
    file: str
    id: str | None = None
    variables: dict[str, str] = field(default_factory=dict)


def read_document(file: str) -> str:
    """Return the text of a job's document. Raises BadInput for a file that cannot be read or is not UTF-8."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except UnicodeDecodeError:
        raise errors.BadInput(what=f"{file} is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise errors.BadInput(what=f"{file} cannot be read: {str(error.strerror).lower()}") from None


def validate(file: str) -> Validation:
    """Return every fault of a job's document. Runs nothing. Raises BadInput for a file that cannot be read."""
    problems = [Fault.from_json(fault.as_document()) for fault in faults(read_document(file))]
    return Validation(file=file, valid=not problems, faults=problems)


def plan(context: Context, asked: JobRequest, environment: Mapping[str, str]) -> JobPlan:
    """Return the parameters, steps and limits that the job would run with. Changes nothing.

    `environment` gives values for the variables that the document uses. Raises what `prepare` raises.
    """
    new, workflow = prepare(context, asked, environment)
    return JobPlan(
        name=new.name,
        project=new.project,
        parameters=shown_parameters(new.source, new.parameters),
        steps={part: [step.title for step in workflow.steps.of(part)] for part in ("setup", "map", "reduce")},
        source=workflow.map.source,
        max_parallel=workflow.map.max_parallel,
        isolation=workflow.map.isolation,
        on_failure=workflow.map.on_failure,
        attempts=workflow.map.retry.attempts,
    )


def shown_parameters(source: str, parameters: dict[str, str]) -> dict[str, str]:
    """Return a job's parameters as they may be shown.

    A value that is not written in the document (`source`) may be a secret; it is replaced by `HIDDEN`.
    """
    written = read(source, "the job's document").env
    return {name: value if written.get(name) == value else HIDDEN for name, value in parameters.items()}


def prepare(context: Context, asked: JobRequest, environment: Mapping[str, str]) -> tuple[records.NewJob, Workflow]:
    """Return the record and the workflow of a new job.

    `environment` gives values for the variables that the document uses. Writes nothing. Raises NoSuchProject, BadInput
    for a bad document, variable or id, and the error of an engine that cannot run its steps.
    """
    context.project(asked.project)
    source = read_document(asked.file)
    workflow = read(source, asked.file)
    for step in workflow.agent_steps():
        run_step.agent_of(context, step, asked.project)
    ident = names.DispatchId(asked.id, "the job's id") if asked.id else names.DispatchId(context.world.ids.dispatch())
    new = records.NewJob(
        id=ident,
        project=asked.project,
        name=workflow.name,
        source=source,
        folder=os.path.dirname(os.path.abspath(asked.file)),
        parameters=_parameters_of(workflow, asked.variables, environment),
        home=context.world.record.id,
    )
    return new, workflow


def _parameters_of(workflow: Workflow, given: dict[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the variables {env.NAME} in a job's document, by name.

    A value is taken from --set (`given`), else from the document, else from the environment.

    Raises BadInput for a variable without a value, and for a --set whose variable is not in the document.
    """
    used = workflow.variables()
    unknown = sorted(set(given) - set(used) - set(workflow.env))
    if unknown:
        known = ", ".join(sorted({*used, *workflow.env})) or "none"
        raise errors.BadInput(what=f"--set {unknown[0]}: the job has no such variable (it has {known})")
    values = {name: environment[name] for name in used if name in environment} | workflow.env | given
    missing = [name for name in used if name not in values]
    if missing:
        raise errors.BadInput(what=f"{{env.{missing[0]}}} has no value: give it with --set {missing[0]}=VALUE")
    return values


def parts_of(workflow: Workflow) -> list[JobPart]:
    """Return which of the parts `setup` and `reduce` the job runs besides its items.

    Setup runs also without steps, if its worktree is needed: as the shared checkout, or to read the input.
    """
    setup = bool(workflow.setup) or workflow.map.isolation == "none" or workflow.map.source != "list"
    wanted = {"setup": setup, "reduce": bool(workflow.reduce)}
    return [part for part in items.PARTS if wanted[part]]


def gate_of(context: Context, ident: str) -> Gate:
    """Return the gate of a job. The job's runner holds it while it runs."""
    return context.world.work_gate(f"job-{ident}", ident)


def _refuse_other_isolation(context: Context, job: Job, workflow: Workflow) -> None:
    """Raise Refused when the document's isolation was changed while items of the job are at work.

    The runner would look for these items in the wrong place.
    """
    was = read(job.source, f"the document of job {job.id}").map.isolation
    if was == workflow.map.isolation:
        return
    if context.store.read(lambda rows: q.items_at_work(rows, job=job.id)):
        what = (
            f"items of job {job.id} are at work with isolation {was}; `fleet job resume {job.id}` first, then change it"
        )
        raise errors.Refused(what=what)


def run_job(
    context: Context, asked: JobRequest, environment: Mapping[str, str], tell: Tell, wanted: StillWanted
) -> JobEnded:
    """Record a job and run it to its end. A job whose id is known runs again, with its input read again; done items stay done.

    `tell` is called with each event of progress. The job pauses when `wanted` returns False. Raises what `prepare`
    raises, ResumeInProgress when another process holds the job's gate, OtherHost for a job of another home, and Refused
    for a cancelled job, for another job's id, and for a change of isolation while items are at work.
    """
    new, workflow = prepare(context, asked, environment)
    gate = gate_of(context, new.id)
    lock_work_to_resume(context, gate, new.id, force=False)
    try:
        known = context.store.read(lambda rows: q.job_by_id(rows, id=new.id))
        if known is not None:
            refuse_foreign(context, f"job {new.id}", known)
            _refuse_other_isolation(context, known, workflow)
        change = records.create if known is None else records.renew
        context.commit(change(new, parts_of(workflow)))
        return run_to_end(context, new.id, tell, wanted)
    finally:
        gate.give()


def resume_job(context: Context, ident: str, tell: Tell, wanted: StillWanted, *, force: bool = False) -> JobEnded:
    """Resume a job and run it to its end, holding its gate.

    When another process holds the gate, stop that process if `force`, else raise ResumeInProgress. `tell` is called
    with each event of progress. The job pauses when `wanted` returns False. Raises NoSuchJob, OtherHost for a job of
    another home, ForceRefused when the process may not be stopped, and Refused for a job that is done or cancelled.
    """
    refuse_foreign(context, f"job {ident}", context.store.read(lambda rows: records.job_of(rows, ident)))
    gate = gate_of(context, ident)
    stopped = lock_work_to_resume(context, gate, ident, force=force)
    try:
        return run_to_end(context, ident, tell, wanted).replaced(stopped=str(stopped) if stopped else None)
    finally:
        gate.give()
