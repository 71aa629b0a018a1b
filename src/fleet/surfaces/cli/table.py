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
    Entry("up", "beginning", "Begin in this repository: settings, coordinator, and what to do next."),
    Entry("init", "projects", "Register the repository you are in as a project."),
    Entry("add", "adding", "Add a task, or a Markdown list of them."),
    Entry("run", "dispatching", "Add a task and start an agent on it."),
    Entry("status", "status", "What is going on, on one page."),
    Entry("recap", "recapping", "What happened since last night."),
    Entry("review", "reviewing", "Look at finished work; accept it or send it back."),
    Entry("ps", "agents", "Who works on what."),
    Entry("questions", "talking", "What agents ask."),
    Entry("answer", "talking", "Answer what an agent asks."),
    Entry("approve", "talking", "Let an agent do what it asks for."),
    Entry("deny", "talking", "Do not let it."),
    Entry("message", "talking", "Say something to an agent."),
    Entry("attach", "agents", "Join an agent's terminal."),
    Entry("peek", "agents", "What an agent shows just now."),
    Entry("stop", "dispatching", "End an agent and keep its work."),
    Entry("resume", "resuming", "Go on where an agent stopped."),
    Entry("land", "work", "Move your branch to the merged work."),
    Entry("pr", "pulling", "Open a task's pull request, or see how far it is."),
    Entry("clean", "sweeping", "Sweep up what leaked, asking once."),
    Entry("demo", "demo", "Watch agents work through a graph, with bad luck."),
)
AGENTS = (
    *(Entry(hot.name, "hot_click", hot.summary) for hot in HOT if hot.short),
    Entry("inbox", "talking", "What waits for you, an agent."),
)
PLUMBING = (
    Entry("task", "tasks", "Add, change, show and list tasks."),
    Entry("project", "projects", "Register repositories and list them."),
    Entry("dispatch", "dispatching", "Start an agent on a task."),
    Entry("coord", "coordinating", "The project's coordinator."),
    Entry("handoff", "handing", "Let an agent make way for a successor."),
    Entry("handoffs", "handing", "Handoffs and their documents."),
    Entry("drain", "handing", "Carry on what was handed off."),
    Entry("job", "jobs", "The same steps for many items."),
    Entry("agents", "agents", "Agents at work."),
    Entry("logs", "agents", "All that an agent showed."),
    Entry("diff", "agents", "What a task's branch changes."),
    Entry("kill", "dispatching", "End an attempt."),
    Entry("merge", "work", "Merge a task's work."),
    Entry("merges", "merges", "What was merged, and whether it is still there."),
    Entry("rc", "remote", "Whether a coordinator may be controlled from afar."),
    Entry("dispatches", "journals", "The journals of attempts."),
    Entry("claims", "claims", "What is held, and by whom."),
    Entry("home", "homes", "The fleet home: where it is; repair one that was moved."),
    Entry("engine", "engines", "The programs that agents run on."),
    Entry("hooks", "hooks", "How engines tell what agents do."),
    Entry("limits", "hooks", "Engines that are held back."),
    Entry("ops", "operations", "What was done, by whom and why."),
    Entry("config", "config", "Settings and where they come from."),
    Entry("trust", "trusting", "Trust what a repository's fleet.toml runs."),
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
    Entry("hook", "hooks", "Take in an event of an engine."),
    Entry("launch", "dispatching", "Become the agent of a dispatch."),
    Entry("settle", "dispatching", "Settle a dispatch whose agent has exited."),
)
GROUPS = {"": (*(entry for _title, part in SECTIONS for entry in part), *HIDDEN), "task": TASK}
