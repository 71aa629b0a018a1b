"""Draw the task graph as the lines of a tree: each task stands below its first dependency."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.tasks import Graph, GraphNode

_DEEPEST = 90


class GraphLine:
    """One line of the tree of tasks.

    `lead`: the branch characters before the task. `node`: the task, None for a line that is only a `remark`. `more`: the
    slugs of the task's further dependencies.
    """

    __slots__ = ("lead", "more", "node", "remark")

    def __init__(self, lead: str, node: GraphNode | None, more: tuple[str, ...] = (), remark: str = "") -> None:
        self.lead = lead
        self.node = node
        self.more = more
        self.remark = remark


def graph_lines(graph: Graph) -> Iterator[GraphLine]:
    """Yield the lines of a tree of tasks.

    A branch that becomes too deep to be drawn continues further below, at the left margin.
    """
    nodes = {node.slug: node for node in graph.nodes}
    needs: dict[str, list[str]] = {}
    for edge in graph.edges:
        needs.setdefault(edge.slug, []).append(edge.needs)
    below: dict[str, list[str]] = {}
    for slug in nodes:
        below.setdefault(needs.get(slug, [""])[0], []).append(slug)
    if not nodes:
        yield GraphLine("", None, remark="no tasks")
    tops = [""]
    for top in tops:
        if top:
            yield GraphLine("", None, remark=f"… below {top}:")
        stack = [(slug, "", "") for slug in reversed(below.get(top, []))]
        while stack:
            slug, lead, indent = stack.pop()
            yield GraphLine(lead, nodes[slug], tuple(needs.get(slug, [])[1:]))
            children = below.get(slug, [])
            if children and len(indent) >= _DEEPEST:
                tops.append(slug)
                yield GraphLine(f"{indent}└─ ", None, remark="… continues below")
                continue
            for number, child in enumerate(reversed(children)):
                last = number == 0
                stack.append((child, f"{indent}{'└─ ' if last else '├─ '}", f"{indent}{'   ' if last else '│  '}"))
