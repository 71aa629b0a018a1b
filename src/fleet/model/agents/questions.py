"""What an agent asks, in fleet's words, and what an answer to it may be."""

from __future__ import annotations

from fleet import errors
from fleet.model.agents.dialect import clean
from fleet.model.results.agents import Choice
from fleet.model.results.value import Value
from fleet.model.text import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Said
    from fleet.model.states import QuestionKind

ALLOW, DENY = "allow", "deny"
_YES = frozenset({"allow", "yes", "y", "1", "approve", "ok"})
_NO = frozenset({"deny", "no", "n", "2"})
_DESCRIBING_FIELDS = ("command", "file_path", "url", "path", "plan", "description")
_LONGEST = 20_000


class Asked(Value):
    """What an agent asks. There is one choice for each question that it asks at once; a permission has one."""

    kind: QuestionKind
    text: str
    command: str | None
    choices: list[Choice]


class Answer(Value):
    """What a person answered, as the store keeps it."""

    allow: Said[bool] = None  # of a permission
    reason: Said[str] = None  # why it was denied
    answers: Said[dict[str, str]] = None  # of questions: the answer to each

    def __str__(self) -> str:
        """For people."""
        if self.answers is not None:
            return ", ".join(self.answers.values())
        if self.allow:
            return ALLOW
        return f"{DENY}: {self.reason}" if self.reason else DENY


def question(tool: str, given: object, asking: str) -> Asked:
    """The question that a tool call raises: its own, if it is the tool for asking, else whether it may be made."""
    call = given if isinstance(given, dict) else {}
    parts = [part for part in call.get("questions") or [] if isinstance(part, dict)] if tool == asking else []
    if parts:
        text = " / ".join(clean(str(part.get("question", "")), 500) for part in parts)
        return Asked(kind="question", text=text, command=None, choices=[_choice(part) for part in parts])
    about = next((call[name] for name in _DESCRIBING_FIELDS if isinstance(call.get(name), str)), "")
    first = clean(about.strip().partition("\n")[0], 300)
    command = clean(call["command"] if isinstance(call.get("command"), str) else jsontext.dumps(call), _LONGEST)
    choices = [Choice(question="", options=[ALLOW, DENY], many=False)]
    return Asked(kind="permission", text=f"{tool}: {first}" if first else tool, command=command, choices=choices)


def _choice(part: dict[str, Any]) -> Choice:
    options = [str(each.get("label", "")) for each in part.get("options") or [] if isinstance(each, dict)]
    return Choice(question=str(part.get("question", "")), options=options, many=bool(part.get("multiSelect")))


def choices_of(kept: str) -> list[Choice]:
    """The choices of a question from the JSON that the store keeps."""
    parts: Any = jsontext.loads(kept)
    return [Choice.from_json(part) for part in parts]


def answer_of(kept: str) -> Answer:
    """The answer to a question from the JSON that the store keeps."""
    return Answer.from_json(jsontext.loads(kept))


def answer(kind: QuestionKind, choices: list[Choice], words: list[str], reason: str = "") -> Answer:
    """What a person said as it is kept; BadInput when it does not fit the question."""
    if kind == "permission":
        return _permission_answer(" ".join(words).strip(), reason)
    if len(words) != len(choices):
        wanted = "; ".join(f"{each.question} ({', '.join(each.options)})" for each in choices)
        raise errors.BadInput(
            what=f"{len(choices)} answers are wanted, one for each question, not {len(words)}: {wanted}"
        )
    return Answer(answers={each.question: _chosen_options(each, word) for each, word in zip(choices, words)})  # noqa: B905 - compared above


def _permission_answer(words: str, reason: str) -> Answer:
    if words.lower() in _YES:
        return Answer(allow=True)
    if words.lower() in _NO:
        return Answer(allow=False, reason=reason)
    if not words:
        raise errors.BadInput(what="say allow or deny")
    # Anything else is an instruction: not this, but what is said.
    return Answer(allow=False, reason=words)


def _chosen_options(choice: Choice, word: str) -> str:
    """A choice by its number or its words; several with commas where several may be; else the text itself."""
    options = choice.options
    words = [each.strip() for each in word.split(",")] if choice.many else [word.strip()]
    return ", ".join(options[int(each) - 1] if _is_option_number(each, options) else each for each in words)


def _is_option_number(word: str, options: list[str]) -> bool:
    return word.isascii() and word.isdigit() and 0 < int(word) <= len(options)
