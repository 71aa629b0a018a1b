"""Launch: `fleet launch`, the command that runs in a dispatch's session.

It moves the dispatch to in_flight, once, and becomes the engine. If the dispatch has ended before, the command exits.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, NoReturn

from fleet import errors
from fleet.engines import command, permissions, readiness
from fleet.engines.reader import engine as read_engine
from fleet.engines.sandbox import SIGNALS
from fleet.model import (
    FLEET_DISPATCH_ID,
    FLEET_HOME,
    FLEET_KIND,
    FLEET_PREDECESSOR,
    FLEET_PROJECT,
    FLEET_PROMPT_FILE,
    FLEET_TASK,
    names,
)
from fleet.model.agents.actors import TOKEN
from fleet.model.agents.roles import role_of
from fleet.model.agents.token import hash_token
from fleet.model.branches import task_branch
from fleet.model.dispatch import claim_steps as life
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.one_time_proof import VARIABLE, hash_nonce
from fleet.model.dispatch.steps import EXEC_STEPS, is_pending
from fleet.model.identity import Identity
from fleet.model.tables import change, target
from fleet.model.text import jsontext
from fleet.records import record, replace
from fleet.resources.worktree.prepare import Preparation, files_to_include, prepare
from fleet.store import bundles, seats
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import inject_hooks
from fleet.verbs.homes import environment, sandbox
from fleet.verbs.homes.ownership import refuse_foreign
from fleet.verbs.projects import allow, remote_control
from fleet.verbs.resume import conversation
from fleet.world.git.checkout import commit_dirs, committer
from fleet.world.git.nested.populate import populate
from fleet.world.git.worktrees.ignored import digest
from fleet.world.home import paths, uncommitted

if TYPE_CHECKING:
    from typing import Literal

    from fleet.engines.reader import Engine
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.funnel import Funnel

# How many seconds to wait for another process that makes the link to the fleet program.
_LINK_WAIT = 10.0
# The words after the program that the engine `job` runs.
_STEP = ["job", "step"]


@record(frozen=True, slots=True, kw_only=True)
class Launched:
    """The program that this process is about to become: its path, arguments (`words`), environment and folder.

    `namespace_lock` and `handles` are file descriptors that the program inherits; -1 and None when there are none.
    """

    program: str
    words: list[str]
    env: dict[str, str]
    cwd: str
    # Descriptor of the inherited lock which shows that a process in this pid namespace uses the home; -1 for none.
    namespace_lock: int = -1
    # Descriptors that a sandbox inherits; None when the engine is started in none.
    handles: tuple[int, ...] | None = None
    # Whether the program is fleet itself (an item of a job): this process then does its work, which saves a start of Python.
    is_fleet: bool = False

    def go_on(self) -> None:
        """Set this process's environment and folder to the program's.

        For a program that is part of fleet and goes on in this process, without an exec.
        """
        os.chdir(self.cwd)
        os.environ.clear()
        os.environ.update(self.env)

    def become(self, funnel: Funnel) -> NoReturn:
        """Replace this process by the engine's program (exec). Never returns."""
        os.chdir(self.cwd)
        for number in (
            signal.SIGPIPE,
            signal.SIGXFSZ,
        ):  # Python ignores these signals, and the engine would inherit that
            signal.signal(number, signal.SIG_DFL)
        for handle in (self.namespace_lock, *(self.handles or ())):
            if handle >= 0:
                os.set_inheritable(handle, True)  # noqa: FBT003 - takes no keyword
        if self.handles is not None:  # signals for the agent must not end the sandbox around it
            for name in SIGNALS:
                signal.signal(signal.Signals[f"SIG{name}"], signal.SIG_IGN)
        name = f"exec {os.path.basename(self.program)}"
        funnel.through(name, lambda: os.execve(self.program, self.words, self.env))  # noqa: S606 - no shell is wanted


