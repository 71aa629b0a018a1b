"""The text about the selected row, and about the question that its agent asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fleet.api.views.sections import one_line
from fleet.model.text import escapes
from fleet.model.text.times import age, since_epoch
from fleet.surfaces.tui.feeds.tabs import diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.agents import Question
    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.look import Look

_SHOWN_CHANGE = 30


def about_row(row: RowView | None, changes: str, now: int, look: Look, width: int) -> Text:
    """Return the facts about a row: state, task and title; then agent, branch, changes, context, source and age.

    The title takes one line, so that there is room for the facts.
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
    text.append(f"\n{' · '.join(fact for fact in facts if fact)}", style=look.style("dim"))
    if row.text and row.question is None:
        text.append(f"\n{one_line(row.text)}", style=look.style(row.tone))
    return text


def question_of(
    row: RowView | None, question: Question | None, look: Look, key_of: Callable[[str], str]
) -> Text | None:
    """Return the open question of a row as text; None when it has none.

    Until the question is fetched, the text is what the row itself says about it.
    """
    if question is not None:
        return question_text(question, look, *(key_of(name) for name in ("approve", "deny", "answer")))
    if row is None or row.question is None:
        return None
    return Text(f"{row.text}\n…", style=look.style("yellow", bold=True))


def question_text(question: Question, look: Look, approve: str, deny: str, answer: str) -> Text:
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
        text.append(f"\n{approve} approve   {deny} deny", style=look.style("blue", bold=True))
        return text
    for choice in question.choices:
        if choice.question and choice.question != question.text:
            text.append(f"\n{escapes.line(choice.question)}", style=look.style("bold"))
        described = [*choice.descriptions, *[""] * len(choice.options)]
        for number, option in enumerate(choice.options, 1):
            text.append(f"\n{number} ", style=look.style("blue", bold=True))
            text.append(escapes.line(option))
            text.append(
                f"  {escapes.line(described[number - 1])}" if described[number - 1] else "", style=look.style("dim")
            )
    text.append(f"\n{answer} answer in your own words", style=look.style("dim"))
    return text
