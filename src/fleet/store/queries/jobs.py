"""The queries of sql/jobs.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count, TaskTrouble
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import ExecState, ItemState, ItemVerdict, JobPart, JobPhase, JobState, TaskStatus
    from fleet.store.transaction import Rows, Tx


class Job(Row):
    __slots__ = (
        'id',
        'project',
        'name',
        'source',
        'folder',
        'parameters',
        'state',
        'phase',
        'reason',
        'actor',
        'added_at',
        'changed_at',
        'begun_at',
        'ended_at',
        'home',
    )

    def __init__(
        self,
        id: str,
        project: str,
        name: str,
        source: str,
        folder: str,
        parameters: str,
        state: JobState,
        phase: JobPhase,
        reason: str | None,
        actor: str,
        added_at: int,
        changed_at: int,
        begun_at: int,
        ended_at: int | None,
        home: str | None,
    ) -> None:
        self.id = id
        self.project = project
        self.name = name
        self.source = source
        self.folder = folder
        self.parameters = parameters
        self.state = state
        self.phase = phase
        self.reason = reason
        self.actor = actor
        self.added_at = added_at
        self.changed_at = changed_at
        self.begun_at = begun_at
        self.ended_at = ended_at
        self.home = home


class JobHead(Row):
    __slots__ = (
        'id',
        'name',
        'project',
        'state',
    )

    def __init__(
        self,
        id: str,
        name: str,
        project: str,
        state: JobState,
    ) -> None:
        self.id = id
        self.name = name
        self.project = project
        self.state = state


class Item(Row):
    __slots__ = (
        'job',
        'id',
        'part',
        'number',
        'data',
        'state',
        'attempts',
        'failures',
        'not_before',
        'dispatch',
        'verdict',
        'reason',
        'signature',
        'failed_at',
        'merged',
        'started_at',
        'ended_at',
        'history',
    )

    def __init__(
        self,
        job: str,
        id: str,
        part: JobPart,
        number: int,
        data: str,
        state: ItemState,
        attempts: int,
        failures: int,
        not_before: int | None,
        dispatch: str | None,
        verdict: ItemVerdict | None,
        reason: str | None,
        signature: str | None,
        failed_at: int | None,
        merged: str | None,
        started_at: int | None,
        ended_at: int | None,
        history: str,
    ) -> None:
        self.job = job
        self.id = id
        self.part = part
        self.number = number
        self.data = data
        self.state = state
        self.attempts = attempts
        self.failures = failures
        self.not_before = not_before
        self.dispatch = dispatch
        self.verdict = verdict
        self.reason = reason
        self.signature = signature
        self.failed_at = failed_at
        self.merged = merged
        self.started_at = started_at
        self.ended_at = ended_at
        self.history = history


class ItemCount(Row):
    __slots__ = (
        'state',
        'n',
    )

    def __init__(
        self,
        state: ItemState,
        n: int,
    ) -> None:
        self.state = state
        self.n = n


class SoonestItem(Row):
    __slots__ = (
        'n',
        'at',
    )

    def __init__(
        self,
        n: int,
        at: int | None,
    ) -> None:
        self.n = n
        self.at = at


class FailuresAlike(Row):
    __slots__ = (
        'signature',
        'n',
    )

    def __init__(
        self,
        signature: str,
        n: int,
    ) -> None:
        self.signature = signature
        self.n = n


class EndedItem(Row):
    __slots__ = (
        'ended_at',
        'state',
    )

    def __init__(
        self,
        ended_at: int,
        state: ItemState,
    ) -> None:
        self.ended_at = ended_at
        self.state = state


class JobStep(Row):
    __slots__ = (
        'job',
        'item',
        'attempt',
        'number',
        'title',
        'started_at',
        'ended_at',
        'status',
        'reason',
        'commits',
    )

    def __init__(
        self,
        job: str,
        item: str,
        attempt: int,
        number: int,
        title: str,
        started_at: int,
        ended_at: int,
        status: int | None,
        reason: str | None,
        commits: str,
    ) -> None:
        self.job = job
        self.item = item
        self.attempt = attempt
        self.number = number
        self.title = title
        self.started_at = started_at
        self.ended_at = ended_at
        self.status = status
        self.reason = reason
        self.commits = commits


class JobLitter(Row):
    __slots__ = (
        'project',
        'slug',
        'job',
        'item',
        'state',
        'job_state',
        'home',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        job: str,
        item: str,
        state: ItemState,
        job_state: JobState,
        home: str | None,
    ) -> None:
        self.project = project
        self.slug = slug
        self.job = job
        self.item = item
        self.state = state
        self.job_state = job_state
        self.home = home


class TaskJob(Row):
    __slots__ = (
        'job',
    )

    def __init__(
        self,
        job: str | None,
    ) -> None:
        self.job = job


class DispatchOfTask(Row):
    __slots__ = (
        'id',
        'exec_state',
    )

    def __init__(
        self,
        id: str,
        exec_state: ExecState,
    ) -> None:
        self.id = id
        self.exec_state = exec_state


ADD_JOB = Query(
    'add_job',
    'INSERT INTO jobs (id, project, name, source, folder, parameters, actor, home, added_at, changed_at, begun_at) VALUES (:id, :project, :name, :source, :folder, :parameters, :actor, :home, :at, :at, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO jobs (id, project, name, source, folder, parameters, actor, home, added_at, changed_at, begun_at) VALUES (%(id)s, %(project)s, %(name)s, %(source)s, %(folder)s, %(parameters)s, %(actor)s, %(home)s, %(at)s, %(at)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_job(tx: Tx, /, *, id: str, project: str, name: str, source: str, folder: str, parameters: str, actor: str, home: str | None, at: int) -> int:
    """Record a new job."""
    return tx.write(ADD_JOB, {'id': id, 'project': project, 'name': name, 'source': source, 'folder': folder, 'parameters': parameters, 'actor': actor, 'home': home, 'at': at})


JOB_BY_ID = Query(
    'job_by_id',
    'SELECT * FROM jobs WHERE id = :id',
    'SELECT * FROM jobs WHERE id = %(id)s',
    Job,
)


def job_by_id(rows: Rows, /, *, id: str) -> Job | None:
    """A job by its id."""
    return rows.select_one(JOB_BY_ID, Job, {'id': id})


JOBS_LIKE = Query(
    'jobs_like',
    'SELECT id, name, project, state FROM jobs WHERE id LIKE :prefix ORDER BY added_at DESC, id LIMIT :most',
    'SELECT id, name, project, state FROM jobs WHERE id LIKE %(prefix)s ORDER BY added_at DESC, id LIMIT %(most)s',
    JobHead,
)


def jobs_like(rows: Rows, /, *, prefix: str, most: int) -> list[JobHead]:
    """Jobs whose id begins with a text, newest first."""
    return rows.select_all(JOBS_LIKE, JobHead, {'prefix': prefix, 'most': most})


LISTED_JOBS = Query(
    'listed_jobs',
    'SELECT * FROM jobs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY added_at DESC, id LIMIT :most',
    'SELECT * FROM jobs WHERE (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY added_at DESC, id LIMIT %(most)s',
    Job,
)


def listed_jobs(rows: Rows, /, *, project: str | None, most: int) -> list[Job]:
    """Jobs of one project or of all, newest first."""
    return rows.select_all(LISTED_JOBS, Job, {'project': project, 'most': most})


UNFINISHED_JOBS = Query(
    'unfinished_jobs',
    "SELECT * FROM jobs WHERE state IN ('running', 'paused', 'failed') ORDER BY added_at DESC, id LIMIT :most",
    "SELECT * FROM jobs WHERE state IN ('running', 'paused', 'failed') ORDER BY added_at DESC, id LIMIT %(most)s",
    Job,
)


def unfinished_jobs(rows: Rows, /, *, most: int) -> list[Job]:
    """Jobs that run, and jobs that are paused or failed and wait for a person, newest first."""
    return rows.select_all(UNFINISHED_JOBS, Job, {'most': most})


BEGIN_JOB = Query(
    'begin_job',
    "UPDATE jobs SET state = :after, reason = NULL, begun_at = :at, changed_at = :at, ended_at = NULL WHERE id = :id AND state IN ('running', 'paused', 'failed')",
    "UPDATE jobs SET state = %(after)s, reason = NULL, begun_at = %(at)s, changed_at = %(at)s, ended_at = NULL WHERE id = %(id)s AND state IN ('running', 'paused', 'failed')",
    None,
)


def begin_job(tx: Tx, /, *, after: JobState, at: int, id: str) -> int:
    """Record that a runner starts or continues a job that is running, paused or failed."""
    return tx.write(BEGIN_JOB, {'after': after, 'at': at, 'id': id})


RENEW_JOB = Query(
    'renew_job',
    "UPDATE jobs SET state = :after, phase = :phase, reason = NULL, source = :source, folder = :folder, parameters = :parameters, begun_at = :at, changed_at = :at, ended_at = NULL WHERE id = :id AND state <> 'cancelled'",
    "UPDATE jobs SET state = %(after)s, phase = %(phase)s, reason = NULL, source = %(source)s, folder = %(folder)s, parameters = %(parameters)s, begun_at = %(at)s, changed_at = %(at)s, ended_at = NULL WHERE id = %(id)s AND state <> 'cancelled'",
    None,
)


def renew_job(tx: Tx, /, *, after: JobState, phase: JobPhase, source: str, folder: str, parameters: str, at: int, id: str) -> int:
    """Record that a job is run again from its setup, with a new document and input."""
    return tx.write(RENEW_JOB, {'after': after, 'phase': phase, 'source': source, 'folder': folder, 'parameters': parameters, 'at': at, 'id': id})


END_JOB = Query(
    'end_job',
    'UPDATE jobs SET state = :after, reason = :reason, changed_at = :at, ended_at = :at WHERE id = :id AND state = :before',
    'UPDATE jobs SET state = %(after)s, reason = %(reason)s, changed_at = %(at)s, ended_at = %(at)s WHERE id = %(id)s AND state = %(before)s',
    None,
)


def end_job(tx: Tx, /, *, after: JobState, reason: str | None, at: int, id: str, before: JobState) -> int:
    """Compare and set: record that a running job is paused, failed, done or cancelled."""
    return tx.write(END_JOB, {'after': after, 'reason': reason, 'at': at, 'id': id, 'before': before})


CANCEL_JOB = Query(
    'cancel_job',
    "UPDATE jobs SET state = :after, reason = :reason, changed_at = :at, ended_at = :at WHERE id = :id AND state NOT IN ('done', 'cancelled')",
    "UPDATE jobs SET state = %(after)s, reason = %(reason)s, changed_at = %(at)s, ended_at = %(at)s WHERE id = %(id)s AND state NOT IN ('done', 'cancelled')",
    None,
)


def cancel_job(tx: Tx, /, *, after: JobState, reason: str | None, at: int, id: str) -> int:
    """Cancel a job that has not ended."""
    return tx.write(CANCEL_JOB, {'after': after, 'reason': reason, 'at': at, 'id': id})


REOPEN_JOB = Query(
    'reopen_job',
    "UPDATE jobs SET state = :after, phase = :phase, reason = :reason, changed_at = :at, ended_at = NULL WHERE id = :id AND state IN ('done', 'failed', 'paused')",
    "UPDATE jobs SET state = %(after)s, phase = %(phase)s, reason = %(reason)s, changed_at = %(at)s, ended_at = NULL WHERE id = %(id)s AND state IN ('done', 'failed', 'paused')",
    None,
)


def reopen_job(tx: Tx, /, *, after: JobState, phase: JobPhase, reason: str | None, at: int, id: str) -> int:
    """Put an ended job back to its map phase, because an item has to be tried again."""
    return tx.write(REOPEN_JOB, {'after': after, 'phase': phase, 'reason': reason, 'at': at, 'id': id})


STEP_PHASE = Query(
    'step_phase',
    'UPDATE jobs SET phase = :after, changed_at = :at WHERE id = :id AND phase = :before',
    'UPDATE jobs SET phase = %(after)s, changed_at = %(at)s WHERE id = %(id)s AND phase = %(before)s',
    None,
)


def step_phase(tx: Tx, /, *, after: JobPhase, at: int, id: str, before: JobPhase) -> int:
    """Compare and set: change the phase of a job."""
    return tx.write(STEP_PHASE, {'after': after, 'at': at, 'id': id, 'before': before})


ADD_ITEM = Query(
    'add_item',
    'INSERT INTO items (job, id, part, number, data) VALUES (:job, :id, :part, :number, :data) ON CONFLICT DO NOTHING',
    'INSERT INTO items (job, id, part, number, data) VALUES (%(job)s, %(id)s, %(part)s, %(number)s, %(data)s) ON CONFLICT DO NOTHING',
    None,
)


def add_item(tx: Tx, /, *, job: str, id: str, part: JobPart, number: int, data: str) -> int:
    """Add an item to a job; nothing changes when the job has an item of the same id, made from its content."""
    return tx.write(ADD_ITEM, {'job': job, 'id': id, 'part': part, 'number': number, 'data': data})


RENUMBER_ITEM = Query(
    'renumber_item',
    "UPDATE items SET number = :number WHERE job = :job AND id = :id AND part = 'map' AND number <> :number",
    "UPDATE items SET number = %(number)s WHERE job = %(job)s AND id = %(id)s AND part = 'map' AND number <> %(number)s",
    None,
)


def renumber_item(tx: Tx, /, *, number: int, job: str, id: str) -> int:
    """Set the place of an item in the job's input."""
    return tx.write(RENUMBER_ITEM, {'number': number, 'job': job, 'id': id})


