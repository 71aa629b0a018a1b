"""Lists, pictures and explanations of tasks. On both stores."""

import pytest

HOUSE = [
    ("ground", []),
    ("cellar", ["--after", "ground"]),
    ("walls", ["--after", "ground", "--tag", "stone", "--priority", "5"]),
    ("roof", ["--after", "walls", "--after", "cellar"]),
    ("garden", ["--tag", "green", "-d", "Apple trees, 100% of them", "--priority", "1"]),
]


@pytest.fixture
def house(either):
    for slug, words in HOUSE:
        either.add(slug, *words)
    return either


def slugs(fleet, *words: str) -> list[str]:
    return [task["slug"] for task in fleet.ask("task", *words)]


@pytest.mark.req("GRAPH-1")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ["cellar", "garden", "ground", "roof", "walls"]),
        (["--tag", "stone"], ["walls"]),
        (["--text", "APPLE"], ["garden"]),
        (["--text", "the g"], ["garden", "ground"]),
        (["--text", "roo"], ["roof"]),
        (["--text", "100%"], ["garden"]),
        (["--text", "0_"], []),
        (["--text", "'; DROP TABLE tasks"], []),
        (["--status", "open", "--limit", "2"], ["cellar", "garden"]),
        (["--status", "in_progress"], ["ground"]),
        (["--assignee", "bob"], ["ground"]),
        (["--assignee", "ann"], []),
        (["--tag", "green", "--text", "apple", "--status", "open"], ["garden"]),
    ],
)
def test_a_list_holds_what_fits_every_filter(words, found, house):
    house("task", "claim", "ground", "--as", "bob").ok()
    assert slugs(house, "list", *words) == found


@pytest.mark.req("GRAPH-1")
@pytest.mark.parametrize("text", ["Äpfel", "Straße", "AN DER"])
def test_a_text_that_stands_in_the_title_is_found(text, either):
    either("task", "add", "Äpfel an der Straße", "--slug", "fruit").ok()
    assert slugs(either, "list", "--text", text) == ["fruit"]


def test_archived_tasks_are_listed_when_asked_for(fleet):
    fleet.add("old")
    fleet("task", "done", "old").ok()
    fleet("task", "archive", "old").ok()
    assert slugs(fleet, "list") == []
    assert slugs(fleet, "list", "--archived") == ["old"]
    assert fleet.ask("task", "graph")["nodes"] == []
    assert [node["slug"] for node in fleet.ask("task", "graph", "--archived")["nodes"]] == ["old"]


def test_a_list_is_a_table_and_an_empty_one_says_so(fleet):
    assert fleet("task", "list").ok().out == "no tasks\n"
    assert fleet("task", "list", "--json").ok().json == []
    assert fleet("task", "ready").ok().out == "nothing is ready\n"
    fleet.add("a", "--priority", "3")
    fleet("task", "claim", "a", "--as", "bob").ok()
    assert (
        fleet("task", "list").ok().out == "SLUG  STATE        PRIO  WHO  TITLE\na     in_progress  3     bob  The a\n"
    )


def test_a_list_longer_than_a_page_is_whole_and_has_one_head(fleet):
    lines = "".join(f'{{"slug": "t{n:04d}", "title": "T"}}\n' for n in range(1_203))
    fleet("task", "import", "-", stdin=lines.encode()).ok()
    shown = fleet("task", "list").ok().out.splitlines()
    assert shown[0].split() == ["SLUG", "STATE", "PRIO", "WHO", "TITLE"]
    assert [line.split()[0] for line in shown[1:]] == [f"t{n:04d}" for n in range(1_203)]
    assert len(slugs(fleet, "list")) == 1_203
    assert len(slugs(fleet, "list", "--limit", "501")) == 501


@pytest.mark.req("GRAPH-6")
def test_ready_is_most_urgent_first_then_oldest_and_limited(house):
    assert slugs(house, "ready") == ["garden", "ground"]
    house("task", "done", "ground").ok()
    assert slugs(house, "ready") == ["walls", "garden", "cellar"]
    assert slugs(house, "ready", "--limit", "1") == ["walls"]
    house("task", "pause", "walls").ok()
    house("task", "edit", "garden", "--not-before", "1h").ok()
    assert slugs(house, "ready") == ["cellar"]
    assert house("task", "ready").ok().out == "SLUG    PRIO  TITLE\ncellar        The cellar\n"


