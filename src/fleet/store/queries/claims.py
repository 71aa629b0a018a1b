"""The queries of sql/claims.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import ClaimState
    from fleet.store.transaction import Rows, Tx


class PortBlock(Row):
    __slots__ = (
        'base',
        'size',
    )

    def __init__(
        self,
        base: int,
        size: int,
    ) -> None:
        self.base = base
        self.size = size


class Claim(Row):
    __slots__ = (
        'id',
        'dispatch',
        'project',
        'slug',
        'job',
        'host',
        'home',
        'kind',
        'name',
        'state',
        'actor',
        'effect_lock',
        'data',
        'failures',
        'failed_at',
        'created_at',
        'updated_at',
    )

    def __init__(
        self,
        id: str,
        dispatch: str | None,
        project: str | None,
        slug: str | None,
        job: str | None,
        host: str,
        home: str | None,
        kind: str,
        name: str,
        state: ClaimState,
        actor: str,
        effect_lock: str | None,
        data: str,
        failures: int,
        failed_at: int | None,
        created_at: int,
        updated_at: int,
    ) -> None:
        self.id = id
        self.dispatch = dispatch
        self.project = project
        self.slug = slug
        self.job = job
        self.host = host
        self.home = home
        self.kind = kind
        self.name = name
        self.state = state
        self.actor = actor
        self.effect_lock = effect_lock
        self.data = data
        self.failures = failures
        self.failed_at = failed_at
        self.created_at = created_at
        self.updated_at = updated_at


class Bundle(Row):
    __slots__ = (
        'project',
        'slug',
        'host',
        'owner',
        'generation',
        'branch_is_ours',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        host: str,
        owner: str,
        generation: int,
        branch_is_ours: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.host = host
        self.owner = owner
        self.generation = generation
        self.branch_is_ours = branch_is_ours


class Adoption(Row):
    __slots__ = (
        'dispatch',
        'kind',
        'generation',
        'adopted_at',
        'released_at',
    )

    def __init__(
        self,
        dispatch: str,
        kind: str,
        generation: int,
        adopted_at: int,
        released_at: int | None,
    ) -> None:
        self.dispatch = dispatch
        self.kind = kind
        self.generation = generation
        self.adopted_at = adopted_at
        self.released_at = released_at


class Seat(Row):
    __slots__ = (
        'project',
        'holder',
        'epoch',
        'candidate',
        'deadline',
    )

    def __init__(
        self,
        project: str,
        holder: str | None,
        epoch: int,
        candidate: str | None,
        deadline: int | None,
    ) -> None:
        self.project = project
        self.holder = holder
        self.epoch = epoch
        self.candidate = candidate
        self.deadline = deadline


ADD_CLAIM = Query(
    'add_claim',
    'INSERT INTO claims (id, dispatch, project, slug, job, host, home, kind, name, actor, effect_lock, data, created_at, updated_at) VALUES (:id, :dispatch, :project, :slug, :job, :host, :home, :kind, :name, :actor, :effect_lock, :data, :at, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO claims (id, dispatch, project, slug, job, host, home, kind, name, actor, effect_lock, data, created_at, updated_at) VALUES (%(id)s, %(dispatch)s, %(project)s, %(slug)s, %(job)s, %(host)s, %(home)s, %(kind)s, %(name)s, %(actor)s, %(effect_lock)s, %(data)s, %(at)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_claim(tx: Tx, /, *, id: str, dispatch: str | None, project: str | None, slug: str | None, job: str | None, host: str, home: str | None, kind: str, name: str, actor: str, effect_lock: str | None, data: str, at: int) -> int:
    """Record the intent to create a resource; add no row when another claim holds the resource."""
    return tx.write(ADD_CLAIM, {'id': id, 'dispatch': dispatch, 'project': project, 'slug': slug, 'job': job, 'host': host, 'home': home, 'kind': kind, 'name': name, 'actor': actor, 'effect_lock': effect_lock, 'data': data, 'at': at})


STEP_CLAIM = Query(
    'step_claim',
    'UPDATE claims SET state = :after, updated_at = :at WHERE id = :id AND state = :before',
    'UPDATE claims SET state = %(after)s, updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s',
    None,
)


def step_claim(tx: Tx, /, *, after: ClaimState, at: int, id: str, before: ClaimState) -> int:
    """Compare and set: change a claim's state."""
    return tx.write(STEP_CLAIM, {'after': after, 'at': at, 'id': id, 'before': before})


