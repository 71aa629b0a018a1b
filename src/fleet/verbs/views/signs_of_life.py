"""Look for signs of life of busy agents, and tell which agents are silent or wait for a stopped process.

Cheap sources are asked first; the other sources only when the cheap ones show no recent sign of an agent. A source that
cannot be read gives no sign. If no source gives a sign, nothing is said about the agent.
"""

from __future__ import annotations

import os

from fleet.engines.kept import status_file
from fleet.model.agents.activity.silence import BUSY, WAITS, Sign, describe_silence, describe_stopped, is_older, newest
from fleet.model.results.value import Value
from fleet.model.text.times import duration
from fleet.store import queries as q
from fleet.world.git.refs import head_moved_at
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fleet.engines.reader import Engine
    from fleet.model.identity import Identity
    from fleet.model.states import StateSource
    from fleet.store.queries import Dispatch, LivingAgent
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing

# How many characters of a command are shown; nanoseconds in a millisecond.
_LONGEST = 80
_NANOSECONDS = 1_000_000
# An engine with this program is fleet itself, whose steps have their own time limits.
_OWN = "{fleet}"


class Subject(Value):
    """A living agent: its dispatch, what its hooks reported (None: nothing is known), its engine and its process."""

    row: Dispatch
    known: LivingAgent | None
    engine: Engine | None  # None for a finisher, and where the engine's file is broken
    who: Identity


class AgentTrouble(Value):
    """Why a busy agent may not make progress: it is silent ("silent"), or one of its processes is stopped ("stopped").

    `at` is the time of the last sign of life and `source` what gave it; for a stopped process `at` is None.
    """

    name: str  # silent or stopped
    source: StateSource
    at: int | None
    detail: str