def launch(context: Context, ident: str) -> Launched:
    """Record that the dispatch is in flight, prepare its worktree, and return the program to run as its agent.

    This process then becomes that program. Raises Superseded when the dispatch was launched or ended before,
    TmuxRefused when another tmux server has taken the socket of the planned one, OtherHost when another home made the
    dispatch. When the worktree cannot be prepared, records the report "failed" for the agent and raises the error.
    """
    row = context.dispatch(ident)
    refuse_foreign(context, f"dispatch {ident}", row)
    _refuse_other_server(context, row)
    prompt_file = f"{context.world.home}/{_prompt_path(context, ident)}"
    me = str(context.world.processes.me())
    nonce, token = context.world.ids.key(), context.world.ids.token()
    joined = _join_cgroup(context, row, me)
    # Do this before the commit: if this process dies in between, its session is dead, and so is the dispatch.
    if row.engine is not None:
        environment.take_over_environment(context, row.id, row.engine)
    launched = context.commit(_record_launch(row, me, (hash_nonce(nonce), hash_token(token)), joined))
    if launched == "too late":
        now = context.dispatch(ident).exec_state
        raise errors.Superseded(
            who=f"session {names.session(ident)}",
            project=row.project,
            slug=row.slug or "",
            now=f"its dispatch is {now}",
        )
    repository = context.project(row.project).path
    cwd = f"{context.world.home}/{paths.worktree(row.project, row.slug)}" if row.slug else repository
    if row.slug:
        # The earlier agent may have been killed while its git wrote; its lock files would stop this agent's git.
        context.world.git.remove_stale_locks(cwd, task_branch(row.slug))
        _set_up_or_report(context, row, repository, cwd)
    if row.kind == "coord":
        _start_watch(context, row)
    made = _engine_command(context, row, prompt_file, cwd)
    secrets = {TOKEN: token, **({VARIABLE: nonce} if launched == "candidate" else {})}
    return replace(made, env=made.env | secrets)


def _start_watch(context: Context, row: Dispatch) -> None:
    """Start `fleet coord watch`, which wakes a coordinator after its turns, if its engine is interactive."""
    if read_engine(context.world.home, row.engine or "").interactive:
        context.world.start_fleet("coord", "watch", "-p", row.project)


def _refuse_other_server(context: Context, row: Dispatch) -> None:
    """Raise TmuxRefused if this process runs on another tmux server than was planned, and the planned one still lives.

    Two servers then claim one socket, and neither could prove that the session is gone.
    """
    socket, _, place = os.environ.get("TMUX", "").partition(",")
    pid = place.partition(",")[0]
    meant = Identity.parse(row.server or "")
    if socket != context.world.tmux.socket or not pid.isdigit() or meant is None or meant.pid == int(pid):
        return
    if context.world.processes.life(meant) != "dead":
        why = f"its server, process {meant.pid}, lives, and process {pid} has taken its socket"
        raise errors.TmuxRefused(what=f"start the agent of {row.id}", why=why)


def _join_cgroup(context: Context, row: Dispatch, me: str) -> dict[str, dict[str, str]]:
    """Put this process into the dispatch's control group, so that all its descendants will be in it.

    Returns the data to record in each claim on a group, by the claim's id; {} when there is no group, or when the kernel
    does not confirm that this process is in it. `me` is this process, as text.
    """
    if not is_pending(row):
        return {}
    held = context.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=row.id))
    groups = [group for group in held if group.kind == "cgroup" and group.state in {"allocating", "live"}]
    views = {group.id: context.world.cgroups.join(group.name) for group in groups}
    return {claim: {"joined": me, "view": view} for claim, view in views.items() if view}


def _prompt_path(context: Context, ident: str) -> str:
    """Return the path, relative to the home, of the dispatch's prompt: the file its predecessor handed over, else its own."""
    rows = context.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=ident))
    held = [row.name for row in rows if row.kind == "coord_prompt_inbox" and row.state == "live"]
    return held[-1] if held else paths.prompt(ident)


def _record_launch(
    row: Dispatch, me: str, hashes: tuple[str, str], joined: dict[str, dict[str, str]]
) -> Change[Literal["too late", "launched", "candidate"]]:
    """Return the change that moves the dispatch from pending to in_flight.

    `me` is this process, as text. `hashes` are the hashes of the nonce and of the token. `joined` is the data to add to
    each claim on a control group, by the claim's id. Committing returns "candidate" for a coordinator that must still
    prove itself with the nonce; "too late" when the dispatch is not pending any more; else "launched".
    """
    proof, token = hashes

    def work(tx: Tx) -> Literal["too late", "launched", "candidate"]:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        tx.note(process=me)
        if not q.launch_dispatch(tx, id=row.id, process=me, at=tx.at, **change(EXEC_STEPS, "pending", "launched")):
            return "too late"
        q.add_token(tx, dispatch=row.id, hash=token)
        _record_made_claims(tx, row)
        for claim_row in q.claims_of_dispatch(tx, dispatch=row.id):
            claim = Claim.of(claim_row)
            if claim.kind == "agent_environment":  # this process has read and deleted the file
                q.step_claim(tx, id=claim.id, **change(life.STEPS, "live", "found_gone"), at=tx.at)
            new_data = {"process": me} if claim.kind == "tmux_session" else joined.get(claim.id)
            if new_data:
                q.set_claim_data(tx, id=claim.id, data=jsontext.dumps({**claim.data, **new_data}), at=tx.at)
        if seats.seat(tx, row.project).candidate != row.id:
            return "launched"
        q.add_nonce(tx, dispatch=row.id, project=row.project, hash=proof, at=tx.at)
        return "candidate"

    return Change(f"launch {row.id}", work)