LET_GO_CLAIM = Query(
    'let_go_claim',
    "UPDATE claims SET state = :after, actor = :actor, updated_at = :at WHERE id = :id AND state = :before AND actor = :was AND COALESCE(dispatch, '') = :owner",
    "UPDATE claims SET state = %(after)s, actor = %(actor)s, updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s AND actor = %(was)s AND COALESCE(dispatch, '') = %(owner)s",
    None,
)


def let_go_claim(tx: Tx, /, *, after: ClaimState, actor: str, at: int, id: str, before: ClaimState, was: str, owner: str) -> int:
    """Compare and set: record the intent to remove a resource and the process that does it, unless the claim got a new owner meanwhile. `owner` is the dispatch that owns the claim, '' for none."""
    return tx.write(LET_GO_CLAIM, {'after': after, 'actor': actor, 'at': at, 'id': id, 'before': before, 'was': was, 'owner': owner})


RETAKE_CLAIM = Query(
    'retake_claim',
    'UPDATE claims SET state = :after, actor = :actor, data = :data, updated_at = :at WHERE id = :id AND state = :before AND actor = :was',
    'UPDATE claims SET state = %(after)s, actor = %(actor)s, data = %(data)s, updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s AND actor = %(was)s',
    None,
)


def retake_claim(tx: Tx, /, *, after: ClaimState, actor: str, data: str, at: int, id: str, before: ClaimState, was: str) -> int:
    """Compare and set: let another process finish what a dead one began to create, or create it anew."""
    return tx.write(RETAKE_CLAIM, {'after': after, 'actor': actor, 'data': data, 'at': at, 'id': id, 'before': before, 'was': was})


FAIL_RELEASE = Query(
    'fail_release',
    "UPDATE claims SET failures = failures + 1, failed_at = :at, state = :after, actor = '', updated_at = :at WHERE id = :id AND state = :before",
    "UPDATE claims SET failures = failures + 1, failed_at = %(at)s, state = %(after)s, actor = '', updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s",
    None,
)


def fail_release(tx: Tx, /, *, at: int, after: ClaimState, id: str, before: ClaimState) -> int:
    """Count a failed release of a claim; no process works on it any more."""
    return tx.write(FAIL_RELEASE, {'at': at, 'after': after, 'id': id, 'before': before})


NOTE_MADE = Query(
    'note_made',
    "UPDATE claims SET state = :after, updated_at = :at WHERE (state = 'allocating' AND (dispatch = :dispatch OR (dispatch IS NULL AND project = :project AND slug = :slug AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = :project AND b.slug = :slug AND b.owner = :dispatch)))) OR (state = 'failed_alloc' AND dispatch = :dispatch AND kind = 'tmux_session')",
    "UPDATE claims SET state = %(after)s, updated_at = %(at)s WHERE (state = 'allocating' AND (dispatch = %(dispatch)s OR (dispatch IS NULL AND project = %(project)s AND slug = %(slug)s AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = %(project)s AND b.slug = %(slug)s AND b.owner = %(dispatch)s)))) OR (state = 'failed_alloc' AND dispatch = %(dispatch)s AND kind = 'tmux_session')",
    None,
)


def note_made(tx: Tx, /, *, after: ClaimState, at: int, dispatch: str, project: str, slug: str) -> int:
    """Mark the claims of a dispatch and of the bundle that it owns as live: its session, which is made last, runs, so everything before it exists."""
    return tx.write(NOTE_MADE, {'after': after, 'at': at, 'dispatch': dispatch, 'project': project, 'slug': slug})


FAIL_MAKING = Query(
    'fail_making',
    "UPDATE claims SET state = :after, actor = '', updated_at = :at WHERE id = :id AND state = :before",
    "UPDATE claims SET state = %(after)s, actor = '', updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s",
    None,
)