NUMBER_AWAY = Query(
    'number_away',
    "UPDATE items SET number = -number WHERE job = :job AND part = 'map' AND number > 0",
    "UPDATE items SET number = -number WHERE job = %(job)s AND part = 'map' AND number > 0",
    None,
)


def number_away(tx: Tx, /, *, job: str) -> int:
    """Make the numbers of all items negative before the input is read again. Items that are still in the input get a positive number again (`renumber_item`)."""
    return tx.write(NUMBER_AWAY, {'job': job})


SKIP_GONE_ITEMS = Query(
    'skip_gone_items',
    "UPDATE items SET state = :after, reason = :reason, ended_at = :at WHERE job = :job AND part = 'map' AND number < 0 AND state = :before",
    "UPDATE items SET state = %(after)s, reason = %(reason)s, ended_at = %(at)s WHERE job = %(job)s AND part = 'map' AND number < 0 AND state = %(before)s",
    None,
)


def skip_gone_items(tx: Tx, /, *, after: ItemState, reason: str | None, at: int | None, job: str, before: ItemState) -> int:
    """Skip the waiting items that are no longer in the input: their number is still negative."""
    return tx.write(SKIP_GONE_ITEMS, {'after': after, 'reason': reason, 'at': at, 'job': job, 'before': before})


