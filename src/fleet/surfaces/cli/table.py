"""The table of commands: the module of each, and a one-line summary. `fleet --help` prints it without importing them."""

from __future__ import annotations

from fleet.surfaces.cli.hot.table import HOT


class Entry:
    """A command or a group in the table: its name, its module below `commands`, and a one-line summary."""

    __slots__ = ("module", "name", "summary")

    def __init__(self, name: str, module: str, summary: str) -> None:
        self.name = name
        self.module = module
        self.summary = summary


EVERY_DAY = (
    Entry("up", "projects.up", "Set up fleet for this repository and start its coordinator."),
    Entry("down", "projects.down", "Stop this project's coordinator and agents, and keep their work."),
    Entry("init", "projects.projects", "Register the repository you are in as a project."),
    Entry("add", "tasks.add", "Add a task, or a Markdown list of them."),
    Entry("run", "dispatch.run", "Add a task and start an agent on it."),
    Entry("status", "reads", "Show what is going on, on one page."),
    Entry("tui", "views.screen", "Open the screen, with one key for each act."),
    Entry("recap", "views.recap", "Show what happened in the last 24 hours."),
    Entry("review", "tasks.review", "Review finished work; accept it or send it back."),
    Entry("ps", "reads", "List the running agents and their tasks."),
    Entry("questions", "agents.messages", "List the open questions of agents."),
    Entry("answer", "agents.messages", "Answer a question of an agent."),
    Entry("approve", "agents.messages", "Permit what an agent asks to do."),
    Entry("deny", "agents.messages", "Refuse what an agent asks to do."),
    Entry("message", "agents.messages", "Send a message to an agent."),
    Entry("attach", "agents.agents", "Join an agent's terminal."),
    Entry("peek", "agents.agents", "Print what an agent's terminal shows now."),
    Entry("stop", "dispatch.run", "End an agent and keep its work."),
    Entry("resume", "dispatch.resume", "Continue the work of an agent that stopped."),
    Entry("land", "merge.land", "Fast-forward your branch to the merged work."),
    Entry("pr", "merge.pull_request", "Open a task's pull request, or check its state."),
    Entry("clean", "home.clean", "Release leaked sessions, worktrees and files, after asking once."),
    Entry("demo", "home.demo", "Watch scripted agents work through a graph, with mishaps."),
)
AGENTS = (
    *(Entry(hot.name, "tasks.hot", hot.summary) for hot in HOT if hot.short),
    Entry("inbox", "agents.messages", "Print the messages that wait for this agent."),
)
# Commands that people seldom need.
PLUMBING = (
    Entry("task", "tasks.group", "Add, change, show and list tasks."),
    Entry("project", "projects.projects", "Register repositories and list them."),
    Entry("dispatch", "dispatch.run", "Start an agent on a task."),
    Entry("coord", "coord.coord", "Start, replace, show and stop a project's coordinator."),
    Entry("handoff", "coord.handoff", "Replace an agent by a successor that knows what it knew."),
    Entry("handoffs", "coord.handoff", "List handoffs and show their documents."),
    Entry("drain", "coord.handoff", "Continue the handoffs that wait."),
    Entry("job", "jobs.jobs", "Run the same steps for many items."),
    Entry("agents", "agents.agents", "List the running agents."),
    Entry("logs", "agents.agents", "Print an agent's whole terminal output."),
    Entry("diff", "agents.agents", "Print what a task's branch changes."),
    Entry("kill", "dispatch.run", "End an agent; its task is failed."),
    Entry("merge", "merge.merge", "Merge a task's work."),
    Entry("merges", "merge.recorded", "List recorded merges, and restore missing ones."),
    Entry("rc", "coord.remote_control", "Allow or forbid remote control of a coordinator."),
    Entry("dispatches", "dispatch.dispatches", "List, show, settle and disown dispatches."),
    Entry("claims", "dispatch.claims", "List the claims: what is held outside the database, and by whom."),
    Entry("daemon", "home.daemon", "Start, stop and show the daemon of the fleet home."),
    Entry("home", "home.home", "Show the fleet home, or repair one that was moved."),
    Entry("engine", "agents.engines", "List, show and check the engines that agents run on."),
    Entry("hooks", "agents.hooks", "Install hooks, through which engines report what agents do."),
    Entry("limits", "agents.hooks", "List engines that a limit holds back, and release them."),
    Entry("ops", "views.operations", "List the operations: what was done, by whom and why."),
    Entry("config", "projects.settings", "Show the settings and where they come from."),
    Entry("trust", "projects.trust", "Trust the commands in a repository's fleet.toml."),
    Entry("notify", "home.notify", "Try the notifications, and list what you were told."),
    Entry("doctor", "views.doctor", "Check tools, permissions, disk and store."),
    Entry("maintenance", "home.clean", "Sweep leaks, rotate and prune old records."),
    Entry("completion", "home.completion", "Print the completion script of your shell."),
)
SECTIONS = (
    ("Every day", EVERY_DAY),
    ("For agents (they read their task from the environment)", AGENTS),
)

# The commands of the group `fleet task`.
TASK = (
    Entry("add", "tasks.write", "Add a task."),
    Entry("edit", "tasks.write", "Change a task, its tags or dependencies."),
    *(Entry(hot.name, "tasks.hot", hot.summary) for hot in HOT),
    Entry("unclaim", "tasks.move", "Give a claimed task back."),
    Entry("retry", "tasks.move", "Open a blocked or ended task again."),
    Entry("abandon", "tasks.move", "Mark a task as no longer wanted."),
    Entry("pause", "tasks.move", "Pause a task: no agent starts on it."),
    Entry("unpause", "tasks.move", "End the pause of a task."),
    Entry("archive", "tasks.move", "Hide ended tasks from listings."),
    Entry("show", "reads", "Show a task with its log and artifacts."),
    Entry("list", "reads", "List tasks, by status, tag, text or assignee."),
    Entry("ready", "reads", "List the tasks that could be started now."),
    Entry("why", "reads", "Explain why a task is not being worked on."),
    Entry("graph", "reads", "Draw the graph: a tree, Mermaid or DOT."),
    Entry("watch", "views.operations", "Follow changes of tasks as they happen."),
    Entry("import", "tasks.exchange", "Import a graph: fleet, workgraph or beads JSON Lines."),
    Entry("export", "tasks.exchange", "Write the graph as JSON Lines or tasks.md."),
)
# Commands that engines and tmux call, not people.
HIDDEN = (
    Entry("hook", "agents.hooks", "Record an event of an engine."),
    Entry("launch", "dispatch.run", "Become the agent of a dispatch."),
    Entry("settle", "dispatch.run", "Settle a dispatch whose agent has exited."),
)
# The entries of each LazyGroup by its name, of which "" is `fleet` itself.
GROUPS = {"": (*(entry for _title, part in SECTIONS for entry in part), *PLUMBING, *HIDDEN), "task": TASK}
