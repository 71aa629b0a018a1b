"""Handle an event that an engine's hook reports about its agent, and return the reply that the engine reads.

The engine's dialect gives each event a meaning, and each meaning has one function here. That function decides inside
the transaction that records the event, on the state that the store has then. A frequent event, such as a tool result,
is not recorded when it changes nothing, so that the operation log stays short.
"""

from __future__ import annotations

from fleet.model.agents import questions as asking
from fleet.model.agents.activity.hook_events import HELD, QUIET, HookReport, agent_after_report
from fleet.model.agents.dialect import clean
from fleet.model.dispatch.steps import is_ending
from fleet.model.results.reports import Received  # noqa: TC001 - a stored Outcome is made of it
from fleet.model.results.value import Value
from fleet.model.tasks.pipeline import WORKING
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.cost import record_limits
from fleet.world.home import allowed
from fleet.world.home.uncommitted import first_files, uncommitted_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.agents.activity.hook_events import Facts, Turn
    from fleet.model.agents.dialect import Dialect, Payload
    from fleet.store.queries import Hold, LivingAgent
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Committer
    from fleet.world.funnel import Funnel

    # Returns the report about the agent, and the messages that the reply carries.
    Decide = Callable[[Tx, LivingAgent], tuple[HookReport, list[Received]]]

# What an agent is told that stops without a report.
REPORT = (
    "You have stopped without a report. If the work is finished and committed, run `fleet done`. If it cannot be done, run "
    "`fleet fail --reason TEXT`; if you need something from a person, `fleet block --reason TEXT`. Otherwise go on working."
)
# With this word Codex begins the description of a request for network access.
_NETWORK = "network-access"
_MILLIONTHS = 1_000_000
# The table that removes from a conversation's name what may separate its parts.
_SEPARATORS = str.maketrans("", "", "_.-")
# States that say more than `idle`.
_INFORMATIVE = frozenset({"stopped", "over_budget", "failed_turn", "limit", "login", "asks"})
# The states of a background task that is over.
_ENDED_TASKS = frozenset({"completed", "failed", "stopped", "killed", "done"})


class Reply(Value):
    """The reply to a hook event.

    `payload`: JSON for the engine, None for nothing. `messages`: the ids of the messages in it. `question`: the id of a
    question of the agent whose answer the hook has to wait for, None for none.
    """

    payload: Payload | None = None  # the JSON that the engine reads
    messages: tuple[str, ...] = ()  # ids of the messages in the payload
    question: str | None = None  # id of the question whose answer the hook has to wait for


class HookOutcome(Value):
    """What was recorded for a hook event.

    `turn`: how the agent's turn went. `messages`: those that were handed out. `question`: the id of the question that the
    agent asked, None for none.
    """

    turn: Turn
    messages: list[Received]
    question: str | None = None


class Known(Value):
    """What the store knows of a running agent: its row, the hold of its engine, and how many messages and questions wait."""

    agent: LivingAgent
    hold: Hold | None
    waiting: int
    asked: int


class HookEvent(Value):
    """One hook event of one agent, with everything that is needed to handle it.

    `at` is when the hook was called, in milliseconds. `new_question_id` is an unused id, for a question that the event
    may ask. `over_budget` and `rules` are '' when there are none.
    """

    by: Committer
    dialect: Dialect
    dispatch: str
    name: str
    payload: Payload  # the JSON that the engine sent with the event
    at: int
    new_question_id: str
    over_budget: str = ""  # at the end of a turn: why the agent may not go on, because a budget is spent
    rules: str = ""  # the value of the environment variable with the rules that the agent was started with
    home: str
    funnel: Funnel

    def text(self, name: str) -> str:
        """Return one field of the event's payload as text; "" when the engine did not send the field."""
        return self.dialect.text(self.payload, name)

    def known(self) -> Known | None:
        """Return what the store knows of the agent; None when the agent has ended."""

        def look(rows: Rows) -> Known | None:
            """Read the agent, its engine's hold and its counts in one snapshot; None when the agent has ended."""
            agent = q.heard_agent(rows, dispatch=self.dispatch)
            if agent is None:
                return None
            hold = q.hold_of(rows, engine=self.dialect.engine)
            waiting = messages.waiting(rows, self.dispatch, self.at)
            asked = q.open_questions(rows, dispatch=self.dispatch)
            return Known(agent=agent, hold=hold, waiting=len(waiting), asked=len(asked))

        return self.by.store.read(look)


def handle_event(event: HookEvent) -> Reply:
    """Record one hook event and return the reply to it.

    The reply is empty when the event means nothing to fleet or when the agent has ended.
    """
    act = _HANDLERS.get(event.dialect.events.get(event.name, ""))
    known = event.known() if act is not None else None
    return act(event, known) if act is not None and known is not None else Reply()


