"""Which part of the daemon performs each method of `Fleet` that changes something, and the classes of their arguments.

quick: only rows change. The daemon's writer does it, in a transaction that it shares with other requests.
light: a thread of the daemon does it.
heavy: it starts or ends processes, merges, or takes long. A child process of the daemon does it, with the environment and the
       directory of whoever asks; it can be killed like any command.
own:   the asking process does it itself, because it is about that process: its session, its terminal.
"""

from __future__ import annotations

from fleet.model.agents.roles import ACTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Way = Literal["quick", "light", "heavy", "own"]

QUICK = frozenset(
    {
        "tasks.log",
        "tasks.artifact",
        "tasks.claim",
        "tasks.unclaim",
        "messages.inbox",
        "messages.acknowledge",
    }
)
LIGHT = frozenset(
    {
        "tasks.done",
        "tasks.fail",
        "tasks.block",
        "tasks.abandon",
        "tasks.add",
        "tasks.edit",
        "tasks.retry",
        "tasks.pause",
        "tasks.archive",
        "graph.add_list",
        "graph.archive_ended",
        "messages.send",
        "messages.answer",
        "messages.approve",
        "messages.approve_all",
        "reviews.judge",
        "merge.acknowledge",
        "projects.remote_control",
        "engines.lift",
        "engines.allow",
        "settings.trust",
        "coord.hand_off",
        "coord.drain_later",
        "hooks.event",
        "hooks.answer",
        "hooks.messages",
        "hooks.acknowledge",
        "claims.disown",
        "dispatches.excuse",
        "dispatches.resumable",
        "jobs.retry",
        "jobs.drop",
        # Notices are sent from the daemon's environment, not from that of the asking process.
        "notices.send_due",
        "notices.test",
    }
)
OWN = {
    "sessions.launch": "the asking process becomes the agent",
    "jobs.step": "the steps run in the session of the item",
    "agents.attach_words": "it changes nothing; the terminal is the asker's",
    "projects.keep_environment": "it keeps the variables of the asking process",
    "homes.install_daemon": "the system starts the daemon with the path of the asking process",
    "homes.uninstall_daemon": "the daemon ends by it",
    "homes.repair": "a home that was moved has no daemon",
    "coord.tick_held": "only the daemon calls it, for the seats that it holds",
    "coord.write_log": "only the daemon calls it, for the seats that it holds",
    "agents.look_after": "only the daemon calls it, as a duty",
    "dispatches.resume_after_boot": "only the daemon calls it, as a duty",
    "operations.note_upkeep": "only the daemon calls it, as a duty",
    "operations.why_clock_doubted": "only the daemon calls it, as a duty",
}
# Methods that change something without being an act of the table of roles: they launch an agent that was asked for, or settle
# one whose process is proven dead.
BESIDES = ("sessions.launch", "sessions.settle", "sessions.settle_soon", "dispatches.resumable")
WAYS: dict[str, Way] = {
    method: "quick" if method in QUICK else "light" if method in LIGHT else "own" if method in OWN else "heavy"
    for method in (*ACTS, *BESIDES)
}
# The classes of arguments that are more than plain JSON: module and name.
ARGUMENTS = {
    ("dispatches.start", "wanted"): ("fleet.verbs.dispatch.plan", "Wanted"),
    ("dispatches.start_new", "wanted"): ("fleet.verbs.dispatch.plan", "Wanted"),
    ("dispatches.check_start", "wanted"): ("fleet.verbs.dispatch.plan", "Wanted"),
    ("coord.start", "wanted"): ("fleet.verbs.dispatch.plan", "Wanted"),
    ("coord.replace", "wanted"): ("fleet.verbs.dispatch.plan", "Wanted"),
    ("tasks.edit", "wanted"): ("fleet.verbs.tasks.edit", "Edit"),
    ("tasks.list", "filters"): ("fleet.verbs.tasks.show", "Filters"),
    ("operations.list", "which"): ("fleet.verbs.views.operations", "OperationFilter"),
    ("operations.with_archived", "which"): ("fleet.verbs.views.operations", "OperationFilter"),
    ("projects.begin", "chosen"): ("fleet.model.results.projects", "Chosen"),
    ("claims.acquire_prompt", "wanted"): ("fleet.verbs.agents.prompts", "WantedPrompt"),
    ("graph.add_list", "items"): ("fleet.model.tasks.markdown_list", "Item"),
    ("jobs.run", "asked"): ("fleet.verbs.jobs.begin", "JobRequest"),
    ("jobs.plan", "asked"): ("fleet.verbs.jobs.begin", "JobRequest"),
}
# The classes whose fields a method takes as further arguments: module and name. A field that is null has its default.
FURTHER = {
    "tasks.add": ("fleet.verbs.tasks.add", "NewTask"),
    "graph.add_list": ("fleet.verbs.tasks.add", "NewTask"),
}
# Arguments that are functions. The daemon pushes the values to call them with; it ends the act when `wanted` says so.
CALLBACKS = frozenset({"tell", "progress", "wanted"})
# These methods continue a job from its state in the store. When such a request is repeated, a change that the first try
# has committed may be due again: so the repetition makes its changes under new keys.
METHODS_THAT_RUN_JOBS = frozenset({"jobs.run", "jobs.resume"})


def is_forwarded(method: str) -> bool:
    """Whether a running daemon performs this method of `Fleet` (such as `tasks.add`), not the asking process."""
    return WAYS.get(method, "own") != "own"
