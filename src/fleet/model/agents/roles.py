"""The table of acts: which roles of agents may do each act that changes something.

A person may do everything. An agent's role follows from the kind of its dispatch in the store, not from its
environment. An agent reports, logs, asks and hands off for itself; it does not decide for its person.
"""

from __future__ import annotations

from fleet import errors
from fleet.model.names import AUTONOMIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import DispatchKind

PERSON, WORKER, REVIEWER, COORDINATOR, JOB_STEP = "person", "worker", "reviewer", "coordinator", "job step"
AGENTS = (WORKER, REVIEWER, COORDINATOR, JOB_STEP)
ROLES = (PERSON, *AGENTS)

# Fields of a task that an agent may not set: they decide which command or engine runs.
RUNS_SOMETHING = ("verify", "engine")

_DECIDES = "only a person decides that"
_SETS_UP = "only a person sets up projects, settings, engines and limits"
_CLEANS = "only a person cleans up"
_JOBS = "only a person runs jobs and decides about their items"
_PLANS = "only a person and the coordinator of the project plan work"
_STARTS = "only a person and the coordinator of the project start and end agents"
_TELLS = "only a person and the daemon send notifications"
_ENDS = "only a person starts and ends the daemon, which everybody uses"
_OWN = "an agent speaks only for its own task"
_REVIEWS = "only a person or the reviewer of the task judges its work"
_TRIES = "only a person, the reviewer of the task and the coordinator of the project try a merge"
_PULLS = "only a person and the coordinator of the project look after pull requests"


class Act:
    """One act of the table: what it does, which roles of agents may do it, and the rule that a refusal shows."""

    __slots__ = ("own", "roles", "rule", "what")

    def __init__(self, what: str, rule: str, *roles: str, own: bool = False) -> None:
        self.what = what
        self.rule = rule
        self.roles = roles
        # Whether agents do the act in their own name: then no process of an agent may do it as a person.
        self.own = own