def fail_making(tx: Tx, /, *, after: ClaimState, at: int, id: str, before: ClaimState) -> int:
    """Record that a resource could not be created; no process works on its claim any more."""
    return tx.write(FAIL_MAKING, {'after': after, 'at': at, 'id': id, 'before': before})


FREE_PORTS = Query(
    'free_ports',
    "DELETE FROM ports WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = ports.claim AND c.state <> 'released')",
    "DELETE FROM ports WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = ports.claim AND c.state <> 'released')",
    None,
)


def free_ports(tx: Tx, /) -> int:
    """Free the blocks of ports whose worktrees are released."""
    return tx.write(FREE_PORTS, {})


TAKEN_PORTS = Query(
    'taken_ports',
    'SELECT base, size FROM ports WHERE host = :host ORDER BY base',
    'SELECT base, size FROM ports WHERE host = %(host)s ORDER BY base',
    PortBlock,
)


def taken_ports(rows: Rows, /, *, host: str) -> list[PortBlock]:
    """The blocks of ports that worktrees on a host have been given."""
    return rows.select_all(TAKEN_PORTS, PortBlock, {'host': host})


ADD_PORTS = Query(
    'add_ports',
    'INSERT INTO ports (claim, host, base, size) VALUES (:claim, :host, :base, :size) ON CONFLICT DO NOTHING',
    'INSERT INTO ports (claim, host, base, size) VALUES (%(claim)s, %(host)s, %(base)s, %(size)s) ON CONFLICT DO NOTHING',
    None,
)


def add_ports(tx: Tx, /, *, claim: str, host: str, base: int, size: int) -> int:
    """Give a block of ports to the claim of a worktree."""
    return tx.write(ADD_PORTS, {'claim': claim, 'host': host, 'base': base, 'size': size})


PORTS_OF_BUNDLE = Query(
    'ports_of_bundle',
    "SELECT p.base, p.size FROM ports p JOIN claims c ON c.id = p.claim WHERE c.project = :project AND c.slug = :slug AND c.state <> 'released' AND c.dispatch IS NULL AND c.kind = 'worktree'",
    "SELECT p.base, p.size FROM ports p JOIN claims c ON c.id = p.claim WHERE c.project = %(project)s AND c.slug = %(slug)s AND c.state <> 'released' AND c.dispatch IS NULL AND c.kind = 'worktree'",
    PortBlock,
)


def ports_of_bundle(rows: Rows, /, *, project: str, slug: str) -> PortBlock | None:
    """The block of ports of a task's worktree."""
    return rows.select_one(PORTS_OF_BUNDLE, PortBlock, {'project': project, 'slug': slug})


HELD_CLAIM = Query(
    'held_claim',
    "SELECT * FROM claims WHERE host = :host AND kind = :kind AND name = :name AND state IN ('allocating', 'live', 'releasing', 'releasing_blocked')",
    "SELECT * FROM claims WHERE host = %(host)s AND kind = %(kind)s AND name = %(name)s AND state IN ('allocating', 'live', 'releasing', 'releasing_blocked')",
    Claim,
)


def held_claim(rows: Rows, /, *, host: str, kind: str, name: str) -> Claim | None:
    """The claim that holds a resource, if one does."""
    return rows.select_one(HELD_CLAIM, Claim, {'host': host, 'kind': kind, 'name': name})


CLAIMS_OF_DISPATCH = Query(
    'claims_of_dispatch',
    'SELECT * FROM claims WHERE dispatch = :dispatch ORDER BY created_at, id',
    'SELECT * FROM claims WHERE dispatch = %(dispatch)s ORDER BY created_at, id',
    Claim,
)


def claims_of_dispatch(rows: Rows, /, *, dispatch: str) -> list[Claim]:
    """All claims of a dispatch, released ones too."""
    return rows.select_all(CLAIMS_OF_DISPATCH, Claim, {'dispatch': dispatch})