BACK_ITEMS = Query(
    'back_items',
    "UPDATE items SET state = :after, reason = NULL, ended_at = NULL, failures = 0 WHERE job = :job AND part = 'map' AND number > 0 AND state = :before AND reason = :reason",
    "UPDATE items SET state = %(after)s, reason = NULL, ended_at = NULL, failures = 0 WHERE job = %(job)s AND part = 'map' AND number > 0 AND state = %(before)s AND reason = %(reason)s",
    None,
)


def back_items(tx: Tx, /, *, after: ItemState, job: str, before: ItemState, reason: str) -> int:
    """Make items wait again that were skipped because they were missing from the input, and that are in it again."""
    return tx.write(BACK_ITEMS, {'after': after, 'job': job, 'before': before, 'reason': reason})


ITEM_BY_ID = Query(
    'item_by_id',
    'SELECT * FROM items WHERE job = :job AND id = :id',
    'SELECT * FROM items WHERE job = %(job)s AND id = %(id)s',
    Item,
)


def item_by_id(rows: Rows, /, *, job: str, id: str) -> Item | None:
    """An item of a job by its id."""
    return rows.select_one(ITEM_BY_ID, Item, {'job': job, 'id': id})


ITEMS_LIKE = Query(
    'items_like',
    'SELECT * FROM items WHERE job = :job AND id LIKE :prefix ORDER BY id LIMIT :most',
    'SELECT * FROM items WHERE job = %(job)s AND id LIKE %(prefix)s ORDER BY id LIMIT %(most)s',
    Item,
)