# Every method of a part of class Fleet that changes something.
ACTS = {
    # what every agent does for itself
    "tasks.log": Act("write into a task's log", _OWN, *AGENTS, own=True),
    "tasks.artifact": Act("register an artifact", _OWN, *AGENTS, own=True),
    "tasks.done": Act("report a task as done", _OWN, *AGENTS, own=True),
    "tasks.fail": Act("report a task as failed", _OWN, *AGENTS, own=True),
    "tasks.block": Act("report a task as blocked", _OWN, *AGENTS, own=True),
    "tasks.claim": Act("claim a task", _OWN, *AGENTS, own=True),
    "tasks.unclaim": Act("give a task back", _OWN, *AGENTS, own=True),
    "tasks.abandon": Act("abandon a task", _OWN, *AGENTS, own=True),
    "messages.inbox": Act("read messages", _OWN, *AGENTS, own=True),
    "messages.acknowledge": Act("acknowledge messages", _OWN, *AGENTS, own=True),
    "hooks.event": Act("report an event", _OWN, *AGENTS, own=True),
    "hooks.answer": Act("take an answer", _OWN, *AGENTS, own=True),
    "hooks.messages": Act("take messages", _OWN, *AGENTS, own=True),
    "hooks.acknowledge": Act("acknowledge messages", _OWN, *AGENTS, own=True),
    "coord.hand_off": Act("hand an agent off", "an agent hands off only itself", *AGENTS),
    "coord.drain": Act("carry on handoffs", _STARTS, *AGENTS),
    "coord.drain_later": Act("carry on handoffs", _STARTS, *AGENTS),
    "coord.finish_handoff": Act("carry on a handoff", _STARTS, *AGENTS),
    "jobs.step": Act("do the steps of an item", _JOBS, JOB_STEP),
    # what a reviewer does
    "reviews.judge": Act("accept work or send it back", _REVIEWS, REVIEWER),
    "reviews.rehearse": Act("try a merge", _TRIES, REVIEWER, COORDINATOR),
    # what a coordinator does in its project
    "coord.tick": Act("tick", "only the coordinator ticks", COORDINATOR, own=True),
    "tasks.add": Act("add tasks", _PLANS, COORDINATOR),
    "graph.add_list": Act("add tasks", _PLANS, COORDINATOR),
    "tasks.edit": Act("edit tasks", _PLANS, COORDINATOR),
    "tasks.retry": Act("open tasks again", _PLANS, COORDINATOR),
    "tasks.pause": Act("pause tasks", _PLANS, COORDINATOR),
    "tasks.archive": Act("archive tasks", _PLANS, COORDINATOR),
    "graph.archive_ended": Act("archive tasks", _PLANS, COORDINATOR),
    "dispatches.start": Act("start agents", _STARTS, COORDINATOR),
    "dispatches.start_new": Act("start agents on new tasks", _STARTS, COORDINATOR),
    "dispatches.resume": Act("resume agents", _STARTS, COORDINATOR),
    "dispatches.stop": Act("stop agents", _STARTS, COORDINATOR),
    "dispatches.kill": Act("kill agents", _STARTS, COORDINATOR),
    "messages.send": Act(
        "send messages to agents", "only a person and the coordinator of the project send messages", COORDINATOR
    ),
    "agents.tend": Act("continue failed turns", _STARTS, COORDINATOR),
    "agents.look_after": Act("continue failed turns", _STARTS, COORDINATOR),
    "merge.task": Act("merge work", "only a person and the coordinator of the project merge work", COORDINATOR),
    "merge.together": Act("merge work", "only a person and the coordinator of the project merge work", COORDINATOR),
    "merge.check_pull": Act("look after pull requests", _PULLS, COORDINATOR),
    "merge.tend_pulls": Act("look after pull requests", _PULLS, COORDINATOR),
    # what only a person does, but for the replacement of a coordinator
    "messages.answer": Act("answer, approve or deny what agents ask", _DECIDES),
    "messages.approve": Act("permit what agents ask, once or permanently", _DECIDES),
    "messages.approve_all": Act("permit everything that agents ask", _DECIDES),
    "merge.land": Act("land work", _DECIDES),
    "merge.open_pull": Act("open a pull request", _DECIDES),
    "merge.restore": Act("restore merges", _DECIDES),
    "merge.acknowledge": Act("acknowledge that merges are gone", _DECIDES),
    "agents.attach_words": Act("join an agent's terminal", _DECIDES),
    "coord.start": Act("start a coordinator", _STARTS),
    "coord.replace": Act("replace a coordinator", _STARTS, COORDINATOR),
    "coord.tick_held": Act("tick for the daemon", _STARTS),
    "coord.write_log": Act("write the log of a coordinator", _STARTS),
    "coord.watch": Act("wake a coordinator", _STARTS),
    "coord.stop": Act("stop a coordinator", "a coordinator that wants to be replaced runs `fleet handoff`"),
    "dispatches.stop_all": Act("stop all agents", _STARTS),
    "dispatches.resume_all": Act("resume everything", _STARTS),
    "dispatches.resume_after_boot": Act("resume what a reboot interrupted", _STARTS),
    "graph.ingest": Act("import a graph", _PLANS),
    "projects.register": Act("register a project", _SETS_UP),
    "projects.ensure": Act("register a project", _SETS_UP),
    "projects.remove": Act("remove a project", _SETS_UP),
    "projects.down": Act("stop a whole project", _SETS_UP),
    "projects.clear": Act("release all that a project holds", _SETS_UP),
    "projects.begin": Act("set a project up", _SETS_UP),
    "projects.keep_environment": Act("keep variables for agents", _SETS_UP),
    "settings.trust": Act("trust settings", "only a person trusts what a repository's settings run"),
    "projects.remote_control": Act("let a coordinator be controlled from afar", _SETS_UP),
    "engines.lift": Act("lift a limit", _SETS_UP),
    "engines.allow": Act("allow more than a budget", _SETS_UP),
    "engines.install_hooks": Act("install hooks", _SETS_UP),
    "engines.uninstall_hooks": Act("uninstall hooks", _SETS_UP),
    "sweep.run": Act("sweep up", _CLEANS),
    "sweep.keep": Act("let worktrees go", _CLEANS),
    "sweep.prune_archive": Act("prune the archive", _CLEANS),
    "operations.rotate": Act("rotate operations", _CLEANS),
    "operations.note_upkeep": Act("note when old records were removed", _CLEANS),
    "operations.why_clock_doubted": Act("note the time before old records are removed", _CLEANS),
    "claims.acquire_prompt": Act("acquire a prompt for a dispatch", _STARTS),
    "claims.release_prompt": Act("release what a dispatch holds", _CLEANS),
    "claims.rewrite_prompt": Act("rewrite a prompt", _STARTS),
    "claims.disown": Act("give up a claim", _CLEANS),
    "homes.disown": Act("give up a dispatch", _DECIDES),
    "dispatches.excuse": Act("say that a process is not an agent's", _DECIDES),
    "homes.repair": Act("repair a home", _SETS_UP),
    "notices.send_due": Act("notify the person", _TELLS),
    "notices.test": Act("try the notifications", _TELLS),
    "homes.install_daemon": Act("let the system start the daemon", _SETS_UP),
    "homes.uninstall_daemon": Act("stop the system from starting the daemon", _SETS_UP),
    "jobs.run": Act("run a job", _JOBS),
    "jobs.resume": Act("resume a job", _JOBS),
    "jobs.cancel": Act("cancel a job", _JOBS),
    "jobs.retry": Act("try items again", _JOBS),
    "jobs.drop": Act("give items up", _JOBS),
}
# What starts and ends the daemon of the home: no part of class Fleet has these.
DAEMON_ACTS = {
    "daemon.start": Act("start the daemon", _ENDS),
    "daemon.stop": Act("end the daemon", _ENDS),
    "daemon.restart": Act("restart the daemon", _ENDS),
    "daemon.reload": Act("let the daemon read its settings again", _ENDS),
}

