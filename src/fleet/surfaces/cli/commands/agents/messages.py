"""The commands `fleet message`, `inbox`, `questions`, `answer`, `approve` and `deny`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import from_stdin, json_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.agents import Answered, Choice, Question
    from fleet.surfaces.cli.options import WritingHomeUnkeyed

_INDENT = " " * 10
# From more lines than this, a diff is folded in the list of questions.
_MOST_LINES = 60


@click.command("message")
@click.argument("words", nargs=-1, required=True, metavar="[AGENT] TEXT")
@click.option("--all", "everybody", is_flag=True, help="send it to every running agent")
@click.option("-p", "--project", metavar="NAME", help="send it to every running agent of a project")
@writing_home_unkeyed
def message(
    words: tuple[str, ...], *, everybody: bool, project: str | None, **given: Unpack[WritingHomeUnkeyed]
) -> None:
    """Send a message to an agent. fleet keeps the message until the agent has received it, and delivers it once.

    A busy agent gets the message with its next tool result or at the end of its turn. An idle agent is woken, or the message is
    typed into its empty prompt; nothing is ever typed into a dialog. With - as TEXT the message is read from standard input.

    \b
    Examples:
      fleet message fix-login "use the new cookie name"
      fleet message --project web "main has moved: rebase when you commit next"
      fleet message --all "stop pushing to origin"
    """
    several = everybody or project
    if len(words) != (1 if several else 2):
        raise errors.BadInput(
            what="name the agent and the text: `fleet message AGENT TEXT`, or `fleet message --all TEXT`"
        )
    text = from_stdin(words[-1]) or ""
    with Fleet.open(actor=given["as"]) as fleet:
        sent = fleet.messages.send(text, agent=None if several else words[0], project=project)
    if given["json"]:
        terminal.say_json(sent)
        return
    if not sent:
        terminal.say("no agents are running")
    for message in sent:
        on = f"{message.project}/{message.task or ''}".rstrip("/")
        how = f"delivered ({message.how})" if message.delivered else f"waiting: {message.how}"
        terminal.say(f"message {message.id} to {message.agent} on {on}: {how}")


@click.command("inbox")
@json_option
def inbox(*, json: bool) -> None:
    """Print the messages that wait for the agent that calls. Printed messages count as received and are not printed again.

    \b
    Examples:
      fleet inbox
      fleet inbox --json
    """
    with Fleet.open() as fleet:
        received = fleet.messages.inbox()
        if json:
            terminal.say_json(received)
        else:
            for message in received:
                terminal.say(f"[fleet message {message.id}] from {message.sender}: {message.text}")
            if not received:
                terminal.say("no messages wait for you")
        sys.stdout.flush()  # acknowledge only messages that were printed
        if received:
            fleet.messages.acknowledge([message.id for message in received])


@click.command("questions")
@click.argument("question", required=False)
@json_option
def questions(question: str | None, *, json: bool) -> None:
    """List the open questions of agents, oldest first, with their choices and what would be run or written.

    A long diff is folded in the list; QUESTION (its id, its agent or its task) shows one whole.

    \b
    Examples:
      fleet questions
      fleet questions 5c0ffee1
      fleet questions --json
    """
    with Fleet.open() as fleet:
        open_questions = fleet.messages.questions()
    if question is not None:
        open_questions = [each for each in open_questions if question in {each.id, each.agent, each.task}]
        if not open_questions:
            raise errors.NoSuchQuestion(question=question)
    if json:
        terminal.say_json(open_questions)
        return
    if not open_questions:
        terminal.say("no open questions")
    for each in open_questions:
        _print_question(each, whole=question is not None)


@click.command("answer")
@click.argument("question")
@click.argument("words", nargs=-1, required=True, metavar="CHOICE|TEXT…")
@writing_home_unkeyed
def answer(question: str, words: tuple[str, ...], **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Answer a question of an agent.

    QUESTION is the question's id or the beginning of it, or the agent's id or task. Give a choice by its number or its text; if
    the agent asks several questions at once, give one choice for each. The first answer counts.

    \b
    Examples:
      fleet answer 5c0ffee1 2
      fleet answer fix-login "Use OAuth"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        _print_answer(fleet.messages.answer(question, list(words)), as_json=given["json"])


@click.command("approve")
@click.argument("question", required=False)
@click.option("--always", is_flag=True, help="and let all agents of the project run exactly this command from now on")
@click.option("--prefix", metavar="WORDS", help="and let them run every command that begins with these words")
@click.option("--all", "everything", is_flag=True, help="permit everything that agents ask for now")
@click.option("-p", "--project", metavar="NAME", help="with --all: only of this project")
@writing_home_unkeyed
def approve(
    question: str | None,
    *,
    always: bool,
    prefix: str | None,
    everything: bool,
    project: str | None,
    **given: Unpack[WritingHomeUnkeyed],
) -> None:
    """Permit what an agent asks to do: once, or permanently in its project.

    What you allow permanently is kept in the fleet home. `fleet config show` lists it, `fleet config show --share` prints
    it as a line for fleet.toml. Only one simple command can be allowed so: no quotes, no && and the like.

    \b
    Examples:
      fleet approve 5c0ffee1
      fleet approve fix-login --always
      fleet approve fix-login --prefix "uv run pytest"
      fleet approve --all
    """
    if everything == (question is not None) or (everything and (always or prefix is not None)):
        raise errors.BadInput(
            what="name the question: `fleet approve QUESTION [--always]`; or say `fleet approve --all`"
        )
    as_json = given["json"]
    with Fleet.open(actor=given["as"]) as fleet:
        if question is not None:
            _print_answer(fleet.messages.approve(question, always=always, prefix=prefix), as_json=as_json)
            return
        answered = fleet.messages.approve_all(project)
    if as_json:
        terminal.say_json(answered)
        return
    for each in answered:
        terminal.say(f"{each.agent} asked: {' '.join(each.text.split())} → {each.answer}")
    if not answered:
        terminal.say("nobody asks for a permission")


@click.command("deny")
@click.argument("question")
@click.option("-r", "--reason", metavar="TEXT", default="", help="the reason that the agent receives")
@writing_home_unkeyed
def deny(question: str, *, reason: str, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Refuse what an agent asks to do.

    \b
    Examples:
      fleet deny 5c0ffee1 --reason "never touch the production database"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        answered = fleet.messages.answer(question, ["deny"], reason=reason, kind="permission")
        _print_answer(answered, as_json=given["json"])


def _print_answer(answered: Answered, *, as_json: bool) -> None:
    """Print the question that was answered, the answer, and whether the agent has taken it."""
    if as_json:
        terminal.say_json(answered)
        return
    now = "" if answered.taken else f"; the agent has not taken it yet, `fleet peek {answered.agent}` shows it"
    terminal.say(f"{answered.agent} asked: {' '.join(answered.text.split())} → {answered.answer}{now}")
    if answered.always is not None:
        terminal.say(f"agents of {answered.project} run `{answered.always}` without asking from now on")


def _print_question(question: Question, *, whole: bool) -> None:
    """Print a question with the command or file change it asks about, its choices, and how to answer it."""
    on = f"{question.project}/{question.task or ''}".rstrip("/")
    terminal.say_message(f"{question.id or '        '}  {question.agent} on {on}: ", question.text)
    if question.change is not None:
        _print_change(question.change, question.id or question.agent, whole=whole)
    elif question.command and question.command not in question.text:
        # in full, because the person decides about this command
        terminal.say_text(question.command, indent=_INDENT)
    for choice in question.choices:
        asked = "" if choice.question in {"", question.text} else f"{choice.question} "
        _print_choice(choice, asked)
    if not question.answerable:
        terminal.say(f"{_INDENT}only at its terminal: fleet attach {question.agent}")


def _print_change(change: str, ident: str, *, whole: bool) -> None:
    """Print the diff of the file change that a question asks about.

    Without `whole`, fold a long diff and say how much is left out.
    """
    lines = change.splitlines()
    shown = lines if whole or len(lines) <= _MOST_LINES else lines[:_MOST_LINES]
    terminal.say_text("\n".join(shown), indent=_INDENT)
    if len(shown) < len(lines):
        terminal.say(f"{_INDENT}… {len(lines) - len(shown)} more lines: fleet questions {ident}")


def _print_choice(choice: Choice, asked: str) -> None:
    """Print the options of one part of a question on one line, after the text `asked`; with descriptions, each on its own line."""
    if not choice.descriptions:
        options = ", ".join(f"{number} {option}" for number, option in enumerate(choice.options, 1))
        terminal.say(f"{_INDENT}{asked}{options}".rstrip())
        return
    if asked:
        terminal.say(f"{_INDENT}{asked}".rstrip())
    for number, (option, told) in enumerate(zip(choice.options, choice.descriptions, strict=True), 1):
        terminal.say_message(f"{_INDENT}{number} {option}{': ' if told else ''}", told)


COMMANDS = {
    "message": message,
    "inbox": inbox,
    "questions": questions,
    "answer": answer,
    "approve": approve,
    "deny": deny,
}
