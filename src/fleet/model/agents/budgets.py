"""Budgets: how much a task, a project and a day may cost, how much was spent, and the refusal when a budget is spent."""

from __future__ import annotations

import time

from fleet import errors
from fleet.model.results.value import Value
from fleet.model.text.times import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import BudgetScope

MILLIONTHS = 1_000_000
# Each scope, the narrowest first, with its setting.
SETTING_OF: dict[BudgetScope, str] = {
    "task": "limits.cost_task",
    "project": "limits.cost_project",
    "day": "limits.cost_day",
}


class Budget(Value):
    """One budget of a task, a project or a day: the allowed and the spent amount, in millionths of a dollar."""

    scope: BudgetScope
    name: str  # project/slug, the project, or the day
    allowed: int
    spent: int

    @property
    def is_spent(self) -> bool:
        """Return whether the whole budget is spent."""
        return self.spent >= self.allowed

    def refusal(self) -> errors.OverBudget:
        """Return the OverBudget error for this budget, with the command that allows more."""
        return errors.OverBudget(
            scope=self.scope,
            which=self.name,
            spent=dollars(self.spent),
            allowed=dollars(self.allowed),
            setting=SETTING_OF[self.scope],
            way=f"fleet limits allow {more(self.allowed)} {way_to(self.scope, self.name)}",
        )


def way_to(scope: BudgetScope, name: str) -> str:
    """Return the arguments of `fleet limits allow` that select a budget: `name` is PROJECT/SLUG, a project, or a day."""
    project, _, slug = name.partition("/")
    return {"task": f"{slug} -p {project}", "project": f"-p {name}", "day": "--today"}[scope]


def first_spent(budgets: list[Budget]) -> Budget | None:
    """Return the first budget that is wholly spent; None when there is none."""
    return next((budget for budget in budgets if budget.is_spent), None)


def more(allowed: int) -> str:
    """Return, as text, how many dollars a refusal proposes to add to a budget: a fifth of it, at least one.

    `allowed` is in millionths of a dollar.
    """
    return str(max(1, round(allowed / 5 / MILLIONTHS)))


def dollars(cost: int) -> str:
    """Return an amount of millionths of a dollar as text, such as `$1.25`."""
    return f"${cost / MILLIONTHS:.2f}"


def day_of(at: int) -> str:
    """Return the date of a time as YYYY-MM-DD, in this machine's time zone."""
    return time.strftime("%Y-%m-%d", time.localtime(at / SECOND))
