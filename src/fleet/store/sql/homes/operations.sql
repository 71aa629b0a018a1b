-- name: next_operation
-- module: hot
-- The sequence number for the operation that is about to be written, and the operation that is already stored under the key;
-- NULLs when there is none.
-- returns: NextOperation!
SELECT COALESCE((SELECT MAX(seq) FROM operations), 0) + 1 AS seq,
       (SELECT why FROM operations WHERE key = :key) AS why,
       (SELECT request FROM operations WHERE key = :key) AS request,
       (SELECT result FROM operations WHERE key = :key) AS result;

-- name: write_operation
-- module: hot
-- Record the operation of one transaction.
INSERT INTO operations (seq, key, at, actor, why, request, project, slug, dispatch, what, result)
VALUES (:seq, :key, :at, :actor, :why, :request, :project, :slug, :dispatch, :what, :result);

-- name: operation_by_key
-- The stored result of a request, if it was committed.
-- returns: OperationResult?
SELECT why, request, result FROM operations WHERE key = :key;

-- name: operations_of_invocation
-- What the steps of one invocation have committed, oldest first: their keys begin with its key and a colon.
-- returns: OperationWhy*
SELECT why FROM operations WHERE substr(key, 1, length(CAST(:beginning AS TEXT))) = :beginning ORDER BY seq;

-- name: first_operation
-- The smallest sequence number of an operation that is still in the database; 0 when there is none.
-- returns: LastOperation!
SELECT COALESCE(MIN(seq), 0) AS seq FROM operations;

-- name: last_operation
-- The largest sequence number of an operation; 0 when there is none.
-- returns: LastOperation!
SELECT COALESCE(MAX(seq), 0) AS seq FROM operations;

-- name: operations_after
-- Operations after a sequence number, oldest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :most;

-- name: operations_of_task
-- Operations about one task, newest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE project = :project AND slug = :slug AND seq <= :until AND at >= :since AND at <= :before
  AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor)
ORDER BY seq DESC LIMIT :most;

-- name: operations_of_dispatch
-- Operations by or about one dispatch, newest first.
-- returns: Operation*
SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations
WHERE dispatch = :dispatch AND seq <= :until AND at >= :since AND at <= :before
  AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor)
  AND (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND (CAST(:slug AS TEXT) IS NULL OR slug = :slug)
ORDER BY seq DESC LIMIT :most;

-- name: last_act
-- When an agent last did something itself that was recorded: a log line, an artifact, a report of a hook.
-- returns: LastAct!
SELECT MAX(at) AS at FROM operations WHERE dispatch = :dispatch AND actor = :dispatch;

-- name: operations_by_why
-- The facts of operations about one dispatch with the same reason, oldest first.
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
-- The oldest operations before a time, in full and without a gap, because clocks step back and sequence numbers do not.
-- Never the newest one: it keeps the sequence going.
-- returns: WholeOperation*
SELECT seq, key, at, actor, why, request, project, slug, dispatch, what, result FROM operations
WHERE seq < COALESCE((SELECT MIN(seq) FROM operations WHERE at >= :before), 9223372036854775807)
  AND seq < (SELECT MAX(seq) FROM operations)
ORDER BY seq LIMIT :most;

-- name: operation_since
-- Whether a project has an operation after a sequence number.
-- returns: OperationSeq?
SELECT seq FROM operations WHERE project = :project AND seq > :after LIMIT 1;

-- name: operation_keys
-- The keys of the operations from one sequence number to another.
-- returns: OperationKey*
SELECT key FROM operations WHERE seq >= :first AND seq <= :last;

-- name: forget_operations
-- Delete operations that were written to the archive.
DELETE FROM operations WHERE seq >= :first AND seq <= :last;

-- name: count_operations
-- How many operations are in the database.
-- returns: Count!
SELECT COUNT(*) AS n FROM operations;

-- name: stale_speaker
-- module: hot
-- A row when a dispatch may not write: it was archived; or it is a launched coordinator that does not hold its seat; or it is a
-- coordinator that has ended and had no session, because it was a duty of the daemon, whose process lives on. `project` is NULL
-- for an archived dispatch; `holder` is who holds the seat instead.
-- returns: StaleSpeaker?
-- column: holder str | None
SELECT d.project, CASE WHEN s.holder = d.id THEN NULL ELSE s.holder END AS holder
FROM ids i LEFT JOIN dispatches d ON d.id = i.id LEFT JOIN seats s ON s.project = d.project
WHERE i.id = :id AND (d.id IS NULL OR (d.kind = 'coord' AND d.exec_state <> 'pending'
  AND (COALESCE(s.holder, '') <> d.id OR (d.server IS NULL AND d.exec_state <> 'in_flight'))));
