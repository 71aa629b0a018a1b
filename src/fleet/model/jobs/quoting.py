"""Read a shell command up to a place, to know how a value is quoted at that place.

Understood are quotes, comments, here-documents, `$( … )` and subshells with `case` in them, backticks, `${ … }` and
`$(( … ))`. Where a value cannot be quoted rightly, `why_not` says so.
"""

from __future__ import annotations

import re

# In single quotes, in a comment and in a here-document with a quoted delimiter, no character but the end is special.
_PLAIN = ("'", "#", "<<'")
# What keeps a value in one piece, so that it needs no quotes of its own.
_QUOTES = ('"', "<<")
# Expansions: with a word after the operator, with a pattern, and any other, such as ${NAME} or one of bash's own.
_EXPANSIONS = ("${-", "${%", "${")
# A here-document's operator and delimiter; the beginning of an expansion like ${NAME:- or ${NAME%, with its operator.
_HERE = re.compile(r"<<(-?)[ \t]*((?:\\.|'[^']*'|\"[^\"]*\"|[^\s;&|<>()'\"\\])+)")
_EXPANSION = re.compile(r"\$\{(?:\w+|[@*#?$!-])?(?:(##?|%%?)|(:?[-=?+]))?")
# Why no value can be quoted in a part of this kind, in backticks with a backslash, or after a backslash or a dollar sign.
_UNQUOTABLE = {
    "<<'": "it is in a here-document whose delimiter is quoted; write the delimiter without quotes",
    "${": "it is in a form of ${ … } that not every shell has; give it to a program instead, such as sed",
    "((": "it is in $(( … )), where a shell may run what is in a value; write $(expr … ) instead",
    "\\`": "it is in backticks that have a backslash before it; write $( … ) instead of backticks",
    "\\": "a backslash is right before it; remove it, or double it",
    "$": "a dollar sign is right before it; remove it, or write \\$, or double the braces for a variable of the shell",
}
# The words after which a command begins.
_BEFORE_COMMAND = frozenset(("if", "then", "else", "elif", "while", "until", "do", "!", "{"))


class _Part:
    """A part of the command that has begun and not ended.

    `kind` is how it begins: "" for the whole command, `$(`, `(`, a backtick, `case`, a quote, `#`, one of the
    expansions, `((`, `<<`, or `<<'` for a here-document with a quoted delimiter.
    """

    __slots__ = ("delimiter", "has_backslash", "kind", "next", "strips_tabs", "word")

    def __init__(self, kind: str, *, delimiter: str = "", strips_tabs: bool = False) -> None:
        self.kind = kind
        # The word that is being read; in a here-document the line.
        self.word = ""
        # What the next word may be: the first of a "command", a "pattern" of case, or "" for any other.
        self.next = "" if kind == "case" else "command"
        self.delimiter = delimiter
        self.strips_tabs = strips_tabs
        # Whether these backticks have a backslash in them that the shell removes before it reads the command in them.
        self.has_backslash = False


