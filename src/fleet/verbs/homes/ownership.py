"""Whose it is: a dispatch, claim or job belongs to the home that made it. Only that home judges, releases or ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.store import queries as q
from fleet.world.home import home_change

if TYPE_CHECKING:
    from fleet.model.results.value import Value
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.world import World


def is_own(context: Context, row: Value | Claim) -> bool:
    """Whether this home made it. Rows from before homes were recorded: those of this host and tmux socket."""
    home, host, socket = _place_of(row)
    if host is not None and host != context.world.host.id:
        return False
    return home == context.world.record.id if home is not None else socket in {None, context.world.tmux.socket}


def _place_of(row: Value | Claim) -> tuple[str | None, str | None, str | None]:
    """Home, host and tmux socket, as far as it has them."""
    if isinstance(row, Claim):
        return row.home, row.host, row.data.get("socket")
    return getattr(row, "home", None), getattr(row, "host", None), getattr(row, "tmux_socket", None)


def why_foreign(context: Context, row: Value | Claim) -> str:
    """Whose it is, when it is not this home's; else empty."""
    if is_own(context, row):
        return ""
    return f"it belongs to {owner_of(context, row)}, and this is {this_home(context)}"


def owner_of(context: Context, row: Value | Claim) -> str:
    """The home that made it, for people: its path, the machine's name, the host's id."""
    home, host, socket = _place_of(row)
    known = context.store.read(lambda rows: q.home_by_id(rows, id=home or ""))
    if known is not None:
        return f"home {known.path} on {known.name} (host {host or known.host})"
    if home is None and host == context.world.host.id:
        return f"the home with the tmux socket {socket}"
    return f"home {home} on host {host}" if home else f"host {host}"


def this_home(context: Context) -> str:
    """The home that asks, in the same words."""
    world = context.world
    return f"home {world.record.path} on {world.host.name} (host {world.host.id})"


def refuse_foreign(context: Context, what: str, row: Value | Claim, dispatch: str = "") -> None:
    """Raise OtherHost when it is another home's. The dispatch is the one that could be disowned."""
    if not is_own(context, row):
        ident = dispatch or ((row.dispatch or row.job) if isinstance(row, Claim) else getattr(row, "id", "")) or "ID"
        raise errors.OtherHost(what=what, made=owner_of(context, row), here=this_home(context), dispatch=ident)


def refuse_foreign_bundle(context: Context, project: str, slug: str) -> None:
    """Raise OtherHost when a task's worktree is another home's."""
    bundle = context.store.read(lambda rows: q.bundle_of(rows, project=project, slug=slug))
    for each in context.store.read(lambda rows: q.claims_of_bundle(rows, project=project, slug=slug)):
        claim = Claim.of(each)
        refuse_foreign(context, str(claim), claim, bundle.owner if bundle else "")


def disown_hint(ident: str) -> str:
    """What a person can do about a dispatch whose machine is gone."""
    return f"if that home or machine is no more: `fleet dispatches disown {ident} --reason TEXT`"


def note_machine(world: World) -> None:
    """Let the home remember the machine that it is on; its host id stays."""
    if world.record.machine != world.host.machine:
        world.record = home_change.change(world.home, world.funnel, machine=world.host.machine)


def note_home(tx: Tx, world: World) -> None:
    """Write down this home among those that use the database; with whatever belongs to it."""
    record = world.record
    q.see_home(tx, id=record.id, host=world.host.id, machine=world.host.machine, name=world.host.name,
           path=record.path, at=tx.at)  # fmt: skip
