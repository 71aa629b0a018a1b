"""Engines, their hooks and limits."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import HoldKind, TrialVerdict


class HooksInstalled(Value):
    engine: str
    file: str  # your own settings
    installed: bool
    changed: bool


class HooksOf(Value):
    engine: str
    injected: bool  # agents that fleet starts are given them
    file: str | None  # your own settings, where the engine has such
    installed: bool  # they are in there
    current: bool  # and are what this fleet would write


class Limits(Value):
    holds: list[HeldEngine]  # engines that are held back
    quotas: list[QuotaView]  # how much of their windows is used


class HeldEngine(Value):
    engine: str
    kind: HoldKind  # limit or login
    reason: str
    since: Time
    until: Time | None  # when a limit is reset
    trial: str | None  # who tries whether it is over
    tried_at: Time | None  # since when


class QuotaView(Value):
    engine: str
    span: str  # the window, as the engine calls it
    percent: int
    resets_at: Time | None
    at: Time  # when an agent told it


class Lifted(Value):
    engine: str
    lifted: bool  # false when it was not held back


class EngineView(Value):
    name: str
    summary: str
    program: str  # empty when it is given with each dispatch
    source: str  # its file
    installed: bool
    autonomy: list[str]  # what it can be given
    interactive: bool  # it does not exit by itself


class Readiness(Value):
    engine: str
    ok: bool
    program: Said[str] = None  # its path
    why: Said[str] = None  # what is in the way here
    advice: Said[str] = None
    trials: list[Trial]  # one for each autonomy that was tried


class Trial(Value):
    autonomy: str | None  # null when the engine has none
    verdict: TrialVerdict  # proven, asks (a person, before it does it), broken, refused (by fleet, before it starts) or unproven
    detail: str  # what it asks, what failed, or why it could not be tried
    committed: bool = False  # its commit arrived
    logged: bool = False  # its `fleet log` arrived
    reported: bool = False  # its `fleet done` arrived
