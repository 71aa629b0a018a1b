"""Hook: what an engine tells of its agent while it works, and what fleet answers there and then.

Each event has a meaning, by the engine's dialect, and each meaning one function here. It decides inside one transaction, on what
is known by then. A report that says nothing new is not written down, so that the log is not flooded.
"""

from __future__ import annotations

from fleet.model.agents import questions as asking
from fleet.model.agents.dialect import clean
from fleet.model.agents.hook_events import QUIET, Heard, weighed
from fleet.model.results.value import Value
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import engine_holds, messages, questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.agents.dialect import Dialect, Payload
    from fleet.model.agents.hook_events import Facts, Turn
    from fleet.model.results.reports import Received
    from fleet.store.queries import Hold, LivingAgent
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Committer

    # What an event says of the agent, and the messages that the reply carries.
    Decide = Callable[[Tx, LivingAgent], tuple[Heard, list[Received]]]

REPORT = (
    "You have stopped without a report. If the work is finished and committed, run `fleet done`. If it cannot be done, run "
    "`fleet fail --reason TEXT`; if you need something from a person, `fleet block --reason TEXT`. Otherwise go on working."
)
_MILLIONTHS = 1_000_000
_JOINTS = str.maketrans("", "", "_.-")
# States that say more than "it is at its prompt".
_TELLING = frozenset({"stopped", "failed_turn", "limit", "asks"})
_IDLE_TASKS = frozenset({"completed", "failed", "stopped", "killed", "done"})


class Reply(Value):
    """What is answered to an event."""

    payload: Payload | None = None  # what the engine reads
    messages: tuple[str, ...] = ()  # the ids of the messages in it
    question: str | None = None  # the id of the question whose answer is to be waited for


class Outcome(Value):
    """What was written down of an event: what became of the turn, and the messages that were handed out."""

    turn: Turn
    messages: list[Received]


class Known(Value):
    """An agent that has not ended: its record, its engine's hold, and how many messages and questions wait."""

    agent: LivingAgent
    hold: Hold | None
    waiting: int
    asked: int


class Desk(Value):
    """One event of one agent, and what is needed to answer it."""

    by: Committer
    dialect: Dialect
    dispatch: str
    event: str
    payload: Payload  # what the engine tells with it
    at: int
    fresh: str  # an id that nobody has yet

    def text(self, name: str) -> str:
        """One fact of the event."""
        return self.dialect.text(self.payload, name)

    def known(self) -> Known | None:
        """What is known of the agent; None when it has ended."""

        def look(rows: Rows) -> Known | None:
            agent = q.heard_agent(rows, dispatch=self.dispatch)
            if agent is None:
                return None
            hold = q.hold_of(rows, engine=self.dialect.engine)
            waiting = messages.waiting(rows, self.dispatch, self.at)
            asked = q.open_questions(rows, dispatch=self.dispatch)
            return Known(agent=agent, hold=hold, waiting=len(waiting), asked=len(asked))

        return self.by.store.read(look)


def hear(desk: Desk) -> Reply:
    """Take in one event."""
    act = _ACTS.get(desk.dialect.events.get(desk.event, ""))
    known = desk.known() if act is not None else None
    return act(desk, known) if act is not None and known is not None else Reply()


# what each event means ------------------------------------------------------------------------------------------------
def _started(desk: Desk, known: Known) -> Reply:
    heard = Heard(desk.at, state="working", facts=_facts(desk))
    return _with_messages(desk, known, heard, "session start")


def _prompted(desk: Desk, _known: Known) -> Reply:
    """Somebody spoke to it: a person, or a message of ours that was typed."""
    carried = messages.ids_in(desk.text("prompt"))

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[Heard, list[Received]]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        for ident in carried:
            q.acknowledge_message(tx, id=ident, dispatch=desk.dispatch, at=tx.at)
        return Heard(desk.at, state="working", turn="new", facts=_facts(desk), yields=True), []

    _write(desk, decide)
    return Reply()


def _worked(desk: Desk, known: Known) -> Reply:
    """A tool has run: the model answers, and reads what it is told with the result."""
    if not known.asked or known.agent.state != "asks":
        heard = Heard(desk.at, state="working", turn="good", facts=_facts(desk))
        return _with_messages(desk, known, heard, "tool result")
    answered = _asked(desk).text

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[Heard, list[Received]]:
        q.close_questions(tx, dispatch=desk.dispatch, text=answered, at=desk.at)
        left = q.open_questions(tx, dispatch=desk.dispatch)
        state, detail = ("asks", left[0].text) if left else ("working", "")
        heard = Heard(desk.at, state=state, detail=detail, turn="good", facts=_facts(desk))
        return heard, messages.hand_out(tx, desk.dispatch, "tool result")

    return _context(desk, _write(desk, decide))


