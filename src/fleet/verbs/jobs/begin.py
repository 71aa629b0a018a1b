"""Begin: read a job's document, refuse what could not run, write it down, and run it."""

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
from fleet.verbs.jobs.run import carry_on
from fleet.verbs.resume.work_lock import lock_work_to_resume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.model.results.jobs import JobEnded
    from fleet.model.states import JobPart
    from fleet.store.queries import Job
    from fleet.verbs.context import Context
    from fleet.verbs.jobs.progress import Tell
    from fleet.verbs.jobs.run import Wish
    from fleet.world.files.gates import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants run."""

    project: str
    file: str
    id: str | None = None
    variables: dict[str, str] = field(default_factory=dict)


def text_of(file: str) -> str:
    """A job's document, from its file."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except UnicodeDecodeError:
        raise errors.BadInput(what=f"{file} is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise errors.BadInput(what=f"{file} cannot be read: {str(error.strerror).lower()}") from None


def validate(file: str) -> Validation:
    """Everything that is wrong with a document."""
    wrong = [Fault.from_json(each.as_document()) for each in faults(text_of(file))]
    return Validation(file=file, valid=not wrong, faults=wrong)


def plan(context: Context, asked: Asked, environment: Mapping[str, str]) -> JobPlan:
    """What running it would begin with. Changes nothing."""
    new, workflow = prepare(context, asked, environment)
    return JobPlan(
        name=new.name,
        project=new.project,
        parameters=shown_parameters(new.source, new.parameters),
        steps={part: [step.title for step in workflow.steps_of(part)] for part in ("setup", "map", "reduce")},
        source=workflow.map.source,
        max_parallel=workflow.map.max_parallel,
        isolation=workflow.map.isolation,
        on_failure=workflow.map.on_failure,
        attempts=workflow.map.retry.attempts,
    )


def shown_parameters(source: str, parameters: dict[str, str]) -> dict[str, str]:
    """What {env.NAME} stands for, as it is shown: what was handed over and does not stand in the document is a secret."""
    written = read(source, "the job's document").env
    return {name: value if written.get(name) == value else HIDDEN for name, value in parameters.items()}


def prepare(context: Context, asked: Asked, environment: Mapping[str, str]) -> tuple[records.NewJob, Workflow]:
    """The job as it would be written down; refused when its document, engines or variables do not do."""
    context.project(asked.project)
    source = text_of(asked.file)
    workflow = read(source, asked.file)
    for step in workflow.agents():
        run_step.agent_of(context, step, asked.project)
    ident = names.DispatchId(asked.id, "the job's id") if asked.id else names.DispatchId(context.world.ids.dispatch())
    new = records.NewJob(
        id=ident,
        project=asked.project,
        name=workflow.name,
        source=source,
        folder=os.path.dirname(os.path.abspath(asked.file)),
        parameters=_parameters(workflow, asked.variables, environment),
        home=context.world.record.id,
    )
    return new, workflow


def _parameters(workflow: Workflow, given: dict[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """What {env.NAME} stands for: as given with --set, else as the document says, else as the environment has it now."""
    spoken = workflow.variables()
    strange = sorted(set(given) - set(spoken) - set(workflow.env))
    if strange:
        known = ", ".join(sorted({*spoken, *workflow.env})) or "none"
        raise errors.BadInput(what=f"--set {strange[0]}: the job speaks of no such variable (of {known})")
    values = {name: environment[name] for name in spoken if name in environment} | workflow.env | given
    missing = [name for name in spoken if name not in values]
    if missing:
        raise errors.BadInput(what=f"{{env.{missing[0]}}} has no value: say --set {missing[0]}=VALUE")
    return values


def parts_of(workflow: Workflow) -> list[JobPart]:
    """Which parts are worked on besides the items: setup also where only its checkout is needed."""
    setup = bool(workflow.setup) or workflow.map.isolation == "none" or workflow.map.source != "list"
    wanted = {"setup": setup, "reduce": bool(workflow.reduce)}
    return [part for part in items.PARTS if wanted[part]]


def gate_of(context: Context, ident: str) -> Gate:
    """The gate of a job: its runner holds it for as long as it runs."""
    return context.world.work_gate(f"job-{ident}", ident)


def _refuse_other_isolation(context: Context, job: Job, workflow: Workflow) -> None:
    """Refuse to change the isolation while items are at work: they would be looked for in the wrong place."""
    was = read(job.source, f"the document of job {job.id}").map.isolation
    if was == workflow.map.isolation:
        return
    if context.store.read(lambda rows: q.items_at_work(rows, job=job.id)):
        what = (
            f"items of job {job.id} are at work with isolation {was}; `fleet job resume {job.id}` first, then change it"
        )
        raise errors.Refused(what=what)


def run_job(context: Context, asked: Asked, environment: Mapping[str, str], tell: Tell, wanted: Wish) -> JobEnded:
    """Write a job down and run it. One that is there under its id is run once more, with its input read anew."""
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
        return carry_on(context, new.id, tell, wanted)
    finally:
        gate.give()


def resume_job(context: Context, ident: str, tell: Tell, wanted: Wish, *, force: bool = False) -> JobEnded:
    """Take a job up where it was left, behind its gate; with force, whoever holds that is stopped first."""
    refuse_foreign(context, f"job {ident}", context.store.read(lambda rows: records.job_of(rows, ident)))
    gate = gate_of(context, ident)
    stopped = lock_work_to_resume(context, gate, ident, force=force)
    try:
        return carry_on(context, ident, tell, wanted).replaced(stopped=str(stopped) if stopped else None)
    finally:
        gate.give()
