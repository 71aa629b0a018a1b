-- name: next_operation
-- module: hot
-- The sequence number of the operation about to be written, and what is stored under its key.
-- returns: NextOperation!
SELECT COALESCE((SELECT MAX(seq) FROM operations), 0) + 1 AS seq,
       (SELECT why FROM operations WHERE key = :key) AS why,
       (SELECT request FROM operations WHERE key = :key) AS request,
       (SELECT result FROM operations WHERE key = :key) AS result;

-- name: write_operation
-- module: hot
-- One committed change.
INSERT INTO operations (seq, key, at, actor, why, request, project, slug, dispatch, what, result)
VALUES (:seq, :key, :at, :actor, :why, :request, :project, :slug, :dispatch, :what, :result);

-- name: operation_by_key
-- What was answered to a request, if it was committed.
-- returns: OperationResult?
SELECT why, request, result FROM operations WHERE key = :key;

-- name: operations_of_invocation
-- What the steps of one invocation have committed, oldest first: their keys begin with its key and a colon.
-- returns: OperationWhy*
SELECT why FROM operations WHERE substr(key, 1, length(CAST(:beginning AS TEXT))) = :beginning ORDER BY seq;

-- name: first_operation
-- The oldest sequence number that was not rotated away, 0 in an empty store.
-- returns: LastOperation!
SELECT COALESCE(MIN(seq), 0) AS seq FROM operations;

-- name: last_operation
-- The newest sequence number, 0 in an empty store.
-- returns: LastOperation!
SELECT COALESCE(MAX(seq), 0) AS seq FROM operations;

-- name: operations_after
-- What happened since a sequence number, oldest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :most;

-- name: operations_of_task
-- The history of one task, newest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE project = :project AND slug = :slug AND seq <= :until AND at >= :since AND at <= :before
  AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor)
ORDER BY seq DESC LIMIT :most;

-- name: operations_of_dispatch
-- What one dispatch did or had done to it, newest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE dispatch = :dispatch AND seq <= :until AND at >= :since AND at <= :before
  AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor)
ORDER BY seq DESC LIMIT :most;

-- name: last_act
-- When an agent last did something that was recorded: a log line, an artifact, a hook's news.
-- returns: LastAct!
SELECT MAX(at) AS at FROM operations WHERE dispatch = :dispatch AND actor = :dispatch;

-- name: operations_by_why
-- What was done to one dispatch for one reason, oldest first.
-- returns: OperationWhat*
SELECT what FROM operations WHERE dispatch = :dispatch AND why = :why ORDER BY seq;

-- name: operations_matching
-- Operations of all or one project, newest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE seq <= :until AND at >= :since AND at <= :before
  AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor)
  AND (CAST(:project AS TEXT) IS NULL OR project = :project)
ORDER BY seq DESC LIMIT :most;

-- name: operations_to_rotate
-- The oldest operations before a time, whole and without a gap (clocks step back, sequences do not); never the newest one, which
-- keeps the sequence going.
-- returns: WholeOperation*
SELECT seq, key, at, actor, why, request, project, slug, dispatch, what, result FROM operations
WHERE seq < COALESCE((SELECT MIN(seq) FROM operations WHERE at >= :before), 9223372036854775807)
  AND seq < (SELECT MAX(seq) FROM operations)
ORDER BY seq LIMIT :most;

-- name: operation_since
-- Whether anything happened in a project after a sequence number.
-- returns: OperationSeq?
SELECT seq FROM operations WHERE project = :project AND seq > :after LIMIT 1;

-- name: operation_keys
-- The keys of the operations from one sequence number to another.
-- returns: OperationKey*
SELECT key FROM operations WHERE seq >= :first AND seq <= :last;

-- name: forget_operations
-- Operations that are safe in the archive.
DELETE FROM operations WHERE seq >= :first AND seq <= :last;

-- name: count_operations
-- How many there are in the tables.
-- returns: Count!
SELECT COUNT(*) AS n FROM operations;

-- name: stale_speaker
-- module: hot
-- Whether a dispatch may not act any more, or not yet: it was archived, or is a coordinator that is not in its seat, or one
-- without a session (a duty of the daemon) that has ended: its process lives on.
-- returns: StaleSpeaker?
-- column: holder str | None
SELECT d.project, CASE WHEN s.holder = d.id THEN NULL ELSE s.holder END AS holder
FROM ids i LEFT JOIN dispatches d ON d.id = i.id LEFT JOIN seats s ON s.project = d.project
WHERE i.id = :id AND (d.id IS NULL OR (d.kind = 'coord' AND d.exec_state <> 'pending'
  AND (COALESCE(s.holder, '') <> d.id OR (d.server IS NULL AND d.exec_state <> 'in_flight'))));
