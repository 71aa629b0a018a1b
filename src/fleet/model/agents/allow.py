"""The rules by which agents of a project may run commands without asking a person.

A rule is one simple command, or the first words of one. A compound command never becomes a rule and never matches one
here: an engine splits a command line itself and asks about each part that no rule allows.
"""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# The characters that a simple command may have.
_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:=@%+")
# A rule that begins with one of these programs would allow every command.
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
# What may separate words and commands.
_JOINTS = (" ", "&&", "||", ";", "|")
# The variable that holds the rules of an agent whose engine asks `fleet hook`, as JSON with the keys exact and prefixes.
ALLOWED_VARIABLE = "FLEET_ALLOWED"
# The commands that agents on a task need at every autonomy, to commit in their worktree.
COMMITS = ("git add", "git commit")


def is_simple(command: str) -> bool:
    """Return whether a text is a single shell command without quotes, variables, redirections and operators like `&&`.

    Only ASCII letters, digits, spaces and `_-./:=@%+` are allowed in it. False also for an empty text, and for one of
    more than 500 characters.
    """
    return bool(command.strip()) and len(command) <= _LONGEST and all(sign in _SIGNS for sign in command)


def is_rule(command: object) -> bool:
    """Return whether a value can be a rule: a simple command, unless its program runs any other, as `sh` does.

    False also for a command that begins with an assignment, such as `A=b make`.
    """
    if not isinstance(command, str) or not is_simple(command):
        return False
    program = command.split()[0]
    return "=" not in program and program.rpartition("/")[2] not in _RUN_ANYTHING


def commands_in(line: str) -> list[list[str]]:
    """Return the words of each command in a shell line, split at `&&`, `||`, `;` and `|`; [] when it cannot be parsed.

    Words may be quoted. Outside quotes only letters, digits and `_-./:=@%+` are parsed: no variable, redirection,
    substitution, pattern, comma or newline. An empty command gives [] too.
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
    """The commands that agents of a project may run: exactly these (`exact`), or these with any words after them (`prefixes`)."""

    __slots__ = ("exact", "prefixes")

    def __init__(self, *, exact: Sequence[str] = (), prefixes: Sequence[str] = ()) -> None:
        self.exact = tuple(exact)
        self.prefixes = tuple(prefixes)

    def permits(self, command: str) -> bool:
        """Return whether a rule allows this command; always False for one that is not simple (see `is_simple`)."""
        if not is_simple(command):
            return False
        words = command.split()
        beginnings = (prefix.split() for prefix in self.prefixes)
        return " ".join(words) in self.exact or any(words[: len(start)] == start for start in beginnings)

    def permits_line(self, line: str) -> bool:
        """Return whether the rules allow every command of a shell line.

        For engines that ask about a whole line instead of each command in it. False for a line that cannot be parsed
        (see `commands_in`).
        """
        commands = commands_in(line)
        return bool(commands) and all(self._fits(words) for words in commands)

    def _fits(self, words: list[str]) -> bool:
        """Return whether a rule allows the command with these words."""
        is_exact = all(is_simple(word) and " " not in word for word in words) and " ".join(words) in self.exact
        return is_exact or any(words[: len(start)] == start for start in map(str.split, self.prefixes))

    def joined(self, other: Allowed) -> Allowed:
        """Return the allowed commands of both objects, without duplicates."""
        exact = dict.fromkeys((*self.exact, *other.exact))
        return Allowed(exact=tuple(exact), prefixes=tuple(dict.fromkeys((*self.prefixes, *other.prefixes))))


NOTHING = Allowed()


def new_rule(command: str | None, prefix: str | None) -> Allowed:
    """Return the rule that `fleet approve --always` adds for a command, or for its first words (`prefix`).

    Raise BadInput when `command` is None (the question is not about a shell command), when the rule would not be valid
    (see `is_rule`), or when the command does not begin with the prefix.
    """
    if command is None:
        raise errors.BadInput(what="only a shell command can be allowed permanently; approve this without --always")
    given = command if prefix is None else prefix
    if not is_rule(given):
        advice = "give its simple beginning: --prefix 'uv run pytest'" if prefix is None else "shorten the prefix"
        what = f"{given!r} cannot be allowed permanently: it is not one simple command, or it runs any other; {advice}"
        raise errors.BadInput(what=what)
    words = given.split()
    if prefix is None:
        return Allowed(exact=(" ".join(words),))
    if command.split()[: len(words)] != words:
        raise errors.BadInput(what=f"{command!r} does not begin with {prefix!r}")
    return Allowed(prefixes=(" ".join(words),))
