-- name: add_nonce
-- The hash of a new coordinator's proof.
INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (:dispatch, :project, :hash, :at) ON CONFLICT DO NOTHING;

-- name: nonce_of
-- returns: Nonce?
SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = :dispatch;

-- name: spend_nonce
-- Compare and set: a proof is presented once.
UPDATE nonces SET spent_at = :at WHERE dispatch = :dispatch AND spent_at IS NULL;

-- name: stale_nonces
-- Proofs that were never presented, and whose dispatch is no candidate any more: evidence of a change that did not come off.
-- returns: StaleNonce*
SELECT n.dispatch, n.project, n.minted_at FROM nonces n
WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch)
ORDER BY n.minted_at;

-- name: old_nonces
-- How many spent proofs are older than a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before;

-- name: prune_nonces
-- Spent proofs, after a month; never an unspent one.
DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before;

-- name: set_candidate
-- Compare and set: one candidate at a time, beside the holder it is to follow.
UPDATE seats SET candidate = :candidate, deadline = :deadline
WHERE project = :project AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(:holder AS TEXT), '');

-- name: seat_candidate
-- The commit of a Replace: the candidate becomes the holder.
UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL
WHERE project = :project AND candidate = :candidate;

-- name: withdraw_candidate
-- The opposite: the candidate goes, the holder stays.
UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate;

-- name: empty_seat
-- The coordinator was stopped on purpose.
UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = :project AND holder = :holder;

-- name: add_handoff
INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at)
VALUES (:id, :dispatch, :project, :slug, :reason, :document, :asked_by, :at) ON CONFLICT DO NOTHING;

-- name: queued_handoff_of
-- returns: Handoff?
SELECT * FROM handoffs WHERE dispatch = :dispatch AND state = 'queued';

-- name: queued_handoffs
-- What is to be drained, oldest first.
-- returns: Handoff*
SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id;

-- name: listed_handoffs
-- returns: Handoff*
SELECT * FROM handoffs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id;

-- name: handed_to
-- Whom an agent was handed off to.
-- returns: HandedTo?
SELECT successor FROM handoffs WHERE dispatch = :dispatch AND state = 'done' ORDER BY done_at DESC LIMIT 1;

-- name: handoff_by_id
-- returns: Handoff?
SELECT * FROM handoffs WHERE id = :id;

-- name: try_handoff
-- Another successor is started for it.
UPDATE handoffs SET tries = tries + 1 WHERE id = :id AND state = 'queued';

-- name: renew_handoff
-- It was asked for again: it may be tried as often as a new one.
UPDATE handoffs SET tries = 0, deferred = NULL WHERE id = :id AND state = 'queued' AND tries > 0;

-- name: defer_handoff
UPDATE handoffs SET deferred = :why WHERE id = :id AND state = 'queued';

-- name: handoff_before
-- The handoff of a task before another one, of those whose work was looked at.
-- returns: Handoff?
SELECT * FROM handoffs WHERE project = :project AND slug = :slug AND fruitless IS NOT NULL AND id <> :id AND at <= :at
ORDER BY at DESC, id DESC LIMIT 1;

-- name: weigh_handoff
-- What the work was like, and how many handoffs in a row have brought nothing.
UPDATE handoffs SET mark = :mark, fruitless = :fruitless WHERE id = :id AND state = 'queued';

-- name: park_handoff
-- Compare and set: no successor is started, because handoffs have brought nothing.
UPDATE handoffs SET mark = :mark, fruitless = :fruitless, parked_at = :at, state = 'dropped', done_at = :at, deferred = NULL
WHERE id = :id AND state = 'queued';

-- name: handed_off_agents
-- The agents of a task that were handed off last, newest first.
-- returns: HandedOffAgent*
SELECT dispatch FROM handoffs WHERE project = :project AND slug = :slug ORDER BY at DESC, id DESC LIMIT :most;

-- name: parked_handoff_of
-- The handoff of an agent for which its task was parked.
-- returns: Handoff?
SELECT * FROM handoffs WHERE dispatch = :dispatch AND parked_at IS NOT NULL ORDER BY parked_at DESC LIMIT 1;

-- name: handoffs_of_task
-- How many agents of a task were handed off.
-- returns: Count!
SELECT COUNT(*) AS n FROM handoffs WHERE project = :project AND slug = :slug AND (state = 'done' OR parked_at IS NOT NULL);

-- name: tasks_parked_by_handoffs
-- Tasks that are parked because handoffs have brought nothing, and that nobody has taken up since; newest first.
-- returns: ParkedByHandoffs*
-- column: parked_at int
SELECT t.project, t.slug, t.reason, h.dispatch, h.parked_at FROM handoffs h CROSS JOIN tasks t
WHERE t.project = h.project AND t.slug = h.slug AND t.assignee = h.dispatch
  AND h.parked_at IS NOT NULL AND t.status = 'blocked' AND t.archived = 0 AND t.job IS NULL ORDER BY h.parked_at DESC, h.id;

