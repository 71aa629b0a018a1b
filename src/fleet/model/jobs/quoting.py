"""Read a shell command up to a place, to know how a value is quoted at that place.

Understood are quotes, comments, here-documents, `$( … )` and subshells with `case` in them, backticks, `${ … }`, and
`$(( … ))` and `(( … ))`. Where a value cannot be quoted rightly, or a shell would run what is in it, `why_not` says so.
"""

from __future__ import annotations

import re

# In single quotes, in a comment and in a here-document with a quoted delimiter, no character but the end is special.
_PLAIN = ("'", "$'", "#", "<<'")
# What keeps a value in one piece, so that it needs no quotes of its own.
_QUOTES = ('"', "<<")
# What has commands in it that are read apart from what is around it: the whole command, substitutions and subshells.
_COMMANDS = ("", "$(", "(", "`")
# Expansions: with a word after the operator, with := outside quotes, with a pattern, and any other, such as ${NAME} or one of bash's own.
_EXPANSIONS = ("${-", "${=", "${%", "${")
# What the beginning of a substitution begins.
_SUBSTITUTIONS = {"$((": "((", "$(": "$(", "`": "`"}
# How the parts end whose characters `_step_inside` reads.
_ENDS = {'"': '"', "((": "))", "()": ")", **dict.fromkeys(_EXPANSIONS, "}")}
# A here-document's operator and delimiter; the beginning of an expansion like ${NAME:- or ${NAME%, with its operator.
_HERE = re.compile(r"<<(-?)[ \t]*((?:\\.|'[^']*'|\"[^\"]*\"|[^\s;&|<>()'\"\\`])+)")
_EXPANSION = re.compile(r"\$\{(?:\w+|[@*#?$!-])?(?:(##?|%%?)|(:?[-=?+]))?")
# A here-document's operator at the end, whose delimiter is not complete; $[ … ] that every shell ends at the same place.
_HERE_AT_END = re.compile(r"<<-?[ \t]*(?:\\.|'[^']*'|\"[^\"]*\"|[^\s;&|<>()'\"\\`])*\Z")
_OLD_ARITHMETIC = re.compile(r"\$\[[\w +*/%-]*\]")
# A word that sets a variable; one that begins with the index of an array, which has not ended, as in NAME[1+ and in NAME=([1+.
_ASSIGNMENT = re.compile(r"\w+\+?=")
_INDEX = re.compile(r"\w*\[(?!.*\]\+?=)", re.DOTALL)
# What no shell, or not every shell, ends where this file could tell.
_ENDLESS = ("$[", "(()", "$'\\", "$(<<")
# Why no value can be quoted in a part of this kind, in backticks with a backslash, in an index, or after some characters.
_UNQUOTABLE = {
    "<<'": "it is in a here-document whose delimiter is quoted; put it into a variable before, as in V={item} sh <<'E', and use "
    "that there; only where the text is no program, write the delimiter without quotes",
    "${": "it is in a form of ${ … } that not every shell has; give it to a program instead, such as sed",
    "${=": "it is in ${NAME:= … } without double quotes around it, where a shell splits a value; put them around it",
    "((": "it is in $(( … )) or (( … )), where a shell may run what is in a value; use expr or test instead",
    "(()": "it is after (( that does not end with )), which not every shell reads alike; write ( ( or $( ( for subshells",
    "$[": "it is after $[, in which a shell may run what is in a value; write $(expr … ) instead, or \\$[ for these characters",
    "a[": "it is in the index of an array, where a shell may run what is in a value; put it into a variable, and check that it is a number",
    "$'\\": "it is after a text in $'…' that has \\' in it, which not every shell reads; write that text in other quotes",
    "$(<<": "it is after a here-document that does not begin before the end of its $( … ) or backticks; begin it there in a new line",
    "<<?": "it is in the delimiter of a here-document, which is no place for values; write a word",
    "\\`": "it is in backticks that have a backslash before it; write $( … ) instead of backticks",
    "\\": "a backslash is right before it; remove it, or double it",
    "$": "a dollar sign is right before it; remove it, or write \\$, or double the braces for a variable of the shell",
}
# The words after which a command begins.
_BEFORE_COMMAND = frozenset(("if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "fi", "done", "time"))
# What a word of case may be, also in a new line.
_IN_CASE = ("subject", "in", "pattern", "more")


class _Part:
    """A part of the command that has begun and not ended.

    `kind` is how it begins: "" for the whole command, `$(`, `(`, `=(` for the list of an array, a backtick, `case`, a
    quote, `$'`, `#`, one of the expansions, `((`, `()` for parentheses in that, `<<`, `<<'` for a here-document with a
    quoted delimiter, or one of those that do not end.
    """

    __slots__ = ("delimiter", "has_backslash", "kind", "next", "strips_tabs", "waiting", "word")

    def __init__(self, kind: str, *, delimiter: str = "", strips_tabs: bool = False) -> None:
        self.kind = kind
        # The word that is being read; in a here-document the line.
        self.word = ""
        # What the next word may be: the first of a "command", the "subject", "in" or a "pattern" of case, one "more"
        # pattern, the name after "for" or "function", or "" for any other.
        self.next = {"case": "subject", "=(": ""}.get(kind, "command")
        # The here-documents that begin after this line, in one of _COMMANDS.
        self.waiting: list[_Part] = []
        self.delimiter = delimiter
        self.strips_tabs = strips_tabs
        # Whether these backticks have a backslash in them that the shell removes before it reads the command in them.
        self.has_backslash = False


class Quoting:
    """The quotes and other parts of a shell command that are open at the end of what was read of it."""

    def __init__(self) -> None:
        self._open = [_Part("")]
        # A backslash, a dollar sign or a here-document's operator at the end, to which what follows would belong.
        self._loose = ""

    def read(self, text: str) -> None:
        """Read the next piece of the command: the text between the value before it and the next value."""
        self._loose = ""
        at = 0
        while at < len(text):
            at += self._step(text, at)

    def why_not(self) -> str:
        """Return why a value cannot be quoted here, as a clause with what to write instead; "" when it can."""
        kinds = [part.kind for part in reversed(self._open)]
        nearest = next(at for at, kind in enumerate(kinds) if kind in _COMMANDS)
        found = (
            "\\`" if any(part.has_backslash for part in self._open) else "",
            *kinds[:nearest],
            "a[" if self._is_in_index() else "",
            "" if kinds[0] in _PLAIN else self._loose,
        )
        return next((_UNQUOTABLE[each] for each in found if each in _UNQUOTABLE), "")

    def _is_in_index(self) -> bool:
        """Return whether the word that is being read began with the index of an array."""
        part = next(part for part in reversed(self._open) if part.kind in {*_COMMANDS, "case", "=("})
        may_be = part.kind == "=(" or (part.next == "command" and not part.word.startswith("["))
        return may_be and _INDEX.match(part.word) is not None

    def quote(self, variable: str) -> str:
        """Return a reference to the variable, quoted for this place. It counts as read."""
        kind = self._open[-1].kind
        self._open[-1].word += "$"
        if kind in {"'", "$'"}:
            return f"'\"${{{variable}}}\"'"
        if kind == "#" or self._around() in _QUOTES:
            return f"${{{variable}}}"
        return f'"${{{variable}}}"'

    def _around(self) -> str:
        """Return the kind of the innermost open part that is not an expansion with a word, which leaves quotes as they are."""
        return next(part.kind for part in reversed(self._open) if part.kind not in {"${-", "${=", "${"})

    def _step(self, text: str, at: int) -> int:
        """Read the character at a position, with those that belong to it. Return how many were read."""
        part, char = self._open[-1], text[at]
        backticks = next((each for each in reversed(self._open) if each.kind == "`"), None)
        if backticks is not None and char == "`":  # it ends them, also inside quotes
            self._end_substitution(backticks)
            return 1
        if backticks is not None and char == "\\":
            backticks.has_backslash |= text[at + 1 : at + 2] in self._escaped_in(backticks)
        if part.kind.startswith("<<"):
            return self._step_here_document(part, text, at)
        if part.kind in _PLAIN or part.kind in _ENDLESS:
            return self._step_plain(part, text, at)
        if char == "\\":
            return self._step_backslash(part, text, at)
        if part.kind in _ENDS:
            return self._step_inside(part, text, at)
        return self._step_command(part, text, at)

    def _step_backslash(self, part: _Part, text: str, at: int) -> int:
        """Read a backslash with the next character, which has no meaning then. A line break after it is no line break."""
        escaped = text[at + 1 : at + 2]
        self._loose = "" if escaped else "\\"
        part.word += "" if escaped == "\n" else "\\" + escaped
        return 2

    def _end_substitution(self, part: _Part) -> None:
        """End `$(` or backticks, with what is open in them."""
        del self._open[self._open.index(part) :]
        if part.waiting:
            self._open.append(_Part("$(<<"))

    def _escaped_in(self, backticks: _Part) -> set[str]:
        """Return the characters that a backslash escapes in these backticks.

        The shell removes such a backslash before it reads the command in them. The characters are `$`, a backtick and
        the backslash; also `"`, if the backticks stand in double quotes or in another part that is no command.
        """
        around = self._open[self._open.index(backticks) - 1].kind
        return {"$", "`", "\\"} if around in {*_COMMANDS, "case"} else {"$", "`", "\\", '"'}

    def _step_plain(self, part: _Part, text: str, at: int) -> int:
        """Read a character in single quotes, in a comment, or in what does not end."""
        char = text[at]
        if part.kind == "$'" and char == "\\":
            part.kind = "$'\\" if text.startswith("'", at + 1) else part.kind
            return 2
        if part.kind in {"'", "$'"} and char == "'":
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
        if waiting := self._waiting():
            self._open.append(waiting.pop(0))

    def _waiting(self) -> list[_Part]:
        """Return the here-documents that begin after this line; a subshell has those of the command that it is in."""
        return next(part.waiting for part in reversed(self._open) if part.kind in {"", "$(", "`"})

    def _begin_expansion(self, text: str, at: int) -> int:
        """Begin what a dollar sign or a backtick begins. Return how many characters were read; 0 when they begin nothing."""
        begin = next((each for each in _SUBSTITUTIONS if text.startswith(each, at)), "")
        if begin:
            self._open.append(_Part(_SUBSTITUTIONS[begin]))
            return len(begin)
        if text.startswith("$[", at):
            return self._skip_old_arithmetic(text, at)
        found = _EXPANSION.match(text, at)
        if found:
            kind = "${%" if found[1] else "${-" if found[2] else "${"
            is_split = (found[2] or "").endswith("=") and self._around() not in _QUOTES
            self._open.append(_Part("${=" if is_split else kind))
            return len(found[0])
        if text.startswith("$$", at):
            return 2
        self._loose = "$" if text[at:] == "$" else self._loose
        return 0

    def _skip_old_arithmetic(self, text: str, at: int) -> int:
        """Read `$[ … ]`, which is arithmetic in bash and text in other shells. They agree on its end only if it is simple."""
        found = _OLD_ARITHMETIC.match(text, at)
        if found:
            return len(found[0])
        self._open.append(_Part("$["))
        return 2

    def _step_inside(self, part: _Part, text: str, at: int) -> int:
        """Read a character in double quotes, in `${ … }` or in `(( … ))`."""
        char, kind = text[at], part.kind
        if text.startswith(_ENDS[kind], at):
            self._open.pop()
            return len(_ENDS[kind])
        if kind in {"((", "()"} and char == "(":
            self._open.append(_Part("()"))
        elif kind == "((" and char == ")":
            part.kind = "(()"
        elif kind != '"' and (char == '"' or (char == "'" and self._around() not in _QUOTES)):
            self._begin_quote(text, at)
        else:
            return self._begin_expansion(text, at) or 1
        return 1

    def _begin_quote(self, text: str, at: int) -> None:
        """Begin the quotes at a position."""
        self._open.append(_Part("$'" if text[at] == "'" and text[at - 1 : at] == "$" else text[at]))

    def _step_command(self, part: _Part, text: str, at: int) -> int:
        """Read a character outside quotes."""
        char = text[at]
        if char == "#" and not part.word:
            self._open.append(_Part("#"))
            return 1
        if char in " \t\n;&|<>()":
            is_list = char == "(" and part.word.endswith("=")
            self._end_word()
            if char == "(":
                return self._begin_parenthesis(text, at, "=(" if is_list else "(")
            return self._step_operator(text, at)
        part.word += char
        if char in {"'", '"'}:
            self._begin_quote(text, at)
            return 1
        return self._begin_expansion(text, at) or 1

    def _step_operator(self, text: str, at: int) -> int:
        """Read a blank, a line break or an operator, which has ended the word before it."""
        part, char = self._open[-1], text[at]
        if char in "<>":
            part.next = ""
            return self._announce_here_document(text, at)
        if char == ")":
            self._end_parenthesis(part)
        elif part.kind == "case" and text.startswith(";;", at):
            part.next = "pattern"
            return 2
        elif char not in " \t" and part.next not in _IN_CASE:
            part.next = "command"
        if char == "\n":
            self._begin_here_document()
        return 1

    def _begin_parenthesis(self, text: str, at: int, kind: str) -> int:
        """Read an opening parenthesis. Two of them begin arithmetic where a command may begin, and after `for`."""
        part = self._open[-1]
        if part.next == "pattern":
            part.next = "more"
            return 1
        if text.startswith("((", at) and part.next in {"command", "for"}:
            part.next = "command"
            self._open.append(_Part("(("))
            return 2
        part.next = "more" if part.next == "more" else "command"
        self._open.append(_Part(kind))
        return 1

    def _end_parenthesis(self, part: _Part) -> None:
        """Read a closing parenthesis: it ends `$(`, a subshell, the list of an array, or a pattern of `case`."""
        if part.kind == "$(":
            self._end_substitution(part)
        elif part.kind in {"(", "=("}:
            self._open.pop()
        else:
            part.next = "command"

    def _announce_here_document(self, text: str, at: int) -> int:
        """Read a redirection. When it is a here-document, that begins after the line."""
        if _HERE_AT_END.match(text, at):
            self._loose = "<<?"
        found = _HERE.match(text, at)
        if found is None:
            return 3 if text.startswith("<<<", at) else 1
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", found[2])
        kind = "<<" if delimiter == found[2] else "<<'"
        self._waiting().append(_Part(kind, delimiter=delimiter, strips_tabs=bool(found[1])))
        return len(found[0])

    def _end_word(self) -> None:
        """Take note of the word that has ended: it may be a keyword, after which a command begins, or begin or end `case`."""
        part = self._open[-1]
        word, part.word = part.word, ""
        if not word:
            return
        where, part.next = part.next, ""
        if word == "esac" and part.kind == "case" and where in {"command", "pattern"}:
            self._open.pop()
        elif where in {"pattern", "more"}:
            part.next = "more"
        elif where == "command" and word == "case":
            part.next = "command"  # after esac
            self._open.append(_Part("case"))
        elif where in {"subject", "in"}:
            part.next = "in" if where == "subject" else "pattern"
        elif where == "command" and word in {"for", "function"}:
            part.next = word
        elif where == "function" or (where == "command" and (word in _BEFORE_COMMAND or _ASSIGNMENT.match(word))):
            part.next = "command"
