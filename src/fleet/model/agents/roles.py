"""Who may do what: one table of acts, each with the roles that may do it besides a person.

A person may do everything. An agent is known by its dispatch: the kind that the store has for it is its role, not what its
environment says. An agent reports, logs, asks and hands off for itself; it does not decide for its person.
"""

from __future__ import annotations

from fleet.errors.refused import NotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import DispatchKind

PERSON, WORKER, REVIEWER, COORDINATOR, JOB_STEP = "person", "worker", "reviewer", "coordinator", "job step"
AGENTS = (WORKER, REVIEWER, COORDINATOR, JOB_STEP)
ROLES = (PERSON, *AGENTS)

# From the least freedom to the most, as engines' files name them.
AUTONOMY = ("ask", "edits", "allowlist", "full")
# What a coordinator may not write into a task: it would run with nobody's leave, or on an engine of its own choice.
RUNS_SOMETHING = ("verify", "engine")

_DECIDES = "only a person decides that"
_SETS_UP = "only a person sets up projects, settings, engines and limits"
_CLEANS = "only a person cleans up"
_JOBS = "only a person runs jobs and says what becomes of their items"
_PLANS = "an agent plans no work but the coordinator of the project"
_STARTS = "an agent starts and ends nobody but the coordinator of the project"
_OWN = "an agent speaks for its own task only"
_REVIEWS = "work is judged by a person, or by the reviewer of that task"


class Act:
    """One act: what it is called, which agents may do it, and the rule for the others."""

    __slots__ = ("own", "roles", "rule", "what")

    def __init__(self, what: str, rule: str, *roles: str, own: bool = False) -> None:
        self.what = what
        self.rule = rule
        self.roles = roles
        # It is done in the speaker's own name, so that it has to be clear who speaks.
        self.own = own