def items_like(rows: Rows, /, *, job: str, prefix: str, most: int) -> list[Item]:
    """Items whose id begins with a text."""
    return rows.select_all(ITEMS_LIKE, Item, {'job': job, 'prefix': prefix, 'most': most})


ITEM_OF_TASK = Query(
    'item_of_task',
    "SELECT i.* FROM tasks t JOIN jobs j ON j.id = t.job AND j.project = t.project JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.project = :project AND t.slug = :slug",
    "SELECT i.* FROM tasks t JOIN jobs j ON j.id = t.job AND j.project = t.project JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.project = %(project)s AND t.slug = %(slug)s",
    Item,
)


def item_of_task(rows: Rows, /, *, project: str, slug: str) -> Item | None:
    """The item of a job whose work is this task."""
    return rows.select_one(ITEM_OF_TASK, Item, {'project': project, 'slug': slug})


COUNT_ITEMS = Query(
    'count_items',
    "SELECT state, COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' GROUP BY state",
    "SELECT state, COUNT(*) AS n FROM items WHERE job = %(job)s AND part = 'map' GROUP BY state",
    ItemCount,
)


def count_items(rows: Rows, /, *, job: str) -> list[ItemCount]:
    """How many items of a job's map are in each state."""
    return rows.select_all(COUNT_ITEMS, ItemCount, {'job': job})


NEXT_ITEMS = Query(
    'next_items',
    "SELECT * FROM items WHERE job = :job AND state = 'waiting' AND part = :part AND (not_before IS NULL OR not_before <= :now) ORDER BY number LIMIT :most",
    "SELECT * FROM items WHERE job = %(job)s AND state = 'waiting' AND part = %(part)s AND (not_before IS NULL OR not_before <= %(now)s) ORDER BY number LIMIT %(most)s",
    Item,
)


def next_items(rows: Rows, /, *, job: str, part: JobPart, now: int, most: int) -> list[Item]:
    """Waiting items that may be tried now, in the order of the input."""
    return rows.select_all(NEXT_ITEMS, Item, {'job': job, 'part': part, 'now': now, 'most': most})


SOONEST_ITEM = Query(
    'soonest_item',
    "SELECT COUNT(*) AS n, MIN(COALESCE(not_before, 0)) AS at FROM items WHERE job = :job AND state = 'waiting' AND part = :part",
    "SELECT COUNT(*) AS n, MIN(COALESCE(not_before, 0)) AS at FROM items WHERE job = %(job)s AND state = 'waiting' AND part = %(part)s",
    SoonestItem,
)


def soonest_item(rows: Rows, /, *, job: str, part: JobPart) -> SoonestItem:
    """How many items wait, and when the first of them may be tried; 0: now."""
    return rows.select_exactly_one(SOONEST_ITEM, SoonestItem, {'job': job, 'part': part})


ITEMS_AT_WORK = Query(
    'items_at_work',
    "SELECT * FROM items WHERE job = :job AND state IN ('running', 'merging') ORDER BY number",
    "SELECT * FROM items WHERE job = %(job)s AND state IN ('running', 'merging') ORDER BY number",
    Item,
)


def items_at_work(rows: Rows, /, *, job: str) -> list[Item]:
    """Items that are running or being merged."""
    return rows.select_all(ITEMS_AT_WORK, Item, {'job': job})


