"""Hook: what an engine tells of its agent while it works, and what fleet answers there and then.

Each event has a meaning, by the engine's dialect, and each meaning one function here. It decides inside one transaction, on what
is known by then. A report that says nothing new is not written down, so that the log is not flooded.
"""

from __future__ import annotations

from fleet.model.agents import questions as asking
from fleet.model.agents.dialect import clean
from fleet.model.agents.hook_events import QUIET, Heard, weighed
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import engine_holds, messages, questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fleet.model.agents.dialect import Dialect
    from fleet.store.transaction import Row, Rows, Tx
    from fleet.verbs.context import Committer

    Decide = Callable[[Tx, Row], tuple[Heard, Row]]

REPORT = (
    "You have stopped without a report. If the work is finished and committed, run `fleet done`. If it cannot be done, run "
    "`fleet fail --reason TEXT`; if you need something from a person, `fleet block --reason TEXT`. Otherwise go on working."
)
_MILLIONTHS = 1_000_000
_JOINTS = str.maketrans("", "", "_.-")
# States that say more than "it is at its prompt".
_TELLING = frozenset({"stopped", "failed_turn", "limit", "asks"})
_IDLE_TASKS = frozenset({"completed", "failed", "stopped", "killed", "done"})


class Reply:
    """What the engine reads: JSON or nothing; and which messages it carries."""

    __slots__ = ("handed", "said")

    def __init__(self, said: Row | None = None, handed: tuple[str, ...] = ()) -> None:
        self.said = said
        self.handed = handed


class Desk:
    """One event of one agent, and what is needed to answer it."""

    __slots__ = ("at", "by", "dialect", "dispatch", "event", "fresh", "store", "told")

    def __init__(
        self,
        *,
        by: Committer,
        dialect: Dialect,
        dispatch: str,
        event: str,
        told: dict[str, Any],
        at: int,
        fresh: str,
    ) -> None:
        self.by = by
        self.store = by.store
        self.dialect = dialect
        self.dispatch = dispatch
        self.event = event
        self.told = told
        self.at = at
        self.fresh = fresh  # an id that nobody has yet

    def text(self, name: str) -> str:
        """One fact of the event."""
        return self.dialect.text(self.told, name)

    def known(self) -> Row | None:
        """The agent's record, its hold and how many messages wait; None when it has ended."""

        def look(rows: Rows) -> Row | None:
            agent: Row | None = q.heard_agent(rows, dispatch=self.dispatch)
            if agent is None:
                return None
            held = q.hold_of(rows, engine=self.dialect.engine)
            waiting = messages.waiting(q.waiting_messages(rows, dispatch=self.dispatch), self.at)
            asked = q.open_questions(rows, dispatch=self.dispatch)
            return {**agent, "held": held, "waiting": len(waiting), "asked": len(asked)}

        return self.store.read(look)


def hear(desk: Desk) -> Reply:
    """Take in one event."""
    act = _ACTS.get(desk.dialect.events.get(desk.event, ""))
    known = desk.known() if act else None
    return act(desk, known) if act and known else Reply()


# what each event means ------------------------------------------------------------------------------------------------
def _started(desk: Desk, known: Row) -> Reply:
    heard = Heard(desk.at, state="working", facts=_facts(desk))
    return _with_messages(desk, known, heard, "session start")


def _prompted(desk: Desk, _known: Row) -> Reply:
    """Somebody spoke to it: a person, or a message of ours that was typed."""
    carried = messages.ids_in(desk.text("prompt"))

    def decide(tx: Tx, _known: Row) -> tuple[Heard, Row]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        for ident in carried:
            q.acknowledge_message(tx, id=ident, dispatch=desk.dispatch, at=tx.at)
        return Heard(desk.at, state="working", turn="new", facts=_facts(desk), yields=True), {}

    _written(desk, decide)
    return Reply()


