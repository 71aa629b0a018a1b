"""The text about the selected row, and about the question that its agent asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from fleet.api.views.sections import one_line
from fleet.model.text import escapes
from fleet.model.text.times import age, since_epoch
from fleet.surfaces.tui.feeds.tabs import diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.agents import Question
    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.acts.choosing import Choosing
    from fleet.surfaces.tui.look import ScreenLook

# How many lines of a change that an agent asks about are shown at most.
_SHOWN_CHANGE = 30


def about_row(row: RowView | None, changes: str, now: int, look: ScreenLook, width: int) -> Text:
    """Return the facts about a row: state, task and title; then agent, branch, changes, context, source and age.

    The title takes one line, so that there is room for the facts. For a project, only its name is returned; without a
    row, an empty text.
    """
    if row is None:
        return Text("")
    text = Text()
    if row.kind == "project":
        text.append(row.project, style=look.style("", bold=True))
        return text
    text.append(f"{row.glyph} {row.state}", style=look.style(row.tone, bold=True))
    text.append(
        f"  {row.project}/{row.slug}" if row.slug else f"  {row.project}'s {row.kind}", style=look.style("", bold=True)
    )
    text.append(f"  {one_line(row.title if row.slug and row.title != row.slug else '')}")
    text.truncate(max(width, 1), overflow="ellipsis")
    facts = [
        f"{row.agent} ({row.engine or 'fleet'}, {row.dispatch_kind})"
        if row.agent and row.kind in {"task", "coordinator"}
        else "",
        row.branch,
        changes,
        f"context {row.context}%" if row.context is not None else "",
        f"{row.source}, {age(now - since_epoch(row.since))} ago" if row.since else "",
        f"up {age(now - since_epoch(row.started_at))}" if row.started_at else "",
    ]
    text.append(
        "".join(f"\n{line}" for line in _lines_of([fact for fact in facts if fact], width)), style=look.style("dim")
    )
    if row.text and row.question is None:
        text.append(f"\n{one_line(row.text)}", style=look.style(row.tone))
    return text


def _lines_of(facts: list[str], width: int) -> list[str]:
    """Return the facts joined into as few lines of this width as possible. A fact that is longer than a line gets its own."""
    lines: list[str] = []
    for fact in facts:
        longer = f"{lines[-1]} · {fact}" if lines else fact
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(fact)
    return lines


def question_of(
    row: RowView | None, question: Question | None, look: ScreenLook, key_of: Callable[[str], str], choosing: Choosing
) -> Text | None:
    """Return the open question of a row as text; None when the row has no open question.

    While `question` is None, because it has not been fetched yet, the text is what the row itself says about it.
    """
    if question is not None:
        return _question_text(question, look, key_of, choosing)
    if row is None or row.question is None:
        return None
    return Text(f"{row.text}\n…", style=look.style("yellow", bold=True))


def _question_text(question: Question, look: ScreenLook, key_of: Callable[[str], str], choosing: Choosing) -> Text:
    """Return a question with the command or change it asks about, its choices, and the keys that answer it."""
    text = Text()
    text.append(escapes.text(question.text), style=look.style("yellow", bold=True))
    if question.change is not None:
        lines = diff_lines(question.change, look)
        for line in lines[:_SHOWN_CHANGE]:
            text.append("\n")
            text.append_text(line)
        if len(lines) > _SHOWN_CHANGE:
            text.append(
                f"\n… {len(lines) - _SHOWN_CHANGE} more lines: fleet questions {question.id}", style=look.style("dim")
            )
    elif question.command and question.command not in question.text:
        text.append(f"\n{escapes.text(question.command)}", style=look.style(""))
    if question.kind == "permission":
        text.append(f"\n{key_of('approve')} approve   {key_of('deny')} deny", style=look.style("blue", bold=True))
        return text
    for place in range(len(question.choices)):
        _add_choice(text, question, place, look, choosing)
    text.append(f"\n{key_of('answer')} answer in your own words", style=look.style("dim"))
    return text


def _add_choice(text: Text, question: Question, place: int, look: ScreenLook, choosing: Choosing) -> None:
    """Append part `place` (from 0) of a question to `text`: its words, then its numbered options.

    When the question has several parts, mark the answered ones and the current one.
    """
    choice, here = question.choices[place], len(choosing.answers)
    several = len(question.choices) > 1
    sign = ("✓ " if place < here else "▶ " if place == here else "  ") if several else ""
    if several or (choice.question and choice.question != question.text):
        text.append(f"\n{sign}{escapes.line(choice.question or question.text)}", style=look.style("bold"))
    chosen = set(choosing.answers[place].split(",")) if place < here else choosing.marked if place == here else set()
    described = [*choice.descriptions, *[""] * len(choice.options)]
    for number, option in enumerate(choice.options, 1):
        text.append(f"\n{number} ", style=look.style("blue", bold=True))
        if choice.many or place < here:
            text.append("[x] " if str(number) in chosen else "[ ] ", style=look.style("blue", bold=True))
        text.append(escapes.line(option))
        text.append(
            f"  {escapes.line(described[number - 1])}" if described[number - 1] else "", style=look.style("dim")
        )
    if choice.many and place == here:
        text.append(
            "\nseveral may be chosen: a number marks one, ⏎ sends those that are marked", style=look.style("dim")
        )