-- name: end_handoff
-- Compare and set: an entry is finished once.
UPDATE handoffs SET state = :state, successor = :successor, done_at = :at, deferred = NULL WHERE id = :id AND state = 'queued';

-- name: other_coordinators
-- Unfinished coordinators of a project that are neither in the seat nor the next for it.
-- returns: Dispatch*
SELECT d.* FROM dispatches d JOIN seats s ON s.project = d.project
WHERE d.project = :project AND d.kind = 'coord' AND d.exec_state IN ('pending', 'in_flight')
  AND COALESCE(s.holder, '') <> d.id AND COALESCE(s.candidate, '') <> d.id
ORDER BY d.created_at, d.id;

-- name: set_remote_control
UPDATE projects SET remote_control = :to WHERE name = :project AND COALESCE(remote_control, '') <> :to;

-- name: remote_control_of
-- returns: RemoteControlOf?
SELECT remote_control FROM projects WHERE name = :project;

-- name: remote_controlled
-- Projects whose coordinator is an agent that may be controlled from another device; fleet's own loop cannot be.
-- returns: HeldSeat*
SELECT p.name AS project FROM projects p JOIN seats s ON s.project = p.name JOIN dispatches d ON d.id = s.holder
WHERE p.remote_control = 'up' AND d.engine <> 'fleet' ORDER BY p.name;

-- name: successor_of
-- The dispatch that followed another as the same kind; one that could not be started does not count.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE project = :project AND predecessor = :predecessor AND kind = :kind
  AND (exec_state <> 'failed' OR launched_at IS NOT NULL) ORDER BY created_at DESC, id LIMIT 1;

-- name: count_handoffs
-- How many handoffs led to a dispatch.
UPDATE dispatches SET handoffs = :handoffs WHERE id = :id AND exec_state = 'pending';

-- name: questions_of
-- What an agent asked and was not answered.
-- returns: UnansweredQuestion*
SELECT id, kind, text, command, choices, asked_at FROM questions
WHERE dispatch = :dispatch AND answered_at IS NULL AND closed_at IS NULL ORDER BY asked_at, id;

-- name: contexts
-- How full the contexts of a project's agents are, and whether they were reminded of it.
-- returns: AgentContext*
SELECT d.id, d.kind, d.project, d.slug, d.home, d.host, d.tmux_socket, a.context, a.tokens, a.compacting,
       EXISTS (SELECT 1 FROM messages m WHERE m.dispatch = d.id AND m.kind = 'reminder' AND m.sender = 'fleet') AS reminded
FROM dispatches d JOIN agents a ON a.dispatch = d.id
WHERE d.project = :project AND d.exec_state = 'in_flight' AND d.report IS NULL AND d.asked_for IS NULL
  AND (a.context IS NOT NULL OR a.tokens IS NOT NULL OR a.compacting = 1)
  AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = d.id AND h.state = 'queued')
ORDER BY d.created_at, d.id;

-- name: trouble_of
-- Tasks of a project that wait for a person: blocked or failed.
-- returns: TaskTrouble*
SELECT slug, status, reason FROM tasks
WHERE project = :project AND archived = 0 AND status IN ('blocked', 'failed') ORDER BY changed_at DESC, slug LIMIT :most;

-- name: seats_held_by
-- returns: HeldSeat*
SELECT project FROM seats WHERE holder = :dispatch;

-- name: wake_of
-- What the coordinator of a project was told last.
-- returns: Wake?
SELECT * FROM wakes WHERE project = :project;

-- name: tell_coordinator
-- It knows of these things now: it has ticked, or a message that wakes it is on its way.
INSERT INTO wakes (project, dispatch, told, at, message) VALUES (:project, :dispatch, :told, :at, :message)
ON CONFLICT (project) DO UPDATE SET dispatch = excluded.dispatch, told = excluded.told, at = excluded.at, message = excluded.message;

-- name: note_wake_trouble
-- What keeps a coordinator from being woken; none when it can be woken again.
INSERT INTO wakes (project, dispatch, at, trouble) VALUES (:project, :dispatch, :at, :trouble)
ON CONFLICT (project) DO UPDATE SET trouble = excluded.trouble, dispatch = excluded.dispatch,
  told = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.told ELSE '[]' END;

-- name: remove_wake
DELETE FROM wakes WHERE project = :project;

-- name: restarts_of
-- How often fleet has started the own coordinator of a project again.
-- returns: Restarts?
SELECT * FROM restarts WHERE project = :project;

-- name: count_restart
-- Compare and set by the time of the one before: of two who start it again at the same time, one does.
INSERT INTO restarts (project, holder, tries, at) VALUES (:project, :holder, :tries, :at)
ON CONFLICT (project) DO UPDATE SET holder = excluded.holder, tries = excluded.tries, at = excluded.at
WHERE restarts.at = :before;

-- name: remove_restarts
DELETE FROM restarts WHERE project = :project;