# what each event means ------------------------------------------------------------------------------------------------
def _on_started(event: HookEvent, known: Known) -> Reply:
    """Record that the session started, and hand out the waiting messages."""
    report = HookReport(event.at, state="working", facts=_facts(event))
    return _record_and_hand_out(event, known, report, "session start")


def _on_prompted(event: HookEvent, _known: Known) -> Reply:
    """Record that the agent was prompted, by a person or a typed message; acknowledge the messages that the prompt contains."""
    carried = messages.ids_in(event.text("prompt"))

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Close the agent's questions, acknowledge messages; return the report "working", and no messages."""
        q.close_questions(tx, dispatch=event.dispatch, text=None, at=event.at)
        for ident in carried:
            q.acknowledge_message(tx, id=ident, dispatch=event.dispatch, at=tx.at)
        return HookReport(event.at, state="working", turn="new", facts=_facts(event), yields=True), []

    _record_event(event, decide)
    return Reply()


def _on_worked(event: HookEvent, known: Known) -> Reply:
    """Record that a tool has run, close the question that its call asked, and hand out messages with its result."""
    if not known.asked or known.agent.state != "asks":
        report = HookReport(event.at, state="working", turn="good", facts=_facts(event))
        return _record_and_hand_out(event, known, report, "tool result")
    answered = _asked_question(event).text

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Close the answered question; return the report "asks" or "working", and the messages handed out."""
        q.close_questions(tx, dispatch=event.dispatch, text=answered, at=event.at)
        left = q.open_questions(tx, dispatch=event.dispatch)
        state, detail = ("asks", left[0].text) if left else ("working", "")
        report = HookReport(event.at, state=state, detail=detail, turn="good", facts=_facts(event))
        return report, messages.hand_out(tx, event.dispatch, "tool result")

    return _context_reply(event, _record_event(event, decide))


def _on_notified(event: HookEvent, known: Known) -> Reply:
    """Record a notice of the engine, for example that the agent is idle or asks for permission.

    Notices come late, so an idle notice does not replace a more informative state, such as "limit" or "asks".
    """
    state = event.dialect.notices.get(event.text("notice"))
    before = known.agent.state
    if (state == "idle" and (before in _INFORMATIVE or before in QUIET)) or (state == before == "asks"):
        state = None
    # A notice that asks for permission may name the command only beside its text.
    detail = event.text("notice_command") or event.text("notice_text") if state == "asks" else ""
    _record_if_news(event, known, HookReport(event.at, state=state, detail=detail, facts=_facts(event), yields=True))
    return Reply()


def _on_stopped(event: HookEvent, known: Known) -> Reply:
    """Record that the agent's turn has ended. Reply with its waiting messages, or once with the request to report.

    That request is not sent to a coordinator, to an agent that has reported or was asked to exit, or while background
    tasks run. An agent whose budget is spent stays stopped, and its messages wait, until a person allows more.
    """
    busy = _count_background_tasks(event)

    def decide(tx: Tx, agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Close the agent's questions; return the report about its state now, and the messages handed out."""
        q.close_questions(tx, dispatch=event.dispatch, text=None, at=event.at)
        stops = event.over_budget and not is_ending(agent)
        handed = [] if stops else messages.hand_out(tx, event.dispatch, "stop feedback")
        turn: Turn = "good"
        if handed:
            state, detail, turn = "working", "", "new"
        elif busy:
            state, detail = "working", f"{busy} background task{'' if busy == 1 else 's'}"
        elif stops:
            state, detail = "over_budget", event.over_budget
        elif is_ending(agent) or agent.kind == "coord":
            state, detail = "idle", ""
        elif not agent.sent_back:
            state, detail, turn = "working", "sent back to report", "back"
        else:
            state, detail = "stopped", event.text("words")
        return HookReport(event.at, state=state, detail=detail, turn=turn, facts=_facts(event)), handed

    outcome = _record_event(event, decide)
    if outcome is not None and outcome.messages:
        return _reply_with(outcome, {"decision": "block", "reason": messages.lines(outcome.messages)})
    if outcome is None or outcome.turn != "back":
        return Reply()
    return Reply(payload={"decision": "block", "reason": f"{_uncommitted_sentence(event, known.agent)}{REPORT}"})


def _uncommitted_sentence(event: HookEvent, agent: LivingAgent) -> str:
    """Return the sentence that names the uncommitted files of an agent that stops.

    "" when there are none, or for a kind of dispatch that makes no commits.
    """
    if agent.slug is None or agent.kind not in WORKING:
        return ""
    project = event.by.store.read(lambda rows: q.project_by_name(rows, name=agent.project))
    files = uncommitted_work(event.home, project, agent.slug, event.funnel) if project else None
    if not files:
        return ""
    return f"Your worktree has uncommitted changes: {first_files(files)}. Commit what belongs to the task. "