def _notified(desk: Desk, known: Known) -> Reply:
    """It tells its person something, late: a question that no other hook told, or that it has waited for a while."""
    state = desk.dialect.notices.get(desk.text("notice"))
    before = known.agent.state
    if (state == "idle" and (before in _TELLING or before in QUIET)) or (state == before == "asks"):
        state = None
    detail = desk.text("notice_text") if state == "asks" else ""
    _write_news(desk, known, Heard(desk.at, state=state, detail=detail, facts=_facts(desk), yields=True))
    return Reply()


def _stopped(desk: Desk, _known: Known) -> Reply:
    """The turn is over. One without a report is sent back once; what waits is said now."""
    busy = _background(desk)

    def decide(tx: Tx, agent: LivingAgent) -> tuple[Heard, list[Received]]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        handed = messages.hand_out(tx, desk.dispatch, "stop feedback")
        turn: Turn = "good"
        if handed:
            state, detail, turn = "working", "", "new"
        elif busy:
            state, detail = "working", f"{busy} background task{'' if busy == 1 else 's'}"
        elif agent.report or agent.asked_for or agent.kind == "coord":
            state, detail = "idle", ""
        elif not agent.sent_back:
            state, detail, turn = "working", "sent back to report", "back"
        else:
            state, detail = "stopped", desk.text("words")
        return Heard(desk.at, state=state, detail=detail, turn=turn, facts=_facts(desk)), handed

    outcome = _write(desk, decide)
    if outcome is not None and outcome.messages:
        return _carrying(outcome, {"decision": "block", "reason": messages.lines(outcome.messages)})
    is_back = outcome is not None and outcome.turn == "back"
    return Reply(payload={"decision": "block", "reason": REPORT} if is_back else None)


def _failed(desk: Desk, _known: Known) -> Reply:
    """An error of the model's interface ended the turn. That is never idle."""
    error = desk.text("error") or "unknown error"
    reason = clean(desk.text("words"), 500) or error
    remedy = desk.dialect.errors.get(error)

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[Heard, list[Received]]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        if remedy is not None and remedy != "again":
            engine_holds.hold(tx, desk.dialect.engine, remedy, reason)
        state = "limit" if remedy == "limit" else "failed_turn"
        detail = reason if state == "limit" else f"{error}: {reason}"
        turn: Turn = "failed" if remedy == "again" else "good"
        return Heard(desk.at, state=state, detail=detail, turn=turn, facts=_facts(desk), yields=True), []

    _write(desk, decide)
    return Reply()


def _ended(desk: Desk, _known: Known) -> Reply:
    def decide(tx: Tx, _agent: LivingAgent) -> tuple[Heard, list[Received]]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        return Heard(desk.at, state="ended", detail=desk.text("reason"), facts=_facts(desk)), []

    _write(desk, decide)
    return Reply()


def _compacting(desk: Desk, known: Known) -> Reply:
    _write_news(desk, known, Heard(desk.at, state="compacting", facts=_facts(desk), yields=True))
    return Reply()


def _status(desk: Desk, known: Known) -> Reply:
    """Its status line: how full its context is, what it cost, how much of its account's windows is used."""
    windows = engine_holds.windows(desk.dialect.field(desk.payload, "windows"))
    engine = desk.dialect.engine
    if not desk.by.store.read(lambda rows: engine_holds.changed_windows(rows, engine, windows)):
        _write_news(desk, known, Heard(desk.at, facts=_facts(desk)))
        return Reply()

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[Heard, list[Received]]:
        engine_holds.keep(tx, engine, windows)
        return Heard(desk.at, facts=_facts(desk)), []

    _write(desk, decide)
    return Reply()


def _asks(desk: Desk, _known: Known) -> Reply:
    """It asks a person. What is answered here is only that; whoever called waits with `awaited`."""
    asked = _asked(desk)

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[Heard, list[Received]]:
        questions.add(tx, desk.fresh, desk.dispatch, asked, at=desk.at)
        return Heard(desk.at, state="asks", detail=asked.text, facts=_facts(desk)), []

    return Reply(question=desk.fresh if _write(desk, decide) is not None else None)


