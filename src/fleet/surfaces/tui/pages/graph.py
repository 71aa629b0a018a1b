"""The page with a project's task graph, coloured by the tasks' states."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from fleet.api.views.graph_lines import graph_lines
from fleet.api.views.rows import GROUPS
from fleet.api.views.tones import glyph_of, tone_of
from fleet.model.text import escapes
from fleet.surfaces.tui.pages.live_page import LivePage

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.model.results.tasks import GraphNode
    from fleet.model.results.views import RowView
    from fleet.model.states import Tone
    from fleet.surfaces.tui.look import ScreenLook


class GraphPage(LivePage):
    """The page that draws the tasks of a project as a tree, each below the task it waits for.

    `rows` returns the rows of the board by key; a task that has a row there is drawn in the same way.
    """

    def __init__(self, project: str, look: ScreenLook, home: str, *, rows: Callable[[], dict[str, RowView]]) -> None:
        super().__init__(f"Graph of {project}", look, home)
        self._project = project
        self._rows = rows

    def fetch(self, fleet: Fleet) -> list[Text]:
        """Return the legend with the counts of each state, and the lines of the tree."""
        graph, rows = fleet.graph.show(project=self._project), self._rows()
        shown = {node.slug: _shown(rows.get(f"{self._project}/{node.slug}"), node) for node in graph.nodes}
        lines = []
        for each in graph_lines(graph):
            line = Text()
            line.append(each.lead, style=self.look.style("dim"))
            if each.node is None:
                line.append(each.remark, style=self.look.style("dim"))
            else:
                self._add_task(line, each.node, shown[each.node.slug], each.more)
            lines.append(line)
        return [self._legend(list(shown.values())), Text(""), *lines]

    def _legend(self, shown: list[_Shown]) -> Text:
        """Return the groups of the tasks, each with its glyph and how many tasks it has, the most urgent first."""
        legend = Text()
        for group in GROUPS:
            if number := sum(each.group == group for each in shown):
                text = f"{glyph_of(group, '')} {group} {number}  "
                legend.append(text, style=self.look.style(tone_of(group, "")))
        return legend

    def _add_task(self, line: Text, node: GraphNode, shown: _Shown, more: tuple[str, ...]) -> None:
        """Append a task to its line: glyph, slug, state, title, and in `more` the other tasks that it waits for."""
        line.append(f"{shown.glyph} ", style=self.look.style(shown.tone, bold=True))
        line.append(node.slug, style=self.look.style(shown.tone, bold=shown.group == "working"))
        line.append(f"  {shown.state}", style=self.look.style(shown.tone))
        line.append(f"  {escapes.line(node.title)}", style=self.look.style("dim"))
        if more:
            line.append(f"  also after {', '.join(more)}", style=self.look.style("dim"))


class _Shown(NamedTuple):
    """How a task looks: its group, and the glyph, word and tone of its row on the board."""

    group: str
    glyph: str
    state: str
    tone: Tone


def _shown(row: RowView | None, node: GraphNode) -> _Shown:
    """Return how a task looks: as its row on the board, else by its own state."""
    if row is not None:
        return _Shown(row.group, row.glyph, row.state, row.tone)
    group = {"in_progress": "working", "blocked": "parked", "open": "ready"}.get(node.state, node.state)
    return _Shown(group, glyph_of(group, ""), node.state.replace("_", " "), tone_of(group, ""))
