"""Budgets: what a task, a project and a day may cost, what was spent of it, and when nothing more is started."""

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
    """One budget: what it is for, what it allows and what was spent, in millionths of a dollar."""

    scope: BudgetScope
    name: str  # project/slug, the project, or the day
    allowed: int
    spent: int

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of the budget."""
        return self.spent >= self.allowed

    def refusal(self) -> errors.OverBudget:
        """Return the error that says that the budget is spent, and the command that allows more."""
        return errors.OverBudget(
            scope=self.scope,
            which=self.name,
            spent=dollars(self.spent),
            allowed=dollars(self.allowed),
            setting=SETTING_OF[self.scope],
            way=f"fleet limits allow {more(self.allowed)} {way_to(self.scope, self.name)}",
        )


def way_to(scope: BudgetScope, name: str) -> str:
    """Return the options of `fleet limits allow` that name a budget."""
    project, _, slug = name.partition("/")
    return {"task": f"{slug} -p {project}", "project": f"-p {name}", "day": "--today"}[scope]


def first_spent(budgets: list[Budget]) -> Budget | None:
    """Return the first budget of which nothing is left; None when all have something left."""
    return next((budget for budget in budgets if budget.is_spent), None)


def more(allowed: int) -> str:
    """Return the dollars that a refusal proposes to allow beyond a budget: a fifth of the budget, at least one."""
    return str(max(1, round(allowed / 5 / MILLIONTHS)))


def dollars(cost: int) -> str:
    """Return an amount in millionths of a dollar for people."""
    return f"${cost / MILLIONTHS:.2f}"


def day_of(at: int) -> str:
    """Return the day of a time, in this machine's time zone."""
    return time.strftime("%Y-%m-%d", time.localtime(at / SECOND))
