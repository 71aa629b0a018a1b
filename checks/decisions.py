"""Fails when a verb compares a state itself instead of asking the decision or the tables, or when SQL spells the state that it sets.

What is to become of a dispatch is decided in `model/dispatch/remedies.py` from what `verbs/dispatch/looking.py` sees; the helpers of
`model/dispatch/steps.py` (`is_unfinished`, …) are for everybody else. A file may be named in ALLOWED with its number of comparisons and
the reason; the numbers only fall. The state that an UPDATE sets comes from a table of steps, as `:after`.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

VERBS, SQL = Path("src/fleet/verbs"), Path("src/fleet/store/sql")
# Columns of rows and fields of values whose comparison is a decision.
WATCHED = frozenset({"exec_state", "recl_state", "asked_for", "holder", "candidate"})
CLAIM = "claim"
SEAT, CLAIMS = "who is in the seat, which is what the file is about", "claims, by what their kind says"
DISPLAY = "says it to a person, decides nothing"
ALLOWED: dict[str, tuple[int, str]] = {
    "dispatch/looking.py": (5, "gathers the facts of the decision"),
    "dispatch/settle.py": (4, "what the task becomes after an attempt"),
    "dispatch/acquire.py": (6, CLAIMS),
    "dispatch/dispatch.py": (3, CLAIMS),
    "agents/prompts.py": (5, CLAIMS),
    "dispatch/reclaim.py": (4, CLAIMS),
    "homes/disown.py": (1, CLAIMS),
    "sweep/sweep.py": (5, CLAIMS),
    "coord/handoff.py": (3, SEAT),
    "coord/prove.py": (1, SEAT),
    "coord/replace.py": (4, SEAT),
    "coord/seat.py": (2, SEAT),
    "coord/tick.py": (2, SEAT),
    "dispatch/launch.py": (1, SEAT),
    "views/obstacles.py": (1, DISPLAY),
    "views/recap.py": (2, DISPLAY),
}


def compared(tree: ast.AST) -> Counter[str]:
    """How often each watched name is compared."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            found.update(name for side in (node.left, *node.comparators) if (name := watched(side)))
        elif isinstance(node, ast.Match):
            found.update(filter(None, [watched(node.subject)]))
    return found


def watched(node: ast.expr) -> str:
    """The watched name that an expression reads; empty when it reads none."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if node.slice.value in WATCHED else ""
    if isinstance(node, ast.Attribute):
        is_claims = node.attr == "state" and isinstance(node.value, ast.Name) and CLAIM in node.value.id
        return "claim.state" if is_claims else node.attr if node.attr in WATCHED else ""
    return ""


def spelt(text: str) -> list[str]:
    """The UPDATEs that set a state by its name."""
    updates = re.findall(
        r"^UPDATE (?:tasks|dispatches|claims|items|jobs) SET (.*?)(?:^WHERE| WHERE )", text, re.DOTALL | re.MULTILINE
    )
    return [
        one
        for each in updates
        for one in re.findall(r"\b(?:exec_state|recl_state|state|status) = '\w+'", re.sub(r"CASE.*?END", "", each))
    ]


def main() -> int:
    files = {
        str(path.relative_to(VERBS)): compared(ast.parse(path.read_text(encoding="utf-8")))
        for path in VERBS.rglob("*.py")
    }
    faults = []
    for name, found in sorted(files.items()):
        number, (allowed, _reason) = found.total(), ALLOWED.get(name, (0, ""))
        told = ", ".join(f"{each} {times} times" for each, times in sorted(found.items()))
        if number > allowed:
            faults.append(
                f"{VERBS / name} compares {told or 'nothing'}; {allowed} are allowed: ask the decision, or a helper of steps.py"
            )
        elif number < allowed:
            faults.append(
                f"{VERBS / name} compares fewer states than allowed ({number} of {allowed}): lower its number in checks/decisions.py"
            )
    faults += [
        f"{path} sets {each}: let the step come from its table"
        for path in SQL.glob("*.sql")
        for each in spelt(path.read_text())
    ]
    faults += [f"{name} is allowed and does not exist" for name in ALLOWED if name not in files]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(
        f"decisions: {sum(found.total() for found in files.values())} comparisons of states in {len(ALLOWED)} verbs, {len(faults)} faults"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
