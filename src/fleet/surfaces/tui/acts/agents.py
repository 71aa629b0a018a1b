"""The keys that act on agents: attach, start a coordinator, answer, message, hand off, resume, end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.dispatch.seat_steps import OWN_LOOP
from fleet.surfaces.tui.acts.doing import Doing, in_project, on_agent
from fleet.surfaces.tui.acts.texts import Enclosed
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.dialogs.writing import Write
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.model.results.agents import Answered, Sent
    from fleet.model.results.coord import HandoffView, Seated, Unseated
    from fleet.model.results.dispatches import Ended, Resumed
    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.board import Board

# Seconds in which a handoff may be finished before the person is told how far it has come.
_HANDOFF_PATIENCE = 60.0
# The states in which a coordinator is joined; in any other state, a new one is started.
_LIVING = frozenset({"alive", "starting", "unknown"})


# joining --------------------------------------------------------------------------------------------------------------
def _may_attach(board: Board) -> bool:
    """Whether the key `attach` applies: a living agent, or a heading or project that can be folded, is selected."""
    return on_agent(board) or board.rows.is_foldable


def attach_label(board: Board) -> str:
    """Return the word in the key bar for what the key `attach` does with the selected row: attach, fold or log.

    It is "log" for a coordinator that is a duty of the daemon, and so has no session.
    """
    if board.rows.is_foldable:
        return "fold"
    row = board.row
    return "log" if row is not None and not row.slug and _is_daemons(board, row.agent or "") else "attach"


def _attach(board: Board) -> None:
    """Attach the terminal to the selected agent's session; when a heading or project is selected, fold or unfold it.

    Show the log of a coordinator that has no session, because it is a duty of the daemon.
    """
    if board.rows.is_foldable and not on_agent(board):
        board.rows.fold()
        return
    row = _row(board)
    if not row.slug and _is_daemons(board, row.agent or ""):
        _show_log(board, row.project)
        return
    board.attach(row.agent or "", f"{row.project}/{row.slug}" if row.slug else f"the coordinator of {row.project}")


def _coordinator(board: Board) -> None:
    """Attach the terminal to the selected project's coordinator; start one when none lives.

    When the coordinator is a duty of the daemon, show its log instead. While one is being started, only say so.
    """
    project = board.project or ""
    name = f"coordinator {project}"
    if name in board.acts.running:
        board.say(f"the coordinator of {project} is being started: wait a moment")
        return

    def act(fleet: Fleet) -> str | Seated:
        """Return the id of the living coordinator; when none lives, start one and return its seat."""
        seat = fleet.coord.show(project)
        if seat.holder is not None and seat.state in _LIVING:
            return seat.holder
        return fleet.coord.start(Wanted(project=project, slug=None, kind="coord", engine=OWN_LOOP))

    def then(found: str | Seated) -> None:
        """Attach to the coordinator that lives already, or show which one was started."""
        if isinstance(found, str) and _is_daemons(board, found):
            _show_log(board, project)
            return
        if isinstance(found, str):
            board.attach(found, f"the coordinator of {project}")
            return
        key = board.key_of("coordinator")
        warnings = "".join(f"\n{warning}" for warning in found.warnings)
        board.say(f"{found.id} coordinates {project} ({found.engine}); {key} joins it{warnings}")

    board.act(name, f"starting the coordinator of {project}", act, then)


def _is_daemons(board: Board, ident: str) -> bool:
    """Whether an agent is a coordinator that the daemon runs as one of its duties, so that it has no terminal."""
    agents = board.snapshot.agents if board.snapshot else []
    return any(agent.id == ident and agent.source == "daemon" for agent in agents)


def _show_log(board: Board, project: str) -> None:
    """Select the coordinator that the daemon runs for a project, and show its log in the live tab."""
    row = next(
        (row for row in board.rows_by_key.values() if row.project == project and row.kind == "coordinator"), None
    )
    if row is not None:
        board.rows.unfold_to(row.key)
    board.show_tab("live")
    board.say(f"the daemon coordinates {project}, without a terminal: the live tab shows its log")


# questions ------------------------------------------------------------------------------------------------------------
def _asks(board: Board, kind: str) -> bool:
    """Whether the agent of the selected row asks a question of this kind (`permission` or `question`)."""
    return board.row is not None and board.row.asks == kind


def _approve(board: Board) -> None:
    """Permit what the selected agent asks."""
    question = _row(board).question or ""
    board.act(f"answer {question}", "approving", lambda fleet: fleet.messages.approve(question), TellAnswer(board))


def _deny(board: Board) -> None:
    """Ask the person for a reason, then refuse what the selected agent asks."""
    question = _row(board).question or ""

    def deny(fleet: Fleet, reason: str) -> Answered:
        """Send the refusal with this reason, which may be empty."""
        return fleet.messages.answer(question, ["deny"], reason=reason, kind="permission")

    hint = "the reason, which the agent receives, or nothing"
    dialog = Write("Deny it", text=_row(board).text, hint=hint, optional=True)
    board.texts.ask(dialog, f"answer {question}", "denying", deny, TellAnswer(board))


def _answer(board: Board) -> None:
    """Ask the person for an answer in words, then send it to the selected agent."""
    question = _row(board).question or ""
    several = board.question is not None and len(board.question.choices) > 1
    hint = "one line for each question" if several else "the number or the text of a choice, or your own words"

    def answer(fleet: Fleet, text: str) -> Answered:
        """Send the answer, or one for each question."""
        return fleet.messages.answer(question, text.splitlines() if several else [text])

    dialog = Write("Answer", text=_row(board).text, hint=hint)
    board.texts.ask(dialog, f"answer {question}", "answering", answer, TellAnswer(board))


def answer_question(board: Board, question: str, words: list[str]) -> None:
    """Answer a question in the background. `words` are what the person chose or wrote, one for each part of the question."""
    board.act(
        f"answer {question}", "answering", lambda fleet: fleet.messages.answer(question, words), TellAnswer(board)
    )


class TellAnswer:
    """Shows the person which answer was given, and whether the agent has taken it."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __call__(self, answered: Answered) -> None:
        """Show which answer the agent was given, and whether it has taken the answer."""
        now = "" if answered.taken else "; the agent has not taken it yet"
        self._board.say(f"{answered.agent}: {' '.join(answered.text.split())} → {answered.answer}{now}")


