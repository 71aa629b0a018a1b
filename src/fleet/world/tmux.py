"""Control tmux: a private server for each fleet home, asked with time limits. Answers are yes, no or unknown."""

from __future__ import annotations

import os

from fleet import errors
from fleet.fast import re, signal
from fleet.model import FLEET_HOME
from fleet.model.text.times import SECOND
from fleet.records import field, record
from fleet.world.home import paths
from fleet.world.home.tmux_socket import socket_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from fleet.model.identity import Identity
    from fleet.world.clock import Clock
    from fleet.world.files.files import Files
    from fleet.world.process.cgroups import Cgroups
    from fleet.world.process.processes import Processes
    from fleet.world.process.programs import Done, Programs

    T = TypeVar("T")

# How many seconds tmux may take to answer one call.
LIMIT = 5.0
# What tmux writes at the end of a pane whose process is dead.
_EPITAPH = r"(\A|\n)\s*Pane is dead( \(.*\))?\s*\Z"
# How many screens are asked for in one call: tmux takes 16 KB of commands.
_MOST_SCREENS = 100
_LOOKS = 100
_BETWEEN_LOOKS = 0.05
_COLUMNS = (
    "#{session_name}",
    "#{session_id}",
    "#{pane_pid}",
    "#{pane_dead}",
    "#{pane_dead_status}",
    "#{pane_dead_signal}",
    "#{@fleet_dispatch}",
    "#{@fleet_home}",
    "#{@fleet_pane}",
    "#{session_attached}",
    "#{pane_id}",
    "#{window_activity}",
    "#{pane_title}",
)
# How to write characters that mean something to the shell, to the quotes around a hook, or to tmux itself.
_SIGNS = {"'": r"\\'\\''", '"': r"\\\"", "$": r"\\\$", "\\": r"\\\\", "#": r"\\##"}
# Variables that the server, and so every agent, does not inherit from the process that starts it.
_SCRUBBED = ("TMUX", "TMUX_PANE", "CLAUDECODE", "STY", "WINDOW", "COLUMNS", "LINES", "OLDPWD")
_SCRUBBED_PREFIXES = ("FLEET_", "CLAUDE_CODE_", "GIT_")
CONFIGURATION = """\
# fleet's own tmux server. Written by fleet at each start of the server; your own ~/.tmux.conf is not read.
# The server waits for its first session; from then on it goes with its last one.
set-option -s exit-empty off
set-hook -g session-created "set-option -s exit-empty on ; set-hook -gu session-created"
set-option -s escape-time 10
set-option -s focus-events on
set-option -g history-limit 50000
set-option -g mouse on
set-option -g default-terminal screen-256color
# No program in a pane renames its window: the name is drawn in the status line.
set-option -g allow-rename off
set-option -g automatic-rename off
set-option -g status-left "#{session_name} #{window_name} "
set-option -g status-left-length 80
set-option -g window-status-format ""
set-option -g window-status-current-format ""
set-option -g status-right "Ctrl+Q detaches"
bind-key -n C-q detach-client
"""


# Tells fleet at once that an agent has exited. Only a hint: the tick and the sweep find a death without it. It names
# the dispatch by the stamp of the pane that died, because the pane may have been moved to another session. The
# variables are unset because a session that an older fleet made has them in its environment.
HOOK = """\
set-hook -g pane-died "run-shell -b 'unset FLEET_DISPATCH_ID FLEET_TASK FLEET_PROJECT; exec {fleet} settle --hint \
fleet-#{@fleet_dispatch} >/dev/null 2>&1'"
"""


@record(frozen=True, slots=True, kw_only=True)
class Pane:
    """One pane as the server lists it, with the session that it is in now.

    Its stamps are tmux options that fleet has set: they name the `dispatch` and the id of the `home`. Both are "" when
    the pane is not fleet's.
    """

    session: str
    session_id: str
    # tmux's id of the pane, without the "%". An older pane has a lower number.
    number: int
    # 0 when tmux does not say.
    pid: int
    # Whether the pane's process has ended.
    dead: bool
    # The dead process's exit status, 128 + N when signal N killed it; None while it lives, or when tmux does not say.
    status: int | None
    dispatch: str
    home: str
    # Whether the stamps are the pane's own. An older fleet stamped the session, and so every pane in it.
    stamped: bool
    # Whether a terminal is attached to the session.
    attached: bool
    # When something last appeared in the pane's window, also what a person typed, in milliseconds since 1970; 0 when
    # unknown.
    active_at: int = field(compare=False)
    title: str


