"""tmux_session: the session of one dispatch, on the home's own tmux server.

The dispatch owns only the pane that was created with the session, even after a person moved the pane. Other panes in
the session belong to a person or to another agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model import names
from fleet.model.identity import Identity

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.tmux import Listing, Pane
    from fleet.world.world import World


# Seconds to wait for others that create sessions, or stop the tmux server.
_GATE_WAIT = 60.0


class TmuxSession:
    """The tmux session fleet-<dispatch id>."""

    name = "tmux_session"
    klass = "exclusive"
    by_program = True

    def name_for(self, order: Order, _world: World) -> str:
        """Return the name of the session, which contains the dispatch id."""
        return names.session(order.dispatch)

    def data_for(self, order: Order, world: World) -> dict[str, Any]:
        """Return the tmux server on which the session is created: only that server can prove the session absent."""
        return {"server": order.server, "socket": world.tmux.socket}

    def look(self, claim: Claim, world: World) -> Look:
        """Return whether the dispatch's pane is ours, absent, foreign or unknown, after listing all panes."""
        return self.look_in_listing(claim, world.tmux.listing(), world)

    def look_in_listing(self, claim: Claim, listing: Listing, world: World) -> Look:
        """Return whether the dispatch's pane is ours, absent, foreign or unknown, from a listing of all panes.

        `ours`: a pane is stamped with the dispatch. `foreign`: a person has started another program in the dead agent's
        pane, or somebody else's session has the name that the session was to get. `absent`: the server on which the
        pane was created does not list it, or that server and the agent are proven dead. `unknown`: none of these is
        certain, for example while the new session is not stamped yet.
        """
        pane = listing.pane_of(claim.dispatch or "")
        if pane is not None:
            return "foreign" if _is_respawned(claim, pane, world) else "ours"
        named = listing.pane(claim.name)
        if named is not None and (named.dispatch == claim.dispatch or claim.is_unmade):
            return "unknown" if claim.state == "allocating" and not named.home else "foreign"
        made_on = Identity.parse(claim.data.get("server", ""))
        if listing.server is not None and (made_on is None or listing.server == made_on):
            return "absent"
        process = _process(claim)
        gone = _is_dead(made_on, world) and (process is None or _is_dead(process, world))
        return "absent" if gone else "unknown"

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Create the session on the server that the claim names, or on a new server if that one is dead.

        Record the server in the claim's data. Raise TmuxRefused when another server has taken the place of one that is
        not proven dead.
        """
        gate = world.gate("tmux")
        gate.take(wait=_GATE_WAIT)
        try:
            server = self._create(claim, order, world, lock)
            if server is None:
                claim.data["server"] = str(world.tmux.ensure_server())
                server = self._create(claim, order, world, lock)
        finally:
            gate.give()
        if str(server) != claim.data["server"]:
            if not _is_dead(Identity.parse(claim.data["server"]), world):
                raise errors.TmuxRefused(what=f"make session {claim.name}", why="its server was replaced meanwhile")
            claim.data["server"] = str(server)

    def _create(self, claim: Claim, order: Order, world: World, lock: int) -> Identity | None:
        """Create the session and return its server; None when the server that the claim names is dead."""
        try:
            return world.tmux.create(
                claim.name,
                dispatch=order.dispatch,
                about=f"{order.project}/{order.slug}" if order.slug else f"coordinator of {order.project}",
                cwd=order.cwd,
                env=order.env,
                words=order.words,
                lock=lock,
            )
        except errors.TmuxRefused:
            if not _is_dead(Identity.parse(claim.data["server"]), world):
                raise
            return None

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Kill the dispatch's pane; raise TmuxRefused when it is foreign or unknown.

        Its processes were proven dead before. tmux ends a session with its last pane.
        """
        listing = world.tmux.listing()
        pane = listing.pane_of(claim.dispatch or "")
        look = self.look_in_listing(claim, listing, world)
        if look == "ours" and pane is not None and not world.tmux.kill(pane):
            raise errors.TmuxRefused(what=f"end the pane of {claim.name}", why="no answer")
        if look in {"unknown", "foreign"}:
            raise errors.TmuxRefused(what=f"end the pane of {claim.name}", why=f"it is {look}")


def _is_dead(who: Identity | None, world: World) -> bool:
    """Return whether a process is proven dead; False for None."""
    return world.processes.life(who) == "dead"


def _process(claim: Claim) -> Identity | None:
    """Return the process of the agent; None when it is not known."""
    return Identity.parse(claim.data.get("process", ""))


def _is_respawned(claim: Claim, pane: Pane, world: World) -> bool:
    """Return whether a person has started another program in the pane of a dead agent."""
    process = _process(claim)
    if process is None or pane.dead or pane.pid == process.pid:
        return False
    return _is_dead(process, world)
