"""The queries of sql/homes.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.claims import Claim
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Tx


class Home(Row):
    __slots__ = (
        'id',
        'host',
        'machine',
        'name',
        'path',
        'seen_at',
    )

    def __init__(
        self,
        id: str,
        host: str,
        machine: str,
        name: str,
        path: str,
        seen_at: int,
    ) -> None:
        self.id = id
        self.host = host
        self.machine = machine
        self.name = name
        self.path = path
        self.seen_at = seen_at


SEE_HOME = Query(
    'see_home',
    'INSERT INTO homes (id, host, machine, name, path, seen_at) VALUES (:id, :host, :machine, :name, :path, :at) ON CONFLICT (id) DO UPDATE SET host = excluded.host, machine = excluded.machine, name = excluded.name, path = excluded.path, seen_at = excluded.seen_at',
    'INSERT INTO homes (id, host, machine, name, path, seen_at) VALUES (%(id)s, %(host)s, %(machine)s, %(name)s, %(path)s, %(at)s) ON CONFLICT (id) DO UPDATE SET host = excluded.host, machine = excluded.machine, name = excluded.name, path = excluded.path, seen_at = excluded.seen_at',
    None,
)


def see_home(tx: Tx, /, *, id: str, host: str, machine: str, name: str, path: str, at: int) -> int:
    """Record a home that uses this database, with its present path and machine, when it writes a dispatch or job."""
    return tx.write(SEE_HOME, {'id': id, 'host': host, 'machine': machine, 'name': name, 'path': path, 'at': at})


HOME_BY_ID = Query(
    'home_by_id',
    'SELECT * FROM homes WHERE id = :id',
    'SELECT * FROM homes WHERE id = %(id)s',
    Home,
)


def home_by_id(rows: Rows, /, *, id: str) -> Home | None:
    """A home by its id."""
    return rows.select_one(HOME_BY_ID, Home, {'id': id})


HOME_ON_HOST = Query(
    'home_on_host',
    'SELECT * FROM homes WHERE host = :host OR machine = :host ORDER BY seen_at DESC, id LIMIT 1',
    'SELECT * FROM homes WHERE host = %(host)s OR machine = %(host)s ORDER BY seen_at DESC, id LIMIT 1',
    Home,
)


def home_on_host(rows: Rows, /, *, host: str) -> Home | None:
    """The home that was last seen on a host, to find the host's name. `host` is the id of the host or of its machine."""
    return rows.select_one(HOME_ON_HOST, Home, {'host': host})


TAKE_OVER_DISPATCH = Query(
    'take_over_dispatch',
    'UPDATE dispatches SET home = :home, host = :host, tmux_socket = :socket, updated_at = :at WHERE id = :id',
    'UPDATE dispatches SET home = %(home)s, host = %(host)s, tmux_socket = %(socket)s, updated_at = %(at)s WHERE id = %(id)s',
    None,
)


def take_over_dispatch(tx: Tx, /, *, home: str | None, host: str, socket: str, at: int, id: str) -> int:
    """Move a dispatch to this home from a home that no longer exists."""
    return tx.write(TAKE_OVER_DISPATCH, {'home': home, 'host': host, 'socket': socket, 'at': at, 'id': id})


CLEAR_ACTOR = Query(
    'clear_actor',
    "UPDATE claims SET actor = '', updated_at = :at WHERE id = :id AND actor = :was",
    "UPDATE claims SET actor = '', updated_at = %(at)s WHERE id = %(id)s AND actor = %(was)s",
    None,
)


def clear_actor(tx: Tx, /, *, at: int, id: str, was: str) -> int:
    """Compare and set: clear the process of a claim, because a person says that it is gone."""
    return tx.write(CLEAR_ACTOR, {'at': at, 'id': id, 'was': was})


CLAIMS_BELOW = Query(
    'claims_below',
    "SELECT * FROM claims WHERE (home = :home OR (home IS NULL AND host = :host)) AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE (home = %(home)s OR (home IS NULL AND host = %(host)s)) AND state <> 'released' ORDER BY created_at, id",
    Claim,
)


def claims_below(rows: Rows, /, *, home: str, host: str) -> list[Claim]:
    """The unreleased claims of a home, also those recorded before homes had ids; for a home that was moved."""
    return rows.select_all(CLAIMS_BELOW, Claim, {'home': home, 'host': host})


MOVE_CLAIM = Query(
    'move_claim',
    'UPDATE claims SET name = :name, data = :data, updated_at = :at WHERE id = :id AND name = :was',
    'UPDATE claims SET name = %(name)s, data = %(data)s, updated_at = %(at)s WHERE id = %(id)s AND name = %(was)s',
    None,
)


def move_claim(tx: Tx, /, *, name: str, data: str, at: int, id: str, was: str) -> int:
    """Compare and set: change the name of a claim's resource, because its home was moved."""
    return tx.write(MOVE_CLAIM, {'name': name, 'data': data, 'at': at, 'id': id, 'was': was})


MOVE_SOCKETS = Query(
    'move_sockets',
    'UPDATE dispatches SET tmux_socket = :socket, updated_at = :at WHERE tmux_socket = :was AND (home = :home OR (home IS NULL AND host = :host))',
    'UPDATE dispatches SET tmux_socket = %(socket)s, updated_at = %(at)s WHERE tmux_socket = %(was)s AND (home = %(home)s OR (home IS NULL AND host = %(host)s))',
    None,
)


def move_sockets(tx: Tx, /, *, socket: str, at: int, was: str, home: str, host: str) -> int:
    """Change the tmux socket of a home's dispatches, because the home was moved."""
    return tx.write(MOVE_SOCKETS, {'socket': socket, 'at': at, 'was': was, 'home': home, 'host': host})


TAKE_OVER_JOB = Query(
    'take_over_job',
    'UPDATE jobs SET home = :home, changed_at = :at WHERE id = :id',
    'UPDATE jobs SET home = %(home)s, changed_at = %(at)s WHERE id = %(id)s',
    None,
)


def take_over_job(tx: Tx, /, *, home: str | None, at: int, id: str) -> int:
    """Move a job to this home from a home that no longer exists."""
    return tx.write(TAKE_OVER_JOB, {'home': home, 'at': at, 'id': id})


OTHER_HOMES = Query(
    'other_homes',
    'SELECT * FROM homes WHERE id <> :id ORDER BY seen_at DESC, id',
    'SELECT * FROM homes WHERE id <> %(id)s ORDER BY seen_at DESC, id',
    Home,
)


def other_homes(rows: Rows, /, *, id: str) -> list[Home]:
    """The other homes that have used this database, the one seen last first."""
    return rows.select_all(OTHER_HOMES, Home, {'id': id})