ITEMS_PAGE = Query(
    'items_page',
    "SELECT * FROM items WHERE job = :job AND part = 'map' AND (CAST(:state AS TEXT) IS NULL OR state = :state) AND (number > :after OR (number = :after AND id > :after_id)) ORDER BY number, id LIMIT :most",
    "SELECT * FROM items WHERE job = %(job)s AND part = 'map' AND (CAST(%(state)s AS TEXT) IS NULL OR state = %(state)s) AND (number > %(after)s OR (number = %(after)s AND id > %(after_id)s)) ORDER BY number, id LIMIT %(most)s",
    Item,
)


def items_page(rows: Rows, /, *, job: str, state: str | None, after: int, after_id: str, most: int) -> list[Item]:
    """Items by number, one page at a time; only those of one state if `state` is given."""
    return rows.select_all(ITEMS_PAGE, Item, {'job': job, 'state': state, 'after': after, 'after_id': after_id, 'most': most})


START_ITEM = Query(
    'start_item',
    'UPDATE items SET state = :after, attempts = attempts + 1, dispatch = NULL, verdict = NULL, reason = NULL, not_before = NULL, started_at = :at, ended_at = NULL WHERE job = :job AND id = :id AND state = :before',
    'UPDATE items SET state = %(after)s, attempts = attempts + 1, dispatch = NULL, verdict = NULL, reason = NULL, not_before = NULL, started_at = %(at)s, ended_at = NULL WHERE job = %(job)s AND id = %(id)s AND state = %(before)s',
    None,
)


def start_item(tx: Tx, /, *, after: ItemState, at: int | None, job: str, id: str, before: ItemState) -> int:
    """Compare and set: start the next attempt at an item."""
    return tx.write(START_ITEM, {'after': after, 'at': at, 'job': job, 'id': id, 'before': before})


PUT_BACK_ITEM = Query(
    'put_back_item',
    "UPDATE items SET state = :after, attempts = attempts - :unbegun, not_before = :not_before, started_at = NULL WHERE job = :job AND id = :id AND state = :before AND (verdict IS NULL OR signature = 'limit')",
    "UPDATE items SET state = %(after)s, attempts = attempts - %(unbegun)s, not_before = %(not_before)s, started_at = NULL WHERE job = %(job)s AND id = %(id)s AND state = %(before)s AND (verdict IS NULL OR signature = 'limit')",
    None,
)


def put_back_item(tx: Tx, /, *, after: ItemState, unbegun: int, not_before: int | None, job: str, id: str, before: ItemState) -> int:
    """Compare and set: make an item wait again after an attempt that was no failure. An attempt that never began (`unbegun` is 1) is not counted; an attempt that was interrupted, or ended by a usage limit, is counted."""
    return tx.write(PUT_BACK_ITEM, {'after': after, 'unbegun': unbegun, 'not_before': not_before, 'job': job, 'id': id, 'before': before})


GIVE_ITEM = Query(
    'give_item',
    "UPDATE items SET dispatch = :dispatch WHERE job = :job AND id = :id AND state = 'running' AND dispatch IS NULL",
    "UPDATE items SET dispatch = %(dispatch)s WHERE job = %(job)s AND id = %(id)s AND state = 'running' AND dispatch IS NULL",
    None,
)


def give_item(tx: Tx, /, *, dispatch: str | None, job: str, id: str) -> int:
    """Record the dispatch of an item's present attempt."""
    return tx.write(GIVE_ITEM, {'dispatch': dispatch, 'job': job, 'id': id})


JUDGE_ITEM = Query(
    'judge_item',
    "UPDATE items SET verdict = :verdict, reason = :reason, signature = :signature WHERE job = :job AND id = :id AND state = 'running' AND verdict IS NULL AND COALESCE(dispatch, :dispatch) = :dispatch",
    "UPDATE items SET verdict = %(verdict)s, reason = %(reason)s, signature = %(signature)s WHERE job = %(job)s AND id = %(id)s AND state = 'running' AND verdict IS NULL AND COALESCE(dispatch, %(dispatch)s) = %(dispatch)s",
    None,
)


def judge_item(tx: Tx, /, *, verdict: ItemVerdict | None, reason: str | None, signature: str | None, job: str, id: str, dispatch: str) -> int:
    """Record the verdict on an item's steps by the dispatch that performed them; the first verdict counts."""
    return tx.write(JUDGE_ITEM, {'verdict': verdict, 'reason': reason, 'signature': signature, 'job': job, 'id': id, 'dispatch': dispatch})


FAIL_ITEM = Query(
    'fail_item',
    "UPDATE items SET state = :after, reason = :reason, signature = :signature, failed_at = :at, not_before = :not_before, failures = failures + 1, history = :history, ended_at = CASE WHEN :after = 'waiting' THEN NULL ELSE :at END WHERE job = :job AND id = :id AND state = :before",
    "UPDATE items SET state = %(after)s, reason = %(reason)s, signature = %(signature)s, failed_at = %(at)s, not_before = %(not_before)s, failures = failures + 1, history = %(history)s, ended_at = CASE WHEN %(after)s = 'waiting' THEN NULL ELSE %(at)s END WHERE job = %(job)s AND id = %(id)s AND state = %(before)s",
    None,
)


