"""The questions that an agent asks a person, and the answers to them."""

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
# Long enough for what an agent writes in one go: it is shown as a diff.
_LONGEST = 200_000
_LONGEST_DESCRIPTION = 1_000
# The fields that a call of the shell tool may have for its command to be judged by the command's text alone.
_BESIDE_COMMAND = frozenset({"command", "description", "timeout", "run_in_background"})


class QuestionAsked(Value):
    """What an agent asks in one tool call: one permission, or one or more questions, each with its choices.

    `command` is the text of the call that wants permission, None for questions. `runs` is None unless the call only
    runs a shell command.
    """

    kind: QuestionKind
    text: str
    command: str | None
    choices: list[Choice]
    runs: str | None = None  # the shell command that it wants to run, unchanged; None for another tool


class Answer(Value):
    """A person's answer, as the store keeps it.

    `allow` is None for an answer to questions; `answers` maps each question to its answer, None for a permission.
    """

    allow: Said[bool] = None  # only for a permission
    reason: Said[str] = None  # why the permission was denied
    answers: Said[dict[str, str]] = None  # the answer to each question; None for a permission

    def __str__(self) -> str:
        """Return in words what the person answered: the choices, or allow, or deny with the reason."""
        if self.answers is not None:
            return ", ".join(self.answers.values())
        if self.allow:
            return ALLOW
        return f"{DENY}: {self.reason}" if self.reason else DENY


def question(tool: str, given: object, asking: str, shell: str = "") -> QuestionAsked:
    """Return what a tool call asks of a person: the agent's own questions, or the permission to use the tool.

    `given` is the input of the call, `asking` the name of the engine's tool for questions, `shell` the name of its tool
    for shell commands.
    """
    call = given if isinstance(given, dict) else {}
    parts = [part for part in call.get("questions") or [] if isinstance(part, dict)] if tool == asking else []
    if parts:
        text = " / ".join(clean(str(part.get("question", "")), 500) for part in parts)
        return QuestionAsked(kind="question", text=text, command=None, choices=[_choice_of(part) for part in parts])
    about = next((call[name] for name in _DESCRIBING_FIELDS if isinstance(call.get(name), str)), "")
    first = clean(about.strip().partition("\n")[0], 300)
    choices = [Choice(question="", options=[ALLOW, DENY], descriptions=[], many=False)]
    command = clean(call["command"], _LONGEST) if isinstance(call.get("command"), str) else ""
    is_plain = tool == shell and call.get("command") == command and call.keys() <= _BESIDE_COMMAND
    text = f"{tool}: {first}" if first else tool
    return QuestionAsked(
        kind="permission",
        text=text,
        command=_text_for_person(call, command),
        choices=choices,
        runs=command if is_plain else None,
    )


def _text_for_person(call: dict[str, object], command: str) -> str:
    """Return the text that shows a tool call to a person who is asked to allow it.

    It is the command, followed by the call's other fields as JSON, without `description`, `timeout` and
    `run_in_background`. Without a command (''), it is all fields as JSON. A command that begins with a brace gets a
    space before it, so that nobody takes it for JSON.
    """
    if not command:
        return clean(jsontext.dumps(call), _LONGEST)
    beside = {name: value for name, value in call.items() if name not in _BESIDE_COMMAND}
    text = f" {command}" if command.startswith("{") else command
    return f"{text}\nwith {clean(jsontext.dumps(beside), _LONGEST)}" if beside else text


def _choice_of(part: dict[str, Any]) -> Choice:
    """Return the choice that one part of the agent's question offers."""
    options = [option for option in part.get("options") or [] if isinstance(option, dict)]
    told = [clean(str(option.get("description") or ""), _LONGEST_DESCRIPTION) for option in options]
    return Choice(
        question=str(part.get("question", "")),
        options=[str(option.get("label", "")) for option in options],
        descriptions=told if any(told) else [],
        many=bool(part.get("multiSelect")),
    )


def choices_of(kept: str) -> list[Choice]:
    """Return the choices of a question, parsed from the JSON in the store."""
    parts: Any = jsontext.loads(kept)
    return [Choice.from_json({"descriptions": [], **part}) for part in parts]


def answer_of(kept: str) -> Answer:
    """Return the answer to a question, parsed from the JSON in the store."""
    return Answer.from_json(jsontext.loads(kept))


def answer(kind: QuestionKind, choices: list[Choice], words: list[str], reason: str = "") -> Answer:
    """Return the answer to a question or a permission, from the words that a person gave.

    For questions, `words` has one answer for each choice. For a permission, it has yes, no, or what the agent shall do
    instead; `reason` is why a plain "no" denies it. Raise BadInput when the number of answers is wrong, or `words` is
    empty.
    """
    if kind == "permission":
        return _permission_answer(" ".join(words).strip(), reason)
    if len(words) != len(choices):
        wanted = "; ".join(f"{choice.question} ({', '.join(choice.options)})" for choice in choices)
        raise errors.BadInput(
            what=f"{len(choices)} answers are wanted, one for each question, not {len(words)}: {wanted}"
        )
    return Answer(answers={choice.question: _chosen_options(choice, word) for choice, word in zip(choices, words)})  # noqa: B905 - compared above


def _permission_answer(words: str, reason: str) -> Answer:
    """Return the answer to a permission. Words other than yes or no deny it and tell the agent what to do instead.

    `reason` is why a plain "no" denies it. Raise BadInput when `words` is empty.
    """
    if words.lower() in _YES:
        return Answer(allow=True)
    if words.lower() in _NO:
        return Answer(allow=False, reason=reason)
    if not words:
        raise errors.BadInput(what="say allow or deny")
    # Anything else denies the permission and is the instruction what to do instead.
    return Answer(allow=False, reason=words)


def _chosen_options(choice: Choice, word: str) -> str:
    """Return the options that a person chose by number or as text, joined by commas.

    `word` names several, separated by commas, only if the choice allows many. A text that is not the number of an
    option is kept as it is, even when it is none of the options.
    """
    options = choice.options
    words = [part.strip() for part in word.split(",")] if choice.many else [word.strip()]
    return ", ".join(options[int(part) - 1] if _is_option_number(part, options) else part for part in words)


def _is_option_number(word: str, options: list[str]) -> bool:
    return word.isascii() and word.isdigit() and 0 < int(word) <= len(options)