# messages, handoffs ---------------------------------------------------------------------------------------------------
def _message(board: Board) -> None:
    """Ask the person for a text, with the comments on the diff already in it, and send it to the selected agent."""
    row = _row(board)
    ident = row.agent or ""

    def send(fleet: Fleet, text: str) -> list[Sent]:
        return fleet.messages.send(text, agent=ident)

    def said(sent: list[Sent]) -> None:
        """Show whether the agent has the message."""
        for each in sent:
            how = f"delivered ({each.how})" if each.delivered else f"waiting: {each.how}"
            board.say(f"message to {each.agent}: {how}")

    enclosed = Enclosed(board.drafts, (row.project, row.slug or ""), board.commenting.in_words())
    board.texts.ask(
        Write(f"Message to {_who(row)}"), f"message {ident}", f"sending to {ident}", send, said, enclosed=enclosed
    )


def _hand_off(board: Board) -> None:
    """Ask the person for a reason, then hand the selected agent off to a successor."""
    row = _row(board)
    ident = row.agent or ""

    def hand_over(fleet: Fleet, reason: str) -> HandoffView:
        """Queue the handoff for this reason, which may be empty, and advance it for at most 60 seconds."""
        entry = fleet.coord.hand_off(ident, reason=reason or "asked for")
        return fleet.coord.finish_handoff(entry.id, limit=_HANDOFF_PATIENCE)

    def said(entry: HandoffView) -> None:
        """Show which successor continues the work, or why none does yet."""
        after = f"{entry.successor} goes on" if entry.successor else entry.deferred or f"it is {entry.state}"
        board.say(f"{ident} is handed off: {after}")

    text = (
        f"{_who(row)} is asked to exit. A document for its successor is written first, from the task, its log and commits; "
        "the successor goes on in the same worktree. Nothing of the work is lost."
    )
    dialog = Write("Hand off", text=text, hint="the reason, or nothing", optional=True)
    board.texts.ask(dialog, f"hand off {ident}", f"handing {ident} off", hand_over, said)


# resuming and ending --------------------------------------------------------------------------------------------------
def _may_resume(board: Board) -> bool:
    """Whether the selected row has ended or stopped work that can be resumed."""
    return board.row is not None and board.row.resumable