def fail_item(tx: Tx, /, *, after: ItemState, reason: str | None, signature: str | None, at: int, not_before: int | None, history: str, job: str, id: str, before: ItemState) -> int:
    """Compare and set: record a failed attempt at an item; the item waits for the next attempt, or has ended."""
    return tx.write(FAIL_ITEM, {'after': after, 'reason': reason, 'signature': signature, 'at': at, 'not_before': not_before, 'history': history, 'job': job, 'id': id, 'before': before})


PASS_ITEM = Query(
    'pass_item',
    'UPDATE items SET state = :after, reason = NULL, signature = NULL WHERE job = :job AND id = :id AND state = :before',
    'UPDATE items SET state = %(after)s, reason = NULL, signature = NULL WHERE job = %(job)s AND id = %(id)s AND state = %(before)s',
    None,
)


def pass_item(tx: Tx, /, *, after: ItemState, job: str, id: str, before: ItemState) -> int:
    """Compare and set: an item's steps have succeeded, and its work is to be merged."""
    return tx.write(PASS_ITEM, {'after': after, 'job': job, 'id': id, 'before': before})


FINISH_ITEM = Query(
    'finish_item',
    "UPDATE items SET state = :after, merged = :merged, reason = NULL, signature = NULL, ended_at = :at WHERE job = :job AND id = :id AND state IN ('running', 'merging')",
    "UPDATE items SET state = %(after)s, merged = %(merged)s, reason = NULL, signature = NULL, ended_at = %(at)s WHERE job = %(job)s AND id = %(id)s AND state IN ('running', 'merging')",
    None,
)


def finish_item(tx: Tx, /, *, after: ItemState, merged: str | None, at: int | None, job: str, id: str) -> int:
    """Compare and set: an item is done."""
    return tx.write(FINISH_ITEM, {'after': after, 'merged': merged, 'at': at, 'job': job, 'id': id})


REVIVE_ITEM = Query(
    'revive_item',
    "UPDATE items SET state = :after, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = :job AND id = :id AND state IN ('dead', 'parked', 'skipped')",
    "UPDATE items SET state = %(after)s, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = %(job)s AND id = %(id)s AND state IN ('dead', 'parked', 'skipped')",
    None,
)


def revive_item(tx: Tx, /, *, after: ItemState, job: str, id: str) -> int:
    """Make a dead, parked or skipped item wait to be tried again."""
    return tx.write(REVIVE_ITEM, {'after': after, 'job': job, 'id': id})


DROP_ITEM = Query(
    'drop_item',
    "UPDATE items SET state = :after, reason = :reason WHERE job = :job AND id = :id AND state IN ('dead', 'parked')",
    "UPDATE items SET state = %(after)s, reason = %(reason)s WHERE job = %(job)s AND id = %(id)s AND state IN ('dead', 'parked')",
    None,
)


def drop_item(tx: Tx, /, *, after: ItemState, reason: str | None, job: str, id: str) -> int:
    """Remove an item from the dead-letter queue: skip it for good."""
    return tx.write(DROP_ITEM, {'after': after, 'reason': reason, 'job': job, 'id': id})


RESET_PART = Query(
    'reset_part',
    "UPDATE items SET state = :after, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = :job AND id = :id AND state NOT IN ('waiting', 'running', 'merging')",
    "UPDATE items SET state = %(after)s, failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = %(job)s AND id = %(id)s AND state NOT IN ('waiting', 'running', 'merging')",
    None,
)


def reset_part(tx: Tx, /, *, after: ItemState, job: str, id: str) -> int:
    """Make the item for a job's setup or reduce wait to be run again."""
    return tx.write(RESET_PART, {'after': after, 'job': job, 'id': id})


FAILURES_ALIKE = Query(
    'failures_alike',
    "SELECT signature, COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' AND signature IS NOT NULL AND failed_at >= :since GROUP BY signature ORDER BY n DESC, signature LIMIT 1",
    "SELECT signature, COUNT(*) AS n FROM items WHERE job = %(job)s AND part = 'map' AND signature IS NOT NULL AND failed_at >= %(since)s GROUP BY signature ORDER BY n DESC, signature LIMIT 1",
    FailuresAlike,
)


def failures_alike(rows: Rows, /, *, job: str, since: int) -> FailuresAlike | None:
    """The most frequent signature of failures since a time, and how many items have it."""
    return rows.select_one(FAILURES_ALIKE, FailuresAlike, {'job': job, 'since': since})


ITEMS_TRIED = Query(
    'items_tried',
    "SELECT COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' AND ((signature IS NOT NULL AND failed_at >= :since) OR (state = 'done' AND ended_at >= :since))",
    "SELECT COUNT(*) AS n FROM items WHERE job = %(job)s AND part = 'map' AND ((signature IS NOT NULL AND failed_at >= %(since)s) OR (state = 'done' AND ended_at >= %(since)s))",
    Count,
)