CLAIMS_OF_BUNDLE = Query(
    'claims_of_bundle',
    "SELECT * FROM claims WHERE project = :project AND slug = :slug AND state <> 'released' AND dispatch IS NULL ORDER BY created_at, id",
    "SELECT * FROM claims WHERE project = %(project)s AND slug = %(slug)s AND state <> 'released' AND dispatch IS NULL ORDER BY created_at, id",
    Claim,
)


def claims_of_bundle(rows: Rows, /, *, project: str, slug: str) -> list[Claim]:
    """The unreleased claims of a task's bundle."""
    return rows.select_all(CLAIMS_OF_BUNDLE, Claim, {'project': project, 'slug': slug})


OPEN_CLAIMS_OF_JOB = Query(
    'open_claims_of_job',
    "SELECT * FROM claims WHERE job = :job AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE job = %(job)s AND state <> 'released' ORDER BY created_at, id",
    Claim,
)


def open_claims_of_job(rows: Rows, /, *, job: str) -> list[Claim]:
    """The unreleased claims on processes that runners of a job started themselves."""
    return rows.select_all(OPEN_CLAIMS_OF_JOB, Claim, {'job': job})


OPEN_CLAIMS_OF_JOBS = Query(
    'open_claims_of_jobs',
    "SELECT * FROM claims WHERE job IS NOT NULL AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE job IS NOT NULL AND state <> 'released' ORDER BY created_at, id",
    Claim,
)


def open_claims_of_jobs(rows: Rows, /) -> list[Claim]:
    """The unreleased claims on processes that runners of any job started themselves."""
    return rows.select_all(OPEN_CLAIMS_OF_JOBS, Claim, {})


FORGET_RELEASED_OF_JOB = Query(
    'forget_released_of_job',
    "DELETE FROM claims WHERE job = :job AND state = 'released'",
    "DELETE FROM claims WHERE job = %(job)s AND state = 'released'",
    None,
)


def forget_released_of_job(tx: Tx, /, *, job: str) -> int:
    """Delete the released claims of a job."""
    return tx.write(FORGET_RELEASED_OF_JOB, {'job': job})


OPEN_CLAIMS = Query(
    'open_claims',
    "SELECT * FROM claims WHERE state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE state <> 'released' ORDER BY created_at, id",
    Claim,
)


def open_claims(rows: Rows, /) -> list[Claim]:
    """Every claim that is not released, oldest first."""
    return rows.select_all(OPEN_CLAIMS, Claim, {})


FORGET_RELEASED_OF_BUNDLE = Query(
    'forget_released_of_bundle',
    "DELETE FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'released'",
    "DELETE FROM claims WHERE project = %(project)s AND slug = %(slug)s AND dispatch IS NULL AND state = 'released'",
    None,
)


def forget_released_of_bundle(tx: Tx, /, *, project: str, slug: str) -> int:
    """Delete the released claims of a task's bundle."""
    return tx.write(FORGET_RELEASED_OF_BUNDLE, {'project': project, 'slug': slug})


BUNDLE_OF = Query(
    'bundle_of',
    'SELECT * FROM bundles WHERE project = :project AND slug = :slug',
    'SELECT * FROM bundles WHERE project = %(project)s AND slug = %(slug)s',
    Bundle,
)


def bundle_of(rows: Rows, /, *, project: str, slug: str) -> Bundle | None:
    """A task's bundle."""
    return rows.select_one(BUNDLE_OF, Bundle, {'project': project, 'slug': slug})


ADD_BUNDLE = Query(
    'add_bundle',
    'INSERT INTO bundles (project, slug, host, owner, generation) VALUES (:project, :slug, :host, :owner, 1) ON CONFLICT DO NOTHING',
    'INSERT INTO bundles (project, slug, host, owner, generation) VALUES (%(project)s, %(slug)s, %(host)s, %(owner)s, 1) ON CONFLICT DO NOTHING',
    None,
)


def add_bundle(tx: Tx, /, *, project: str, slug: str, host: str, owner: str) -> int:
    """Record a task's bundle with its first owner."""
    return tx.write(ADD_BUNDLE, {'project': project, 'slug': slug, 'host': host, 'owner': owner})


