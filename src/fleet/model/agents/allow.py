"""Allowed commands: what a person has permitted agents of a project to run without a question.

A rule is one simple command, or the first words of one. Compound commands never become a rule, and never fit one here:
an engine splits a command line by itself and asks for each part that no rule allows.
"""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:=@%+")
# With one of these alone as its beginning a rule would allow everything.
_RUN_ANYTHING = frozenset(
    (
        *(
            "sh",
            "bash",
            "dash",
            "zsh",
            "fish",
            "busybox",
            "env",
            "sudo",
            "doas",
            "su",
            "xargs",
            "eval",
            "exec",
            "nohup",
        ),
        *("time", "timeout", "nice", "ionice", "setsid", "stdbuf", "command", "builtin", "watch", "ssh"),
    )
)
_LONGEST = 500
_QUOTES = "'\""
# What may stand between words and commands.
_JOINTS = (" ", "&&", "||", ";", "|")
# The variable with the rules of an agent whose engine asks its hook, and its keys.
ALLOWED_VARIABLE = "FLEET_ALLOWED"
# What agents that work on a task need for a commit in their own worktree, at every autonomy.
COMMITS = ("git add", "git commit")


def is_simple(command: str) -> bool:
    """Whether a text is one command without quotes, variables, redirections or other commands in it."""
    return bool(command.strip()) and len(command) <= _LONGEST and all(sign in _SIGNS for sign in command)


def is_rule(command: object) -> bool:
    """Whether a value can be the first words of allowed commands."""
    if not isinstance(command, str) or not is_simple(command):
        return False
    program = command.split()[0]
    return "=" not in program and program.rpartition("/")[2] not in _RUN_ANYTHING


def commands_in(line: str) -> list[list[str]]:
    """Return the words of each command of a line that are joined by `&&`, `||`, `;` or `|`; empty for any other line.

    Words may be quoted. A line with a variable, a redirection, a substitution or a pattern in it is none that can be judged.
    """
    commands: list[list[str]] = [[]]
    word: str | None = None
    at = 0
    while at < len(line):
        sign, after = line[at], at + 1
        if sign in _QUOTES:
            after = line.find(sign, after) + 1
            quoted = line[at + 1 : after - 1]
            if after == 0 or (sign == '"' and any(each in "$`\\" for each in quoted)):
                return []
            word = (word or "") + quoted
        elif sign in _SIGNS and sign != " ":
            word = (word or "") + sign
        else:
            joint = next((each for each in _JOINTS if line.startswith(each, at)), "")
            if not joint:
                return []
            commands[-1] += [] if word is None else [word]
            word, after = None, at + len(joint)
            commands += [[]] if joint != " " else []
        at = after
    commands[-1] += [] if word is None else [word]
    return commands if all(commands) else []


class Allowed:
    """The commands that agents of a project may run: as they are (`exact`), or with anything after them (`prefixes`)."""

    __slots__ = ("exact", "prefixes")

    def __init__(self, *, exact: Sequence[str] = (), prefixes: Sequence[str] = ()) -> None:
        self.exact = tuple(exact)
        self.prefixes = tuple(prefixes)

    def permits(self, command: str) -> bool:
        """Whether a command may be run; a compound command never."""
        if not is_simple(command):
            return False
        words = command.split()
        beginnings = (prefix.split() for prefix in self.prefixes)
        return " ".join(words) in self.exact or any(words[: len(start)] == start for start in beginnings)

    def permits_line(self, line: str) -> bool:
        """Whether a whole line may be run, for an engine that does not split it: each of its commands is allowed."""
        commands = commands_in(line)
        return bool(commands) and all(self._fits(words) for words in commands)

    def _fits(self, words: list[str]) -> bool:
        is_exact = all(is_simple(word) and " " not in word for word in words) and " ".join(words) in self.exact
        return is_exact or any(words[: len(start)] == start for start in map(str.split, self.prefixes))

    def joined(self, other: Allowed) -> Allowed:
        """Return the rules of both, each once."""
        exact = dict.fromkeys((*self.exact, *other.exact))
        return Allowed(exact=tuple(exact), prefixes=tuple(dict.fromkeys((*self.prefixes, *other.prefixes))))


NOTHING = Allowed()


def new_rule(command: str | None, prefix: str | None) -> Allowed:
    """Return the rule for a command that a person approves for always, or for its first words (`prefix`).

    BadInput when the command is none of a shell, is not simple, or does not begin with the prefix.
    """
    if command is None:
        raise errors.BadInput(what="only a shell command can be allowed for always; approve this without --always")
    given = command if prefix is None else prefix
    if not is_rule(given):
        advice = "give its simple beginning: --prefix 'uv run pytest'" if prefix is None else "shorten the prefix"
        what = f"{given!r} cannot be allowed for always: it is not one simple command, or it runs any other; {advice}"
        raise errors.BadInput(what=what)
    words = given.split()
    if prefix is None:
        return Allowed(exact=(" ".join(words),))
    if command.split()[: len(words)] != words:
        raise errors.BadInput(what=f"{command!r} does not begin with {prefix!r}")
    return Allowed(prefixes=(" ".join(words),))