class SignsOfLife:
    """The signs of life of all agents in one listing.

    The processes of the machine and the screens of all agents are each read at most once.
    """

    def __init__(self, context: Context, listing: Listing, agents: Sequence[str]) -> None:
        self._context = context
        self.listing = listing
        self._agents = agents
        self._screens: dict[int, str] | None = None
        self._now = context.world.clock.now()
        self._census: Census | None = None

    def trouble(self, agent: Subject, state: str) -> AgentTrouble | None:
        """Return why an agent in this state may not make progress.

        None when it shows signs of life, when it waits for somebody, or when nothing is known.
        """
        if state not in BUSY or agent.engine is None:
            return None
        sign = newest(self._cheap_signs(agent))
        if not is_older(sign, self._now, min(WAITS, self._most())):
            return None
        return self._stopped(agent) or self._silent(agent, sign)

    def is_unheard(self, agent: Subject, state: str) -> bool:
        """Return whether an agent's hooks, which called it busy, have reported nothing for longer than `silent_after`.

        False when no hook has ever reported. `silent_after` is a setting.
        """
        return state in BUSY and is_older(_sign_by_hook(agent.known), self._now, self._most())

    def screen(self, dispatch: str) -> str:
        """Return the text on an agent's screen; "" when the screen cannot be read."""
        pane = self.listing.pane_of(dispatch)
        if pane is None:
            return ""
        if self._screens is None:
            panes = [each for ident in self._agents if (each := self.listing.pane_of(ident)) is not None]
            self._screens = self._context.world.tmux.screens(panes)
        return self._screens.get(pane.number, "")

    def _silent(self, agent: Subject, sign: Sign | None) -> AgentTrouble | None:
        """Return the trouble that an agent is silent, `sign` being its newest cheap sign of life.

        None when another source shows a newer sign, or when the agent waits for an answer.
        """
        most = self._most()
        if agent.engine is None or agent.engine.program == _OWN or not is_older(sign, self._now, most):
            return None
        sign = newest([sign, *self._other_signs(agent)])
        if sign is None or not is_older(sign, self._now, most) or self._is_asking(agent):
            return None
        detail = describe_silence(sign, self._now, process=self._process_below(agent.who))
        return AgentTrouble(name="silent", source=sign.source, at=sign.at, detail=detail)

    def _stopped(self, agent: Subject) -> AgentTrouble | None:
        """Return the trouble of an agent that has a stopped process; None when it has none."""
        stopped = self._processes().stopped_in(agent.who)
        if not stopped:
            return None
        pid = stopped[0]
        detail = describe_stopped(pid, self._command(pid), is_agent=pid == agent.who.pid)
        return AgentTrouble(name="stopped", source="process", at=None, detail=detail)

    def _cheap_signs(self, agent: Subject) -> Iterator[Sign | None]:
        """Yield an agent's signs of life that cost no further read: its start, its last hook, and its screen.

        The screen of an interactive agent counts only if no hook has reported. None stands for a source that gives no sign.
        """
        row, known = agent.row, agent.known
        yield _sign_at("start", row.launched_at)
        heard = _sign_by_hook(known)
        yield heard
        # An interactive engine animates its screen while it waits for its model: its hooks tell more.
        if heard is None or agent.engine is None or not agent.engine.interactive:
            pane = self.listing.pane_of(row.id)
            yield _sign_at("screen", pane.active_at if pane else None)

    def _other_signs(self, agent: Subject) -> Iterator[Sign | None]:
        """Yield an agent's signs of life that need a read: its last command, session file, conversation and commit.

        None stands for a source that gives no sign.
        """
        row, engine = agent.row, agent.engine
        yield _sign_at("command", self._context.store.read(lambda rows: q.last_act(rows, dispatch=row.id)).at)
        if engine is not None and engine.status_file is not None:
            _, _, at = status_file.state_of(engine.status_file, agent.who)
            yield _sign_at("session file", at)
            yield _sign_at("session file", at and _written_at(status_file.path_of(engine.status_file, agent.who)))
        if engine is not None and agent.known is not None and agent.known.conversation:
            from fleet.verbs.resume.conversation import transcript_files  # noqa: PLC0415 - needed only for a silent agent

            for path in transcript_files(engine, agent.known.conversation):
                yield _sign_at("conversation", _written_at(path))
        if row.slug is not None:
            tree = f"{self._context.world.home}/{paths.worktree(row.project, row.slug)}"
            yield _sign_at("commit", head_moved_at(tree))

    def _most(self) -> int:
        """Return after how many milliseconds without a sign of life an agent counts as silent."""
        return duration(self._context.settings().silent_after)

    def _is_asking(self, agent: Subject) -> bool:
        """Return whether the agent has an open question."""
        return bool(self._context.store.read(lambda rows: q.open_questions(rows, dispatch=agent.row.id)))

    def _process_below(self, who: Identity) -> str:
        """Return the command of the newest process that descends from the agent; "" when there is none."""
        pid = self._processes().newest_below(who)
        return self._command(pid) if pid is not None else ""

    def _command(self, pid: int) -> str:
        """Return the command line of an agent's process on one line, cut off when it is long."""
        command = " ".join(self._context.world.processes.command(pid).split())
        return command if len(command) <= _LONGEST else f"{command[:_LONGEST]}…"

    def _processes(self) -> Census:
        """Return all processes of the machine, read once."""
        if self._census is None:
            self._census = self._context.world.processes.census()
        return self._census


def _sign_by_hook(known: LivingAgent | None) -> Sign | None:
    """Return the time of the agent's last hook, as a sign of life; None when no hook has reported."""
    if known is None or known.heartbeat_at is None:
        return None
    return Sign("hook", max(known.state_at or 0, known.heartbeat_at))


def _sign_at(source: StateSource, at: int | None) -> Sign | None:
    """Return a sign of life with its source and time; None without a time."""
    return Sign(source, at) if at else None


def _written_at(path: str) -> int | None:
    """Return when a file of an agent was last written, in milliseconds; None when it cannot be read."""
    try:
        return os.stat(path).st_mtime_ns // _NANOSECONDS
    except OSError:
        return None