def _on_failed(event: HookEvent, _known: Known) -> Reply:
    """Record that an API error ended the turn; hold the engine back when the error is a usage limit or a failed login."""
    error = event.text("error") or "unknown error"
    reason = clean(event.text("words"), 500) or error
    remedy = event.dialect.errors.get(error)

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Hold the engine back if the error demands it; return the report of the failure, and no messages."""
        q.close_questions(tx, dispatch=event.dispatch, text=None, at=event.at)
        if remedy is not None and remedy != "again":
            record_limits.hold_engine(tx, event.dialect.engine, remedy, reason)
        state = remedy if remedy is not None and remedy in HELD else "failed_turn"
        detail = reason if state == "limit" else f"{error}: {reason}"
        turn: Turn = "failed" if remedy == "again" else "good"
        return HookReport(event.at, state=state, detail=detail, turn=turn, facts=_facts(event), yields=True), []

    _record_event(event, decide)
    return Reply()


def _on_ended(event: HookEvent, _known: Known) -> Reply:
    """Record that the agent's session has ended, and close its questions."""

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Close the agent's questions; return the report "ended", and no messages."""
        q.close_questions(tx, dispatch=event.dispatch, text=None, at=event.at)
        return HookReport(event.at, state="ended", detail=event.text("reason"), facts=_facts(event)), []

    _record_event(event, decide)
    return Reply()


def _on_compacting(event: HookEvent, known: Known) -> Reply:
    """Record that the agent is compacting its context."""
    _record_if_news(event, known, HookReport(event.at, state="compacting", facts=_facts(event), yields=True))
    return Reply()


def _on_status(event: HookEvent, known: Known) -> Reply:
    """Record what the status line reports: how full the context is, the cost, and the quota windows of the account."""
    windows = record_limits.read_windows(event.dialect.field(event.payload, "windows"))
    engine = event.dialect.engine
    if not event.by.store.read(lambda rows: record_limits.changed_windows(rows, engine, windows)):
        _record_if_news(event, known, HookReport(event.at, facts=_facts(event)))
        return Reply()

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Record the quota windows; return a report with the other figures, and no messages."""
        record_limits.record_windows(tx, engine, windows)
        return HookReport(event.at, facts=_facts(event)), []

    _record_event(event, decide)
    return Reply()


def _on_asks(event: HookEvent, known: Known) -> Reply:
    """Record the agent's question, and reply with its id: the caller then waits for the answer.

    A command that a person has allowed permanently, before or after the agent's start, is permitted at once, without a
    question.
    """
    asked = _asked_question(event)
    if asked.runs is not None and _is_allowed(event, known.agent.project, asked.runs):
        return Reply(payload=permission(event.name))

    def decide(tx: Tx, _agent: LivingAgent) -> tuple[HookReport, list[Received]]:
        """Record the question; return the report "asks", and no messages."""
        questions.add(tx, event.new_question_id, event.dispatch, asked, at=event.at)
        return HookReport(event.at, state="asks", detail=asked.text, facts=_facts(event)), []

    outcome = _record_event(event, decide, question=event.new_question_id)
    return Reply(question=outcome.question if outcome is not None else None)


def _on_permits(event: HookEvent, _known: Known) -> Reply:
    """Permit a command that the agent's rules allow, as they were at its start; else reply nothing.

    Without a reply, a person answers at the terminal. Rules added since the start do not count, because the agent's sandbox
    may let the agent write to the home. Network access, which Codex requests together with a command, is not permitted
    here.
    """
    asked, given = _asked_question(event), event.dialect.field(event.payload, "input")
    if isinstance(given, dict) and str(given.get("description") or "").startswith(_NETWORK):
        return Reply()
    is_allowed = asked.runs is not None and allowed.rules_in_variable(event.rules).permits_line(asked.runs)
    return Reply(payload=permission(event.name)) if is_allowed else Reply()


_HANDLERS = {
    "started": _on_started,
    "prompted": _on_prompted,
    "worked": _on_worked,
    "notified": _on_notified,
    "stopped": _on_stopped,
    "failed": _on_failed,
    "ended": _on_ended,
    "compacting": _on_compacting,
    "status": _on_status,
    "asks": _on_asks,
    "permits": _on_permits,
}


def _is_allowed(event: HookEvent, project: str, command: str) -> bool:
    """Return whether a person has permanently allowed this command in the agent's project."""
    row = event.by.store.read(lambda rows: q.project_by_name(rows, name=project))
    return row is not None and allowed.read(event.home, project, row.added_at).permits(command)


def permission(event: str) -> Payload:
    """Return the JSON reply by which a hook permits what the agent asks for."""
    return {"hookSpecificOutput": {"hookEventName": event, "decision": {"behavior": asking.ALLOW}}}


