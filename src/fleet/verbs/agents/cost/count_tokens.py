"""Count the tokens that an agent has used since the last count, from the files that its engine writes.

The store keeps how far each file was read. The transaction that adds tokens also moves that position, so that tokens
are counted exactly once, whichever process reads the file and whenever a reader is killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.engines.kept import conversations
from fleet.engines.kept.prices import prices
from fleet.engines.kept.tokens import Position, Tokens, read_new
from fleet.engines.kept.usage import files_of
from fleet.engines.reader import engine as read_engine
from fleet.model.agents.budgets import day_of
from fleet.model.text.times import MINUTE
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents.hook import record_agent
from fleet.verbs.homes.ownership import is_own
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.kept.prices import Prices
    from fleet.engines.kept.tokens import SpentTokens
    from fleet.engines.kept.usage import Usage
    from fleet.engines.reader import Engine
    from fleet.store.queries import Dispatch, LivingAgent
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Committer, Context

# How long after a count a tick does not read the same file again.
_BETWEEN = MINUTE
_NO_NAME = "unknown"
# The prefix of the keys that `search_key` makes; no path begins with it.
_SEARCH = "conversation of "


class CountingWork(NamedTuple):
    """The dispatch, project and task for which tokens are counted."""

    dispatch: str
    project: str
    slug: str | None


def count_project(context: Context, project: str) -> list[str]:
    """Count the tokens of a project's running agents of this home, of each at most once a minute.

    Always returns []: the steps of a tick return lines to show, and this one has none. Raises Absent, BadSetting or
    OSError, after all agents that can be counted, when the file of an agent's engine is missing or broken, or a usage file
    cannot be read.
    """
    failure: Exception | None = None
    agents = context.store.read(lambda rows: q.living_agents(rows, project=project))
    for agent in agents:
        if agent.launched_at is not None and is_own(context, agent):
            try:
                _count_agent(context, agent, newest=context.world.clock.now() - _BETWEEN)
            except (errors.Absent, errors.BadSetting, OSError) as error:
                failure = failure or error
    if failure is not None:
        raise failure
    return []


def count_ended(context: Context, row: Dispatch) -> None:
    """Count the last tokens of an agent that is dead. Files that cannot be read are skipped: settling does not wait for them."""
    try:
        if row.launched_at is None or row.engine is None or read_engine(context.world.home, row.engine).usage is None:
            return
        agent = context.store.read(lambda rows: q.heard_agent(rows, dispatch=row.id))
        if agent is not None:
            _count_agent(context, agent)
    except (errors.FleetError, OSError):
        return


def _count_agent(context: Context, agent: LivingAgent, *, newest: int | None = None) -> None:
    """Count the new tokens of an agent, if its engine writes usage files.

    With `newest`, a time in milliseconds, skip files that were counted after it, and read only a piece of each other
    file.
    """
    engine = read_engine(context.world.home, agent.engine)
    if engine.usage is None:
        return
    name = agent.conversation or _find_conversation(context, engine, agent, newest)
    work = CountingWork(agent.dispatch, agent.project, agent.slug)
    count_conversation(context.by, context.world.home, engine, work, name, newest=newest)


def _find_conversation(context: Context, engine: Engine, agent: LivingAgent, newest: int | None) -> str | None:
    """Search for the name of an agent's conversation, which the store does not know yet, and record it.

    Returns the name, None when it is not found. A search reads all conversations of the engine. With `newest`, a time,
    do not search again if the last search was after that time.
    """
    if engine.kept is None or agent.slug is None:
        return None
    key = search_key(agent.dispatch)
    if newest is not None and context.store.read(lambda rows: _position_in_file(rows, key))[1] > newest:
        return None
    tree = f"{context.world.home}/{paths.worktree(agent.project, agent.slug)}"
    name = _kept_conversation(engine, tree, agent.launched_at, context.world.clock.now())
    if name is not None:
        context.commit(_keep_conversation(agent.dispatch, name))
    elif newest is not None:
        context.commit(_record_search(agent.dispatch, key))
    return name


def search_key(dispatch: str) -> str:
    """Return the key of the row that stores when the agent's conversation was last searched for.

    Archiving the dispatch deletes that row.
    """
    return f"{_SEARCH}{dispatch}"


def _keep_conversation(dispatch: str, name: str) -> Change[None]:
    """Return the change that records the agent's conversation, unless a hook has recorded one meanwhile."""

    def act(tx: Tx) -> None:
        tx.dispatch = dispatch
        agent = q.heard_agent(tx, dispatch=dispatch)
        if agent is not None and agent.conversation is None:
            record_agent(tx, agent.replaced(conversation=name))
            tx.note(conversation=name)

    return Change(f"the conversation of {dispatch} was found", act, name)


