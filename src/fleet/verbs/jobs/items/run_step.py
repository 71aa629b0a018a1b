"""Run one step of a job: its command, its environment, its output files and its result."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.engines import command, inheritance, permissions, prompt, readiness
from fleet.engines.reader import engine as read_engine
from fleet.model import (
    FLEET_HOME,
    FLEET_HOOKS,
    FLEET_ITEM,
    FLEET_JOB,
    FLEET_PROJECT,
    FLEET_PROMPT_FILE,
    FLEET_RUNNER_OF,
    FLEET_TASK,
)
from fleet.model.agents.roles import JOB_STEP
from fleet.model.jobs import items, placeholders
from fleet.model.jobs import steps as job_steps
from fleet.model.settings.engine_choices import engine_choices, model_for
from fleet.model.text import escapes
from fleet.model.text.times import SECOND
from fleet.records import record
from fleet.store import queries as q
from fleet.store.queries import JobStep
from fleet.store.transaction import Change
from fleet.verbs.agents.cost import apply_holds, count_tokens, record_limits
from fleet.verbs.homes import sandbox
from fleet.verbs.projects import allow
from fleet.world.git.checkout import commit_dirs, committer
from fleet.world.home import paths
from fleet.world.process.job_commands import CommandEnd, JobCommand

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.jobs.placeholders import PlaceholderValues
    from fleet.model.jobs.steps import JobSteps, Step
    from fleet.store.queries import Job
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# How many bytes of a step's output are shown at most, and the endings of its two output files.
TAIL = 4_000
_OUTPUTS = ("out", "log")


@record(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a step runs (`cwd`), and for which job, item and attempt. `item` is "input" for the input's command."""

    home: str
    job: str
    project: str
    item: str
    attempt: int
    cwd: str
    # The folder of the job's document; empty where nobody needs it.
    folder: str = ""
    # Whether the runner itself starts the step, in the shared checkout. Its process carries a mark for the next runner.
    own: bool = False
    # The dispatch in whose session the step runs; empty for a step that the runner itself starts.
    dispatch: str = ""

    def file(self, number: int, kind: str) -> str:
        """Return the path of a file of step `number`, relative to the home. `kind` is its ending: out, log or prompt."""
        return paths.job_step(self.job, f"{self.item}.{self.attempt}.{number}.{kind}")


