"""What an agent asks, in fleet's words, and what an answer to it may be."""

from __future__ import annotations

from fleet.errors.families import BadInput
from fleet.model.agents.dialect import clean
from fleet.model.text import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

ALLOW, DENY = "allow", "deny"
_YES = frozenset({"allow", "yes", "y", "1", "approve", "ok"})
_NO = frozenset({"deny", "no", "n", "2"})
_ABOUT = ("command", "file_path", "url", "path", "plan", "description")
_LONGEST = 20_000


class Question:
    """One question. Choices are those of each part; a permission has one part."""

    __slots__ = ("choices", "command", "kind", "text")

    def __init__(self, *, kind: str, text: str, command: str | None, choices: list[Row]) -> None:
        self.kind = kind
        self.text = text
        self.command = command
        self.choices = choices


def question(tool: str, given: object, asking: str) -> Question:
    """The question that a tool call raises: its own, if it is the tool for asking, else whether it may be made."""
    told = given if isinstance(given, dict) else {}
    parts = [part for part in told.get("questions") or [] if isinstance(part, dict)] if tool == asking else []
    if parts:
        text = " / ".join(clean(str(part.get("question", "")), 500) for part in parts)
        return Question(kind="question", text=text, command=None, choices=[_part(part) for part in parts])
    about = next((told[name] for name in _ABOUT if isinstance(told.get(name), str)), "")
    first = clean(about.strip().partition("\n")[0], 300)
    command = clean(told["command"] if isinstance(told.get("command"), str) else jsontext.dumps(told), _LONGEST)
    choices = [{"question": "", "options": [ALLOW, DENY], "many": False}]
    return Question(kind="permission", text=f"{tool}: {first}" if first else tool, command=command, choices=choices)


def _part(part: Row) -> Row:
    options = [str(each.get("label", "")) for each in part.get("options") or [] if isinstance(each, dict)]
    return {"question": str(part.get("question", "")), "options": options, "many": bool(part.get("multiSelect"))}


def answer(kind: str, choices: list[Row], said: list[str], reason: str = "") -> Row:
    """What a person said as it is kept; BadInput when it does not fit the question."""
    if kind == "permission":
        return _verdict(said, reason)
    if len(said) != len(choices):
        told = "; ".join(_shown(part) for part in choices)
        raise BadInput(what=f"{len(choices)} answers are wanted, one for each question, not {len(said)}: {told}")
    return {"answers": {part["question"]: _chosen(part, word) for part, word in zip(choices, said)}}  # noqa: B905 - compared above


def _verdict(said: list[str], reason: str) -> Row:
    word = " ".join(said).strip()
    if word.lower() in _YES:
        return {"allow": True}
    if word.lower() in _NO:
        return {"allow": False, "reason": reason}
    if not word:
        raise BadInput(what="say allow or deny")
    # Anything else is an instruction: not this, but what is said.
    return {"allow": False, "reason": word}


def _chosen(part: Row, word: str) -> str:
    """A choice by its number or its words; several with commas where several may be; else the text itself."""
    options = part["options"]
    words = [each.strip() for each in word.split(",")] if part["many"] else [word.strip()]
    return ", ".join(options[int(each) - 1] if _is_number(each, options) else each for each in words)


def _is_number(word: str, options: list[str]) -> bool:
    return word.isascii() and word.isdigit() and 0 < int(word) <= len(options)


def _shown(part: Row) -> str:
    return f"{part['question']} ({', '.join(part['options'])})"


def in_words(given: Row) -> str:
    """An answer, for people."""
    if "answers" in given:
        return ", ".join(given["answers"].values())
    if given.get("allow"):
        return ALLOW
    return f"{DENY}: {given['reason']}" if given.get("reason") else DENY