def _record_search(dispatch: str, key: str) -> Change[None]:
    """Return the change that records the time of a search for an agent's conversation; it does nothing when the agent has ended.

    The time is in the table of usage files, in the row whose path is `key` (from `search_key`).
    """

    def act(tx: Tx) -> None:
        tx.dispatch = dispatch
        if (
            q.heard_agent(tx, dispatch=dispatch) is None
        ):  # the agent may be archived: then no process would ever delete the row
            return
        q.begin_usage_file(tx, path=key, at=tx.at)
        start = Position()
        q.move_usage_file(tx, path=key, was=0, position=0, model="", record="", **start.counted._asdict(), at=tx.at)

    return Change(f"the conversation of {dispatch} was looked for", act)


def _kept_conversation(engine: Engine, tree: str | None, since: int | None, until: int) -> str | None:
    """Return the conversation that began in the worktree `tree` between the two times, as the engine's files tell.

    Returns None when no conversation or more than one began there, when the engine keeps no such files, and when `tree`
    or `since` is None.
    """
    if engine.kept is None or tree is None or since is None:
        return None
    return conversations.only_conversation(engine.kept, tree, since=since, until=until)


def count_step(
    context: Context, engine: Engine, work: CountingWork, conversation: str | None, *, cwd: str, since: int
) -> None:
    """Count the tokens of an agent step of a job.

    If `conversation` is None, count those of the one conversation that began in the folder `cwd` after the time
    `since`.
    """
    if engine.usage is None:
        return
    now = context.world.clock.now()
    name = conversation or _kept_conversation(engine, cwd, since, now)
    count_conversation(context.by, context.world.home, engine, work, name)


def count_conversation(
    by: Committer, home: str, engine: Engine, work: CountingWork, conversation: str | None, *, newest: int | None = None
) -> int:
    """Count the new tokens of a conversation. Returns how many new answers of the model were found.

    With `newest`, a time, read only files that were not counted after it, and of each file only the next unread piece.
    Returns 0 without a conversation (None), and for an engine that writes no usage files.
    """
    if engine.usage is None or conversation is None:
        return 0
    answers = 0
    listed = prices(home)
    for path in files_of(engine.usage, conversation):
        _before, at = by.store.read(lambda rows: _position_in_file(rows, path))  # noqa: B023 - called at once
        if newest is not None and at > newest:
            continue
        found = _count_piece(by, engine.usage, work, path, listed)
        while found is not None:
            answers += found
            found = _count_piece(by, engine.usage, work, path, listed) if newest is None else None
    return answers


def _count_piece(by: Committer, usage: Usage, work: CountingWork, path: str, listed: Prices) -> int | None:
    """Count the tokens in the next unread piece of a usage file.

    Returns how many answers of the model are in that piece; None when the whole file is read.
    """
    position, _at = by.store.read(lambda rows: _position_in_file(rows, path))
    spent, after = read_new(usage, path, position)
    if after == position:
        return None
    by.commit(_add_tokens(work, path, position, after, spent=spent, listed=listed))
    return len(spent)


def _position_in_file(rows: Rows, path: str) -> tuple[Position, int]:
    """Return how far a usage file was read, and the time when it was read last.

    For a file that was never read: its beginning, and 0.
    """
    row = q.usage_file(rows, path=path)
    if row is None:
        return Position(), 0
    counted = Tokens(row.input, row.output, row.cache_read, row.cache_write)
    return Position(row.position, row.model, row.record, counted), row.at


def _add_tokens(
    work: CountingWork, path: str, before: Position, after: Position, *, spent: list[SpentTokens], listed: Prices
) -> Change[None]:
    """Return the change that adds the tokens and moves the position in the file, unless another reader has moved it meanwhile."""

    def act(tx: Tx) -> None:
        tx.about(work.project, work.slug)
        tx.dispatch = work.dispatch
        q.begin_usage_file(tx, path=path, at=tx.at)
        moved = q.move_usage_file(
            tx,
            path=path,
            was=before.offset,
            position=after.offset,
            model=after.model,
            record=after.record,
            **after.counted._asdict(),
            at=tx.at,
        )
        if moved:
            for each in spent:
                _add_answer(tx, work, each, listed)
            tx.note(tokens=sum(sum(each.tokens) for each in spent))

    return Change(f"count the tokens of {work.dispatch}", act)


def _add_answer(tx: Tx, work: CountingWork, spent: SpentTokens, listed: Prices) -> None:
    """Add the tokens of one answer of a model with their cost; when the model's price is not known, add them as unpriced."""
    price = listed.of(spent.model)
    q.add_usage(
        tx,
        dispatch=work.dispatch,
        project=work.project,
        slug=work.slug,
        model=spent.model or _NO_NAME,
        day=day_of(tx.at),
        **spent.tokens._asdict(),
        cost=price.cost(spent.tokens) if price else 0,
        unpriced=0 if price else sum(spent.tokens),
        at=tx.at,
    )