ADOPT_BUNDLE = Query(
    'adopt_bundle',
    'UPDATE bundles SET owner = :owner, host = :host, generation = generation + 1 WHERE project = :project AND slug = :slug AND owner = :was AND generation = :generation',
    'UPDATE bundles SET owner = %(owner)s, host = %(host)s, generation = generation + 1 WHERE project = %(project)s AND slug = %(slug)s AND owner = %(was)s AND generation = %(generation)s',
    None,
)


def adopt_bundle(tx: Tx, /, *, owner: str, host: str, project: str, slug: str, was: str, generation: int) -> int:
    """Compare and set: give a bundle to another owner; the generation only grows."""
    return tx.write(ADOPT_BUNDLE, {'owner': owner, 'host': host, 'project': project, 'slug': slug, 'was': was, 'generation': generation})


ADD_ADOPTION = Query(
    'add_adoption',
    'INSERT INTO adoptions (project, slug, generation, dispatch, kind, adopted_at) VALUES (:project, :slug, :generation, :dispatch, :kind, :at)',
    'INSERT INTO adoptions (project, slug, generation, dispatch, kind, adopted_at) VALUES (%(project)s, %(slug)s, %(generation)s, %(dispatch)s, %(kind)s, %(at)s)',
    None,
)


def add_adoption(tx: Tx, /, *, project: str, slug: str, generation: int, dispatch: str, kind: str, at: int) -> int:
    """Record that a dispatch has become the owner of a task's bundle."""
    return tx.write(ADD_ADOPTION, {'project': project, 'slug': slug, 'generation': generation, 'dispatch': dispatch, 'kind': kind, 'at': at})


END_ADOPTION = Query(
    'end_adoption',
    'UPDATE adoptions SET released_at = :at WHERE project = :project AND slug = :slug AND dispatch = :dispatch AND released_at IS NULL',
    'UPDATE adoptions SET released_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND dispatch = %(dispatch)s AND released_at IS NULL',
    None,
)


def end_adoption(tx: Tx, /, *, at: int | None, project: str, slug: str, dispatch: str) -> int:
    """Record that a dispatch no longer owns a task's bundle."""
    return tx.write(END_ADOPTION, {'at': at, 'project': project, 'slug': slug, 'dispatch': dispatch})


ADOPTIONS_OF = Query(
    'adoptions_of',
    'SELECT dispatch, kind, generation, adopted_at, released_at FROM adoptions WHERE project = :project AND slug = :slug ORDER BY generation',
    'SELECT dispatch, kind, generation, adopted_at, released_at FROM adoptions WHERE project = %(project)s AND slug = %(slug)s ORDER BY generation',
    Adoption,
)


def adoptions_of(rows: Rows, /, *, project: str, slug: str) -> list[Adoption]:
    """The dispatches that have owned a task's bundle, oldest first."""
    return rows.select_all(ADOPTIONS_OF, Adoption, {'project': project, 'slug': slug})


SEAT_OF = Query(
    'seat_of',
    'SELECT * FROM seats WHERE project = :project',
    'SELECT * FROM seats WHERE project = %(project)s',
    Seat,
)


def seat_of(rows: Rows, /, *, project: str) -> Seat | None:
    """A project's seat: its coordinator and candidate."""
    return rows.select_one(SEAT_OF, Seat, {'project': project})


ALL_SEATS = Query(
    'all_seats',
    'SELECT * FROM seats ORDER BY project',
    'SELECT * FROM seats ORDER BY project',
    Seat,
)


def all_seats(rows: Rows, /) -> list[Seat]:
    """The seats of all projects."""
    return rows.select_all(ALL_SEATS, Seat, {})


ADD_SEAT = Query(
    'add_seat',
    'INSERT INTO seats (project) VALUES (:project) ON CONFLICT DO NOTHING',
    'INSERT INTO seats (project) VALUES (%(project)s) ON CONFLICT DO NOTHING',
    None,
)


def add_seat(tx: Tx, /, *, project: str) -> int:
    """Add an empty seat to a project that has none."""
    return tx.write(ADD_SEAT, {'project': project})


