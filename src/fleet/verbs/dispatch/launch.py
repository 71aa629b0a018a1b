"""Launch: what a session's command does. It makes the dispatch in flight, once, and becomes the engine.

A session that comes too late finds its dispatch ended and exits by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from fleet import errors
from fleet.engines import command, readiness
from fleet.engines.reader import engine as read_engine
from fleet.model.dispatch import claim_steps as life
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.one_time_proof import VARIABLE, hash_nonce
from fleet.model.dispatch.steps import EXEC_STEPS, is_pending
from fleet.model.identity import Identity
from fleet.model.tables import change, target
from fleet.model.text import escapes, jsontext
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.agents import inject_hooks
from fleet.verbs.homes.ownership import refuse_foreign
from fleet.verbs.resume import conversation
from fleet.world.git.checkout import commit_dirs, committer
from fleet.world.git.ignored import digest
from fleet.world.home import paths

if TYPE_CHECKING:
    from typing import Literal

    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.funnel import Funnel

_REASON = 300
_LINK_WAIT = 10.0
_SETUP_LIMIT = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What this process is to become."""

    program: str
    words: list[str]
    env: dict[str, str]
    cwd: str
    # The lock that it inherits, which says that its room uses the home.
    lease: int = -1

    def become(self, funnel: Funnel) -> NoReturn:
        """Become the engine."""
        os.chdir(self.cwd)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the engine would
            signal.signal(number, signal.SIG_DFL)
        if self.lease >= 0:
            os.set_inheritable(self.lease, True)  # noqa: FBT003 - so it is called
        name = f"exec {os.path.basename(self.program)}"
        funnel.through(name, lambda: os.execve(self.program, self.words, self.env))  # noqa: S606 - no shell is what is wanted


def launch(context: Context, ident: str) -> Launched:
    """Make the dispatch in flight, and return what this process is to become. Superseded when the dispatch has ended."""
    row = context.dispatch(ident)
    refuse_foreign(context, f"dispatch {ident}", row)
    _refuse_other_server(context, row)
    prompt_file = f"{context.world.home}/{_prompt_path(context, ident)}"
    me = str(context.world.processes.me())
    nonce = context.world.ids.key()
    joined = _join_cgroup(context, row, me)
    launched = context.commit(_record_launch(row, me, hash_nonce(nonce), joined))
    if launched == "too late":
        now = context.dispatch(ident).exec_state
        raise errors.Superseded(
            who=f"session fleet-{ident}", project=row.project, slug=row.slug or "", now=f"its dispatch is {now}"
        )
    repository = context.project(row.project).path
    cwd = f"{context.world.home}/{paths.worktree(row.project, row.slug)}" if row.slug else repository
    if row.slug:
        _set_up_or_report(context, row, repository, cwd)
    made = replace(_engine_command(context, row, prompt_file, cwd), lease=context.world.namespaces.handed_on())
    return replace(made, env={**made.env, VARIABLE: nonce}) if launched == "candidate" else made


def _refuse_other_server(context: Context, row: Dispatch) -> None:
    """Refuse to launch on a tmux server that has taken a living server's socket: neither could prove the session gone."""
    socket, _, place = os.environ.get("TMUX", "").partition(",")
    pid = place.partition(",")[0]
    meant = Identity.parse(row.server or "")
    if socket != context.world.tmux.socket or not pid.isdigit() or meant is None or meant.pid == int(pid):
        return
    if context.world.processes.life(meant) != "dead":
        why = f"its server, process {meant.pid}, lives, and process {pid} has taken its socket"
        raise errors.TmuxRefused(what=f"start the agent of {row.id}", why=why)


def _join_cgroup(context: Context, row: Dispatch, me: str) -> dict[str, dict[str, str]]:
    """Join the control group before anything is started here: whoever descends from this process is in it.

    Returns what is to be recorded of each claim whose group this process is in, as the kernel says.
    """
    if not is_pending(row):
        return {}
    held = context.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=row.id))
    groups = [each for each in held if each.kind == "cgroup" and each.state in {"allocating", "live"}]
    views = {each.id: context.world.cgroups.join(each.name) for each in groups}
    return {claim: {"joined": me, "view": view} for claim, view in views.items() if view}