@record(frozen=True, slots=True, kw_only=True)
class Listing:
    """All panes of the home's tmux server. When no server answers, `server` is None and `why` says why.

    `silent`: tmux itself did not answer in time, or could not be run; the server and its panes may exist nevertheless.
    """

    server: Identity | None
    panes: tuple[Pane, ...] = ()
    why: str = ""
    # The id of the home whose server it is; empty when no server answers.
    home: str = ""
    silent: bool = False

    def pane(self, session: str) -> Pane | None:
        """Return the oldest pane of a session, whoever created it; None when there is no such session."""
        there = (pane for pane in self.panes if pane.session == session)
        return min(there, key=lambda pane: pane.number, default=None)

    def pane_of(self, dispatch: str) -> Pane | None:
        """Return the pane that is stamped with a dispatch, wherever a person has moved it; None when there is none.

        In a session that an older fleet stamped as a whole, it is the oldest pane.
        """
        mine = [pane for pane in self.panes if (pane.home, pane.dispatch) == (self.home, dispatch)]
        return min(mine, key=lambda pane: (not pane.stamped, pane.number), default=None)


class Tmux:
    """The tmux server of one home."""

    def __init__(
        self,
        home: str,
        *,
        home_id: str,
        files: Files,
        programs: Programs,
        processes: Processes,
        cgroups: Cgroups,
        clock: Clock,
        fleet: str,
    ) -> None:
        self.home = home
        self.home_id = home_id
        self.socket = socket_of(home, programs.funnel)
        self._files = files
        self._programs = programs
        self._processes = processes
        self._cgroups = cgroups
        self._clock = clock
        self._fleet = fleet
        # Whether `asking_once` is running, and the listing without an answer that `listing` then returns again.
        self._asks_once = False
        self._silent: Listing | None = None

    def listing(self) -> Listing:
        """Return all panes of the server, from one call of tmux.

        When no server answers, its answer cannot be understood or its process cannot be identified, return a listing
        without server and panes that says why.
        """
        if self._silent is not None:
            return self._silent
        done = self._ask(
            "list", "display-message", "-p", "server #{pid}", ";", "list-panes", "-a", "-F", "\t".join(_COLUMNS)
        )
        if done.status is None:
            silent = Listing(server=None, why=done.err.strip() or "no answer", silent=True)
            self._silent = silent if self._asks_once else None
            return silent
        first, *lines = done.out.removesuffix("\n").split("\n")
        if not first.startswith("server "):
            return Listing(server=None, why=done.err.strip() or "no answer")
        empty = not lines and done.err.startswith("no ")  # no current target: a server without sessions
        if any(line.count("\t") < len(_COLUMNS) - 1 for line in lines) or not (done.ok or empty):
            return Listing(server=None, why="its answer cannot be understood")
        server = self._processes.identify(int(first.split()[1]))
        if server is None:
            return Listing(server=None, why="its process cannot be seen from here: is this a sandbox?")
        return Listing(server=server, panes=tuple(_parse_pane(line) for line in lines), home=self.home_id)

    def asking_once(self, act: Callable[[], T]) -> T:
        """Call `act` and return its result.

        After the first listing that tmux does not answer, `listing` returns that result again, without asking tmux,
        until `act` is done. A view for people takes several listings, and each would wait until the time limit.
        """
        before, self._asks_once = self._asks_once, True
        try:
            return act()
        finally:
            self._asks_once = before
            self._silent = self._silent if before else None

    def ensure_server(self) -> Identity:
        """Return the identity of the home's tmux server; start one if none answers.

        Raise TmuxRefused when none answers after the start.
        """
        found = self.listing()
        if found.server is None:
            self._start()
            found = self.listing()
        if found.server is None:
            raise errors.TmuxRefused(what="start its server", why=found.why)
        return found.server

    def recall_server(self, server: Identity) -> Identity:
        """Tell a living server whose socket was deleted to create the socket again; return the server.

        Raise TmuxRefused when the server does not answer on its socket in time. Never starts a second server.
        """
        self._processes.signal(server, signal.SIGUSR1)
        for _ in range(_LOOKS):
            if self.listing().server == server:
                return server
            self._clock.wait(_BETWEEN_LOOKS)
        raise errors.TmuxRefused(
            what="answer", why=f"its server, process {server.pid}, lives, but not on {self.socket}"
        )

    def create(
        self,
        session: str,
        *,
        dispatch: str,
        about: str,
        cwd: str,
        env: Mapping[str, str],
        words: Sequence[str],
        lock: int,
    ) -> Identity | None:
        """Create a tmux session that runs a dispatch's command in one pane, and return the identity of the tmux server.

        `about` is the window's name, `words` the command, `lock` the descriptor of the claim's effect lock. The pane
        is stamped with the dispatch and the home, and stays, with its exit status, after the command has ended. Never
        starts a server. Returns None when the server's process cannot be identified; raises TmuxRefused when the
        session cannot be created.
        """
        given = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
        set_option = [";", "set-option", "-p", "-t", f"={session}:"]
        stamps = [*set_option, "@fleet_dispatch", dispatch, *set_option, "@fleet_home", self.home_id]
        stamps += [*set_option, "-F", "@fleet_pane", "#{pane_id}", *set_option, "remain-on-exit", "on"]
        make = ["new-session", "-d", "-P", "-F", "#{pid}", "-s", session, "-n", about, "-x", "200", "-y", "50"]
        done = self._ask("new-session", *make, "-c", cwd, *given, "--", *words, *stamps, lock=lock)
        if not done.ok:
            raise errors.TmuxRefused(what=f"make session {session}", why=done.err.strip() or "no answer")
        return self._processes.identify(int(done.out)) if done.out.strip().isdigit() else None

    def kill(self, pane: Pane) -> bool:
        """Kill an agent's pane and return whether it was killed.

        False when tmux does not answer, the pane is gone, or the pane with this id has other stamps now: a new tmux
        server gives the same pane ids again, so the id alone is no proof. A session ends with its last pane. In a
        session that an older fleet stamped as a whole, the pane is killed only while it is the only one.
        """
        target = f"%{pane.number}"
        own = (
            _is("@fleet_pane", target) if pane.stamped else _both(_is("session_windows", "1"), _is("window_panes", "1"))
        )
        same = _both(_is("@fleet_dispatch", pane.dispatch), _is("@fleet_home", pane.home))
        then, otherwise = f"kill-pane -t {target}", "display-message -p another"
        done = self._ask("kill-pane", "if-shell", "-F", "-t", target, _both(same, own), then, otherwise)
        return done.ok and not done.out

    def capture(self, pane: Pane, *, history: bool, colours: bool = False) -> str | None:
        """Return the text of a pane's screen, with `history` also what has scrolled off; None when tmux cannot show it.

        With `colours` the text has escape sequences, and each line is as on the screen; without them the parts of a
        wrapped line are joined.
        """
        back = ["-S", "-"] if history else []
        how = "-e" if colours else "-J"
        done = self._ask("capture-pane", "capture-pane", "-p", how, *back, "-t", f"%{pane.number}")
        return re.sub(_EPITAPH, "", done.out) if done.ok else None

    def screens(self, panes: Sequence[Pane]) -> dict[int, str]:
        """Return the text of the screens of panes, by the panes' numbers, with few calls.

        A pane that is gone is left out. When the server stops answering, the panes not read yet are left out too.
        """
        found: dict[int, str] = {}
        left = [pane.number for pane in panes]
        while left:
            asked = left[:_MOST_SCREENS]
            shown = self._shown(asked)
            if shown is None:
                break
            found |= zip(asked, shown, strict=False)
            # tmux leaves out the commands after one that fails: the pane after the last that it showed is gone.
            left = left[min(len(shown) + 1, len(asked)) :]
        return found

    def _shown(self, numbers: Sequence[int]) -> list[str] | None:
        """Return the screens of these panes up to the first pane that is gone; None when the server does not answer."""
        mark = f"screen {os.urandom(8).hex()}"
        words = ["display-message", "-p", mark]
        for number in numbers:
            words += [";", "capture-pane", "-p", "-J", "-t", f"%{number}", ";", "display-message", "-p", mark]
        parts = self._ask("capture-pane", *words).out.split(f"{mark}\n")
        return [re.sub(_EPITAPH, "", text) for text in parts[1:-1]] if len(parts) > 1 else None

    def paste(self, pane: Pane, text: str) -> bool:
        """Type a text into a pane as one bracketed paste, then Enter, so that its lines are not submitted one by one.

        Return whether tmux did both.
        """
        name = f"fleet-text-{os.urandom(4).hex()}"
        words = ["tmux", "-N", "-S", self.socket, "load-buffer", "-b", name, "-"]
        if not self._programs.run("tmux load-buffer", words, limit=LIMIT, given=text).ok:
            return False
        target = ["-t", f"%{pane.number}"]
        paste = ["paste-buffer", "-p", "-d", "-b", name, *target, ";", "send-keys", *target, "Enter"]
        return self._ask("paste-buffer", *paste).ok

    def stop_empty_server(self) -> bool:
        """Make the tmux server exit if it has no panes; return whether it was told to.

        False when no server answers, the server has panes, or tmux refuses.
        """
        if self.listing().server is None or self.listing().panes:
            return False
        return self._ask("exit-empty", "set-option", "-s", "exit-empty", "on").ok

    def clients(self) -> list[tuple[str, str]]:
        """Return (device, name as in TERM) of each terminal attached to the server; [] when tmux does not answer."""
        done = self._ask("list-clients", "list-clients", "-F", "#{client_tty}\t#{client_termname}")
        found = (line.partition("\t") for line in done.out.splitlines()) if done.ok else ()
        return [(device, name) for device, _, name in found if device]

    def attach_words(self, pane: Pane) -> list[str]:
        """Return the command that attaches a terminal to the session of a pane, with the pane selected."""
        return ["tmux", "-N", "-S", self.socket, "attach-session", "-t", f"={pane.session}:.%{pane.number}"]

    def _start(self) -> None:
        """Start the server with fleet's configuration and a clean environment; raise TmuxRefused when that fails."""
        hook = HOOK.replace("{fleet}", _quoted(self._fleet))
        path = self._files.publish(paths.TMUX_SETTINGS, (CONFIGURATION + hook).encode())
        env = {name: value for name, value in os.environ.items() if not _is_scrubbed(name)}
        words = self._cgroups.outside(["tmux", "-S", self.socket, "-f", path, "start-server"], must=True)
        done = self._programs.run("tmux start-server", words, limit=LIMIT, env=env | {FLEET_HOME: self.home}, cwd="/")
        if not done.ok:
            raise errors.TmuxRefused(what="start its server", why=done.err.strip() or "no answer")

    def _ask(self, what: str, *words: str, lock: int | None = None) -> Done:
        """Run tmux in UTF-8 and return the result; `what` names the call in the funnel.

        In another encoding tmux would not print the column separator. `lock` is the descriptor of a lock that tmux
        inherits.
        """
        asked = ["tmux", "-u", "-N", "-S", self.socket, *words]
        return self._programs.run(f"tmux {what}", asked, limit=LIMIT, lock=lock)