# writing --------------------------------------------------------------------------------------------------------------
def _record_event(event: HookEvent, decide: Decide, *, question: str | None = None) -> HookOutcome | None:
    """In one transaction, call `decide` and record the report that it returns, with the messages it hands out.

    `question` is the id of the question that the event asks. Returns None when the agent has ended. If the daemon recorded
    the event under the same key and its reply was lost, return the outcome recorded then.
    """

    def work(tx: Tx) -> HookOutcome | None:
        agent = q.heard_agent(tx, dispatch=event.dispatch)
        if agent is None:
            return None
        tx.about(agent.project, agent.slug)
        report, handed = decide(tx, agent)
        after = agent_after_report(agent, report)
        if after is not None:
            record_agent(tx, after)
        _lift_hold(tx, event, report)
        tx.note(event=event.name, state=report.state, detail=report.detail or None)
        return HookOutcome(turn=report.turn, messages=handed, question=question)

    recorded: Change[HookOutcome | None] = Change(f"hook {event.name} of {event.dispatch}", work, returns=HookOutcome)
    return event.by.commit(recorded)


def record_agent(tx: Tx, after: LivingAgent) -> None:
    """Write the new state of an agent to the store."""
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


def _lift_hold(tx: Tx, event: HookEvent, report: HookReport) -> None:
    """Lift the hold of the event's engine when `report` tells of a good turn after the hold was over: the engine works again."""
    if report.turn != "good" or report.state == "failed_turn" or report.state in HELD:
        return
    if record_limits.is_hold_over(q.hold_of(tx, engine=event.dialect.engine), report.at):
        q.lift_hold(tx, engine=event.dialect.engine)
        tx.note(lifted=event.dialect.engine)


def _record_if_news(event: HookEvent, known: Known, report: HookReport) -> None:
    """Record a hook report only if it changes what is known of the agent."""
    if agent_after_report(known.agent, report) is not None:
        _record_event(event, lambda _tx, _agent: (report, []))


def _record_and_hand_out(event: HookEvent, known: Known, report: HookReport, how: str) -> Reply:
    """Record a hook report and reply with the waiting messages; do nothing when there is neither news nor a message.

    `how`, such as "tool result", is recorded with the messages: the way in which the agent gets them.
    """
    lifts = report.turn == "good" and record_limits.is_hold_over(known.hold, report.at)
    if not known.waiting and not lifts and agent_after_report(known.agent, report) is None:
        return Reply()
    return _context_reply(
        event, _record_event(event, lambda tx, _agent: (report, messages.hand_out(tx, event.dispatch, how)))
    )


def _context_reply(event: HookEvent, outcome: HookOutcome | None) -> Reply:
    """Return the reply that adds the handed-out messages to the model's context; an empty reply without messages."""
    if outcome is None or not outcome.messages:
        return Reply()
    context = {"hookEventName": event.name, "additionalContext": messages.lines(outcome.messages)}
    return _reply_with(outcome, {"hookSpecificOutput": context})


def _reply_with(outcome: HookOutcome, payload: Payload) -> Reply:
    """Return the reply with this payload and the ids of the messages handed out."""
    return Reply(payload=payload, messages=tuple(message.id for message in outcome.messages))


# reading --------------------------------------------------------------------------------------------------------------
def _asked_question(event: HookEvent) -> asking.QuestionAsked:
    """Return the question or permission that the event's tool call asks for."""
    tool, given = event.text("tool"), event.dialect.field(event.payload, "input")
    return asking.question(tool, given, event.dialect.asking, event.dialect.shell)


def _facts(event: HookEvent) -> Facts:
    """Return what the event says of the agent; None for a value that is missing or malformed.

    The values are its conversation, its use of the context (percent), its tokens, and its cost (millionths of a dollar).
    """
    context, tokens, cost = (event.dialect.field(event.payload, name) for name in ("context", "tokens", "cost"))
    named = event.text("conversation")
    return {
        "conversation": named if _is_conversation_name(named) else None,
        "context": int(context) if isinstance(context, int | float) else None,
        "tokens": tokens if isinstance(tokens, int) and tokens > 0 else None,
        "cost": int(cost * _MILLIONTHS) if isinstance(cost, int | float) else None,
    }


def _is_conversation_name(text: str) -> bool:
    """Return whether a text is safe as a conversation's name on a command line: neither a flag nor a path."""
    return text[:1].isalnum() and text.isascii() and text.translate(_SEPARATORS).isalnum()


def _count_background_tasks(event: HookEvent) -> int:
    """Return how many of the agent's background tasks are still running, by the event's payload."""
    given = event.dialect.field(event.payload, "background")
    tasks = given if isinstance(given, list) else []
    return sum(not (isinstance(task, dict) and task.get("status") in _ENDED_TASKS) for task in tasks)