def _prompt_path(context: Context, ident: str) -> str:
    """The file with its prompt: its own, or the one that its predecessor handed over."""
    rows = context.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=ident))
    held = [row.name for row in rows if row.kind == "coord_prompt_inbox" and row.state == "live"]
    return held[-1] if held else paths.prompt(ident)


def _record_launch(
    row: Dispatch, me: str, proof: str, joined: dict[str, dict[str, str]]
) -> Change[Literal["too late", "launched", "candidate"]]:
    """Make the dispatch in flight, once. A coordinator that is to follow another is a candidate and has to show a proof."""

    def work(tx: Tx) -> Literal["too late", "launched", "candidate"]:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        tx.note(process=me)
        if not q.launch_dispatch(tx, id=row.id, process=me, at=tx.at, **change(EXEC_STEPS, "pending", "launched")):
            return "too late"
        _record_made_claims(tx, row)
        for each in q.claims_of_dispatch(tx, dispatch=row.id):
            claim = Claim.of(each)
            learnt = {"process": me} if claim.kind == "tmux_session" else joined.get(claim.id)
            if learnt:
                q.set_claim_data(tx, id=claim.id, data=jsontext.dumps({**claim.data, **learnt}), at=tx.at)
        if seats.seat(tx, row.project).candidate != row.id:
            return "launched"
        q.add_nonce(tx, dispatch=row.id, project=row.project, hash=proof, at=tx.at)
        return "candidate"

    return Change(f"launch {row.id}", work)


def _record_made_claims(tx: Tx, row: Dispatch) -> None:
    """Write down what was made for the dispatch: its dispatcher may be killed before it does."""
    place = {"project": row.project, "slug": row.slug or ""}
    q.note_made(tx, dispatch=row.id, **place, after=target(life.STEPS, "made"), at=tx.at)


def _engine_command(context: Context, row: Dispatch, prompt_file: str, cwd: str) -> Launched:
    engine = read_engine(context.world.home, row.engine or "")
    given = tuple(json.loads(row.command or "[]"))
    program = readiness.program_of(engine, given)
    # Once more, in the environment that the agent really gets: that of the tmux server.
    readiness.check(engine, autonomy=row.autonomy, repository=context.project(row.project).path)
    with open(prompt_file, encoding="utf-8") as file:
        text = file.read()
    hooks, hook_variables = inject_hooks.inject(context, engine, row.autonomy)
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
        fleet_home=context.world.home,
        git_dirs=commit_dirs(context.world.git, cwd) if command.needs_git_dirs(engine, row.autonomy) else (),
    )
    author = committer(context.world.git, cwd) if engine.committer else {}
    variables = {**_agent_variables(context, row, prompt_file), **hook_variables, **author}
    env = command.environment(engine, os.environ, variables)
    goes_on = row.resumes == "conversation"
    return Launched(program=program, words=command.words(engine, filling, resume=goes_on), env=env, cwd=cwd)


def _agent_variables(context: Context, row: Dispatch, prompt_file: str) -> dict[str, str]:
    """The environment variables that tell an agent who it is, what it works on, and where fleet is."""
    return {
        "FLEET_HOME": context.world.home,
        "FLEET_PROJECT": row.project,
        "FLEET_DISPATCH_ID": row.id,
        "FLEET_KIND": row.kind,
        "FLEET_PROMPT_FILE": prompt_file,
        "PATH": f"{_ensure_bin_folder(context)}:{os.environ.get('PATH', os.defpath)}",
        **({"FLEET_TASK": row.slug} if row.slug else {}),
        **({"FLEET_PREDECESSOR": row.predecessor} if row.predecessor else {}),
    }