@record(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of a step: success, exit status, reason of a failure ('' for none), new commits, oldest first.

    `status` is None when the step could not start or was killed after its time limit.
    """

    ok: bool
    status: int | None
    reason: str
    commits: tuple[str, ...] = ()
    # The words with which the engine reported a usage limit; empty when it did not.
    limit: str = ""


def environment(where: Where) -> dict[str, str]:
    """Return the environment of a step: this process's, without the variables that name a task, and those of the step.

    These name home, project, job and item. With `where.own`, no other variable of fleet is passed on. Hooks are turned
    off, because one step cannot report that the whole item is done.
    """
    left_out = "FLEET_" if where.own else FLEET_TASK
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    mine = {FLEET_HOME: where.home, FLEET_PROJECT: where.project, FLEET_JOB: where.job, FLEET_ITEM: where.item}
    return kept | mine | {FLEET_HOOKS: "none"} | ({FLEET_RUNNER_OF: where.job} if where.own else {})


def agent_environment(context: Context, engine: Engine, where: Where) -> dict[str, str]:
    """Return the environment of an agent step: the variables that its engine and the person name, and fleet's own."""
    given = environment(where)
    named = inheritance.patterns(engine, context.settings().environment_pass)
    mine = {name: value for name, value in given.items() if name.startswith("FLEET_")}
    return inheritance.inherited(given, named) | mine


class StepRun:
    """One run of a step for one item, from its start to its result.

    `number` is the step's number in its part of the job, from 1; `values` are the values of the placeholders.
    """

    def __init__(self, context: Context, step: Step, number: int, where: Where, values: PlaceholderValues) -> None:
        self._context = context
        self._step = step
        self._number = number
        self._where = where
        self._values = values
        self._began = 0
        self._before: str | None = None
        self._engine: Engine | None = None
        self._conversation: str | None = None

    @property
    def files(self) -> list[str]:
        """The paths of the step's two output files.

        Setup writes its output into the first and its errors into the second; other steps write both into the second.
        """
        return [f"{self._where.home}/{self._where.file(self._number, kind)}" for kind in _OUTPUTS]

    def start(self, lock: int | None = None) -> JobCommand | CommandEnd:
        """Start the step and return its process, which inherits the file descriptor `lock`.

        Returns CommandEnd, with the reason, when the step cannot start.
        """
        self._began, self._before = self._context.world.clock.now(), self._head()
        try:
            return self._start_command(lock)
        except (errors.FleetError, OSError, placeholders.Missing) as error:
            return CommandEnd(status=None, why=str(error))

    def _start_command(self, lock: int | None) -> JobCommand | CommandEnd:
        """Start the step's process, with its output going to the step's files."""
        command = self._shell_command() if self._step.kind == "shell" else self._agent_command()
        out, log = self.files
        apart = self._where.item == "setup"
        try:
            return self._context.world.job_commands.start(
                f"job step {self._step.kind}",
                command.words,
                env=command.env,
                cwd=self._where.cwd,
                output=out if apart else log,
                errors=log if apart else None,
                limit=self._step.timeout / SECOND,
                inherited=(*command.handles, *([] if lock is None else [lock])),
            )
        finally:
            for handle in command.handles:
                os.close(handle)

    def _shell_command(self) -> sandbox.Enclosed:
        """Return the shell command of a step, with its placeholders passed as environment variables."""
        text, variables = placeholders.fill_shell(self._step.text, self._values)
        env = environment(self._where) | self._values.get("env", {}) | variables
        return sandbox.Enclosed(words=["/bin/sh", "-c", text], env=env, handles=())

    def _agent_command(self) -> sandbox.Enclosed:
        """Write the prompt of an agent step; return the engine's command and environment, in a sandbox if the settings want one."""
        context, where = self._context, self._where
        engine, model, autonomy = agent_of(context, self._step, where.project)
        self._engine = engine
        self._conversation = context.world.ids.conversation() if "{session}" in engine.headless else None
        facts = {"job": where.job, "item": where.item, "project": where.project}
        asked = placeholders.fill(self._step.text, self._values).encode(errors="replace").decode()
        text = prompt.prompt(where.home, "job", facts | {"prompt": asked})
        path = context.world.files.publish(where.file(self._number, "prompt"), text.encode())
        allowed = allow.allowed_for_agent(context, where.project, JOB_STEP)
        enclosed = sandbox.wanted_sandbox(context, engine)
        door = sandbox.socket_variable(context, engine, enclosed)
        wanted = command.Filling(
            program=readiness.program_of(engine, ()),
            prompt=text,
            prompt_file=path,
            autonomy=autonomy,
            model=model,
            conversation=self._conversation or "",
            allow=allowed,
            fleet_home="" if door else where.home,
            git_dirs=commit_dirs(context.world.git, where.cwd) if command.needs_git_dirs(engine, autonomy) else (),
        )
        who = committer(context.world.git, where.cwd) if engine.committer else {}
        env = command.environment(
            engine,
            agent_environment(context, engine, where),
            {FLEET_PROMPT_FILE: path, **who, **permissions.variables(engine, allowed), **door},
        )
        words = command.headless(engine, wanted)
        if enclosed is None:
            return sandbox.Enclosed(words=words, env=env, handles=())
        repository = context.project(where.project).path
        work = sandbox.SandboxWork(cwd=where.cwd, repository=repository, writes=True, files=(path,))
        return sandbox.enclose(context, engine, work, words, env)

    def _head(self) -> str | None:
        """Return the commit of the checkout; None when nobody needs it, or git does not know it.

        A shell step in the shared checkout that need not commit does not need it: other items commit there too.
        """
        if self._where.own and self._step.kind == "shell" and not self._step.commit_required:
            return None
        return self._context.world.git.resolve_in(self._where.cwd, "HEAD")

    def conclude(self, ended: CommandEnd) -> tuple[StepResult, JobStep]:
        """Return the result of a step that has ended, and its row for the store.

        Counts the tokens of an agent step, and removes the step's empty output files. When the output of a failed agent
        step reports a usage limit, holds its engine back.
        """
        result = self._result_of(ended, self._new_commits(self._head()))
        self._count_tokens()
        for kind, path in zip(_OUTPUTS, self.files, strict=True):
            if os.path.exists(path) and os.path.getsize(path) == 0:
                self._context.world.files.unlink(self._where.file(self._number, kind))
        return result, JobStep(
            job=self._where.job,
            item=self._where.item,
            attempt=self._where.attempt,
            number=self._number,
            title=self._step.title,
            started_at=self._began,
            ended_at=self._context.world.clock.now(),
            status=result.status,
            reason=result.reason or None,
            commits=json.dumps(result.commits),
        )

    def _count_tokens(self) -> None:
        """Count the tokens of an agent step. Files that cannot be read are skipped: the step's result does not depend on them."""
        if self._engine is None:
            return
        where = self._where
        slug = items.slug(where.job, where.item) if where.dispatch else None
        work = count_tokens.CountingWork(where.dispatch or where.job, where.project, slug)
        try:
            count_tokens.count_step(
                self._context, self._engine, work, self._conversation, cwd=where.cwd, since=self._began
            )
        except (errors.FleetError, OSError):
            return

    def _result_of(self, ended: CommandEnd, commits: tuple[str, ...]) -> StepResult:
        """Return the result of an ended step.

        A step has failed when its exit status is not 0, when its engine refused to run a tool, or when it made no
        commit although it has to.
        """
        if not ended.ok:
            output = "".join(_end_of_output(path) for path in self.files).strip()
            why = ended.why or f"exit status {ended.status}"
            reason = f"{why}\n{output}" if output else why
            return StepResult(
                ok=False, status=ended.status, reason=reason, commits=commits, limit=self._hold_back_if_limited(output)
            )
        refusal = self._refusal()
        if refusal:
            advice = "allow it (`allow` in fleet.toml, or another autonomy)"
            reason = f"it refused a tool of its own, and did not do its work: {refusal}; {advice}"
            return StepResult(ok=False, status=ended.status, reason=reason, commits=commits)
        if self._step.commit_required and not commits:
            return StepResult(ok=False, status=ended.status, reason="it made no commit", commits=commits)
        return StepResult(ok=True, status=ended.status, reason="", commits=commits)

    def _refusal(self) -> str:
        """Return the text in the step's output with which the engine says that it refused a tool to its agent.

        The pattern is `refused` in the engine's file. "" when the output has no such text, or the engine has no such
        pattern.
        """
        if self._engine is None or self._engine.refused is None:
            return ""
        for path in filter(os.path.exists, self.files):
            with open(path, encoding="utf-8", errors="replace") as file:
                found = next((match for line in file if (match := self._engine.refused.search(line))), None)
            if found is not None:
                return escapes.text(found.groupdict().get("what") or found[0])
        return ""

    def _hold_back_if_limited(self, output: str) -> str:
        """Hold the step's engine back for the whole fleet if its output reports a usage limit.

        Returns the words that report the limit; "" when there are none.
        """
        words = self._engine.limit.search(output) if self._engine and self._engine.limit else None
        if self._engine is None or words is None:
            return ""
        self._context.commit(_hold_back(self._engine.name, words[0]))
        return words[0]

    def _new_commits(self, after: str | None) -> tuple[str, ...]:
        """Return the commits that the item's checkout has gained since the step started, oldest first.

        `after` is the checkout's commit at the end of the step, None when it is not known. () when there are no new
        commits, or when git cannot list them.
        """
        if self._before is None or after is None or self._before == after:
            return ()
        repository = self._context.project(self._where.project).path
        return tuple(reversed(self._context.world.git.commits(repository, self._before, after) or []))


def record_step(job: Job, step: JobStep) -> Change[None]:
    """Return the change that records an ended step."""

    def work(tx: Tx) -> None:
        tx.about(job.project)
        tx.note(job=job.id, item=step.item, step=step.number, status=step.status)
        tx.write(q.ADD_STEP, step.as_json())

    return Change(f"job {job.id}: step {step.number} of {step.item}", work)


def _hold_back(engine: str, words: str) -> Change[int | None]:
    """Return the change that holds an engine back for the whole fleet because of a usage limit, with `words` as reason.

    Committing it returns when the hold ends.
    """
    return Change(f"hold {engine} back: {words}", lambda tx: record_limits.hold_engine(tx, engine, "limit", words))


class ChosenEngine(NamedTuple):
    """The engine chosen for a step, and the engine that would be the first choice."""

    engine: str
    first: str


def choose_engine(context: Context, name: str | None, project: str) -> ChosenEngine:
    """Return the engine for an agent step: the engine `name`, else the project's first engine that is not held back.

    When all are held back, it is the project's first engine. Raises BadInput when `name` is None and the project has
    none.
    """
    choices = (name,) if name else engine_choices(context.settings(project).engine)
    if not choices:
        raise errors.BadInput(what="no engine for the agent steps: write engine into the job, or set it in fleet.toml")
    now = context.world.clock.now()
    engine, _held = context.store.read(lambda rows: apply_holds.choose_engine(rows, choices, at=now))
    return ChosenEngine(engine, next(iter(choices)))


def agent_of(context: Context, step: Step, project: str) -> tuple[Engine, str | None, str | None]:
    """Return the engine, the model and the autonomy of an agent step. The last two are None for the engine's default.

    Raises the error that says why the engine cannot run the step, such as BadInput for a project without engine or
    EngineMissing for an engine that needs a terminal.
    """
    name, first = choose_engine(context, step.engine, project)
    engine = read_engine(context.world.home, name)
    if not engine.headless and (engine.interactive or "{command}" in engine.start):
        advice = "choose another engine; `headless` in its file says how it does one thing and exits"
        raise errors.EngineMissing(engine=name, program="(nothing that runs without a terminal)", advice=advice)
    autonomy = step.autonomy or context.settings(project).autonomy
    readiness.program_of(engine, ())
    enclosed = sandbox.plan_sandbox(context, engine)
    repository = context.project(project).path
    readiness.check(engine, autonomy=autonomy, repository=repository, sandboxed=enclosed is not None)
    return engine, model_for(name, first, step.model), autonomy if engine.autonomy else None


def _end_of_output(path: str) -> str:
    """Return the last 2000 bytes of a step's output file. If bytes were left out, a line before them says how many."""
    most = TAIL // 2
    before = os.path.getsize(path) - most if os.path.exists(path) else 0
    return f"({before:,} bytes before this left out)\n{tail(path, most)}" if before > 0 else tail(path, most)


def tail(path: str, most: int = TAIL) -> str:
    """Return the end of a step's output file as text of at most `most` bytes; "" when the file is missing.

    Bytes that are not UTF-8 are replaced, NUL bytes left out.
    """
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - most, 0))
            text = file.read().decode("utf-8", "replace").replace("\0", "")
    except FileNotFoundError:
        return ""
    # Cut again: the character that replaces a broken byte is three bytes long.
    return text.encode()[-most:].decode("utf-8", "ignore")


