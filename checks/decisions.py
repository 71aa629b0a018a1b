"""Fail when a verb compares a state itself, or when an SQL statement sets a state by its name.

`model/dispatch/remedies.py` decides what happens to a dispatch, from the facts that `verbs/dispatch/facts.py` gathers. Other
verbs use the helpers of `model/dispatch/steps.py` (`is_unfinished`, …). ALLOWED lists the exceptions, each with its number of
comparisons and the reason; the numbers may only fall. The state that an UPDATE sets comes from a step table, as `:after`.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

VERBS, SQL = Path("src/fleet/verbs"), Path("src/fleet/store/sql")
# Columns and fields whose comparison is a decision.
WATCHED = frozenset({"exec_state", "recl_state", "asked_for", "holder", "candidate"})
CLAIM = "claim"
SEAT, CLAIMS = "holder and candidate of the seat, the subject of the file", "states of claims"
DISPLAY = "shows the state to a person, decides nothing"
ALLOWED: dict[str, tuple[int, str]] = {
    "dispatch/facts.py": (5, "gathers the facts of the decision"),
    "dispatch/settle.py": (5, "what the task becomes after an attempt"),
    "dispatch/acquire.py": (6, CLAIMS),
    "dispatch/dispatch.py": (3, CLAIMS),
    "agents/prompts.py": (2, CLAIMS),
    "dispatch/reclaim.py": (4, CLAIMS),
    "homes/disown.py": (2, CLAIMS),
    "sweep/sweep.py": (5, CLAIMS),
    "coord/handoffs/handoff.py": (3, SEAT),
    "coord/prove.py": (1, SEAT),
    "coord/replace.py": (4, SEAT),
    "coord/seat.py": (2, SEAT),
    "coord/tick.py": (2, SEAT),
    "dispatch/launch.py": (1, SEAT),
    "views/recap.py": (2, DISPLAY),
}


def count_comparisons(tree: ast.AST) -> Counter[str]:
    """Return how often the code compares each watched name."""
    counts: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            counts.update(name for side in (node.left, *node.comparators) if (name := watched_name(side)))
        elif isinstance(node, ast.Match):
            counts.update(filter(None, [watched_name(node.subject)]))
    return counts


def watched_name(node: ast.expr) -> str:
    """Return the watched name that an expression reads; empty when it reads none."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if node.slice.value in WATCHED else ""
    if isinstance(node, ast.Attribute):
        is_claims = node.attr == "state" and isinstance(node.value, ast.Name) and CLAIM in node.value.id
        return "claim.state" if is_claims else node.attr if node.attr in WATCHED else ""
    return ""


def states_set_by_name(text: str) -> list[str]:
    """Return the assignments in UPDATE statements that set a state to a literal instead of a parameter."""
    updates = re.findall(
        r"^UPDATE (?:tasks|dispatches|claims|items|jobs) SET (.*?)(?:^WHERE| WHERE )", text, re.DOTALL | re.MULTILINE
    )
    return [
        one
        for each in updates
        for one in re.findall(r"\b(?:exec_state|recl_state|state|status) = '\w+'", re.sub(r"CASE.*?END", "", each))
    ]


def main() -> int:
    """Print the faults; return the exit code."""
    files = {
        str(path.relative_to(VERBS)): count_comparisons(ast.parse(path.read_text(encoding="utf-8")))
        for path in VERBS.rglob("*.py")
    }
    faults = []
    for name, counts in sorted(files.items()):
        number, (allowed, _reason) = counts.total(), ALLOWED.get(name, (0, ""))
        names = ", ".join(f"{each} {times} times" for each, times in sorted(counts.items()))
        if number > allowed:
            faults.append(
                f"{VERBS / name} compares {names or 'nothing'}; {allowed} are allowed: use `decide` of remedies.py, or a helper of steps.py"
            )
        elif number < allowed:
            faults.append(
                f"{VERBS / name} compares fewer states than allowed ({number} of {allowed}): lower its number in checks/decisions.py"
            )
    faults += [
        f"{path} sets {each}: take the state from its step table"
        for path in SQL.glob("*.sql")
        for each in states_set_by_name(path.read_text())
    ]
    faults += [f"{name} is allowed and does not exist" for name in ALLOWED if name not in files]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(
        f"decisions: {sum(counts.total() for counts in files.values())} comparisons of states in {len(ALLOWED)} verbs, {len(faults)} faults"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
