"""A chain of 50 000 tasks: drawn, listed and explained in time that grows with its length, not with its square."""

import json
import resource

import pytest

from fleet.model.results.tasks import EdgeView, Graph, GraphNode
from fleet.model.tasks import graph
from fleet.surfaces.cli.ui import graph_drawing

LONG = 50_000
# Seconds of a processor; drawn with all of its indentation it took 135.
ENOUGH = 10.0


def cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def chain(length: int) -> str:
    tasks = ({"slug": f"t{n:05}", "title": "T", "after": [f"t{n - 1:05}"] if n else []} for n in range(length))
    return "".join(f"{json.dumps(task)}\n" for task in tasks)


@pytest.mark.req("GRAPH-7")
@pytest.mark.slow("a graph of 50 000 tasks")
def test_a_long_chain_is_drawn_listed_and_explained_in_seconds(program):
    program("init", "--name", "p").ok()
    assert program("task", "import", "-", stdin=chain(LONG)).code == 0
    for words in (("graph",), ("graph", "--json"), ("graph", "--dot"), ("list",), ("why", f"t{LONG - 1:05}")):
        before = cpu()
        said = program("task", *words).ok().out
        assert cpu() - before < ENOUGH, words
        assert words[0] == "why" or f"t{LONG - 1:05}" in said
    refused = program("task", "edit", "t00000", "--after", f"t{LONG - 1:05}")
    refused.refused(14, "cycle", "more")
    assert len(refused.err) < 1_000


def test_a_deep_branch_goes_on_at_the_margin_and_every_task_is_drawn_once():
    how = {"title": "T", "status": "open", "state": "open", "priority": 0, "assignee": None}
    nodes = [GraphNode(slug=f"t{n}", **how) for n in range(500)]
    edges = [EdgeView(slug=f"t{n}", needs=f"t{n - 1}") for n in range(1, 500)]
    lines = list(graph_drawing.tree(Graph(project="web", nodes=nodes, edges=edges)))
    assert max(map(len, lines)) < 150
    assert [f"t{n}" for n in range(500)] == [line.split()[-2] for line in lines if line.endswith("  T")]
    assert "… below t30:" in lines


def test_a_long_cycle_is_told_by_its_ends():
    told = graph.cycle_text([*(f"t{n}" for n in range(100)), "t0"])
    assert told.startswith("t0 → t1 → ")
    assert told.endswith(" → t99 → t0")
    assert "… 81 more …" in told