# The methods of class Fleet that change something.
ACTS = {
    # what every agent does for itself
    "log": Act("write into a task's log", _OWN, *AGENTS),
    "artifact": Act("register an artifact", _OWN, *AGENTS),
    "done": Act("report a task as done", _OWN, *AGENTS, own=True),
    "fail": Act("report a task as failed", _OWN, *AGENTS, own=True),
    "block": Act("report a task as blocked", _OWN, *AGENTS, own=True),
    "claim": Act("claim a task", _OWN, *AGENTS, own=True),
    "unclaim": Act("give a task back", _OWN, *AGENTS, own=True),
    "abandon": Act("abandon a task", _OWN, *AGENTS, own=True),
    "inbox": Act("read messages", _OWN, *AGENTS, own=True),
    "read": Act("acknowledge messages", _OWN, *AGENTS, own=True),
    "acknowledge": Act("acknowledge messages", _OWN, *AGENTS, own=True),
    "hand_off": Act("hand an agent off", "an agent hands off nobody but itself", *AGENTS),
    "drain": Act("carry on handoffs", _STARTS, *AGENTS),
    "drained": Act("carry on a handoff", _STARTS, *AGENTS),
    "job_step": Act("do the steps of an item", _JOBS, JOB_STEP),
    # what a reviewer does
    "judge": Act("accept work or send it back", _REVIEWS, REVIEWER),
    "rehearse": Act("try a merge", _REVIEWS, REVIEWER, COORDINATOR),
    # what a coordinator does in its project
    "tick": Act("tick", "only the coordinator ticks", COORDINATOR, own=True),
    "add": Act("add tasks", _PLANS, COORDINATOR),
    "add_list": Act("add tasks", _PLANS, COORDINATOR),
    "edit": Act("edit tasks", _PLANS, COORDINATOR),
    "retry": Act("open tasks again", _PLANS, COORDINATOR),
    "pause": Act("pause tasks", _PLANS, COORDINATOR),
    "archive": Act("archive tasks", _PLANS, COORDINATOR),
    "archive_ended": Act("archive tasks", _PLANS, COORDINATOR),
    "dispatch": Act("start agents", _STARTS, COORDINATOR),
    "resume": Act("resume agents", _STARTS, COORDINATOR),
    "stop": Act("stop agents", _STARTS, COORDINATOR),
    "kill": Act("kill agents", _STARTS, COORDINATOR),
    "message": Act("send messages to agents", "an agent is told something by its coordinator or a person", COORDINATOR),
    "tend": Act("continue failed turns", _STARTS, COORDINATOR),
    "merge": Act("merge work", "work is merged by the coordinator of the project or a person", COORDINATOR),
    "check_pull": Act("look after pull requests", _DECIDES, COORDINATOR),
    "tend_pulls": Act("look after pull requests", _DECIDES, COORDINATOR),
    # what only a person does
    "answer": Act("answer, approve or deny what agents ask", _DECIDES),
    "land": Act("land work", _DECIDES),
    "pull": Act("open a pull request", _DECIDES),
    "restore_merges": Act("restore merges", _DECIDES),
    "acknowledge_merges": Act("acknowledge that merges are gone", _DECIDES),
    "attach_words": Act("join an agent's terminal", _DECIDES),
    "coord_spawn": Act("start a coordinator", _STARTS),
    "coord_replace": Act("replace a coordinator", _STARTS, COORDINATOR),
    "coord_stop": Act("stop a coordinator", "a coordinator that wants to be replaced says `fleet handoff`"),
    "resume_all": Act("resume everything", _STARTS),
    "ingest": Act("import a graph", _PLANS),
    "register": Act("register a project", _SETS_UP),
    "registered": Act("register a project", _SETS_UP),
    "remove_project": Act("remove a project", _SETS_UP),
    "begin": Act("set a project up", _SETS_UP),
    "trust": Act("trust settings", "only a person trusts what a repository's settings run"),
    "remote_control": Act("let a coordinator be controlled from afar", _SETS_UP),
    "lift": Act("lift a limit", _SETS_UP),
    "install_hooks": Act("install hooks", _SETS_UP),
    "uninstall_hooks": Act("uninstall hooks", _SETS_UP),
    "sweep": Act("sweep up", _CLEANS),
    "keep": Act("let worktrees go", _CLEANS),
    "prune_archive": Act("prune the archive", _CLEANS),
    "rotate_operations": Act("rotate operations", _CLEANS),
    "acquire_prompt": Act("acquire a prompt for a dispatch", _STARTS),
    "release_prompt": Act("release what a dispatch holds", _CLEANS),
    "rewrite_prompt": Act("rewrite a prompt", _STARTS),
    "disown": Act("give up a claim", _CLEANS),
    "disown_dispatch": Act("give up a dispatch", _DECIDES),
    "excuse": Act("say that a process is not an agent's", _DECIDES),
    "repair_home": Act("repair a home", _SETS_UP),
    "run_job": Act("run a job", _JOBS),
    "resume_job": Act("resume a job", _JOBS),
    "cancel_job": Act("cancel a job", _JOBS),
    "retry_items": Act("try items again", _JOBS),
    "drop_items": Act("give items up", _JOBS),
}

_KINDS = {"coord": COORDINATOR, "reviewer": REVIEWER}
_ASK = 'ask the person: `fleet block --reason "WHAT YOU NEED"`'
_INSTEAD = {COORDINATOR: "leave it to the person: `fleet status` shows them what waits"}


def role_of(kind: DispatchKind, engine: str | None) -> str:
    """The role of a dispatch."""
    return JOB_STEP if engine == "job" else _KINDS.get(kind, WORKER)


def check(act: str, role: str, *, who: str) -> None:
    """Refuse an act that the table does not give to the role."""
    if role != PERSON and role not in ACTS[act].roles:
        raise refusal(act, role, who=who)


def refusal(act: str, role: str, *, who: str, rule: str = "") -> NotAllowed:
    """The refusal of an act, with the rule."""
    entry = ACTS[act]
    instead = _INSTEAD.get(role, _ASK)
    return NotAllowed(role=role, who=who, act=act, what=entry.what, rule=rule or entry.rule, instead=instead)


def is_freer(wanted: str, own: str | None) -> bool:
    """Whether an autonomy gives more freedom than somebody has who has this one; None has the least."""
    return AUTONOMY.index(wanted) > (AUTONOMY.index(own) if own in AUTONOMY else 0)