def _is_remote(context: Context, row: Dispatch) -> bool:
    """Only a coordinator can be remote-controlled, and only when the project's marker says so."""
    marker = context.store.read(lambda rows: q.remote_control_of(rows, project=row.project))
    return row.kind == "coord" and marker is not None and marker.remote_control == "up"


def _ensure_bin_folder(context: Context) -> str:
    """A directory with nothing but fleet in it: what agents call is this fleet, and nothing else of ours is on their PATH."""
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
    """Prepare the worktree; on failure record the reason as the report, and raise."""
    try:
        _prepare_worktree(context, row, repository, cwd)
    except errors.FleetError as error:
        why = str(error)

        def work(tx: Tx) -> int:
            tx.about(row.project, row.slug)
            tx.dispatch = row.id
            tx.note(report="failed", reason=why)
            return q.report_dispatch(tx, id=row.id, report="failed", reason=why, work=None, at=tx.at)

        context.commit(Change(f"{row.id} could not be set up", work))
        raise


def _prepare_worktree(context: Context, row: Dispatch, repository: str, cwd: str) -> None:
    """Once in a worktree's life: copy the files that .worktreeinclude names, and run the project's setup command."""
    marker = paths.setup_mark(row.project, row.slug or "")
    if os.path.exists(f"{context.world.home}/{marker}"):
        return
    names = [name for name in included(context, repository) if not os.path.lexists(os.path.join(cwd, name))]
    _record_copies(context, row, repository, names)
    for name in names:
        source, target = os.path.join(repository, name), os.path.join(cwd, name)
        context.world.funnel.through("copy into worktree", lambda: _copy_file(source, target))  # noqa: B023 - called at once
    run_hook(context, row, "worktree.setup", cwd)
    context.world.files.publish(marker, b"done\n")


def _copy_file(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # it went meanwhile
        shutil.copy2(source, target, follow_symlinks=False)


def _record_copies(context: Context, row: Dispatch, repository: str, names: list[str]) -> None:
    """Write down what is about to be copied: a copy that nobody changes is reproducible, and goes with its worktree."""
    if not names:
        return
    path = paths.copied_files(row.project, row.slug or "")
    before = json.loads(context.world.files.read(path)) if os.path.exists(f"{context.world.home}/{path}") else {}
    copies = before | {name: digest(os.path.join(repository, name)) for name in names}
    context.world.files.publish(path, json.dumps(copies).encode())


def included(context: Context, repository: str) -> list[str]:
    """Files of the user's checkout that git ignores and .worktreeinclude names; no repository within it."""
    patterns = os.path.join(repository, ".worktreeinclude")
    if not os.path.exists(patterns):
        return []
    named, ignored = (
        _ignored_files(context, repository, flag) for flag in (f"--exclude-from={patterns}", "--exclude-standard")
    )
    return sorted(named & ignored)


def _ignored_files(context: Context, repository: str, flag: str) -> set[str]:
    words = [
        "git",
        f"--git-dir={repository}/.git",
        f"--work-tree={repository}",
        "ls-files",
        "-z",
        "--others",
        "--ignored",
        flag,
    ]
    listed = context.world.programs.run("git ls-files", words, limit=60, cwd=repository, exact=True)
    return {name for name in listed.out.split("\0") if name and not name.endswith("/")} if listed.ok else set()


def run_hook(context: Context, row: Dispatch, setting: str, cwd: str) -> None:
    """Run a command of the user's own, as written in fleet.toml, in a worktree; what it prints goes into a log of the dispatch."""
    words = context.setting(setting, row.project)
    if not words:
        return
    log = f"{context.world.home}/{paths.log(row.id, setting.rpartition('.')[2])}"
    result = context.world.programs.record(setting, ["/bin/sh", "-c", words], path=log, limit=_SETUP_LIMIT, cwd=cwd)
    if not result.ok:
        output = escapes.tail(" ".join(f"{result.out} {result.err}".split()), _REASON, more=log)
        raise errors.FleetError(what=f"{setting} failed ({result.status}): {output}")