_KINDS = {"coord": COORDINATOR, "reviewer": REVIEWER}
_ASK = 'ask the person: `fleet block --reason "WHAT YOU NEED"`'
_INSTEAD = {COORDINATOR: "leave it to the person: `fleet status` shows them what waits"}


def role_of(kind: DispatchKind, engine: str | None) -> str:
    """Return the role of an agent: "job step" if its `engine` is "job"; else what the kind of its dispatch says.

    That is "coordinator", "reviewer", or "worker" for every other kind.
    """
    return JOB_STEP if engine == "job" else _KINDS.get(kind, WORKER)


def act_of(name: str) -> Act:
    """Return the act with this name, such as `tasks.done`; raise KeyError when the tables have none."""
    return DAEMON_ACTS.get(name) or ACTS[name]


def check(act: str, role: str, *, who: str) -> None:
    """Raise NotAllowed when this role may not do the act. `who` names the speaker in the message."""
    if role != PERSON and role not in act_of(act).roles:
        raise refusal(act, role, who=who)


def refusal(act: str, role: str, *, who: str, rule: str = "") -> errors.NotAllowed:
    """Return the error that this role may not do the act, with the rule (by default the act's) and what to do instead."""
    entry = act_of(act)
    instead = instead_of_role(role)
    return errors.NotAllowed(role=role, who=who, act=act, what=entry.what, rule=rule or entry.rule, instead=instead)


def instead_of_role(role: str) -> str:
    """Return a hint for an agent of this role: what to do instead of an act that it may not do."""
    return _INSTEAD.get(role, _ASK)


def is_freer(wanted: str, own: str | None) -> bool:
    """Return whether the wanted autonomy gives more freedom than the agent's own; an own autonomy of None counts as the least."""
    return AUTONOMIES.index(wanted) > (AUTONOMIES.index(own) if own in AUTONOMIES else 0)
