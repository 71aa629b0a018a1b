"""fleet.agents: which agents run, and what their screens show. It imports little, because people call `list` often."""

from __future__ import annotations

from fleet import errors
from fleet.api.actor import Part
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
        """Return what an agent's screen shows now; the kept output when the agent has ended."""
        pane = self._pane(ident)
        if pane is None:
            return self.output(ident)
        text = self._by.world.tmux.capture(
            pane, history=history or pane.dead
        )  # tmux scrolls the screen when the process ends
        if text is None and self._pane(ident) is None:
            return self.output(ident)  # it has just ended
        if text is None:
            raise errors.Absent(what=f"answer from tmux about fleet-{ident}")
        return f"{text.rstrip()}\n" if text.strip() else ""

    def mirror(self, ident: str) -> str:
        """Return what an agent's screen shows now, with its colours as SGR sequences; the kept output when it has ended."""
        pane = self._pane(ident)
        text = self._by.world.tmux.capture(pane, history=pane.dead, colours=True) if pane is not None else None
        return text if text is not None else self.screen(ident)

    def output(self, ident: str) -> str:
        """Return the kept output of an agent that has ended; Absent when nothing was kept.

        A merge shows what its verify or setup command has printed so far.
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
        """Return what a merge shows now. Absent for an agent that has not ended, and whose session is not to be seen."""
        if is_held_by_daemon(row):
            return ""  # it has no screen, and nothing to say yet
        if row.kind != "finisher":
            why = (
                "it has not started yet"
                if row.process is None
                else "it has not ended, but tmux does not show its session"
            )
            raise errors.Absent(what=f"screen of {row.id} at the moment: {why}")
        from fleet.verbs.merge.tree.output import running_output

        return running_output(self._by.view, row)

    def follow(self, ident: str) -> Iterator[Lines]:
        """Yield the lines of an agent's output as they come, until it has ended. An unfinished last line waits."""
        from fleet.model.text.following import new_lines

        shown: Lines = []
        while True:
            pane = self._pane(ident)
            is_over = (pane is None or pane.dead) and not self._is_duty(ident)
            lines = [line.rstrip() for line in self.screen(ident, history=True).split("\n")]
            lines = lines[:-1] if is_over or pane is None else lines[:-2]
            if new := new_lines(shown, lines):
                shown = lines
                yield new
            if is_over:
                return
            self._by.clock.wait(_LOOK_AGAIN)

    def attach_words(self, ident: str) -> list[str]:
        """Return the command that attaches a terminal to an agent's session."""
        self._by.may("agents.attach_words")
        pane = self._pane(ident)
        if pane is None and self._is_duty(ident):
            raise errors.NoTerminal(dispatch=ident)
        if pane is None:
            raise errors.Absent(what=f"session of {ident}; `fleet logs {ident}` shows what it left")
        return self._by.world.tmux.attach_words(pane)

    def tend(self, project: str) -> list[str]:
        """Continue agents after failed turns and limits, deliver messages. Returns a line for each reminder sent."""
        from fleet.verbs.agents import failed_turns

        self._by.may("agents.tend", project=project)
        return failed_turns.continue_agents(self._by.context, project)

    def unattended(self) -> Lines:
        """Return the projects in which agents of this home run and that have no coordinator."""
        from fleet.verbs.coord import wake

        return wake.unattended_projects(self._by.context)

    def look_after(self, project: str) -> Lines:
        """Do for the agents of a project without a coordinator what starts and ends nobody. Returns what was done."""
        from fleet.verbs.coord import wake

        self._by.may("agents.look_after", project=project)
        return wake.look_after(self._by.context, project)

    def _is_duty(self, ident: str) -> bool:
        """Whether an agent is a coordinator that is a duty of the daemon, and has not ended."""
        row = self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        return row is not None and is_held_by_daemon(row) and is_unfinished(row)

    def _pane(self, ident: str) -> Pane | None:
        return self._by.world.tmux.listing().pane_of(ident)

    def list(self, project: str | None = None) -> list[AgentView]:
        """Return the agents that have not ended, of one project or of all."""
        view = self._by.view
        if project is not None:
            view.project(project)
        return agents_at_work(view, project)
