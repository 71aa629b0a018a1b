"""Agents: their states, screens, questions and messages."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import AskedFor, DispatchKind, ReportState, ShownQuestionKind, StateSource


class Cost(Value):
    """What agents have used, as far as their engines write it down; prices are list prices."""

    tokens: int  # tokens in and out, those read from and written to a cache too
    dollars: float
    unpriced: int  # tokens of models whose price is not known; they are not in `dollars`


class AgentView(Value):
    id: str
    kind: DispatchKind
    project: str
    task: str | None  # the task's slug; null for a coordinator or a job
    engine: str | None
    model: str | None  # the model that the agent was started with; null for the engine's own
    instead_of: str | None  # the engine that would have come first, but was held back when the agent started
    autonomy: str | None  # what the agent may do without asking
    sandbox: str | None  # what the agent was started in: `bwrap`, or null for nothing
    state: str  # starting, running, working, asks, idle, compacting, failed_turn, limit, login, `stopped, no report`, ended (its session has ended), silent, stopped (one of its processes is, by a signal), retrying, dialog, finished, exited, interrupted (the machine was restarted), unknown, or `reported …`
    source: StateSource  # where the state comes from: store, process, daemon, report, hook, session file or screen; of a silent agent the last sign of life, which may also be start, command, conversation or commit
    state_at: Time | None  # since when the state is known
    detail: str  # the agent's question, or the reason for the state
    session: str | None  # the tmux session; null for a coordinator that is a duty of the daemon
    host: str
    process: str | None  # null until the agent is launched
    started_at: Time
    launched_at: Time | None
    heartbeat_at: Time | None  # when the agent last called a hook
    context: int | None  # how full the agent's context is, in percent
    tokens: int | None  # tokens in the agent's context
    cost: float | None  # dollars so far, as the engine reports them
    used: Cost | None  # what the agent has used since its start; null when its engine's files do not say
    conversation: str | None  # the engine's own name for the conversation
    report: ReportState | None  # done, failed or blocked; null when the agent has not reported
    asked_for: AskedFor | None  # why the agent was asked to exit: report, stop, kill, superseded, handoff or replaced
    handoffs: int  # how many handoffs led to this agent


class Question(Value):
    """A question of an agent that waits for a person."""

    id: str | None  # null when the question is only on the agent's screen
    agent: str  # the agent that asks
    project: str
    task: str | None
    kind: ShownQuestionKind  # permission, question, or screen
    text: str
    command: str | None  # the command that the agent wants to run, or the whole input of the tool
    change: str | None  # what the tool would write, as a diff; null for no file, or an input too long to keep
    choices: list[Choice]  # one for each question that is asked at once
    asked_at: Time | None
    answerable: bool  # false: the question can be answered only at the agent's terminal


class Choice(Value):
    """One question of those that an agent asks at once, with the answers that it offers."""

    question: str  # empty for a permission
    options: list[str]
    descriptions: list[str]  # what each option means, in the same order; empty when the agent described none
    many: bool  # several options may be chosen


class Answered(Value):
    """An answer that was given to an agent's question."""

    id: str  # the question's id
    agent: str
    project: str
    task: str | None
    text: str  # the question
    answer: str
    taken: bool  # the agent has received the answer
    always: Said[str] = None  # the command, or its first words, that agents of the project now run without asking


class Sent(Value):
    """A message that was sent to an agent."""

    id: str  # the message's id
    agent: str
    project: str
    task: str | None
    delivered: bool  # the agent has received the message
    how: str  # how the message was delivered, or why it waits


class Screen(Value):
    id: str
    screen: str  # what the agent's screen shows now


class Output(Value):
    id: str
    output: str  # everything that the agent's screen has shown


class Difference(Value):
    """What a task's work changes."""

    project: str
    task: str  # the task's slug
    diff: str  # in git's format
