"""The page with a project's task graph, coloured by the tasks' states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fleet.api.views.graph_lines import graph_lines
from fleet.api.views.tones import TASK_MARKS, TASK_TONES
from fleet.model.text import escapes
from fleet.surfaces.tui.pages.live_page import LivePage

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.tasks import GraphNode
    from fleet.surfaces.tui.look import Look


class GraphPage(LivePage):
    """The page that draws the tasks of a project as a tree, each below the task it waits for."""

    def __init__(self, project: str, look: Look, home: str) -> None:
        super().__init__(f"Graph of {project}", look, home)
        self._project = project

    def fetch(self, fleet: Fleet) -> list[Text]:
        """Return the legend with the counts of each state, and the lines of the tree."""
        graph = fleet.graph.show(project=self._project)
        lines = []
        for each in graph_lines(graph):
            line = Text()
            line.append(each.lead, style=self.look.style("dim"))
            if each.node is None:
                line.append(each.remark, style=self.look.style("dim"))
            else:
                self._add_task(line, each.node, each.more)
            lines.append(line)
        counts: dict[str, int] = {}
        for node in graph.nodes:
            counts[node.state] = counts.get(node.state, 0) + 1
        legend = Text()
        for state, number in counts.items():
            legend.append(
                f"{TASK_MARKS[state]} {state.replace('_', ' ')} {number}   ", style=self.look.style(TASK_TONES[state])
            )
        return [legend, Text(""), *lines]

    def _add_task(self, line: Text, node: GraphNode, more: tuple[str, ...]) -> None:
        """Append a task to its line: mark, slug, title, state, and in `more` the other tasks that it waits for."""
        line.append(f"{TASK_MARKS[node.state]} ", style=self.look.style(TASK_TONES[node.state], bold=True))
        line.append(node.slug, style=self.look.style(TASK_TONES[node.state], bold=node.state == "in_progress"))
        line.append(f"  {escapes.line(node.title)}", style=self.look.style("dim"))
        if node.state not in {"ready", "waiting"}:
            line.append(f"  {node.state.replace('_', ' ')}", style=self.look.style(TASK_TONES[node.state]))
        if more:
            line.append(f"  also after {', '.join(more)}", style=self.look.style("dim"))
