"""The table of the hot commands, which agents call all day, for the fast entry point and for click.

Each has a long form that names the task (`fleet task log SLUG TEXT`). Those that agents call for themselves also have a
short form that reads the task from the environment (`fleet log TEXT`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # The values of options and arguments by name: a text, a number, or True for a flag.
    Values = dict[str, Any]

# A count has fewer digits than this.
_DIGITS = 19
# The hidden commands of the group `claims`.
FOR_PROGRAMS = ("acquire-prompt", "release", "rewrite-prompt", "inspect")


class Option:
    """An option of a command. An option without `metavar` and `choices` is a flag, which takes no value.

    The value of an option with `is_count` is a whole number from 1. `into` is the name under which the value is stored;
    several flags with the same `into` each set it to their own name.
    """

    __slots__ = ("choices", "flag", "help", "into", "is_count", "metavar", "name", "names", "required")

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002
        metavar: str = "",
        required: bool = False,
        choices: tuple[str, ...] = (),
        is_count: bool = False,
        into: str = "",
    ) -> None:
        self.names = names
        self.name = into or names[-1].lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.flag = not (metavar or choices)
        self.help = help
        self.required = required
        self.choices = choices
        self.is_count = is_count
        self.into = into

    def read(self, given: str | None) -> str | int | None:
        """Return the value of this option for the word that was given on the command line: a text, or a number for a count.

        None when the hot path cannot use the word (None: no word was given; a wrong choice; not a count): click parses
        the command then.
        """
        if given is None or (self.choices and given not in self.choices):
            return None
        if not self.is_count:
            return given
        return int(given) if given.isascii() and given.isdigit() and 0 < len(given) < _DIGITS and int(given) else None


class Hot:
    """A hot command.

    `argument` is the name of its argument after the slug, "" for none. `short`: it also has a short form, without the
    slug. `sentence` is the template of its output, filled with the fields of the result.
    """

    __slots__ = ("argument", "examples", "name", "options", "sentence", "short", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        sentence: str,
        argument: str = "",
        options: tuple[Option, ...] = (),
        short: bool = True,
        examples: tuple[str, ...],
    ) -> None:
        self.name = name
        self.summary = summary
        self.sentence = sentence
        self.argument = argument
        self.options = options
        self.short = short
        self.examples = examples

    @property
    def usage(self) -> str:
        """The command's usage line, such as `fail SLUG --reason TEXT`, for error messages."""
        given = [{"message": "TEXT"}.get(self.argument, self.argument.upper())] if self.argument else []
        given += [f"{option.names[-1]} {option.metavar}" for option in self.options if option.required]
        return " ".join([self.name, "SLUG", *given])


REASON = Option("-r", "--reason", metavar="TEXT", required=True, help="the reason, for those who read it later")
OVERRIDE = Option("--override", help="for people: take the task away from the agent or person that works on it")
COMMON = (
    Option("-p", "--project", metavar="NAME", help="the project (default: the one of the current directory)"),
    Option("--as", metavar="NAME", help="act under this name (default: user@host)"),
    Option("--key", metavar="KEY", help="idempotency key: a request repeated with the same key is applied once"),
    Option("--json", help="print the result as JSON"),
)