def _resume(board: Board) -> None:
    """Resume the work of the selected row in the background, and show which agent continues it."""
    row = _row(board)
    given = row.agent or row.attempt or row.slug or ""

    def said(resumed: Resumed) -> None:
        """Show which agent continues, and whether in the conversation of the earlier one."""
        how = "in its conversation" if resumed.conversation else "in a new conversation"
        board.say(f"{resumed.id} continues after {resumed.predecessor}, {how}")

    board.act(
        f"resume {given}", f"resuming {given}", lambda fleet: fleet.dispatches.resume(given, project=row.project), said
    )


def _kill(board: Board) -> None:
    """Ask the person whether to stop or kill the selected agent, and show what happens to its work in each case.

    A coordinator can only be stopped.
    """
    row = _row(board)
    if row.kind == "coordinator":
        _stop_coordinator(board, row)
        return
    name, says, said = f"end {row.agent}", f"{row.agent} is asked to exit", _tell_end(board)
    again = board.key_of("resume")
    stop = Way("s", "stop", f"its task is blocked and keeps its worktree and commits; {again} continues there")
    kill = Way(
        "x",
        "kill",
        "its task is failed; its worktree and commits are kept, what is not committed stays in the worktree",
    )

    def chosen(way: str | None) -> None:
        """Stop the agent, or ask why it is to be killed; do nothing when the person left the dialog."""
        if way == "stop":
            board.act(name, says, lambda fleet: fleet.dispatches.stop(row.agent or ""), said)
        elif way == "kill":
            dialog = Write("Kill: why?", text=f"{_who(row)}. The reason is kept with the task.")
            board.texts.ask(dialog, name, says, killed, said)

    def killed(fleet: Fleet, reason: str) -> Ended:
        return fleet.dispatches.kill(row.agent or "", reason)

    board.ask(Ask(f"End {_who(row)}?", [stop, kill], danger=True, no="let it work"), chosen)


def _tell_end(board: Board) -> Callable[[Ended], None]:
    """Return a function that takes the result of ending an agent and shows whether it has ended."""

    def said(ended: Ended) -> None:
        """Show whether the agent has ended, and what it left."""
        if not ended.settled:
            board.warn(f"{ended.id} was asked to exit and is not ended yet: {ended.why}")
            return
        left = f"; left: {'; '.join(ended.left)}" if ended.left else ""
        board.say(f"{ended.id} is ended ({ended.exec_state}){left}")

    return said


def _stop_coordinator(board: Board, row: RowView) -> None:
    """Ask the person whether to stop the coordinator of the row's project, and stop it when they say yes."""
    starts = f"until {board.key_of('coordinator')} starts another one"
    way = Way("y", "stop it", f"nothing is started or merged in the project {starts}; agents work on")

    def chosen(answer: str | None) -> None:
        """Stop the coordinator. `answer` is None when the person closed the dialog without a choice: nothing is done then."""
        if answer:
            board.act(
                f"stop coordinator {row.project}",
                f"stopping the coordinator of {row.project}",
                lambda fleet: fleet.coord.stop(row.project, "stopped by a person"),
                said,
            )

    def said(ended: Unseated) -> None:
        """Show that the coordinator is stopped, or why it is not."""
        if ended.stopped:
            board.say(f"the coordinator of {row.project} is stopped")
        else:
            board.warn(f"the coordinator of {row.project} is not stopped: {ended.why}")

    board.ask(Ask(f"Stop the coordinator of {row.project}?", [way], danger=True, no="let it work"), chosen)


def _row(board: Board) -> RowView:
    """Return the selected row. Only acts that apply to a selected row may call this."""
    assert board.row is not None  # noqa: S101 - the act applies only then
    return board.row


def _who(row: RowView) -> str:
    """Return words for the agent of a row: its id, kind and task; for a coordinator, its id and project."""
    place = f"{row.project}/{row.slug}" if row.slug else f"the coordinator of {row.project}"
    return f"{row.agent}, {row.dispatch_kind} of {place}" if row.slug else f"{row.agent}, {place}"


ON_AGENTS = {
    "attach": Doing(_may_attach, _attach),
    "coordinator": Doing(in_project, _coordinator),
    "approve": Doing(lambda board: _asks(board, "permission"), _approve),
    "deny": Doing(lambda board: _asks(board, "permission"), _deny),
    "answer": Doing(lambda board: _asks(board, "question"), _answer),
    "message": Doing(on_agent, _message),
    "hand-off": Doing(on_agent, _hand_off),
    "resume": Doing(_may_resume, _resume),
    "kill": Doing(on_agent, _kill),
}