def _record_made_claims(tx: Tx, row: Dispatch) -> None:
    """Record that the resources of the dispatch's claims exist, in case its dispatcher dies before it records that."""
    place = {"project": row.project, "slug": row.slug or ""}
    q.note_made(tx, dispatch=row.id, **place, after=target(life.STEPS, "made"), at=tx.at)


def _engine_command(context: Context, row: Dispatch, prompt_file: str, cwd: str) -> Launched:
    """Return the engine's program, arguments and environment for this dispatch, inside a sandbox if the dispatch has one."""
    engine = read_engine(context.world.home, row.engine or "")
    given = tuple(json.loads(row.command or "[]"))
    program = readiness.program_of(engine, given)
    # Check again in the agent's real environment, which this process has now.
    repository = context.project(row.project).path
    readiness.check(engine, autonomy=row.autonomy, repository=repository, sandboxed=row.sandbox is not None)
    with open(prompt_file, encoding="utf-8") as file:
        text = file.read()
    hooks, hook_variables = inject_hooks.inject(context, engine, row.autonomy)
    role, door = role_of(row.kind, row.engine), sandbox.socket_variable(context, engine, row.sandbox)
    allowed = allow.allowed_for_agent(context, row.project, role)
    filling = command.Filling(
        program=program,
        prompt=text,
        prompt_file=prompt_file,
        autonomy=row.autonomy,
        model=row.model,
        command=given,
        conversation=conversation.recorded_conversation(context, row.id) or "",
        remote=_is_remote(context, row),
        hooks=hooks,
        allow=allowed,
        fleet_home="" if door else context.world.home,
        git_dirs=commit_dirs(context.world.git, cwd) if command.needs_git_dirs(engine, row.autonomy) else (),
    )
    author = committer(context.world.git, cwd) if engine.committer else {}
    variables = {**_agent_variables(context, row, prompt_file), **hook_variables, **author, **door}
    variables |= permissions.variables(engine, allowed)
    variables |= inject_hooks.inject_rules(context, engine, row.project, role, allowed)
    env = command.environment(engine, os.environ, variables)
    words, namespace_lock = (
        command.words(engine, filling, resume=row.resumes == "conversation"),
        context.world.namespaces.duplicate_lock(),
    )
    if row.sandbox is None:
        is_fleet = program == context.world.fleet_program and words[1:] == _STEP
        return Launched(
            program=program, words=words, env=env, cwd=cwd, namespace_lock=namespace_lock, is_fleet=is_fleet
        )
    words[0] = program
    files = _files_of_agent(context, row, engine, prompt_file, role)
    work = sandbox.SandboxWork(cwd=cwd, repository=repository, writes=row.slug is not None, files=files)
    made = sandbox.enclose(context, engine, work, words, env, namespace_lock=namespace_lock)
    return Launched(
        program=made.words[0],
        words=made.words,
        env=made.env,
        cwd=cwd,
        namespace_lock=namespace_lock,
        handles=made.handles,
    )


def _files_of_agent(context: Context, row: Dispatch, engine: Engine, prompt_file: str, role: str) -> tuple[str, ...]:
    """Return the files of the home that a sandboxed agent reads: its prompt, and the files that its engine reads at its start."""
    names = (
        paths.hook_settings(engine.name, row.autonomy),
        paths.hook_dialect(engine.name),
        paths.rules(row.project, engine.name, role),
    )
    return (prompt_file, *(f"{context.world.home}/{name}" for name in names))


def _agent_variables(context: Context, row: Dispatch, prompt_file: str) -> dict[str, str]:
    """Return the environment variables that tell an agent its dispatch, its task and its home."""
    return {
        FLEET_HOME: context.world.home,
        FLEET_PROJECT: row.project,
        FLEET_DISPATCH_ID: row.id,
        FLEET_KIND: row.kind,
        FLEET_PROMPT_FILE: prompt_file,
        "PATH": f"{_ensure_bin_folder(context)}:{os.environ.get('PATH', os.defpath)}",
        **({FLEET_TASK: row.slug} if row.slug else {}),
        **({FLEET_PREDECESSOR: row.predecessor} if row.predecessor else {}),
        **context.store.read(lambda rows: bundles.port_variables(rows, row.project, row.slug)),
    }


def _is_remote(context: Context, row: Dispatch) -> bool:
    """Return whether the agent is a coordinator and remote control is switched on for its project."""
    return row.kind == "coord" and remote_control.is_on(context, row.project)