HOT = (
    Hot(
        "log",
        "Add a message to a task's log.",
        argument="message",
        sentence="logged on {project}/{task}",
        examples=('fleet log "parser done, 40 tests green"', 'fleet task log fix-login "seen by QA" -p web'),
    ),
    Hot(
        "artifact",
        "Register a file or URL that a task produced.",
        argument="path",
        sentence="registered {artifact} for {project}/{task}",
        examples=("fleet artifact docs/api.md", "fleet task artifact fix-login build/report.html -p web"),
    ),
    Hot(
        "done",
        "Report a task as done.",
        options=(
            Option("-m", "--message", metavar="TEXT", help="a final message for the task's log"),
            Option(
                "--leave-uncommitted",
                metavar="REASON",
                help="report it although the worktree has uncommitted changes; reviewers read the reason",
            ),
            OVERRIDE,
        ),
        sentence="{project}/{task} is {status}",
        examples=("fleet done", 'fleet task done fix-login -p web -m "merged by hand"'),
    ),
    Hot(
        "fail",
        "Report a task as failed, with the reason.",
        options=(REASON, OVERRIDE),
        sentence="{project}/{task} is {status}",
        examples=('fleet fail --reason "the API is gone"', 'fleet task fail fix-login -p web -r "wrong idea"'),
    ),
    Hot(
        "block",
        "Report a task as blocked, with the reason.",
        options=(REASON, OVERRIDE),
        sentence="{project}/{task} is {status}",
        examples=('fleet block --reason "needs a decision on the schema"', 'fleet task block fix-login -r "no access"'),
    ),
    Hot(
        "claim",
        "Claim a ready task; only one claimant gets it.",
        options=(OVERRIDE,),
        short=False,
        sentence="{project}/{task} is yours, {assignee}",
        examples=("fleet task claim fix-login -p web", "fleet task claim fix-login --as night-shift"),
    ),
)


def is_hook(words: list[str]) -> bool:
    """Whether the words are `fleet hook EVENT --engine NAME`, which engines call."""
    return len(words) == 4 and words[0] == "hook" and words[2] == "--engine"  # noqa: PLR2004


def is_of_session(words: list[str]) -> bool:
    """Whether the words are `fleet launch ID`, `fleet job step` or `fleet settle --hint SESSION`, which sessions call."""
    return words == ["job", "step"] or (
        words[:-1] in (["launch"], ["settle", "--hint"]) and not words[-1].startswith("-")
    )


def is_for_programs(words: list[str]) -> bool:
    """Whether the words call one of the hidden commands that print one JSON object, whatever happens."""
    return words[:1] == ["claims"] and words[1:2] != [] and words[1] in FOR_PROGRAMS


def find(words: list[str]) -> tuple[Hot, bool, list[str]] | None:
    """Return the hot command that these words call, True when they call it without `task` and SLUG, and the remaining words.

    None when the words call another command.
    """
    long = len(words) > 1 and words[0] == "task"
    name, rest = (words[1], words[2:]) if long else (words[0] if words else "", words[1:])
    for hot in HOT:
        if hot.name == name and (long or hot.short):
            return hot, not long, rest
    return None


def read_words(options: tuple[Option, ...], wanted: list[str], words: list[str]) -> Values | None:
    """Parse words into values by name: of the options, and of the arguments that `wanted` names.

    None when click has to parse the words.
    """
    values: Values = {}
    plain = _read_options(options, words, values)
    if plain is None or len(plain) != len(wanted) or "-" in plain:
        return None
    values.update(zip(wanted, plain))  # noqa: B905 - strict costs nothing, but the lengths are compared above
    missing = [option for option in options if option.required and option.name not in values]
    return None if missing or not _has_one_project(values) else values


def _has_one_project(values: Values) -> bool:
    """Whether the command names only one project: -p and a task given as PROJECT/SLUG agree, or one of them is missing.

    A task given as PROJECT/SLUG is split: `values` is changed in place, to `project` and `slug`.
    """
    named, _, slug = values.get("slug", "").partition("/")
    if not named or not slug or "/" in slug:
        return True
    if values.get("project", named) != named:
        return False
    values.update(slug=slug, project=named)
    return True


def _read_options(options: tuple[Option, ...], words: list[str], values: Values) -> list[str] | None:
    """Store the values of the options in `values` and return the other words; None when click has to parse the words."""
    known = {name: option for option in options for name in option.names}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            plain.extend(rest)
            return plain
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        option = known.get(name)
        if (
            option is None
            or option.name in values
            or (option.flag and equals)
            or (equals and not name.startswith("--"))
        ):
            return None
        values[option.name] = (
            (name.lstrip("-") if option.into else True)
            if option.flag
            else option.read(value if equals else next(rest, None))
        )
        if values[option.name] is None:
            return None
    return plain