def _worked(desk: Desk, known: Row) -> Reply:
    """A tool has run: the model answers, and reads what it is told with the result."""
    ours = asking.question(desk.text("tool"), desk.dialect.field(desk.told, "input"), desk.dialect.asking)
    still = known["asked"] and known["state"] == "asks"
    if not still:
        heard = Heard(desk.at, state="working", turn="good", facts=_facts(desk))
        return _with_messages(desk, known, heard, "tool result")

    def decide(tx: Tx, _known: Row) -> tuple[Heard, Row]:
        q.close_questions(tx, dispatch=desk.dispatch, text=ours.text, at=desk.at)
        left = q.open_questions(tx, dispatch=desk.dispatch)
        state = {"state": "asks", "detail": left[0].text} if left else {"state": "working"}
        return Heard(desk.at, turn="good", facts=_facts(desk), **state), _handed(tx, desk, "tool result")

    return _context(desk, _written(desk, decide))


def _notified(desk: Desk, known: Row) -> Reply:
    """It tells its person something, late: a question that no other hook told, or that it has waited for a while."""
    state = desk.dialect.notices.get(desk.text("notice"))
    if state == "idle" and (known["state"] in _TELLING or known["state"] in QUIET):
        state = None
    if state == "asks" and known["state"] == "asks":
        state = None
    detail = desk.text("notice_text") if state == "asks" else ""
    _quietly(desk, known, Heard(desk.at, state=state, detail=detail, facts=_facts(desk), yields=True))
    return Reply()


def _stopped(desk: Desk, _known: Row) -> Reply:
    """The turn is over. One without a report is sent back once; what waits is said now."""
    busy = _background(desk)

    def decide(tx: Tx, known: Row) -> tuple[Heard, Row]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        handed = _handed(tx, desk, "stop feedback")
        facts, turn = _facts(desk), "good"
        if handed["messages"]:
            state, detail, turn = "working", "", "new"
        elif busy:
            state, detail = "working", f"{busy} background task{'' if busy == 1 else 's'}"
        elif known["report"] or known["asked_for"] or known["kind"] == "coord":
            state, detail = "idle", ""
        elif not known["sent_back"]:
            state, detail, turn = "working", "sent back to report", "back"
        else:
            state, detail = "stopped", desk.text("words")
        return Heard(desk.at, state=state, detail=detail, turn=turn, facts=facts), {**handed, "back": turn == "back"}

    done = _written(desk, decide)
    if done.get("messages"):
        return _carrying(done, {"decision": "block", "reason": messages.told(done["messages"])})
    return Reply({"decision": "block", "reason": REPORT} if done.get("back") else None)


def _failed(desk: Desk, _known: Row) -> Reply:
    """An error of the model's interface ended the turn. That is never idle."""
    error = desk.text("error") or "unknown error"
    reason = clean(desk.text("words"), 500) or error
    remedy = desk.dialect.errors.get(error, "")

    def decide(tx: Tx, _known: Row) -> tuple[Heard, Row]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        if remedy in {"limit", "login"}:
            engine_holds.hold(tx, desk.dialect.engine, remedy, reason)
        state = "limit" if remedy == "limit" else "failed_turn"
        detail = reason if state == "limit" else f"{error}: {reason}"
        turn = "failed" if remedy == "again" else "good"
        return Heard(desk.at, state=state, detail=detail, turn=turn, facts=_facts(desk), yields=True), {}

    _written(desk, decide)
    return Reply()


def _ended(desk: Desk, _known: Row) -> Reply:
    def decide(tx: Tx, _known: Row) -> tuple[Heard, Row]:
        q.close_questions(tx, dispatch=desk.dispatch, text=None, at=desk.at)
        return Heard(desk.at, state="ended", detail=desk.text("reason"), facts=_facts(desk)), {}

    _written(desk, decide)
    return Reply()


def _compacting(desk: Desk, known: Row) -> Reply:
    _quietly(desk, known, Heard(desk.at, state="compacting", facts=_facts(desk), yields=True))
    return Reply()


