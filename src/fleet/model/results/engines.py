"""Engines, their hooks and limits."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import BudgetScope, HoldKind, TrialVerdict


class HooksInstalled(Value):
    engine: str
    file: str  # your own settings file of the engine
    installed: bool
    changed: bool


class HooksOf(Value):
    """The hooks of an engine."""

    engine: str
    injected: bool  # fleet gives the hooks to every agent that it starts
    file: str | None  # your own settings file of the engine; null when the engine has none
    installed: bool  # the hooks are in that file
    current: bool  # the hooks in that file are the ones that this version of fleet would write


class Limits(Value):
    holds: list[HeldEngine]  # engines on which no agent is started now
    quotas: list[QuotaView]  # how much of each quota is used


class HeldEngine(Value):
    """An engine on which no agent is started, because of a limit or a missing login."""

    engine: str
    kind: HoldKind  # limit or login
    reason: str
    since: Time
    until: Time | None  # when fleet tries the engine again; null: when a person has logged in
    trial: str | None  # the dispatch that tries whether the limit is over
    tried_at: Time | None  # when that dispatch started


class QuotaView(Value):
    engine: str
    span: str  # the time window of the quota, as the engine calls it
    percent: int  # how much is used
    resets_at: Time | None
    at: Time  # when an agent reported it


class Lifted(Value):
    """The result of ending the hold on an engine."""

    engine: str
    lifted: bool  # false when the engine was not held
    continued: list[str]  # agents that the hold had stopped and that were told to continue
    waiting: list[str]  # agents that are told to continue once the engine has answered the first agent
    unattended: list[str]  # agents in `waiting` that nobody tells: nobody in this home coordinates their project


class Allowed(Value):
    """What a person has allowed beyond a budget."""

    scope: BudgetScope  # task, project or day
    name: str  # project/slug, the project, or the day
    dollars: float  # allowed now, in addition to what was allowed before
    continued: list[str]  # the agents that were told to go on


class EngineView(Value):
    name: str
    summary: str
    program: str  # empty when every dispatch names its own program
    source: str  # the file that describes the engine
    installed: bool
    autonomy: list[str]  # the levels that the engine offers
    interactive: bool  # the engine does not exit by itself


class Readiness(Value):
    """Whether an engine works on this machine."""

    engine: str
    ok: bool
    program: Said[str] = None  # the path of the program
    why: Said[str] = None  # why the engine does not work here
    advice: Said[str] = None
    trials: list[Trial]  # one for each level of autonomy that was tried


class Trial(Value):
    """One try of an engine on this machine, with an agent that has to commit, log and report."""

    autonomy: str | None  # null when the engine has none
    sandbox: str | None = None  # what the agent was started in: `bwrap`, or null for nothing
    verdict: TrialVerdict  # proven, asks (a person first), broken, refused (by fleet, before the start) or unproven
    detail: str  # what the agent asks, what failed, or why the trial was not possible
    committed: bool = False  # the agent made its commit
    logged: bool = False  # the agent called `fleet log`
    reported: bool = False  # the agent called `fleet done`
