"""The commands agents call all day: one table, read by the fast entry point and by click alike.

Each has a long form that names the task (`fleet task log SLUG TEXT`); those that agents call for themselves have a short
form that reads it from the environment (`fleet log TEXT`).
"""

from __future__ import annotations


class Option:
    """An option. A flag takes no value."""

    __slots__ = ("flag", "help", "metavar", "name", "names", "required")

    def __init__(self, *names: str, help: str, metavar: str = "", required: bool = False) -> None:  # noqa: A002
        self.names = names
        self.name = names[-1].lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.flag = not metavar
        self.help = help
        self.required = required


class Hot:
    """A hot command."""

    __slots__ = ("argument", "argument_required", "examples", "name", "options", "short", "summary", "told")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        told: str,
        argument: str = "",
        argument_required: bool = True,
        options: tuple[Option, ...] = (),
        short: bool = True,
        examples: tuple[str, ...],
    ) -> None:
        self.name = name
        self.summary = summary
        self.told = told
        self.argument = argument
        self.argument_required = argument_required
        self.options = options
        self.short = short
        self.examples = examples

    @property
    def usage(self) -> str:
        """How the long form is written."""
        given = [{"message": "TEXT"}.get(self.argument, self.argument.upper())] if self.argument else []
        given += [f"{option.names[-1]} {option.metavar}" for option in self.options if option.required]
        return " ".join([self.name, "SLUG", *given])


REASON = Option("-r", "--reason", metavar="TEXT", required=True, help="why, for whoever reads it next")
OVERRIDE = Option("--override", help="a person's word: take the task away from whoever works on it")
COMMON = (
    Option("-p", "--project", metavar="NAME", help="the project (default: that of the current directory)"),
    Option("--as", metavar="NAME", help="act under this name (default: user@host)"),
    Option("--key", metavar="KEY", help="repeat a request under its first key: it is applied once"),
    Option("--json", help="print the result as JSON"),
)

HOT = (
    Hot(
        "log",
        "Add a message to a task's log.",
        argument="message",
        told="logged on {project}/{task}",
        examples=('fleet log "parser done, 40 tests green"', 'fleet task log fix-login "seen by QA" -p web'),
    ),
    Hot(
        "artifact",
        "Register a file or address that a task made.",
        argument="path",
        told="registered {artifact} for {project}/{task}",
        examples=("fleet artifact docs/api.md", "fleet task artifact fix-login build/report.html -p web"),
    ),
    Hot(
        "done",
        "Report a task as done.",
        options=(Option("-m", "--message", metavar="TEXT", help="a last word for the log"), OVERRIDE),
        told="{project}/{task} is {status}",
        examples=("fleet done", 'fleet task done fix-login -p web -m "merged by hand"'),
    ),
    Hot(
        "fail",
        "Report a task as failed, with the reason.",
        options=(REASON, OVERRIDE),
        told="{project}/{task} is {status}",
        examples=('fleet fail --reason "the API is gone"', 'fleet task fail fix-login -p web -r "wrong idea"'),
    ),
    Hot(
        "block",
        "Report a task as blocked, with the reason.",
        options=(REASON, OVERRIDE),
        told="{project}/{task} is {status}",
        examples=('fleet block --reason "needs a decision on the schema"', 'fleet task block fix-login -r "no access"'),
    ),
    Hot(
        "claim",
        "Take a ready task; of many who try, one gets it.",
        options=(OVERRIDE,),
        short=False,
        told="{project}/{task} is yours, {assignee}",
        examples=("fleet task claim fix-login -p web", "fleet task claim fix-login --as night-shift"),
    ),
)


def is_hook(words: list[str]) -> bool:
    """`fleet hook EVENT --engine NAME`, which engines call and no person types."""
    return len(words) == 4 and words[0] == "hook" and words[2] == "--engine"  # noqa: PLR2004


def is_of_session(words: list[str]) -> bool:
    """`fleet launch ID` and `fleet settle --hint SESSION`, which tmux calls and no person types."""
    return words[:-1] in (["launch"], ["settle", "--hint"]) and not words[-1].startswith("-")


def find(words: list[str]) -> tuple[Hot, bool, list[str]] | None:
    """The hot command that these words call, whether in its short form, and the words that remain."""
    long = len(words) > 1 and words[0] == "task"
    name, rest = (words[1], words[2:]) if long else (words[0] if words else "", words[1:])
    for hot in HOT:
        if hot.name == name and (long or hot.short):
            return hot, not long, rest
    return None
