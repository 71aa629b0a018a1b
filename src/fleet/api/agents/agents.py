"""fleet.agents: which agents run, and what their screens show. It imports little, because people call `list` often."""

from __future__ import annotations

from fleet import errors
from fleet.api.actor import Part
from fleet.model import names
from fleet.model.dispatch.steps import is_held_by_daemon, is_unfinished
from fleet.store import queries as q
from fleet.verbs.views.at_work import agents_at_work
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.agents import AgentView
    from fleet.store.queries import Dispatch
    from fleet.world.tmux import Pane

    # `list` is a method below.
    Lines = list[str]

_LOOK_AGAIN = 0.5


class Agents(Part):
    """Running agents: their list, their screens and their output."""

    __slots__ = ()

    def screen(self, ident: str, *, history: bool = False) -> str:
        """Return the text on an agent's screen; with `history`, also what has scrolled off it.

        For an agent that has no session, return its `output`. Raise TmuxRefused, or Absent, when tmux does not answer.
        """
        pane = self._pane(ident)
        if pane is None:
            return self.output(ident)
        text = self._by.world.tmux.capture(
            pane, history=history or pane.dead
        )  # tmux scrolls the screen when the process ends
        if text is None and self._pane(ident) is None:
            return self.output(ident)  # it has just ended
        if text is None:
            raise errors.Absent(what=f"answer from tmux about {names.session(ident)}")
        return f"{text.rstrip()}\n" if text.strip() else ""

    def mirror(self, ident: str) -> str:
        """Return an agent's screen with its colours as SGR sequences; its kept output when the agent has ended."""
        pane = self._pane(ident)
        text = self._by.world.tmux.capture(pane, history=pane.dead, colours=True) if pane is not None else None
        return text if text is not None else self.screen(ident)

    def output(self, ident: str) -> str:
        """Return the kept output of an agent that has ended. Raise Absent when nothing was kept.

        For a coordinator that the daemon plays, return its log, "" at first; for a merge that runs, what its verify or
        setup command has printed so far. Raise SessionUnseen for any other agent that has not ended, Absent when it has
        not started.
        """
        if "/" in ident:
            raise errors.NoSuchDispatch(dispatch=ident)
        for name in (paths.log(ident), paths.log(ident, "verify")):
            try:
                return self._by.files_of_home(name)
            except FileNotFoundError:
                continue
        row = self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        if row is not None and is_unfinished(row):
            return self._unfinished_output(row)
        try:
            return self._by.files_of_home(paths.log(ident, "setup"))  # it went no further than its setup
        except FileNotFoundError:
            raise errors.Absent(what=f"output of {ident}: its session is gone and nothing was kept") from None

    def _unfinished_output(self, row: Dispatch) -> str:
        """Return what a running merge has printed so far; "" for a coordinator that the daemon plays, without a log.

        Raise Absent for any other agent that has not started yet, SessionUnseen when tmux does not show its session.
        """
        if is_held_by_daemon(row):
            return ""  # it has no screen, and nothing to say yet
        if row.kind != "finisher":
            raise _no_session_error(row)
        from fleet.verbs.merge.tree.output import running_output

        return running_output(self._by.view, row)

    def follow(self, ident: str) -> Iterator[Lines]:
        """Yield an agent's output so far, then each batch of new lines, until the agent, or the merge, has ended.

        Each item is a list of complete lines; the first has all that are there when the iteration begins. Lines may come
        again when the agent's program redraws its screen. Raise what `screen` raises, such as Absent for an agent that has
        not started.
        """
        from fleet.model.text.following import new_lines

        shown: Lines = []
        needs_session = True
        while True:
            pane = self._pane(ident)
            is_over = pane is None or pane.dead
            if self._works_without_session(ident):
                is_over = needs_session = False
            try:
                lines = [line.rstrip() for line in self.screen(ident, history=True).split("\n")]
            except errors.Absent:
                if shown and not needs_session and not self._works_without_session(ident):
                    return  # a merge that printed nothing has left nothing
                raise
            lines = lines[:-1] if is_over or pane is None else lines[:-2]
            if new := new_lines(shown, lines):
                shown = lines
                yield new
            if is_over:
                return
            self._by.clock.wait(_LOOK_AGAIN)

    def attach_words(self, ident: str) -> list[str]:
        """Return the tmux command, as words, that attaches a terminal to an agent's session.

        Raise Absent when it has no session, NoTerminal for a coordinator that the daemon plays.
        """
        self._by.may("agents.attach_words")
        pane = self._pane(ident)
        if pane is None and self._is_duty(ident):
            raise errors.NoTerminal(dispatch=ident)
        if pane is None:
            row = self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
            if row is not None and is_unfinished(row) and row.kind != "finisher":
                raise _no_session_error(row)
            raise errors.Absent(what=f"session of {ident}; `fleet logs {ident}` shows what it left")
        return self._by.world.tmux.attach_words(pane)

    def tend(self, project: str) -> list[str]:
        """Tell agents of a project to go on after a failed turn, a usage limit or a failed login; deliver messages.

        Questions of agents that have ended are closed. Returns a line of text about each agent that was told to go on.
        """
        from fleet.verbs.agents import failed_turns

        self._by.may("agents.tend", project=project)
        return failed_turns.continue_agents(self._by.context, project)

    def unattended(self) -> Lines:
        """Return the projects that have running agents in this home but no coordinator in it."""
        from fleet.verbs.coord import wake

        return wake.unattended_projects(self._by.context)

    def look_after(self, project: str) -> Lines:
        """Tend this home's agents of a project that has no coordinator in it, without starting or ending any.

        Returns a line of text about each thing done. Does nothing while a tick runs or another process does the same.
        """
        from fleet.verbs.coord import wake

        self._by.may("agents.look_after", project=project)
        return wake.look_after(self._by.context, project)

    def _is_duty(self, ident: str) -> bool:
        """Whether the dispatch is an unfinished coordinator that runs inside the daemon, without a session."""
        row = self._row(ident)
        return row is not None and is_held_by_daemon(row) and is_unfinished(row)

    def _works_without_session(self, ident: str) -> bool:
        """Whether the dispatch is unfinished and needs no session: a merge, or a coordinator that the daemon plays."""
        row = self._row(ident)
        return row is not None and is_unfinished(row) and (is_held_by_daemon(row) or row.kind == "finisher")

    def _row(self, ident: str) -> Dispatch | None:
        """Return a dispatch; None when it is unknown or archived."""
        return self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))

    def _pane(self, ident: str) -> Pane | None:
        """Return the tmux pane of an agent; None when it has none.

        Raise TmuxRefused when tmux does not answer and the agent has not ended, so that its pane may exist.
        """
        listing = self._by.world.tmux.listing()
        if listing.silent and not self._works_without_session(ident):
            row = self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
            if row is not None and is_unfinished(row):
                raise errors.TmuxRefused(what="answer", why=f"{listing.why}; {ident} may be there nevertheless")
        return listing.pane_of(ident)

    def list(self, project: str | None = None) -> list[AgentView]:
        """Return the agents that have not ended, of one project or (None) of all."""
        view = self._by.view
        if project is not None:
            view.project(project)
        return agents_at_work(view, project)


def _no_session_error(row: Dispatch) -> errors.Absent:
    """Return the error that an unfinished agent has no session: it has not started yet, or tmux does not show its session."""
    if row.process is None:
        return errors.Absent(what=f"screen of {row.id} at the moment: it has not started yet")
    return errors.SessionUnseen(dispatch=row.id)
