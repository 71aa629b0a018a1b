"""Keep the messages of an agent that a budget has stopped, until no budget stops it: any message would make it go on."""

from __future__ import annotations

from fleet import errors
from fleet.verbs.agents.cost.budgets import limits_in, spent_budget
from fleet.world.home.settings import settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import LivingAgent
    from fleet.verbs.context import Committer


def why_parked(by: Committer, home: str, agent: LivingAgent) -> str:
    """Return why no message may reach an agent that a budget has stopped; "" when one may.

    The message of `fleet limits allow` is sent once no budget is spent, and so passes. While the settings cannot be
    read, nothing is known, and the agent stays stopped.
    """
    if agent.state != "over_budget" or agent.report or agent.asked_for:
        return ""
    try:
        limits, now = limits_in(settings_of(home, None)), by.clock.now()
    except errors.BadSetting as error:
        return error.spoken
    project, slug = agent.project, agent.slug
    spent = by.store.read(lambda rows: spent_budget(rows, limits, project=project, slug=slug, at=now))
    return "" if spent is None else spent.refusal().spoken