TAKE_SEAT = Query(
    'take_seat',
    "UPDATE seats SET holder = :holder, epoch = epoch + 1 WHERE project = :project AND COALESCE(holder, '') = COALESCE(CAST(:was AS TEXT), '')",
    "UPDATE seats SET holder = %(holder)s, epoch = epoch + 1 WHERE project = %(project)s AND COALESCE(holder, '') = COALESCE(CAST(%(was)s AS TEXT), '')",
    None,
)


def take_seat(tx: Tx, /, *, holder: str | None, project: str, was: str | None) -> int:
    """Compare and set: make a dispatch the holder of the seat."""
    return tx.write(TAKE_SEAT, {'holder': holder, 'project': project, 'was': was})


SET_CLAIM_DATA = Query(
    'set_claim_data',
    'UPDATE claims SET data = :data, updated_at = :at WHERE id = :id',
    'UPDATE claims SET data = %(data)s, updated_at = %(at)s WHERE id = %(id)s',
    None,
)


def set_claim_data(tx: Tx, /, *, data: str, at: int, id: str) -> int:
    """Update what is known about a claim's resource."""
    return tx.write(SET_CLAIM_DATA, {'data': data, 'at': at, 'id': id})


LONE_CLAIMS = Query(
    'lone_claims',
    "SELECT c.* FROM claims c JOIN tasks t ON t.project = c.project AND t.slug = c.slug WHERE c.dispatch IS NULL AND c.state <> 'released' AND t.archived = 1 ORDER BY c.created_at DESC, c.id",
    "SELECT c.* FROM claims c JOIN tasks t ON t.project = c.project AND t.slug = c.slug WHERE c.dispatch IS NULL AND c.state <> 'released' AND t.archived = 1 ORDER BY c.created_at DESC, c.id",
    Claim,
)


def lone_claims(rows: Rows, /) -> list[Claim]:
    """The unreleased claims of bundles whose task is archived, newest first; they are to be released."""
    return rows.select_all(LONE_CLAIMS, Claim, {})


CLAIMS_ON_TASK = Query(
    'claims_on_task',
    "SELECT COUNT(*) AS n FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state <> 'released'",
    "SELECT COUNT(*) AS n FROM claims WHERE project = %(project)s AND slug = %(slug)s AND dispatch IS NULL AND state <> 'released'",
    Count,
)


def claims_on_task(rows: Rows, /, *, project: str, slug: str) -> Count:
    """How many claims of a task's bundle are not released."""
    return rows.select_exactly_one(CLAIMS_ON_TASK, Count, {'project': project, 'slug': slug})


GIVE_CLAIM = Query(
    'give_claim',
    "UPDATE claims SET dispatch = :dispatch, data = :data, updated_at = :at WHERE id = :id AND dispatch = :was AND state = 'live'",
    "UPDATE claims SET dispatch = %(dispatch)s, data = %(data)s, updated_at = %(at)s WHERE id = %(id)s AND dispatch = %(was)s AND state = 'live'",
    None,
)


def give_claim(tx: Tx, /, *, dispatch: str | None, data: str, at: int, id: str, was: str) -> int:
    """Compare and set: give a live claim to another dispatch, with new data."""
    return tx.write(GIVE_CLAIM, {'dispatch': dispatch, 'data': data, 'at': at, 'id': id, 'was': was})


UNFINISHED_REWRITES = Query(
    'unfinished_rewrites',
    'SELECT * FROM claims WHERE kind = \'coord_prompt_inbox\' AND state = \'live\' AND data LIKE \'%"rewrite": %\' ORDER BY created_at, id',
    'SELECT * FROM claims WHERE kind = \'coord_prompt_inbox\' AND state = \'live\' AND data LIKE \'%%"rewrite": %%\' ORDER BY created_at, id',
    Claim,
)


def unfinished_rewrites(rows: Rows, /) -> list[Claim]:
    """Claims on prompt inboxes that got a new owner and whose file was perhaps not rewritten for that owner yet."""
    return rows.select_all(UNFINISHED_REWRITES, Claim, {})


