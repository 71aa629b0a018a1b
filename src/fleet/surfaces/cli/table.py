"""The table of commands: where each is, and one line about it. Help is printed from here without loading any of them."""

from __future__ import annotations

from fleet.surfaces.cli.hot_table import HOT


class Entry:
    """A command or group."""

    __slots__ = ("module", "name", "summary")

    def __init__(self, name: str, module: str, summary: str) -> None:
        self.name = name
        self.module = module
        self.summary = summary


EVERY_DAY = (
    Entry("init", "projects", "Register the repository you are in as a project."),
    Entry("run", "dispatching", "Add a task and start an agent on it."),
    Entry("status", "status", "What is going on, on one page."),
    Entry("ps", "agents", "Who works on what."),
    Entry("attach", "agents", "Join an agent's terminal."),
    Entry("peek", "agents", "What an agent shows just now."),
    Entry("stop", "dispatching", "End an agent and keep its work."),
    Entry("land", "work", "Move your branch to the merged work."),
    Entry("clean", "sweeping", "Sweep up what leaked, asking once."),
    Entry("demo", "demo", "Watch agents work through a graph, with bad luck."),
)
AGENTS = tuple(Entry(hot.name, "hot_click", hot.summary) for hot in HOT if hot.short)
PLUMBING = (
    Entry("task", "tasks", "Add, change, show and list tasks."),
    Entry("project", "projects", "Register repositories and list them."),
    Entry("dispatch", "dispatching", "Start an agent on a task."),
    Entry("agents", "agents", "Agents at work."),
    Entry("logs", "agents", "All that an agent showed."),
    Entry("diff", "agents", "What a task's branch changes."),
    Entry("kill", "dispatching", "End an attempt."),
    Entry("merge", "work", "Merge a task's work."),
    Entry("dispatches", "journals", "The journals of attempts."),
    Entry("claims", "claims", "What is held, and by whom."),
    Entry("engine", "engines", "The programs that agents run on."),
    Entry("ops", "operations", "What was done, by whom and why."),
    Entry("config", "config", "Settings and where they come from."),
    Entry("doctor", "doctor", "Check tools, permissions, disk and store."),
    Entry("maintenance", "sweeping", "Keep the home tidy."),
    Entry("completion", "completion", "Print the completion script of your shell."),
)
SECTIONS = (
    ("Every day", EVERY_DAY),
    ("Agents' own (they read their task from the environment)", AGENTS),
    ("Plumbing", PLUMBING),
)

TASK = (
    Entry("add", "tasks_write", "Add a task."),
    Entry("edit", "tasks_write", "Change a task, its tags or dependencies."),
    *(Entry(hot.name, "hot_click", hot.summary) for hot in HOT),
    Entry("unclaim", "tasks_move", "Give a task back."),
    Entry("retry", "tasks_move", "Open a blocked or ended task again."),
    Entry("abandon", "tasks_move", "Say that a task is not wanted any more."),
    Entry("pause", "tasks_move", "Hold a task back."),
    Entry("unpause", "tasks_move", "Let a paused task go on."),
    Entry("archive", "tasks_move", "Put ended tasks out of sight."),
    Entry("show", "tasks_read", "Everything about a task."),
    Entry("list", "tasks_read", "List tasks, by status, tag, text or assignee."),
    Entry("ready", "tasks_read", "What could be started now, most urgent first."),
    Entry("why", "tasks_read", "Why a task is not being worked on."),
    Entry("graph", "tasks_read", "Draw the graph: a tree, Mermaid or DOT."),
    Entry("watch", "operations", "Follow changes of tasks as they happen."),
    Entry("import", "tasks_exchange", "Take in a graph: fleet, workgraph or beads JSON Lines."),
    Entry("export", "tasks_exchange", "Write the graph as JSON Lines or tasks.md."),
)
# Not for people: what sessions and tmux call.
HIDDEN = (
    Entry("launch", "dispatching", "Become the agent of a dispatch."),
    Entry("settle", "dispatching", "Settle a dispatch whose agent has exited."),
)
GROUPS = {"": (*(entry for _title, part in SECTIONS for entry in part), *HIDDEN), "task": TASK}