@pytest.mark.req("GRAPH-6")
def test_why_has_a_sentence_a_blocker_to_the_root_of_the_chain(house):
    house("task", "claim", "ground", "--as", "bob").ok()
    assert house("task", "why", "roof").ok().out.splitlines() == [
        "roof waits for 2 other tasks",
        "  roof waits for cellar, which waits for 1 other task",
        "  roof waits for walls, which waits for 1 other task",
        "    cellar waits for ground, which is being worked on by bob",
        "    walls waits for ground, which is being worked on by bob",
    ]
    answer = house.ask("task", "why", "roof")
    assert (answer["ready"], len(answer["sentences"]), len(answer["chain"])) == (False, 5, 4)


@pytest.mark.req("GRAPH-6")
@pytest.mark.parametrize(
    ("done", "says"),
    [
        ([], "is ready"),
        (["pause", "a"], "is paused"),
        (["edit", "a", "--not-before", "2099-01-01T00:00Z"], "waits until 2099-01-01 00:00:00 UTC"),
        (["claim", "a", "--as", "bob"], "is being worked on by bob"),
        (["fail", "a", "-r", "no\nluck"], "failed: no luck"),
        (["block", "a", "-r", "ask Eve"], "is blocked: ask Eve"),
        (["done", "a"], "is done"),
        (["abandon", "a"], "is abandoned"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) and value else "",
)
def test_why_explains_each_state_in_a_sentence(done, says, either):
    either.add("a")
    either.add("b", "--after", "a")
    if done:
        either("task", *done).ok()
    assert either("task", "why", "a").ok().out == f"a {says}\n"
    waits = says not in {"is done", "is abandoned"}
    told = f"b waits for 1 other task\n  b waits for a, which {says}\n" if waits else "b is ready\n"
    assert either("task", "why", "b").ok().out == told


@pytest.mark.req("GRAPH-1")
def test_the_graph_is_drawn_as_a_tree(house):
    assert house("task", "graph").ok().out.splitlines() == [
        "○ garden  The garden",
        "○ ground  The ground",
        "├─ · cellar  The cellar",
        "│  └─ · roof  The roof  (also after walls)",
        "└─ · walls  The walls",
    ]


@pytest.mark.req("GRAPH-1")
def test_the_graph_is_drawn_as_mermaid_and_as_dot(house):
    mermaid = house("task", "graph", "--mermaid").ok().out.splitlines()
    assert mermaid[0] == "flowchart TD"
    assert '  t2["The ground"]:::ready' in mermaid
    assert "  t2 --> t0" in mermaid
    dot = house("task", "graph", "--dot").ok().out.splitlines()
    assert (dot[0], dot[-1]) == ("digraph fleet {", "}")
    assert '  "ground" -> "walls";' in dot
    assert sum("->" in line for line in dot) == sum("-->" in line for line in mermaid) == 4


@pytest.mark.req("GRAPH-1")
def test_the_graph_as_json_has_every_node_and_edge(house):
    graph = house.ask("task", "graph")
    assert [node["slug"] for node in graph["nodes"]] == ["cellar", "garden", "ground", "roof", "walls"]
    pairs = {(edge["slug"], edge["needs"]) for edge in graph["edges"]}
    assert pairs == {("cellar", "ground"), ("walls", "ground"), ("roof", "cellar"), ("roof", "walls")}


def test_an_empty_graph_has_nothing_to_draw(fleet):
    assert fleet("task", "graph").ok().out == "no tasks\n"
    assert fleet("task", "graph", "--mermaid").ok().out.startswith("flowchart TD\n")


def test_a_task_that_is_not_there_is_absent_everywhere(fleet):
    for verb in (
        "show",
        "why",
        "watch",
        "claim",
        "unclaim",
        "done",
        "retry",
        "abandon",
        "pause",
        "unpause",
        "archive",
        "edit",
    ):
        fleet("task", verb, "nope").refused(11, "'web'", "'nope'", "fleet task list -p web")
    fleet("task", "log", "nope", "hi").refused(11, "'nope'")
    fleet("task", "artifact", "nope", "x").refused(11, "'nope'")
    fleet("task", "fail", "nope", "-r", "x").refused(11, "'nope'")
