"""Decide which home owns a dispatch, claim or job: the home that made it, or that took it over by disowning it.

Only the owner may release or end it.
"""

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
    """Return whether this home owns a dispatch, claim or job: made it, or took it over, on this host.

    A row without a home id counts as this home's unless it names another host or another tmux socket.
    """
    home, host, socket = _place_of(row)
    if host is not None and host != context.world.host.id:
        return False
    return home == context.world.record.id if home is not None else socket in {None, context.world.tmux.socket}


def _place_of(row: Value | Claim) -> tuple[str | None, str | None, str | None]:
    """Return home id, host id and tmux socket of a dispatch, claim or job; None for each that it does not have."""
    if isinstance(row, Claim):
        return row.home, row.host, row.data.get("socket")
    return getattr(row, "home", None), getattr(row, "host", None), getattr(row, "tmux_socket", None)


def why_foreign(context: Context, row: Value | Claim) -> str:
    """Return the sentence that names the other home which owns a dispatch, claim or job; "" when this home owns it."""
    if is_own(context, row):
        return ""
    return f"it belongs to {owner_of(context, row)}, and this is {this_home(context)}"


def owner_of(context: Context, row: Value | Claim) -> str:
    """Return a description of the home that made a dispatch, claim or job: path, machine and host id, as far as known."""
    home, host, socket = _place_of(row)
    known = context.store.read(lambda rows: q.home_by_id(rows, id=home or ""))
    if known is not None:
        return f"home {known.path} on {known.name} (host {host or known.host})"
    if home is None and host == context.world.host.id:
        return f"the home with the tmux socket {socket}"
    where = host_named(context, host or "")
    return f"home {home} on {where}" if home else where


def host_named(context: Context, ident: str) -> str:
    """Return a host's name and id as text; only the id when no home is known on that host."""
    if ident == context.world.host.machine_id:
        return f"{context.world.host.name} (host {ident})"
    known = context.store.read(lambda rows: q.home_on_host(rows, host=ident))
    return f"{known.name} (host {ident})" if known is not None else f"host {ident}"


def this_home(context: Context) -> str:
    """Return a description of this home: path, machine and host id."""
    world = context.world
    return f"home {world.record.path} on {world.host.name} (host {world.host.id})"


def refuse_foreign(context: Context, what: str, row: Value | Claim, dispatch: str = "") -> None:
    """Raise OtherHost when another home owns a dispatch, claim or job (`row`), which `what` names in the error.

    `dispatch` is the id that the error advises to disown; with "" the id is taken from `row`.
    """
    if not is_own(context, row):
        ident = dispatch or ((row.dispatch or row.job) if isinstance(row, Claim) else getattr(row, "id", "")) or "ID"
        raise errors.OtherHost(what=what, made=owner_of(context, row), here=this_home(context), dispatch=ident)


def refuse_foreign_bundle(context: Context, project: str, slug: str) -> None:
    """Raise OtherHost when another home owns a claim of the task's bundle."""
    place = {"project": project, "slug": slug}
    bundle, held = context.store.read(lambda rows: (q.bundle_of(rows, **place), q.claims_of_bundle(rows, **place)))
    for row in held:
        claim = Claim.of(row)
        refuse_foreign(context, str(claim), claim, bundle.owner if bundle else "")


def disown_hint(ident: str) -> str:
    """Return the advice to disown a dispatch or job whose home or machine is gone."""
    return f"if that home or machine is no more: `fleet dispatches disown {ident} --reason TEXT`"


def note_machine(world: World) -> None:
    """Record in home.json the machine that the home is on now, if it has changed. The host id stays."""
    if world.record.machine != world.host.machine_id:
        world.record = home_change.change(world.home, world.funnel, machine=world.host.machine_id)


def note_home(tx: Tx, world: World) -> None:
    """Record this home among those that use the database, in the transaction that adds a row which this home owns."""
    record = world.record
    q.see_home(tx, id=record.id, host=world.host.id, machine=world.host.machine_id, name=world.host.name,
           path=record.path, at=tx.at)  # fmt: skip
