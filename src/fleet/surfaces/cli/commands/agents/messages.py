"""fleet message, inbox, questions, answer, approve, deny."""

from __future__ import annotations

import sys
from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.errors.families import BadInput
from fleet.surfaces.cli.options import from_stdin, json_option, unkeyed
from fleet.surfaces.cli.ui import terminal

_INDENT = " " * 10


@click.command("message")
@click.argument("words", nargs=-1, required=True, metavar="[AGENT] TEXT")
@click.option("--all", "everybody", is_flag=True, help="to every agent at work")
@click.option("-p", "--project", metavar="NAME", help="to every agent of a project")
@unkeyed
def message(words: tuple[str, ...], **given: Any) -> None:
    """Say something to an agent. It is kept until the agent has it, and given once.

    A busy agent gets it with its next tool result or when its turn ends; an idle one is woken, or it is typed into its
    empty prompt. Nothing is ever typed at a dialog. TEXT may be - for standard input.

    \b
    Examples:
      fleet message fix-login "use the new cookie name"
      fleet message --project web "main has moved: rebase when you commit next"
      fleet message --all "stop pushing to origin"
    """
    several = given["everybody"] or given["project"]
    if len(words) != (1 if several else 2):
        raise BadInput(what="say whom and what: `fleet message AGENT TEXT`, or `fleet message --all TEXT`")
    text = from_stdin(words[-1]) or ""
    with Fleet.open(actor=given["as"]) as fleet:
        sent = fleet.messages.send(text, agent=None if several else words[0], project=given["project"])
    if given["json"]:
        terminal.say_json(sent)
        return
    if not sent:
        terminal.say("nobody is at work")
    for each in sent:
        on = f"{each['project']}/{each['task'] or ''}".rstrip("/")
        how = f"delivered ({each['how']})" if each["delivered"] else f"waiting: {each['how']}"
        terminal.say(f"message {each['id']} to {each['agent']} on {on}: {how}")


@click.command("inbox")
@json_option
def inbox(**given: Any) -> None:
    """What waits for you, an agent. It is shown once, and so acknowledged.

    \b
    Examples:
      fleet inbox
      fleet inbox --json
    """
    with Fleet.open() as fleet:
        found = fleet.messages.inbox()
        keep = ("id", "kind", "sender", "text")
        if given["json"]:
            terminal.say_json([{name: each[name] for name in keep} for each in found])
        else:
            for each in found:
                terminal.say(f"[fleet message {each['id']}] from {each['sender']}: {each['text']}")
            if not found:
                terminal.say("nothing waits for you")
        sys.stdout.flush()  # acknowledged is only what was shown
        fleet.messages.read([each["id"] for each in found])


@click.command("questions")
@json_option
def questions(**given: Any) -> None:
    """What agents ask, oldest first, with the choices.

    \b
    Examples:
      fleet questions
      fleet questions --json
    """
    with Fleet.open() as fleet:
        found = fleet.messages.questions()
    if given["json"]:
        terminal.say_json(found)
        return
    if not found:
        terminal.say("nobody asks anything")
    for each in found:
        _show(each)


@click.command("answer")
@click.argument("question")
@click.argument("said", nargs=-1, required=True, metavar="CHOICE|TEXT…")
@unkeyed
def answer(question: str, said: tuple[str, ...], **given: Any) -> None:
    """Answer what an agent asks.

    QUESTION is its id or the beginning of one, or the agent's id or task. A choice is its number or its words; of several questions at once each
    gets one. The first answer counts.

    \b
    Examples:
      fleet answer 5c0ffee1 2
      fleet answer fix-login "Use OAuth"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        _told(fleet.messages.answer(question, list(said)), as_json=given["json"])


@click.command("approve")
@click.argument("question")
@unkeyed
def approve(question: str, **given: Any) -> None:
    """Let an agent do what it asks for.

    \b
    Examples:
      fleet approve 5c0ffee1
      fleet approve fix-login
    """
    with Fleet.open(actor=given["as"]) as fleet:
        _told(fleet.messages.answer(question, ["allow"], kind="permission"), as_json=given["json"])


@click.command("deny")
@click.argument("question")
@click.option("-r", "--reason", metavar="TEXT", default="", help="what the agent is told")
@unkeyed
def deny(question: str, **given: Any) -> None:
    """Do not let an agent do what it asks for.

    \b
    Examples:
      fleet deny 5c0ffee1 --reason "never touch the production database"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        done = fleet.messages.answer(question, ["deny"], reason=given["reason"], kind="permission")
        _told(done, as_json=given["json"])


def _told(done: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(done)
        return
    now = "" if done["taken"] else f"; the agent has not taken it yet, `fleet peek {done['agent']}` shows it"
    terminal.say(f"{done['agent']} asked: {' '.join(done['text'].split())} → {done['answer']}{now}")


def _show(each: dict[str, Any]) -> None:
    on = f"{each['project']}/{each['task'] or ''}".rstrip("/")
    terminal.say_message(f"{each['id'] or '        '}  {each['agent']} on {on}: ", each["text"])
    if each["command"] and each["command"] not in each["text"]:  # whole: a person decides by it
        terminal.say_text(each["command"], indent=_INDENT)
    for part in each["choices"]:
        options = ", ".join(f"{number} {option}" for number, option in enumerate(part["options"], 1))
        asked = "" if part["question"] in {"", each["text"]} else f"{part['question']} "
        terminal.say(f"{_INDENT}{asked}{options}".rstrip())
    if not each["answerable"]:
        terminal.say(f"{_INDENT}only at its terminal: fleet attach {each['agent']}")


COMMANDS = {
    "message": message,
    "inbox": inbox,
    "questions": questions,
    "answer": answer,
    "approve": approve,
    "deny": deny,
}