def write_steps(context: Context, job: Job, known: JobSteps) -> None:
    """Write a job's steps to the file that the sessions of its items read, unless the file has these steps already."""
    if _steps_in_file(context, job) != known:
        context.world.files.publish(paths.job(job.id, "steps.json"), job_steps.written(known, job.source))


def read_steps(context: Context, job: Job) -> JobSteps:
    """Return the steps of a job, from the file that its runner wrote, else from its document."""
    held = _steps_in_file(context, job)
    if held is not None:
        return held
    from fleet.model.jobs.workflow import read  # noqa: PLC0415 - where the file is missing or of another document

    return read(job.source, "the job's document").steps


def _steps_in_file(context: Context, job: Job) -> JobSteps | None:
    """Return the steps in the runner's file; None when there is no file, or it is about another document."""
    try:
        return job_steps.steps_in(context.world.files.read(paths.job(job.id, "steps.json")), job.source)
    except OSError:
        return None


def values_of(context: Context, job: Job, steps: JobSteps, part: str, data: object) -> PlaceholderValues:
    """Return the values for the placeholders in one part of a job's document: setup, input, map or reduce.

    `data` is the item for the part `map`, and the results of the items for `reduce`; other parts do not need it.
    """
    values: PlaceholderValues = {"env": json.loads(job.parameters)}
    if part == "map":
        values["item"] = data
    if part != "setup":
        values["setup"] = _setup_outputs(context, job, steps)
    if part == "reduce":
        values["map"] = data
    return values


def _setup_outputs(context: Context, job: Job, steps: JobSteps) -> dict[str, str]:
    """Return the outputs of the setup steps' last attempt: by step name, and that of the last step as `output`.

    Of a long output it has the last 100 000 bytes. A step without output, and one that did not run, has "".
    """
    setup = context.store.read(lambda rows: q.item_by_id(rows, job=job.id, id="setup"))
    attempt = setup.attempts if setup else 0
    outputs = {"output": ""}
    for number, step in enumerate(steps.setup, 1):
        path = f"{context.world.home}/{paths.job_step(job.id, f'setup.{attempt}.{number}.out')}"
        outputs["output"] = tail(path, placeholders.LONGEST_VARIABLE).rstrip("\n")
        if step.name:
            outputs[step.name] = outputs["output"]
    return outputs
