"""The documents say what the program does: their shell examples are played, and the output compared.

Above each block of shell commands stands a comment: `<!-- played -->`, perhaps with commands that are run before
(`<!-- played, after: fleet init -->`), or `<!-- not played: why -->`. The blocks of one page are played one after the
other in one shell, in a scratch home and a scratch repository named web.
"""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted(ROOT.glob("docs/**/*.md"))
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^>]*) -->\n)?```(?P<kind>console|sh)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_PLAYED = re.compile(r"played(?:, after: (?P<before>.+))?")
_NOT_PLAYED = re.compile(r"not played: .{8,}")
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
        if play := _PLAYED.fullmatch(mark):
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
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "--message=first"],
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_is_played_or_says_why_not(page):
    for mark, _kind, text in blocks(page):
        assert _PLAYED.fullmatch(mark) or _NOT_PLAYED.fullmatch(mark), f"{page.name}: no mark above\n{text}"


@pytest.mark.slow("a shell runs a dozen commands a page")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if played(page)[1]], ids=lambda page: str(page.relative_to(ROOT))
)
def test_an_example_prints_what_the_page_says(page, tmp_path):
    wrong = differences(*played(page), tmp_path)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.slow("a shell runs some commands")
def test_the_readme_prints_what_it_says_up_to_its_first_agent(tmp_path):
    """The README bears no comments. What follows needs an agent in tmux, and is not played."""
    console = next(text for _mark, kind, text in blocks(ROOT / "README.md") if kind == "console")
    found = list(itertools.takewhile(lambda step: not step.command.startswith("fleet dispatch"), steps(console)))
    assert found
    wrong = differences("", found, tmp_path)
    assert not wrong, "\n\n".join(wrong)


def test_a_page_that_says_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- played -->\n```console\n$ echo one; false\none\n$ echo $?\n1\n$ echo three\nfour\n```\n")
    [wrong] = differences(*played(page), tmp_path)
    assert wrong == "$ echo three\n--- the page\nfour\n--- the program\nthree"
