"""Compare the cost of agents with the budgets of a task, a project and a day; keep an agent stopped while its budget is spent."""

from __future__ import annotations

from fleet import errors
from fleet.model.agents.budgets import MILLIONTHS, SETTING_OF, Budget, day_of, first_spent
from fleet.model.dispatch.steps import is_ending
from fleet.model.states import assert_never
from fleet.store import queries as q
from fleet.world.home.settings import settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.model.settings.table import SettingValue
    from fleet.model.states import BudgetScope
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Committer

    BudgetLimits = Mapping[BudgetScope, int]


def limits_in(settings: Mapping[str, SettingValue]) -> BudgetLimits:
    """Return the limit of each budget that the settings contain, by scope (task, project, day), in millionths of a dollar."""
    values = ((scope, settings[name].value) for scope, name in SETTING_OF.items())
    return {scope: round(value * MILLIONTHS) for scope, value in values if value is not None}


def spent_budget(rows: Rows, limits: BudgetLimits, *, project: str, slug: str | None, at: int) -> Budget | None:
    """Return the first spent budget of the task, its project or the day; None when each has money left.

    `limits` is by scope, in millionths of a dollar; a scope without a limit is not checked. `at` is a time in
    milliseconds. `slug` is None for a coordinator.
    """
    names: dict[BudgetScope, str | None] = {
        "task": f"{project}/{slug}" if slug else None,
        "project": project,
        "day": day_of(at),
    }
    wanted = ((scope, name) for scope, name in names.items() if scope in limits and name is not None)
    return first_spent([_budget(rows, limits[scope], scope, name) for scope, name in wanted])


def refuse_spent(rows: Rows, limits: BudgetLimits, *, project: str, slug: str | None, at: int) -> None:
    """Raise OverBudget when a budget of the task, its project or the day is spent.

    `limits` is by scope, in millionths of a dollar; a scope without a limit is not checked. `at` is a time in
    milliseconds. `slug` is None for a coordinator.
    """
    spent = spent_budget(rows, limits, project=project, slug=slug, at=at)
    if spent is not None:
        raise spent.refusal()


def _budget(rows: Rows, limit: int, scope: BudgetScope, name: str) -> Budget:
    """Return one budget: the money allowed, which is `limit` plus what a person has added, and the money spent.

    All amounts are in millionths of a dollar. `name` is the task as PROJECT/SLUG, the project, or the day as
    YYYY-MM-DD.
    """
    allowance = q.allowance_of(rows, scope=scope, name=name)
    project, _, slug = name.partition("/")
    match scope:
        case "task":
            used = q.used_by_task(rows, project=project, slug=slug)
        case "project":
            used = q.used_by_project(rows, project=name)
        case "day":
            used = q.used_on_day(rows, day=name)
        case _:
            assert_never(scope)
    return Budget(scope=scope, name=name, allowed=limit + (allowance.cost if allowance else 0), spent=used.cost)


def why_parked(by: Committer, home: str, agent: LivingAgent) -> str:
    """Return why no message may be sent to an agent that a spent budget has stopped; "" when a message may be sent.

    Any message would make the agent continue. The message of `fleet limits allow` is sent when no budget is spent any more,
    so it passes. While the settings cannot be read, the agent stays stopped.
    """
    if agent.state != "over_budget" or is_ending(agent):
        return ""
    try:
        limits, now = limits_in(settings_of(home, None)), by.clock.now()
    except errors.BadSetting as error:
        return error.spoken
    project, slug = agent.project, agent.slug
    spent = by.store.read(lambda rows: spent_budget(rows, limits, project=project, slug=slug, at=now))
    return "" if spent is None else spent.refusal().spoken
