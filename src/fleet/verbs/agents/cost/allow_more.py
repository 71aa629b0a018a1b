"""Raise a budget (`fleet limits allow`), and send a "go on" message to the agents that may continue now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.agents.budgets import MILLIONTHS, dollars
from fleet.model.dispatch.steps import is_ending
from fleet.model.results.engines import Allowed
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages
from fleet.verbs.agents.cost.budgets import limits_in, spent_budget
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.model.states import BudgetScope
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

GO_ON = "More money is allowed for this work. Go on where you were."


def allow_more(context: Context, scope: BudgetScope, name: str, amount: float) -> Allowed:
    """Allow `amount` dollars beyond a budget's limit, and send a "go on" message to the agents that may continue now.

    `name` says which budget of the scope: PROJECT/SLUG for a task, a project's name, or a day as YYYY-MM-DD.
    """
    cost = round(amount * MILLIONTHS)
    context.commit(_record_allowance(scope, name, cost))
    return Allowed(scope=scope, name=name, dollars=amount, continued=continue_allowed(context))


def _record_allowance(scope: BudgetScope, name: str, cost: int) -> Change[None]:
    """Return the change that adds `cost`, in millionths of a dollar, to what a person has allowed beyond a budget's limit."""

    def work(tx: Tx) -> None:
        q.allow_cost(tx, scope=scope, name=name, cost=cost, at=tx.at)
        tx.note(allowed=cost, scope=scope, name=name)

    return Change(f"allow {dollars(cost)} more for {scope} {name}", work, cost)


def continue_allowed(context: Context, project: str | None = None) -> list[str]:
    """Send a "go on" message to each agent of this home that a budget had stopped, if no budget stops it any more.

    Left out are agents that have reported or were asked to exit, and those for which such a message waits already.
    Returns the ids of the agents that get the message. `project` limits this to the agents of one project.
    """
    stopped = [
        agent
        for agent in context.store.read(lambda rows: q.living_agents(rows, project=project))
        if agent.state == "over_budget" and not is_ending(agent) and is_own(context, agent)
    ]
    free = [agent for agent in stopped if _may_go_on(context, agent)]
    listing = context.world.tmux.listing() if free else None
    for agent in free:
        context.commit(messages.send(agent.dispatch, context.world.ids.dispatch(), GO_ON, kind="reminder"))
        if listing is not None:
            deliver(context, agent.dispatch, listing)
    return [agent.dispatch for agent in free]


def _may_go_on(context: Context, agent: LivingAgent) -> bool:
    """Return whether no budget stops the agent now, and no "go on" message already waits for the agent."""
    limits, now = limits_in(context.settings_with_sources()), context.world.clock.now()
    project, slug = agent.project, agent.slug
    if context.store.read(lambda rows: spent_budget(rows, limits, project=project, slug=slug, at=now)) is not None:
        return False
    unread = context.store.read(lambda rows: q.waiting_messages(rows, dispatch=agent.dispatch))
    return all(message.text != GO_ON for message in unread)
