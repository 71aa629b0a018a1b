"""The table of commands: where each is, and one line about it. Help is printed from here without loading any of them."""

from __future__ import annotations

from fleet.surfaces.cli.hot.table import HOT


class Entry:
    """A command or group."""

    __slots__ = ("module", "name", "summary")

    def __init__(self, name: str, module: str, summary: str) -> None:
        self.name = name
        self.module = module
        self.summary = summary


EVERY_DAY = (
    Entry("up", "projects.up", "Begin in this repository: settings, coordinator, and what to do next."),
    Entry("init", "projects.projects", "Register the repository you are in as a project."),
    Entry("add", "tasks.add", "Add a task, or a Markdown list of them."),
    Entry("run", "dispatch.run", "Add a task and start an agent on it."),
    Entry("status", "reads", "What is going on, on one page."),
    Entry("recap", "views.recap", "What happened since last night."),
    Entry("review", "tasks.review", "Look at finished work; accept it or send it back."),
    Entry("ps", "reads", "Who works on what."),
    Entry("questions", "agents.messages", "What agents ask."),
    Entry("answer", "agents.messages", "Answer what an agent asks."),
    Entry("approve", "agents.messages", "Let an agent do what it asks for."),
    Entry("deny", "agents.messages", "Do not let it."),
    Entry("message", "agents.messages", "Say something to an agent."),
    Entry("attach", "agents.agents", "Join an agent's terminal."),
    Entry("peek", "agents.agents", "What an agent shows just now."),
    Entry("stop", "dispatch.run", "End an agent and keep its work."),
    Entry("resume", "dispatch.resume", "Go on where an agent stopped."),
    Entry("land", "merge.land", "Move your branch to the merged work."),
    Entry("pr", "merge.pull_request", "Open a task's pull request, or see how far it is."),
    Entry("clean", "home.clean", "Sweep up what leaked, asking once."),
    Entry("demo", "home.demo", "Watch agents work through a graph, with bad luck."),
)
AGENTS = (
    *(Entry(hot.name, "tasks.hot", hot.summary) for hot in HOT if hot.short),
    Entry("inbox", "agents.messages", "What waits for you, an agent."),
)
PLUMBING = (
    Entry("task", "tasks.group", "Add, change, show and list tasks."),
    Entry("project", "projects.projects", "Register repositories and list them."),
    Entry("dispatch", "dispatch.run", "Start an agent on a task."),
    Entry("coord", "coord.coord", "The project's coordinator."),
    Entry("handoff", "coord.handoff", "Let an agent make way for a successor."),
    Entry("handoffs", "coord.handoff", "Handoffs and their documents."),
    Entry("drain", "coord.handoff", "Carry on what was handed off."),
    Entry("job", "jobs.jobs", "The same steps for many items."),
    Entry("agents", "agents.agents", "Agents at work."),
    Entry("logs", "agents.agents", "All that an agent showed."),
    Entry("diff", "agents.agents", "What a task's branch changes."),
    Entry("kill", "dispatch.run", "End an attempt."),
    Entry("merge", "merge.merge", "Merge a task's work."),
    Entry("merges", "merge.recorded", "What was merged, and whether it is still there."),
    Entry("rc", "coord.remote_control", "Whether a coordinator may be controlled from afar."),
    Entry("dispatches", "dispatch.dispatches", "The journals of attempts."),
    Entry("claims", "dispatch.claims", "What is held, and by whom."),
    Entry("home", "home.home", "The fleet home: where it is; repair one that was moved."),
    Entry("engine", "agents.engines", "The programs that agents run on."),
    Entry("hooks", "agents.hooks", "How engines tell what agents do."),
    Entry("limits", "agents.hooks", "Engines that are held back."),
    Entry("ops", "views.operations", "What was done, by whom and why."),
    Entry("config", "projects.settings", "Settings and where they come from."),
    Entry("trust", "projects.trust", "Trust what a repository's fleet.toml runs."),
    Entry("doctor", "views.doctor", "Check tools, permissions, disk and store."),
    Entry("maintenance", "home.clean", "Keep the home tidy."),
    Entry("completion", "home.completion", "Print the completion script of your shell."),
)
SECTIONS = (
    ("Every day", EVERY_DAY),
    ("Agents' own (they read their task from the environment)", AGENTS),
    ("Plumbing", PLUMBING),
)

TASK = (
    Entry("add", "tasks.write", "Add a task."),
    Entry("edit", "tasks.write", "Change a task, its tags or dependencies."),
    *(Entry(hot.name, "tasks.hot", hot.summary) for hot in HOT),
    Entry("unclaim", "tasks.move", "Give a task back."),
    Entry("retry", "tasks.move", "Open a blocked or ended task again."),
    Entry("abandon", "tasks.move", "Say that a task is not wanted any more."),
    Entry("pause", "tasks.move", "Hold a task back."),
    Entry("unpause", "tasks.move", "Let a paused task go on."),
    Entry("archive", "tasks.move", "Put ended tasks out of sight."),
    Entry("show", "reads", "Everything about a task."),
    Entry("list", "reads", "List tasks, by status, tag, text or assignee."),
    Entry("ready", "reads", "What could be started now, most urgent first."),
    Entry("why", "reads", "Why a task is not being worked on."),
    Entry("graph", "reads", "Draw the graph: a tree, Mermaid or DOT."),
    Entry("watch", "views.operations", "Follow changes of tasks as they happen."),
    Entry("import", "tasks.exchange", "Take in a graph: fleet, workgraph or beads JSON Lines."),
    Entry("export", "tasks.exchange", "Write the graph as JSON Lines or tasks.md."),
)
# Not for people: what sessions and tmux call.
HIDDEN = (
    Entry("hook", "agents.hooks", "Take in an event of an engine."),
    Entry("launch", "dispatch.run", "Become the agent of a dispatch."),
    Entry("settle", "dispatch.run", "Settle a dispatch whose agent has exited."),
)
GROUPS = {"": (*(entry for _title, part in SECTIONS for entry in part), *HIDDEN), "task": TASK}