def _status(desk: Desk, known: Row) -> Reply:
    """Its status line: how full its context is, what it cost, how much of its account's windows is used."""
    told = engine_holds.windows(desk.dialect.field(desk.told, "windows"))
    engine = desk.dialect.engine
    if not desk.store.read(lambda rows: engine_holds.news(rows, engine, told)):
        _quietly(desk, known, Heard(desk.at, facts=_facts(desk)))
        return Reply()

    def decide(tx: Tx, _known: Row) -> tuple[Heard, Row]:
        engine_holds.keep(tx, engine, told)
        return Heard(desk.at, facts=_facts(desk)), {}

    _written(desk, decide)
    return Reply()


def _asks(desk: Desk, _known: Row) -> Reply:
    """It asks a person. What is answered here is only that; whoever called waits with `awaited`."""
    asked = asking.question(desk.text("tool"), desk.dialect.field(desk.told, "input"), desk.dialect.asking)

    def decide(tx: Tx, _known: Row) -> tuple[Heard, Row]:
        questions.add(tx, desk.fresh, desk.dispatch, asked, at=desk.at)
        return Heard(desk.at, state="asks", detail=asked.text, facts=_facts(desk)), {"question": desk.fresh}

    return Reply({"question": _written(desk, decide).get("question")})


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
def _written(desk: Desk, decide: Decide) -> Row:
    """Decide and write in one transaction, on what is known by then."""

    def work(tx: Tx) -> Row:
        known = q.heard_agent(tx, dispatch=desk.dispatch)
        if known is None:
            return {}
        tx.about(known.project, known.slug)
        heard, result = decide(tx, known)
        after = weighed(known, heard)
        if after is not None:
            q.learn_agent(tx, **after)
        _lift(tx, desk, heard)
        tx.note(event=desk.event, state=heard.state, detail=heard.detail or None)
        return result

    return desk.by.commit(Change(f"hook {desk.event} of {desk.dispatch}", work))


def _lift(tx: Tx, desk: Desk, heard: Heard) -> None:
    """The model answered: whatever held the engine back is over."""
    if heard.turn != "good" or heard.state in {"failed_turn", "limit"}:
        return
    if engine_holds.is_over(q.hold_of(tx, engine=desk.dialect.engine), heard.at):
        q.lift_hold(tx, engine=desk.dialect.engine)
        tx.note(lifted=desk.dialect.engine)


def _quietly(desk: Desk, known: Row, heard: Heard) -> None:
    """Write it down only if it is news."""
    if weighed(known, heard) is not None:
        _written(desk, lambda _tx, _known: (heard, {}))


def _with_messages(desk: Desk, known: Row, heard: Heard, how: str) -> Reply:
    """The same, with what waits for the agent."""
    lifts = heard.turn == "good" and engine_holds.is_over(known["held"], heard.at)
    if not known["waiting"] and not lifts and weighed(known, heard) is None:
        return Reply()
    return _context(desk, _written(desk, lambda tx, _now: (heard, _handed(tx, desk, how))))


def _handed(tx: Tx, desk: Desk, how: str) -> Row:
    rows = messages.hand_out(tx, desk.dispatch, how)
    if rows:
        tx.note(messages=[row["id"] for row in rows], how=how)
    return {"messages": [{name: row[name] for name in ("id", "sender", "text")} for row in rows]}


def _context(desk: Desk, done: Row) -> Reply:
    if not done.get("messages"):
        return Reply()
    said = {"hookEventName": desk.event, "additionalContext": messages.told(done["messages"])}
    return _carrying(done, {"hookSpecificOutput": said})


def _carrying(done: Row, said: Row) -> Reply:
    return Reply(said, tuple(row["id"] for row in done["messages"]))


# reading --------------------------------------------------------------------------------------------------------------
def _facts(desk: Desk) -> Row:
    context, tokens, cost = (desk.dialect.field(desk.told, name) for name in ("context", "tokens", "cost"))
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
    given = desk.dialect.field(desk.told, "background")
    tasks = given if isinstance(given, list) else []
    return sum(not (isinstance(each, dict) and each.get("status") in _IDLE_TASKS) for each in tasks)