ALL_BUNDLES = Query(
    'all_bundles',
    'SELECT * FROM bundles',
    'SELECT * FROM bundles',
    Bundle,
)


def all_bundles(rows: Rows, /) -> list[Bundle]:
    """All bundles."""
    return rows.select_all(ALL_BUNDLES, Bundle, {})


UNMADE_OF_BUNDLE = Query(
    'unmade_of_bundle',
    "SELECT * FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'failed_alloc' ORDER BY created_at DESC, id",
    "SELECT * FROM claims WHERE project = %(project)s AND slug = %(slug)s AND dispatch IS NULL AND state = 'failed_alloc' ORDER BY created_at DESC, id",
    Claim,
)


def unmade_of_bundle(rows: Rows, /, *, project: str, slug: str) -> list[Claim]:
    """The claims of a task's bundle whose resources could not be created."""
    return rows.select_all(UNMADE_OF_BUNDLE, Claim, {'project': project, 'slug': slug})


LATE_INBOXES = Query(
    'late_inboxes',
    "SELECT c.* FROM claims c JOIN dispatches d ON d.id = c.dispatch WHERE c.kind = 'coord_prompt_inbox' AND c.state <> 'released' AND d.exec_state IN ('done', 'blocked', 'failed') AND d.ended_at <= :before ORDER BY c.created_at, c.id",
    "SELECT c.* FROM claims c JOIN dispatches d ON d.id = c.dispatch WHERE c.kind = 'coord_prompt_inbox' AND c.state <> 'released' AND d.exec_state IN ('done', 'blocked', 'failed') AND d.ended_at <= %(before)s ORDER BY c.created_at, c.id",
    Claim,
)


def late_inboxes(rows: Rows, /, *, before: int) -> list[Claim]:
    """Claims on prompts that are not released although their dispatch ended before a time."""
    return rows.select_all(LATE_INBOXES, Claim, {'before': before})


CLAIM_BY_ID = Query(
    'claim_by_id',
    'SELECT * FROM claims WHERE id = :id',
    'SELECT * FROM claims WHERE id = %(id)s',
    Claim,
)


def claim_by_id(rows: Rows, /, *, id: str) -> Claim | None:
    """One claim by its id."""
    return rows.select_one(CLAIM_BY_ID, Claim, {'id': id})


CLAIMS_OF_PROJECT = Query(
    'claims_of_project',
    "SELECT * FROM claims WHERE project = :project AND dispatch IS NULL AND slug IS NULL AND job IS NULL AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE project = %(project)s AND dispatch IS NULL AND slug IS NULL AND job IS NULL AND state <> 'released' ORDER BY created_at, id",
    Claim,
)


def claims_of_project(rows: Rows, /, *, project: str) -> list[Claim]:
    """The unreleased claims that belong to the project itself: to no dispatch, task or job."""
    return rows.select_all(CLAIMS_OF_PROJECT, Claim, {'project': project})


CLAIMS_OF_PROJECTS = Query(
    'claims_of_projects',
    "SELECT * FROM claims WHERE dispatch IS NULL AND slug IS NULL AND job IS NULL AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE dispatch IS NULL AND slug IS NULL AND job IS NULL AND state <> 'released' ORDER BY created_at, id",
    Claim,
)


def claims_of_projects(rows: Rows, /) -> list[Claim]:
    """The unreleased claims that belong to a project itself (to no dispatch, task or job), for all projects, removed ones too."""
    return rows.select_all(CLAIMS_OF_PROJECTS, Claim, {})


FORGET_RELEASED_OF_PROJECT = Query(
    'forget_released_of_project',
    "DELETE FROM claims WHERE project = :project AND dispatch IS NULL AND slug IS NULL AND job IS NULL AND state = 'released'",
    "DELETE FROM claims WHERE project = %(project)s AND dispatch IS NULL AND slug IS NULL AND job IS NULL AND state = 'released'",
    None,
)


def forget_released_of_project(tx: Tx, /, *, project: str) -> int:
    """Delete the released claims that belong to the project itself."""
    return tx.write(FORGET_RELEASED_OF_PROJECT, {'project': project})
