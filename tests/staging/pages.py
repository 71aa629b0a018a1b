"""Plays the shell examples of a page in a scratch home and repository, and compares what they print."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^>]*) -->\n)?```(?P<kind>console|sh)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PLAYED = re.compile(r"played(?:, after: (?P<before>.+))?")
NOT_PLAYED = re.compile(r"not played: .{8,}")
# What differs from day to day and from machine to machine.
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?"), "TIME"),
    (re.compile(r"[\w.-]+@[\w.-]+"), "WHO"),
    (re.compile(r"(?<![\w.])/[\w.@-]+(/[\w.@-]+)+"), "PATH"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "HASH"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "COMMIT"),
    (re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{7,8}\b"), "ID"),
    (re.compile(r"\b\d+[smhd]\b(?= ago|\))"), "AGE"),
    (re.compile(r" {2,}"), "  "),
)


@dataclass(frozen=True)
class Step:
    """A command of a page, and what the page says that it prints."""

    command: str
    printed: list[str]


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The mark, the kind and the text of each block."""
    return [(found["mark"] or "", found["kind"], found["text"]) for found in BLOCK.finditer(page.read_text())]


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
        else:
            found[-1].printed.append(line)
    return found


def plain(line: str) -> str:
    for pattern, word in _VARYING:
        line = pattern.sub(word, line)
    return line.rstrip()


def agrees(said: list[str], printed: list[str]) -> bool:
    """Whether the page's lines are the program's. A line that ends with … is the beginning of one."""
    if len(said) != len(printed):
        return False
    pairs = [(plain(one), plain(other)) for one, other in zip(said, printed, strict=True)]
    return all(
        real.startswith(told.removesuffix("…").rstrip()) if told.endswith("…") else real == told for told, real in pairs
    )


def played(page: Path) -> tuple[str, list[Step]]:
    """The commands that are run before, and the steps of all blocks that are played."""
    before, found = "", []
    for mark, _kind, text in blocks(page):
        if play := PLAYED.fullmatch(mark):
            before = before or play["before"] or ""
            found += steps(text)
    return before, found


def script(before: str, found: list[Step]) -> str:
    """One shell script: a mark before each step's output, and each step sees how the one before it ended."""
    lines = ["exec 2>&1", f"{{ {before or ':'}; }} >/dev/null", "__ended=0"]
    for step in found:
        lines += ["printf '\\036'; (exit $__ended)", step.command, "__ended=$?"]
    return "\n".join(lines)


def play(before: str, found: list[Step], root: Path) -> list[tuple[Step, list[str]]]:
    """Run the steps in a scratch home and repository; return each with the lines that it printed."""
    repository = root / "home/src/web"
    repository.mkdir(parents=True)
    env = {
        "HOME": str(root / "home"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "COLUMNS": "400",
    }
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.org"],
        ["commit", "--quiet", "--allow-empty", "--message=first"],
    ):
        subprocess.run(["git", *words], cwd=repository, env=env, check=True)
    for step in found:
        name = step.command.removeprefix("cat ")
        if name != step.command and not re.search(r"[ |>]", name):
            (repository / name).write_text("\n".join([*step.printed, ""]))
    done = subprocess.run(
        ["bash", "-c", script(before, found)],
        cwd=repository,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    _first, *outputs = done.stdout.split("\036")
    return list(zip(found, [output.splitlines() for output in outputs], strict=True))


def differences(before: str, found: list[Step], root: Path) -> list[str]:
    """Each step whose output is not what the page says, with both."""
    return [
        f"$ {step.command}\n--- the page\n{chr(10).join(step.printed)}\n--- the program\n{chr(10).join(printed)}"
        for step, printed in play(before, found, root)
        if not agrees(step.printed, printed)
    ]