def _is(name: str, value: str) -> str:
    """Return a tmux format that is true when a variable has this value."""
    return f"#{{==:#{{{name}}},{value}}}"


def _both(one: str, other: str) -> str:
    """Return a tmux format that is true when both given formats are true."""
    return f"#{{&&:{one},{other}}}"


def _quoted(path: str) -> str:
    """Return a path quoted for a shell command that is itself inside the quotes of a tmux hook."""
    return "".join(sign if sign.isalnum() or sign in "/._-+" else _SIGNS.get(sign, rf"\\{sign}") for sign in path)


def _is_scrubbed(name: str) -> bool:
    """Return whether the tmux server starts without this environment variable."""
    return name in _SCRUBBED or name.startswith(_SCRUBBED_PREFIXES)


def _parse_pane(line: str) -> Pane:
    """Return a pane from a line of tmux's list."""
    name, ident, pid, dead, status, signal, dispatch, home, stamp, attached, number, active, title = line.split(
        "\t", len(_COLUMNS) - 1
    )
    ended = int(status) if status.isdigit() else (128 + int(signal) if signal.isdigit() else None)
    return Pane(
        session=name,
        session_id=ident,
        number=int(number.lstrip("%")),
        pid=int(pid) if pid.isdigit() else 0,
        dead=dead == "1",
        status=ended if dead == "1" else None,
        dispatch=dispatch,
        home=home,
        stamped=stamp == number,
        attached=attached not in {"", "0"},
        active_at=int(active) * SECOND if active.isdigit() else 0,
        title=title,
    )
