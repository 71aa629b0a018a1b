"""Agents at work. What finds out how each of them is doing is imported only when there is one."""

from __future__ import annotations

from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView
    from fleet.verbs.context import Context


def agents_at_work(context: Context, project: str | None = None) -> list[AgentView]:
    """Return every unfinished dispatch as `fleet ps` shows it. Ask neither tmux nor an engine when there is none."""
    if not context.store.read(lambda rows: q.listed_dispatches(rows, project=project, ended=0)):
        return []
    from fleet.verbs.agents.listing import agents  # noqa: PLC0415 - much, and only when there is one

    return agents(context, project)
