"""Check the budgets when an agent's turn ends: count the tokens of the turn, and say whether a budget is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.engines.reader import engine as read_engine
from fleet.verbs.agents.cost.budgets import limits_in, spent_budget
from fleet.verbs.agents.cost.count_tokens import CountingWork, count_conversation
from fleet.world.home.settings import settings_of

if TYPE_CHECKING:
    from fleet.store.queries import LivingAgent
    from fleet.verbs.context import Committer


# When budgets are set: how many seconds to wait until the engine has written the last answer of the turn to its file.
_PATIENCE = 3.0
# Seconds between two looks at the file.
_LOOK_AGAIN = 0.05


def why_over_budget(by: Committer, home: str, agent: LivingAgent) -> str:
    """Count the tokens of the agent's turn, then return why the agent must stop: a budget is spent.

    Checked are the budgets of the task, the project and the day. The text names the command that allows more; it is ""
    when the agent may continue. When budgets are set, waits up to three seconds for the turn's last answer.
    """
    engine = read_engine(home, agent.engine)
    work = CountingWork(agent.dispatch, agent.project, agent.slug)
    limits = limits_in(settings_of(home, None))
    deadline = by.clock.ticks() + (_PATIENCE if limits and engine.usage and agent.conversation else 0)
    # Claude Code may write the answer down a moment after it calls the hook.
    while not count_conversation(by, home, engine, work, agent.conversation) and by.clock.ticks() < deadline:
        by.clock.wait(_LOOK_AGAIN)
    now = by.clock.now()
    project, slug = agent.project, agent.slug
    spent = (
        by.store.read(lambda rows: spent_budget(rows, limits, project=project, slug=slug, at=now)) if limits else None
    )
    return spent.refusal().spoken if spent is not None else ""
