"""Pictures of graphs have every task and every dependency; each line of a diff has the colour of its kind."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.model.results.tasks import EdgeView, Graph, GraphNode
from fleet.surfaces.cli.ui import diff_drawing, graph_drawing, terminal

STATES = ["ready", "waiting", "in_progress", "blocked", "done", "failed", "abandoned"]


def node(slug: str, title: str = "", state: str = "ready") -> GraphNode:
    return GraphNode(slug=slug, title=title or f"The {slug}", state=state, status="open", priority=0, assignee=None)


@st.composite
def graphs(draw) -> Graph:
    slugs = [f"t{number}" for number in range(draw(st.integers(0, 8)))]
    nodes = [node(slug, state=draw(st.sampled_from(STATES))) for slug in slugs]
    pairs = [(slug, needs) for place, slug in enumerate(slugs) for needs in slugs[:place]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Graph(project="web", nodes=nodes, edges=[EdgeView(slug=slug, needs=needs) for slug, needs in sorted(edges)])


@given(graph=graphs())
def test_the_tree_names_every_task_once_below_one_it_waits_for_and_tells_the_others(graph):
    lines = list(graph_drawing.tree(graph))
    if not graph.nodes:
        assert lines == ["no tasks"]
        return
    drawn = [
        re.match(r"(?P<lead>[│├└─ ]*)\S (?P<slug>t\d)  The \S+(?:  \(also after (?P<more>.*)\))?$", line)
        for line in lines
    ]
    assert sorted(found["slug"] for found in drawn) == sorted(each.slug for each in graph.nodes)
    above: list[tuple[int, str]] = []
    seen = set()
    for found in drawn:
        while above and above[-1][0] >= len(found["lead"]):
            above.pop()
        needs = ([above[-1][1]] if above else []) + (found["more"].split(", ") if found["more"] else [])
        seen |= {(found["slug"], each) for each in needs}
        above.append((len(found["lead"]), found["slug"]))
    assert seen == {(edge.slug, edge.needs) for edge in graph.edges}


@given(graph=graphs())
def test_mermaid_and_dot_have_every_node_and_edge(graph):
    mermaid, dot = list(graph_drawing.mermaid(graph)), list(graph_drawing.dot(graph))
    ids = {f"t{number}": each.slug for number, each in enumerate(graph.nodes)}
    arrows = {tuple(ids[part] for part in line.split(" --> ")) for line in map(str.strip, mermaid) if "-->" in line}
    assert arrows == {(edge.needs, edge.slug) for edge in graph.edges}
    assert {tuple(re.findall(r'"(\w+)"', line)) for line in dot if "->" in line} == arrows
    assert sum(":::" in line for line in mermaid) == sum("[label=" in line for line in dot) == len(graph.nodes)


def test_titles_cannot_break_out_of_their_box():
    graph = Graph(project="web", nodes=[node("a", 'say "hi" \\ <b>')], edges=[])
    [box] = [line for line in graph_drawing.mermaid(graph) if ":::" in line]
    assert box == '  t0["say #quot;hi#quot; \\ #lt;b>"]:::ready'
    [label] = [line for line in graph_drawing.dot(graph) if "label=" in line and '"a"' in line]
    assert 'label="say \\"hi\\" \\\\ <b>"' in label


def test_a_hash_in_a_title_is_a_hash_in_mermaid():
    """Mermaid reads #35; as a sign; a title like that has to come out as it was written."""
    graph = Graph(project="web", nodes=[node("a", "issue #35; now")], edges=[])
    [box] = [line for line in graph_drawing.mermaid(graph) if ":::" in line]
    assert box == '  t0["issue #35;35; now"]:::ready'


def test_a_chain_of_many_does_not_end_the_recursion():
    slugs = [f"t{number}" for number in range(3_000)]
    edges = [EdgeView(slug=after, needs=before) for before, after in pairwise(slugs)]
    lines = list(graph_drawing.tree(Graph(project="web", nodes=[node(slug) for slug in slugs], edges=edges)))
    assert sum("The t" in line for line in lines) == 3_000


GIT = """\
diff --git a/b.sql b/b.sql
index 1..2 100644
--- a/b.sql
+++ b/b.sql
@@ -1,2 +1,2 @@ a heading
--- old remark
+++ new remark
 SELECT 1;
\\ No newline at end of file
@@ -9 +9 @@
-@@ -1 +1 @@
+diff --git a/x b/x
diff --git a/c b/c
deleted file mode 100644
"""
FIRST_FILE = ("bold", "", "bold", "bold", "cyan", "red", "green", "", "", "cyan", "red", "green")


@pytest.mark.parametrize(
    ("text", "colours"),
    [
        (GIT, (*FIRST_FILE, "bold", "")),
        (
            "--- a\n+++ a\n@@ -1,2 +1,1 @@\n-- x\n--- y\n+++ z\n" * 2,
            ("bold", "bold", "cyan", "red", "red", "green") * 2,
        ),
        ("--- a\n@@ b\n+++ a\n@@ -1 +1 @@\n+x", ("bold", "", "bold", "cyan", "green")),
        ("", ()),
    ],
    ids=["of git", "of edits, without a line for the file", "of a file whose name has a line break", "empty"],
)
def test_each_line_of_a_diff_has_the_colour_of_its_kind(monkeypatch, text, colours):
    monkeypatch.setattr(terminal, "paint", lambda line, colour: f"{colour}|{line}")
    drawn = [f"{colour}|{line}\n" for colour, line in zip(colours, text.splitlines(), strict=True)]
    assert list(diff_drawing.diff(text)) == drawn
