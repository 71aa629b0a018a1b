"""The table of the commands that only read, for the fast entry point and for click."""

from __future__ import annotations

from fleet.model.tasks.steps import STATUSES
from fleet.surfaces.cli.hot.table import COMMON, Option, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.surfaces.cli.hot.table import Values


class Read:
    """A command that only reads: its name, its help text, its options, and the module and the function that run it.

    `argument` is the name of its one argument, '' for none.
    """

    __slots__ = ("argument", "function", "help", "module", "name", "options")

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002
        *,
        module: str,
        function: str,
        argument: str = "",
        options: tuple[Option, ...],
    ) -> None:
        self.name = name
        self.help = help
        self.module = module
        self.function = function
        self.argument = argument
        self.options = options

    def parse(self, words: list[str]) -> Values | None:
        """Return the options and the argument of this command by name; None when click has to parse the words."""
        return read_words(self.options, [self.argument] if self.argument else [], words)

    def perform(self, values: Values) -> None:
        """Import the command's function and call it with these values.

        Missing options are None, as are missing flags that share a name (`into`); other missing flags are False.
        """
        defaults = {option.name: False if option.flag and not option.into else None for option in self.options}
        module = __import__(f"fleet.surfaces.cli.commands.{self.module}", fromlist=[self.function])
        getattr(module, self.function)(**defaults | values)


_PROJECT, _AS, _KEY, _JSON = COMMON
_LIMIT = Option("-n", "--limit", metavar="N", is_count=True, help="print at most N")
_PS = """List the running agents: task, state, where the state was learnt (report, hook, session file, screen, process) and when.

\b
Examples:
  fleet ps
  fleet ps -p web --json
"""

READS = (
    Read(
        "status",
        """Show what is going on, on one page: questions, reviews, problems, running agents, and a row for each project.

DONE also counts tasks that were merged and archived.

\b
Examples:
  fleet status
  fleet status -p web
  fleet status --json | jq .needs_you
  fleet status --metrics
""",
        module="views.status",
        function="show_status",
        options=(
            Option("-p", "--project", metavar="NAME", help="only this project (default: all)"),
            Option("--metrics", help="print figures as OpenMetrics text, for Prometheus and others"),
            _JSON,
        ),
    ),
    Read("ps", _PS, module="agents.listing", function="list_agents", options=(_PROJECT, _JSON)),
    Read(
        "agents list",
        _PS.replace("fleet ps", "fleet agents list"),
        module="agents.listing",
        function="list_agents",
        options=(_PROJECT, _JSON),
    ),
    Read(
        "task show",
        """Show a task: its fields, dependencies, log and artifacts.

\b
Examples:
  fleet task show parser
  fleet task show parser --json | jq .log
""",
        module="tasks.read",
        function="show_task",
        argument="slug",
        options=(_PROJECT, _JSON),
    ),
    Read(
        "task list",
        """List tasks, by status, tag, text or assignee.

\b
Examples:
  fleet task list
  fleet task list --status failed --tag api
  fleet task list --text login --json
""",
        module="tasks.read",
        function="list_tasks",
        options=(
            Option("-s", "--status", choices=STATUSES, help="only tasks in this status"),
            Option("-t", "--tag", metavar="TAG", help="only tasks with this tag"),
            Option("--text", metavar="TEXT", help="only tasks with this text in slug, title or description"),
            Option("--assignee", metavar="NAME", help="only tasks of this assignee"),
            Option("--archived", help="include archived tasks"),
            _LIMIT,
            _PROJECT,
            _JSON,
        ),
    ),
    Read(
        "task ready",
        """List the tasks that could be started now, most urgent first.

\b
Examples:
  fleet task ready
  fleet task ready --limit 1 --json
""",
        module="tasks.read",
        function="list_ready",
        options=(_LIMIT, _PROJECT, _JSON),
    ),
    Read(
        "task why",
        """Explain why a task is not being worked on: one sentence for each blocker, down to the first cause.

\b
Examples:
  fleet task why write-the-tests
""",
        module="tasks.why",
        function="explain_task",
        argument="slug",
        options=(_PROJECT, _JSON),
    ),
    Read(
        "task graph",
        """Draw the graph: a tree in the terminal, Mermaid or DOT.

In the tree a task stands below the task that it waits for.

\b
Examples:
  fleet task graph
  fleet task graph --mermaid > graph.md
  fleet task graph --dot | dot -Tsvg > graph.svg
""",
        module="tasks.read",
        function="draw_graph",
        options=(
            Option("--mermaid", into="form", help="print Mermaid, for Markdown pages"),
            Option("--dot", into="form", help="print DOT, for Graphviz"),
            Option("--archived", help="include archived tasks"),
            _PROJECT,
            _JSON,
        ),
    ),
)


def find(words: list[str]) -> tuple[Read, list[str]] | None:
    """Return the read command that these words call, and the remaining words; None when they call none."""
    for read in READS:
        name = read.name.split(" ")
        if words[: len(name)] == name:
            return read, words[len(name) :]
    return None