class Quoting:
    """The quotes and other parts of a shell command that are open at the end of what was read of it."""

    def __init__(self) -> None:
        self._open = [_Part("")]
        # The here-documents that begin after this line.
        self._waiting: list[_Part] = []
        # A backslash or a dollar sign at the end, which would belong to what follows.
        self._loose = ""

    def read(self, text: str) -> None:
        """Read the next piece of the command: the text between the value before it and the next value."""
        self._loose = ""
        at = 0
        while at < len(text):
            at += self._step(text, at)

    def why_not(self) -> str:
        """Return why a value cannot be quoted here, as a clause with what to write instead; "" when it can."""
        kind = self._open[-1].kind
        found = (
            "\\`" if any(part.has_backslash for part in self._open) else "",
            kind,
            self._around(),
            "" if kind in _PLAIN else self._loose,
        )
        return next((_UNQUOTABLE[each] for each in found if each in _UNQUOTABLE), "")

    def quote(self, variable: str) -> str:
        """Return a reference to the variable, quoted for this place. It counts as read."""
        kind = self._open[-1].kind
        self._open[-1].word += "$"
        if kind == "'":
            return f"'\"${{{variable}}}\"'"
        if kind == "#" or self._around() in _QUOTES:
            return f"${{{variable}}}"
        return f'"${{{variable}}}"'

    def _around(self) -> str:
        """Return the kind of the innermost open part that is not an expansion with a word, which leaves quotes as they are."""
        return next(part.kind for part in reversed(self._open) if part.kind not in {"${-", "${"})

    def _step(self, text: str, at: int) -> int:
        """Read the character at a position, with those that belong to it. Return how many were read."""
        part, char = self._open[-1], text[at]
        backticks = next((each for each in reversed(self._open) if each.kind == "`"), None)
        if backticks is not None and char == "`":  # it ends them, also inside quotes
            del self._open[self._open.index(backticks) :]
            return 1
        if backticks is not None and char == "\\" and text[at + 1 : at + 2] in {"$", "`", "\\", '"'}:
            backticks.has_backslash = True
        if part.kind.startswith("<<"):
            return self._step_here_document(part, text, at)
        if part.kind in _PLAIN:
            return self._step_plain(part, char)
        if char == "\\":
            return self._step_backslash(part, text, at)
        if part.kind in {'"', "((", *_EXPANSIONS}:
            return self._step_inside(part, text, at)
        return self._step_command(part, text, at)

    def _step_backslash(self, part: _Part, text: str, at: int) -> int:
        """Read a backslash with the next character, which has no meaning then. A line break after it is no line break."""
        escaped = text[at + 1 : at + 2]
        self._loose = "" if escaped else "\\"
        part.word += "" if escaped == "\n" else "\\" + escaped
        return 2

    def _step_plain(self, part: _Part, char: str) -> int:
        """Read a character in single quotes or in a comment."""
        if part.kind == "'" and char == "'":
            self._open.pop()
        elif part.kind == "#" and char == "\n":
            self._open.pop()
            return 0  # the command goes on with the line break
        return 1

    def _step_here_document(self, part: _Part, text: str, at: int) -> int:
        """Read a character of a here-document, which ends with the line of its delimiter."""
        if text[at] == "\n":
            line, part.word = part.word, ""
            if (line.lstrip("\t") if part.strips_tabs else line) == part.delimiter:
                self._open.pop()
                self._begin_here_document()
            return 1
        part.word += text[at]
        if part.kind == "<<'":
            return 1
        return self._step_backslash(part, text, at) if text[at] == "\\" else self._begin_expansion(text, at) or 1

    def _begin_here_document(self) -> None:
        """Begin the next here-document of the line that has ended, if there is one."""
        if self._waiting:
            self._open.append(self._waiting.pop(0))

    def _begin_expansion(self, text: str, at: int) -> int:
        """Begin what a dollar sign or a backtick begins. Return how many characters were read; 0 when they begin nothing."""
        if text.startswith("$((", at):
            self._open += [_Part("(("), _Part("((")]
            return 3
        if text.startswith("$(", at):
            self._open.append(_Part("$("))
            return 2
        found = _EXPANSION.match(text, at)
        if found:
            self._open.append(_Part("${%" if found[1] else "${-" if found[2] else "${"))
            return len(found[0])
        if text[at] == "`":
            self._open.append(_Part("`"))
            return 1
        if text.startswith("$$", at):
            return 2
        self._loose = "$" if text[at:] == "$" else self._loose
        return 0

    def _step_inside(self, part: _Part, text: str, at: int) -> int:
        """Read a character in double quotes, in `${ … }` or in `$(( … ))`."""
        char, kind = text[at], part.kind
        if char == {'"': '"', "((": ")"}.get(kind, "}"):
            self._open.pop()
        elif kind == "((" and char == "(":
            self._open.append(_Part("(("))
        elif kind in _EXPANSIONS and (char == '"' or (char == "'" and self._around() not in _QUOTES)):
            self._open.append(_Part(char))
        else:
            return self._begin_expansion(text, at) or 1
        return 1

    def _step_command(self, part: _Part, text: str, at: int) -> int:
        """Read a character outside quotes."""
        char = text[at]
        if char == "#" and not part.word:
            self._open.append(_Part("#"))
            return 1
        if char in " \t\n;&|<>()":
            self._end_word()
            return self._step_operator(text, at)
        part.word += char
        if char in {"'", '"'}:
            self._open.append(_Part(char))
            return 1
        return self._begin_expansion(text, at) or 1

    def _step_operator(self, text: str, at: int) -> int:
        """Read a blank, a line break or an operator, which has ended the word before it."""
        part, char = self._open[-1], text[at]
        if char in "<>":
            part.next = ""
            return self._announce_here_document(text, at)
        if char == "(":
            self._open.append(_Part("("))
        elif char == ")":
            self._end_parenthesis(part)
        elif part.kind == "case" and text.startswith(";;", at):
            part.next = "pattern"
            return 2
        elif char not in " \t" and part.next != "pattern":
            part.next = "command"
        if char == "\n":
            self._begin_here_document()
        return 1

    def _end_parenthesis(self, part: _Part) -> None:
        """Read a closing parenthesis: it ends `$(`, a subshell, or a pattern of `case`."""
        if part.kind in {"$(", "("}:
            self._open.pop()
        around = self._open[-1]
        around.next = "command" if around.kind == "case" else ""

    def _announce_here_document(self, text: str, at: int) -> int:
        """Read a redirection. When it is a here-document, that begins after the line."""
        found = _HERE.match(text, at)
        if found is None:
            return 3 if text.startswith("<<<", at) else 1
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", found[2])
        kind = "<<" if delimiter == found[2] else "<<'"
        self._waiting.append(_Part(kind, delimiter=delimiter, strips_tabs=bool(found[1])))
        return len(found[0])

    def _end_word(self) -> None:
        """Take note of the word that has ended: it may be a keyword, after which a command begins, or begin or end `case`."""
        part = self._open[-1]
        word, part.word = part.word, ""
        if not word:
            return
        where, part.next = part.next, ""
        if word == "esac" and part.kind == "case" and where:
            self._open.pop()
        elif word == "case" and where == "command" and part.kind in {"$(", "(", "case"}:
            self._open.append(_Part("case"))
        elif part.kind == "case" and word == "in" and not where:
            part.next = "pattern"
        elif where == "command" and word in _BEFORE_COMMAND:
            part.next = "command"