def items_tried(rows: Rows, /, *, job: str, since: int) -> Count:
    """How many items of a job's map have failed or were done since a time."""
    return rows.select_exactly_one(ITEMS_TRIED, Count, {'job': job, 'since': since})


ENDED_OVER_TIME = Query(
    'ended_over_time',
    "SELECT ended_at, state FROM items WHERE job = :job AND part = 'map' AND ended_at IS NOT NULL ORDER BY ended_at, id",
    "SELECT ended_at, state FROM items WHERE job = %(job)s AND part = 'map' AND ended_at IS NOT NULL ORDER BY ended_at, id",
    EndedItem,
)


def ended_over_time(rows: Rows, /, *, job: str) -> list[EndedItem]:
    """When each item ended and in which state, for the chart."""
    return rows.select_all(ENDED_OVER_TIME, EndedItem, {'job': job})


ADD_STEP = Query(
    'add_step',
    'INSERT INTO job_steps (job, item, attempt, number, title, started_at, ended_at, status, reason, commits) VALUES (:job, :item, :attempt, :number, :title, :started_at, :ended_at, :status, :reason, :commits) ON CONFLICT DO NOTHING',
    'INSERT INTO job_steps (job, item, attempt, number, title, started_at, ended_at, status, reason, commits) VALUES (%(job)s, %(item)s, %(attempt)s, %(number)s, %(title)s, %(started_at)s, %(ended_at)s, %(status)s, %(reason)s, %(commits)s) ON CONFLICT DO NOTHING',
    None,
)


def add_step(tx: Tx, /, *, job: str, item: str, attempt: int, number: int, title: str, started_at: int, ended_at: int, status: int | None, reason: str | None, commits: str) -> int:
    """Record one step of an attempt at an item."""
    return tx.write(ADD_STEP, {'job': job, 'item': item, 'attempt': attempt, 'number': number, 'title': title, 'started_at': started_at, 'ended_at': ended_at, 'status': status, 'reason': reason, 'commits': commits})


STEPS_OF_ITEM = Query(
    'steps_of_item',
    'SELECT * FROM job_steps WHERE job = :job AND item = :item ORDER BY attempt, number',
    'SELECT * FROM job_steps WHERE job = %(job)s AND item = %(item)s ORDER BY attempt, number',
    JobStep,
)


def steps_of_item(rows: Rows, /, *, job: str, item: str) -> list[JobStep]:
    """The steps of all attempts at an item."""
    return rows.select_all(STEPS_OF_ITEM, JobStep, {'job': job, 'item': item})


ADD_JOB_TASK = Query(
    'add_job_task',
    'INSERT INTO tasks (project, slug, title, description, added_at, changed_at, job) VALUES (:project, :slug, :title, :description, :at, :at, :job) ON CONFLICT DO NOTHING',
    'INSERT INTO tasks (project, slug, title, description, added_at, changed_at, job) VALUES (%(project)s, %(slug)s, %(title)s, %(description)s, %(at)s, %(at)s, %(job)s) ON CONFLICT DO NOTHING',
    None,
)


def add_job_task(tx: Tx, /, *, project: str, slug: str, title: str, description: str, at: int, job: str | None) -> int:
    """Add the task for an item of a job."""
    return tx.write(ADD_JOB_TASK, {'project': project, 'slug': slug, 'title': title, 'description': description, 'at': at, 'job': job})


OPEN_JOB_TASK = Query(
    'open_job_task',
    "UPDATE tasks SET status = :after, stage = 'worker', assignee = NULL, reason = NULL, archived = 0, paused = 0, fixes = 0, ended_at = NULL, not_before = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND job = :job AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE tasks SET status = %(after)s, stage = 'worker', assignee = NULL, reason = NULL, archived = 0, paused = 0, fixes = 0, ended_at = NULL, not_before = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND job = %(job)s AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    None,
)


def open_job_task(tx: Tx, /, *, after: TaskStatus, at: int, project: str, slug: str, job: str) -> int:
    """Open the task of an item for a new attempt, whatever the last attempt left, unless a dispatch still works on it."""
    return tx.write(OPEN_JOB_TASK, {'after': after, 'at': at, 'project': project, 'slug': slug, 'job': job})


CLOSE_JOB_TASK = Query(
    'close_job_task',
    "UPDATE tasks SET status = :after, archived = 1, reason = :reason, ended_at = :at, changed_at = :at WHERE project = :project AND slug = :slug AND job = :job AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE tasks SET status = %(after)s, archived = 1, reason = %(reason)s, ended_at = %(at)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND job = %(job)s AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    None,
)


def close_job_task(tx: Tx, /, *, after: TaskStatus, reason: str | None, at: int, project: str, slug: str, job: str) -> int:
    """End and archive the task of an item that has ended, so that its worktree may be removed."""
    return tx.write(CLOSE_JOB_TASK, {'after': after, 'reason': reason, 'at': at, 'project': project, 'slug': slug, 'job': job})


