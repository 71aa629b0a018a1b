"""The paths of files and folders in a fleet home, relative to it. No other file spells these names."""

from __future__ import annotations

from fleet import model

DATABASE = "fleet.db"
WRITERS_LOCK = "fleet.db.writer"
RECORD = "home.json"
RECORD_COPY = "locks/home.json"  # read when the first is missing or damaged
TMUX_SOCKET = "tmux.sock"
TMUX_SETTINGS = "tmux.conf"
UPKEEP = "locks/upkeep"  # when old operations and journals were last removed
CLOCK = "locks/clock"  # when a sweep last looked at the clock, and until when the clock is doubted (0: it is not)
RESUMED_BOOT = "locks/resumed-boot"  # the boot in which everything that was lost before it has been resumed
DAEMON_SOCKET = model.DAEMON_SOCKET  # for persons, and for agents with their token
AGENTS_SOCKET = (
    "door/agents.sock"  # only for agents with their token. A sandbox shows the folder: each daemon makes a new socket
)
FLEET_LINK = "bin/fleet"
LAST_HOOK_ERROR = "hooks/last-error"
KEPT_ENVIRONMENT = "environment.json"  # what the last `fleet up` kept of the environment of the person who ran it

PROJECTS = "projects"
INBOX = "inbox"
INBOX_ARCHIVE = "inbox/archive"
HANDOFFS = "handoffs"
LOGS = "logs"
DAEMON_LOG = "logs/daemon.log"
LOCKS = "locks"
EFFECT_LOCKS = "locks/effects"
DISPATCHES = "dispatches"
JOURNALS = "dispatches/archive"
OPERATIONS = "operations"
TRASH = "trash"
NAMESPACES = "rooms"
BACKUPS = "backups"
ENGINES = "engines"
PRICES = "prices.toml"
PROMPTS = "prompts"
CHECKS = "check"
# The folders of a project: a task's worktree, a task's notes, a finisher's tree.
WORKTREES, WORKERS, MERGES = "worktrees", "workers", "merges"
FOLDERS_OF_PROJECT = (WORKTREES, WORKERS, MERGES)


def unfinished_link(name: str) -> str:
    """Return where a symlink is created before it is renamed into place: not in bin/, which agents have on their PATH."""
    return f"locks/{name}.new"


def project_folder(project: str, folder: str) -> str:
    """Return the path of one of a project's folders, such as those in FOLDERS_OF_PROJECT."""
    return f"projects/{project}/{folder}"


def worktree(project: str, slug: str) -> str:
    """Return the path of a task's worktree."""
    return f"projects/{project}/worktrees/{slug}"


def merge_tree(project: str, dispatch: str) -> str:
    """Return the path of the merge tree of a finisher, given the finisher's dispatch."""
    return f"projects/{project}/merges/{dispatch}"


def warm_tree(project: str) -> str:
    """Return the path of a project's warm tree: the merge tree that is kept, with its setup, for the next merge."""
    return f"projects/{project}/merges/warm"


def worker_dir(project: str, slug: str) -> str:
    """Return the path of the folder with fleet's notes on a task's worktree."""
    return f"projects/{project}/workers/{slug}"


def setup_mark(project: str, slug: str) -> str:
    """Return the path of the file that says that a worktree was set up."""
    return f"{worker_dir(project, slug)}/set-up"


def copied_files(project: str, slug: str) -> str:
    """Return the path of the list of ignored files that were copied into a worktree."""
    return f"{worker_dir(project, slug)}/copied.json"


def changed_before(project: str, slug: str) -> str:
    """Return the path of the list of files that git reported as changed before anybody worked in a worktree."""
    return f"{worker_dir(project, slug)}/changed.json"


def coord_state(project: str) -> str:
    """Return the path of the file with the state of a project, written by its coordinator."""
    return f"projects/{project}/coord-state.json"


def pulls(project: str) -> str:
    """Return the path of the file with the states of a project's pull requests."""
    return f"projects/{project}/pulls.json"


def project_lock(project: str, name: str) -> str:
    """Return the path of the file of a project's gate."""
    return f"projects/{project}/.locks/{name}.lock"


def lock(name: str) -> str:
    """Return the path of the file of a gate of the home."""
    return f"locks/{name}.lock"


def effect_lock(claim: str) -> str:
    """Return the path of the file of a claim's effect lock."""
    return f"locks/effects/{claim}.lock"


def prompt(dispatch: str) -> str:
    """Return the path of the file with an agent's prompt."""
    return f"inbox/{dispatch}.md"


def agent_environment(dispatch: str) -> str:
    """Return the path of the file with the variables for an agent that is to be launched."""
    return f"environments/{dispatch}.json"


def log(dispatch: str, about: str = "") -> str:
    """Return the path of the file with an agent's screen output.

    With `about`, such as "verify", it is the output of a command that ran for the agent.
    """
    return f"logs/{dispatch}.{about}.log" if about else f"logs/{dispatch}.log"


def handoff(dispatch: str, entry: str) -> str:
    """Return the path of the document of a handoff."""
    return f"handoffs/{dispatch}-{entry}.md"


def job(ident: str, name: str = "") -> str:
    """Return the path of a job's folder, or of the file `name` in it."""
    return f"jobs/{ident}/{name}" if name else f"jobs/{ident}"


def job_lock(ident: str) -> str:
    """Return the path of the lock that a job's runner holds and its children inherit."""
    return job(ident, "children.lock")


def job_step(ident: str, name: str = "") -> str:
    """Return the path of the folder with the output of a job's steps, or of the file `name` in it."""
    return job(ident, f"steps/{name}" if name else "steps")


def trust(project: str) -> str:
    """Return the path of the file with the settings of a repository that a person has trusted."""
    return f"trust/{project}.json"


def lock_folders(project: str) -> tuple[str, ...]:
    """Return the paths of the folders with the lock files of a project's and its tasks' gates."""
    return (project_folder(project, ".locks"), f"locks/{work_gate_name(project, '')}".rstrip("/"))


def work_gate_name(project: str, slug: str) -> str:
    """Return the name of the gate that is a task's work lock."""
    return f"work-{project}/{slug}"


def allowed(project: str) -> str:
    """Return the path of the file with the commands that a person has always allowed to the agents of a project."""
    return f"allow/{project}.json"


def files_of_project(project: str) -> tuple[str, ...]:
    """Return the paths of the files about a project as a whole; they are removed with it."""
    return (coord_state(project), pulls(project), trust(project), allowed(project))


def removed(project: str, at: int) -> str:
    """Return the path of the file with the tasks of a removed project; `at` is when it was removed, in milliseconds."""
    return f"removed/{project}-{at}.jsonl"


def rules_folder(project: str) -> str:
    """Return the path of the folder with the rule files of a project's agents; it is removed with the project."""
    return f"rules/{project}"


def rules(project: str, engine: str, role: str) -> str:
    """Return the path of the file that tells an engine which commands agents of a project in a role may run."""
    return f"{rules_folder(project)}/{engine}-{role}.toml"


def hook_dialect(engine: str) -> str:
    """Return the path of the file with the dialect of an engine's hooks."""
    return f"hooks/{engine}.dialect.json"


def hook_settings(engine: str, autonomy: str | None) -> str:
    """Return the path of the settings that tell an engine which hooks to call, at an autonomy (None: no level is set)."""
    return f"hooks/{engine}-{autonomy or 'any'}.json"
