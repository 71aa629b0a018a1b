"""Agents: what they do, show and ask."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Time
    from fleet.model.states import AskedFor, DispatchKind, Report


class AgentView(Value):
    id: str
    kind: DispatchKind
    project: str
    task: str | None  # its slug
    engine: str | None
    autonomy: str | None  # what it may do unasked
    state: str  # starting, running, working, asks, idle, compacting, failed_turn, limit, `stopped, no report`, ended (its session), silent, retrying, dialog, finished, exited, interrupted (with the machine), unknown, or `reported …`
    source: str  # where that was learnt: store, process, report, hook, session file or screen
    state_at: Time | None  # since when that is known
    detail: str  # the question it asks, or why it is so
    session: str
    host: str
    process: str | None  # null until it is launched
    started_at: Time
    launched_at: Time | None
    heartbeat_at: Time | None  # when its hooks were last heard
    context: int | None  # how full its context is, in percent
    tokens: int | None  # in its context
    cost: float | None  # so far, in dollars, as its engine reckons
    conversation: str | None  # the engine's own name of it
    report: Report | None  # done, failed or blocked
    asked_for: AskedFor | None  # stop, kill or superseded, when it was asked to exit


class Question(Value):
    id: str | None  # null when it is only on its screen
    agent: str  # who asks
    project: str
    task: str | None
    kind: str  # permission, question, or screen
    text: str
    command: str | None  # what it wants to run, or the whole input of the tool
    choices: list[Choice]  # one for each question it asks at once
    asked_at: Time | None
    answerable: bool  # false: only at its terminal


class Choice(Value):
    question: str  # empty for a permission
    options: list[str]
    many: bool  # several may be chosen


class Answered(Value):
    id: str  # the question's
    agent: str
    project: str
    task: str | None
    text: str  # what was asked
    answer: str
    taken: bool  # the agent has it


class Sent(Value):
    id: str  # the message's
    agent: str
    project: str
    task: str | None
    delivered: bool  # it was handed to the agent
    how: str  # how, or why it waits


class Screen(Value):
    id: str
    screen: str  # what it shows


class Output(Value):
    id: str
    output: str  # all that it showed


class Difference(Value):
    project: str
    task: str  # its slug
    diff: str  # as git writes it