OPEN_TASKS_OF_JOB = Query(
    'open_tasks_of_job',
    'SELECT slug, status, reason FROM tasks WHERE project = :project AND job = :job AND archived = 0 ORDER BY slug',
    'SELECT slug, status, reason FROM tasks WHERE project = %(project)s AND job = %(job)s AND archived = 0 ORDER BY slug',
    TaskTrouble,
)


def open_tasks_of_job(rows: Rows, /, *, project: str, job: str) -> list[TaskTrouble]:
    """Tasks of a job that are not archived: their worktrees may still exist."""
    return rows.select_all(OPEN_TASKS_OF_JOB, TaskTrouble, {'project': project, 'job': job})


JOB_LITTER = Query(
    'job_litter',
    "SELECT t.project, t.slug, t.job, i.id AS item, i.state, j.state AS job_state, j.home FROM tasks t JOIN jobs j ON j.id = t.job JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.job IS NOT NULL AND t.archived = 0 AND (j.state = 'cancelled' OR (i.state IN ('done', 'skipped') AND (i.part = 'map' OR j.state = 'done'))) ORDER BY t.project, t.slug",
    "SELECT t.project, t.slug, t.job, i.id AS item, i.state, j.state AS job_state, j.home FROM tasks t JOIN jobs j ON j.id = t.job JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.job IS NOT NULL AND t.archived = 0 AND (j.state = 'cancelled' OR (i.state IN ('done', 'skipped') AND (i.part = 'map' OR j.state = 'done'))) ORDER BY t.project, t.slug",
    JobLitter,
)


def job_litter(rows: Rows, /) -> list[JobLitter]:
    """Tasks of items that have ended but that are not archived, so that their worktrees were not removed."""
    return rows.select_all(JOB_LITTER, JobLitter, {})


TASK_JOB = Query(
    'task_job',
    'SELECT job FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT job FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
    TaskJob,
)


def task_job(rows: Rows, /, *, project: str, slug: str) -> TaskJob | None:
    """The job to which a task belongs, NULL for none; no row when the task is missing."""
    return rows.select_one(TASK_JOB, TaskJob, {'project': project, 'slug': slug})


REMOVE_JOB_STEPS = Query(
    'remove_job_steps',
    'DELETE FROM job_steps WHERE job IN (SELECT id FROM jobs WHERE project = :project)',
    'DELETE FROM job_steps WHERE job IN (SELECT id FROM jobs WHERE project = %(project)s)',
    None,
)


def remove_job_steps(tx: Tx, /, *, project: str) -> int:
    """Delete the steps of all jobs of a project."""
    return tx.write(REMOVE_JOB_STEPS, {'project': project})


REMOVE_ITEMS = Query(
    'remove_items',
    'DELETE FROM items WHERE job IN (SELECT id FROM jobs WHERE project = :project)',
    'DELETE FROM items WHERE job IN (SELECT id FROM jobs WHERE project = %(project)s)',
    None,
)


def remove_items(tx: Tx, /, *, project: str) -> int:
    """Delete the items of all jobs of a project."""
    return tx.write(REMOVE_ITEMS, {'project': project})


COUNT_JOB_CLAIMS = Query(
    'count_job_claims',
    "SELECT COUNT(*) AS n FROM claims WHERE state <> 'released' AND job IN (SELECT id FROM jobs WHERE project = :project)",
    "SELECT COUNT(*) AS n FROM claims WHERE state <> 'released' AND job IN (SELECT id FROM jobs WHERE project = %(project)s)",
    Count,
)


def count_job_claims(rows: Rows, /, *, project: str) -> Count:
    """How many claims of a project's jobs are not released."""
    return rows.select_exactly_one(COUNT_JOB_CLAIMS, Count, {'project': project})


REMOVE_JOB_CLAIMS = Query(
    'remove_job_claims',
    "DELETE FROM claims WHERE state = 'released' AND job IN (SELECT id FROM jobs WHERE project = :project)",
    "DELETE FROM claims WHERE state = 'released' AND job IN (SELECT id FROM jobs WHERE project = %(project)s)",
    None,
)


def remove_job_claims(tx: Tx, /, *, project: str) -> int:
    """Delete the released claims of a project's jobs."""
    return tx.write(REMOVE_JOB_CLAIMS, {'project': project})


REMOVE_JOBS = Query(
    'remove_jobs',
    'DELETE FROM jobs WHERE project = :project',
    'DELETE FROM jobs WHERE project = %(project)s',
    None,
)


def remove_jobs(tx: Tx, /, *, project: str) -> int:
    """Delete the jobs of a project."""
    return tx.write(REMOVE_JOBS, {'project': project})


DISPATCHES_OF_TASK = Query(
    'dispatches_of_task',
    'SELECT id, exec_state FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at, id',
    'SELECT id, exec_state FROM dispatches WHERE project = %(project)s AND slug = %(slug)s ORDER BY created_at, id',
    DispatchOfTask,
)


def dispatches_of_task(rows: Rows, /, *, project: str, slug: str) -> list[DispatchOfTask]:
    """All dispatches of a task that are still in the tables, oldest first."""
    return rows.select_all(DISPATCHES_OF_TASK, DispatchOfTask, {'project': project, 'slug': slug})
