"""States and kinds in what Fleet returns are Literals of model/states.py, but for those that are listed here with the reason."""

import ast
from pathlib import Path

RESULTS = Path(__file__).parents[3] / "src/fleet/model/results"
NAMES = {"state", "stage", "status", "source", "kind", "outcome", "exec_state", "phase", "verdict"}
# The list may only get shorter.
OPEN = {
    **dict.fromkeys(
        ("AgentView.state", "AgentCount.state", "Attempt.state", "RowView.state", "NeedView.kind", "Report.status"),
        "engines name states, too, and `reported …` has the report in it",
    ),
    **dict.fromkeys(("Attempt.source", "NeedView.source", "RowView.source"), "also what no agent is the source of"),
    **dict.fromkeys(
        ("Parked.stage", "RowView.stage", "TaskView.stage", "VerdictView.stage", "Work.stage"),
        "the column has no CHECK",
    ),
    **dict.fromkeys(("ClaimView.kind", "JournalClaim.kind", "PromptOutcome.kind"), "a file of resources/ adds a kind"),
    **dict.fromkeys(("ClaimView.state", "JournalClaim.state"), "also what is seen of a row: archived, missing, other"),
    **dict.fromkeys(("Resumable.kind", "AgentCount.kind", "DisownedDispatch.exec_state"), "of a dispatch or of a job"),
    "Span.kind": "empty for a dispatch that is archived",
    "Obstacle.kind": "the name of an error",
    "EngineView.source": "a path",
    "Setting.source": "a path and a line",
}


def fields() -> dict[str, str]:
    classes = (
        node
        for file in RESULTS.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    return {
        f"{each.name}.{line.target.id}": ast.unparse(line.annotation)
        for each in classes
        for line in each.body
        if isinstance(line, ast.AnnAssign)
    }


def test_a_state_that_is_a_plain_text_is_listed_with_the_reason():
    plain = {name for name, kind in fields().items() if name.partition(".")[2] in NAMES and "str" in kind}
    assert plain == OPEN.keys()
