"""Draw the task graph: as a tree for the terminal, as Mermaid, as DOT."""

from __future__ import annotations

from fleet.api.views.graph_lines import graph_lines
from fleet.api.views.tones import TASK_MARKS, TASK_TONES
from fleet.model.text import escapes
from fleet.surfaces.cli.ui import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.tasks import Graph, GraphNode

_FILLS = {"done": "#dbeafe", "in_progress": "#cffafe", "failed": "#fee2e2", "blocked": "#fef3c7", "ready": "#dcfce7"}


def tree(graph: Graph) -> Iterator[str]:
    """Yield the lines of a tree: each task stands below its first dependency, and names its other dependencies."""
    for line in graph_lines(graph):
        shown = _task_line(line.node, list(line.more)) if line.node is not None else line.remark
        yield f"{line.lead}{shown if line.node or not _is_dim(line.remark) else terminal.paint(shown, 'dim')}"


def _is_dim(remark: str) -> bool:
    """Whether a remark in the tree is printed dim."""
    return remark.startswith("…")


def _task_line(node: GraphNode, more: list[str]) -> str:
    """Return a task's line in the tree: mark, slug, title, and its dependencies other than the first."""
    also = terminal.paint(f"  (also after {', '.join(more)})", "dim") if more else ""
    mark = terminal.paint(TASK_MARKS[node.state], TASK_TONES[node.state])
    return f"{mark} {node.slug}  {terminal.paint(escapes.line(node.title), 'dim')}{also}"


def mermaid(graph: Graph) -> Iterator[str]:
    """Yield the lines of the graph as a Mermaid flowchart."""
    yield "flowchart TD"
    ids = {node.slug: f"t{number}" for number, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        title = node.title.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")
        yield f'  {ids[node.slug]}["{title}"]:::{node.state}'
    for edge in graph.edges:
        yield f"  {ids[edge.needs]} --> {ids[edge.slug]}"
    for state, fill in _FILLS.items():
        yield f"  classDef {state} fill:{fill}"


def dot(graph: Graph) -> Iterator[str]:
    """Yield the lines of the graph as a Graphviz digraph."""
    yield "digraph fleet {"
    yield '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica"];'
    for node in graph.nodes:
        title = node.title.replace("\\", "\\\\").replace('"', '\\"')
        yield f'  "{node.slug}" [label="{title}", fillcolor="{_FILLS.get(node.state, "white")}"];'
    for edge in graph.edges:
        yield f'  "{edge.needs}" -> "{edge.slug}";'
    yield "}"