_ACTS = {
    "started": _started,
    "prompted": _prompted,
    "worked": _worked,
    "notified": _notified,
    "stopped": _stopped,
    "failed": _failed,
    "ended": _ended,
    "compacting": _compacting,
    "status": _status,
    "asks": _asks,
}


# writing --------------------------------------------------------------------------------------------------------------
def _write(desk: Desk, decide: Decide) -> Outcome | None:
    """Decide and write in one transaction, on what is known by then; None when the agent has ended."""

    def work(tx: Tx) -> Outcome | None:
        agent = q.heard_agent(tx, dispatch=desk.dispatch)
        if agent is None:
            return None
        tx.about(agent.project, agent.slug)
        heard, handed = decide(tx, agent)
        after = weighed(agent, heard)
        if after is not None:
            learn(tx, after)
        _lift(tx, desk, heard)
        tx.note(event=desk.event, state=heard.state, detail=heard.detail or None)
        return Outcome(turn=heard.turn, messages=handed)

    return desk.by.commit(Change(f"hook {desk.event} of {desk.dispatch}", work))


def learn(tx: Tx, after: LivingAgent) -> None:
    """Write down what is known of an agent now."""
    q.learn_agent(
        tx,
        dispatch=after.dispatch,
        state=after.state,
        state_at=after.state_at,
        detail=after.detail,
        context=after.context,
        tokens=after.tokens,
        cost=after.cost,
        conversation=after.conversation,
        compacting=after.compacting,
        sent_back=after.sent_back,
        failed_turns=after.failed_turns,
        heartbeat_at=after.heartbeat_at,
    )


def _lift(tx: Tx, desk: Desk, heard: Heard) -> None:
    """The model answered: whatever held the engine back is over."""
    if heard.turn != "good" or heard.state in {"failed_turn", "limit"}:
        return
    if engine_holds.is_over(q.hold_of(tx, engine=desk.dialect.engine), heard.at):
        q.lift_hold(tx, engine=desk.dialect.engine)
        tx.note(lifted=desk.dialect.engine)


def _write_news(desk: Desk, known: Known, heard: Heard) -> None:
    """Write it down only if it is news."""
    if weighed(known.agent, heard) is not None:
        _write(desk, lambda _tx, _agent: (heard, []))


def _with_messages(desk: Desk, known: Known, heard: Heard, how: str) -> Reply:
    """The same, with what waits for the agent."""
    lifts = heard.turn == "good" and engine_holds.is_over(known.hold, heard.at)
    if not known.waiting and not lifts and weighed(known.agent, heard) is None:
        return Reply()
    return _context(desk, _write(desk, lambda tx, _agent: (heard, messages.hand_out(tx, desk.dispatch, how))))


def _context(desk: Desk, outcome: Outcome | None) -> Reply:
    if outcome is None or not outcome.messages:
        return Reply()
    context = {"hookEventName": desk.event, "additionalContext": messages.lines(outcome.messages)}
    return _carrying(outcome, {"hookSpecificOutput": context})


def _carrying(outcome: Outcome, payload: Payload) -> Reply:
    return Reply(payload=payload, messages=tuple(each.id for each in outcome.messages))


# reading --------------------------------------------------------------------------------------------------------------
def _asked(desk: Desk) -> asking.Asked:
    return asking.question(desk.text("tool"), desk.dialect.field(desk.payload, "input"), desk.dialect.asking)


def _facts(desk: Desk) -> Facts:
    context, tokens, cost = (desk.dialect.field(desk.payload, name) for name in ("context", "tokens", "cost"))
    named = desk.text("conversation")
    return {
        "conversation": named if _is_name(named) else None,
        "context": int(context) if isinstance(context, int | float) else None,
        "tokens": tokens if isinstance(tokens, int) and tokens > 0 else None,
        "cost": int(cost * _MILLIONTHS) if isinstance(cost, int | float) else None,
    }


def _is_name(text: str) -> bool:
    """Whether a conversation can be called so on a command line: it is no flag and no path."""
    return text[:1].isalnum() and text.isascii() and text.translate(_JOINTS).isalnum()


def _background(desk: Desk) -> int:
    """How many of its tasks go on without it."""
    given = desk.dialect.field(desk.payload, "background")
    tasks = given if isinstance(given, list) else []
    return sum(not (isinstance(each, dict) and each.get("status") in _IDLE_TASKS) for each in tasks)