def _ensure_bin_folder(context: Context) -> str:
    """Return a folder for the agent's PATH that holds only a link to this fleet program; create or correct the link."""
    link = f"{context.world.home}/{paths.FLEET_LINK}"
    folder = os.path.dirname(link)
    if not os.path.lexists(link) or os.path.realpath(link) != os.path.realpath(context.world.fleet_program):
        gate = context.world.gate("bin")
        gate.take(wait=_LINK_WAIT)
        try:
            context.world.files.link(paths.FLEET_LINK, to=context.world.fleet_program)
        finally:
            gate.give()
    return folder


def _set_up_or_report(context: Context, row: Dispatch, repository: str, cwd: str) -> None:
    """Prepare the worktree of the dispatch.

    On failure, record the report "failed" with the reason for the agent, record the reason as the project's last failed
    setup, and raise the error.
    """
    was_ready = os.path.exists(f"{context.world.home}/{paths.setup_mark(row.project, row.slug or '')}")
    try:
        _prepare_worktree(context, row, repository, cwd)
    except errors.FleetError as error:
        why = str(error)

        def work(tx: Tx) -> int:
            tx.about(row.project, row.slug)
            tx.dispatch = row.id
            tx.note(report="failed", reason=why)
            q.note_setup_failure(tx, project=row.project, why=why, dispatch=row.id, at=tx.at)
            return q.report_dispatch(tx, id=row.id, report="failed", reason=why, work=None, at=tx.at)

        context.commit(Change(f"{row.id} could not be set up", work))
        raise
    if not was_ready:
        _forget_setup_failure(context, row)


def _forget_setup_failure(context: Context, row: Dispatch) -> None:
    """Delete the record of the project's last failed worktree setup, if there is one, because a setup has succeeded."""
    if context.store.read(lambda rows: q.setup_failure_of(rows, project=row.project)) is None:
        return

    def work(tx: Tx) -> int:
        tx.about(row.project)
        tx.dispatch = row.id
        return q.forget_setup_failure(tx, project=row.project)

    context.commit(Change(f"worktrees of {row.project} can be set up again", work))


def _prepare_worktree(context: Context, row: Dispatch, repository: str, cwd: str) -> None:
    """Set up a worktree, once: its submodules, the files that .worktreeinclude names, and the command `worktree.setup`."""
    marker = paths.setup_mark(row.project, row.slug or "")
    if os.path.exists(f"{context.world.home}/{marker}"):
        return
    populate_submodules(context, row.project, repository, cwd)
    included = files_to_include(context.world, repository)
    names = [name for name in included if not os.path.lexists(os.path.join(cwd, name))]
    _record_copies(context, row, repository, names)
    ports = context.store.read(lambda rows: bundles.port_variables(rows, row.project, row.slug))
    wanted = Preparation(
        repository=repository,
        path=cwd,
        copies=tuple(names),
        setup=context.settings(row.project).worktree_setup,
        log=f"{context.world.home}/{paths.log(row.id, 'setup')}",
        env={**os.environ, **ports},
    )
    prepare(context.world, wanted)
    _note_changed_files(context, row, row.slug or "")
    context.world.files.publish(marker, b"done\n")


def populate_submodules(context: Context, project: str, repository: str, tree: str) -> None:
    """Check out, in a fresh worktree, the submodules that the user's checkout has.

    Does nothing when the setting `worktree.submodules` is "none".
    """
    if context.settings(project).worktree_submodules != "none":
        populate(context.world.git, repository, tree)


def _note_changed_files(context: Context, row: Dispatch, slug: str) -> None:
    """Record which files git calls changed in a worktree that was just set up: `fleet done` does not ask to commit them.

    The set-up changed them, or git never finds them clean (line endings, filters). All files that change later are the
    agents' work.
    """
    world, note = context.world, paths.changed_before(row.project, slug)
    if os.path.exists(f"{world.home}/{note}"):
        return  # the worktree is set up again: files that are changed now may be an agent's work
    files = uncommitted.changed_files(world.home, context.project(row.project), slug, world.funnel)
    if files is not None:
        world.files.publish(note, files)


def _record_copies(context: Context, row: Dispatch, repository: str, names: list[str]) -> None:
    """Record the digests of files that are copied into the worktree, whose paths in `repository` are `names`.

    Before the worktree is removed, a copy that still has its digest need not be saved.
    """
    if not names:
        return
    path = paths.copied_files(row.project, row.slug or "")
    before = json.loads(context.world.files.read(path)) if os.path.exists(f"{context.world.home}/{path}") else {}
    copies = before | {name: digest(os.path.join(repository, name)) for name in names}
    context.world.files.publish(path, json.dumps(copies).encode())
