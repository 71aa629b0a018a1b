"""Errors of the daemon and of the connection to it."""

from __future__ import annotations

from fleet.errors.families import Absent, BadInput, Contested, FleetError, NotOwned, Refused


class DaemonRuns(Contested):
    """Another daemon serves this home."""

    says = "a daemon serves {home} already ({holder})"
    hint = "`fleet daemon status` shows it; `fleet daemon restart` starts it anew"


class DaemonSilent(Contested):
    """A process serves this home, and does not answer."""

    says = "the daemon of {home} ({holder}) does not answer"
    hint = (
        "it may be starting or ending, or stopped by a signal: `kill -CONT {pid}` continues it; `fleet daemon logs` "
        "shows what it did last. Until it answers or its process has ended, commands work without it, and no other daemon starts"
    )


class SocketHidden(DaemonSilent):
    """A process serves this home, but a foreign file is at the path of its socket."""

    says = "the daemon of {home} ({holder}) cannot be reached: {path} is in the way of its socket"
    hint = "it was left as it is; move it away, and the daemon puts its socket there again within seconds"


class NoDaemon(Absent):
    """No daemon serves this home."""

    says = "no daemon serves {home}"
    hint = "`fleet daemon start` starts one; every command works without it, too"


class NoDoor(FleetError):
    """An agent that has only the daemon's socket cannot reach the daemon."""

    says = "the daemon does not answer at {path}: {why}"
    hint = "nothing was changed; try again in a moment, or ask the person to run `fleet daemon start`"


class Unanswered(FleetError):
    """An agent that has only the daemon's socket got no answer to a request that it had sent."""

    says = "the daemon at {path} did not answer: {why}; whether it has done this is not known"
    hint = "look, or repeat the same command with `--key {key}`: what was done is not done twice"


class AnswerLost(FleetError):
    """The daemon ended while it performed a request: a part is committed, so a repetition of the request is refused."""

    says = "the daemon went away before it answered. It has done this: {done}. To go on from here is refused: {why}"
    hint = "`fleet status` and `fleet ps` show what is now; `fleet ops` shows what was done"


class OnlyForAgents(NotOwned):
    """A request at the socket for agents names no dispatch."""

    says = "only agents speak at {path}, and the request names no dispatch; nothing was changed"
    hint = "an agent keeps FLEET_DISPATCH_ID and FLEET_TOKEN in its environment; a person unsets FLEET_DOOR"


class PathTaken(Refused):
    """A foreign file is at the path of the daemon's socket."""

    says = "{path} is in the way: the daemon's socket belongs there, and this is something else"
    hint = "it was left as it is; move it away"


class OtherVersion(Refused):
    """The daemon and its client are of different versions."""

    says = "the daemon runs fleet {daemon}, and this is fleet {client}"
    hint = "`fleet daemon restart` starts it with this version; until then commands work without it"


class BadRequest(BadInput):
    """A request to the daemon cannot be used: it is malformed, too long, or not allowed at this socket."""

    says = "the request cannot be used: {why}"
    hint = "docs/reference/protocol.md describes requests"


class Draining(Refused):
    """The daemon is about to end, and takes no more requests."""

    says = "the daemon is ending"
    hint = "try again; commands work without it, too"
