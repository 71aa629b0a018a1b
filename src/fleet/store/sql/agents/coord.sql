-- name: add_nonce
-- Record the hash of the nonce by which a new coordinator will prove itself.
INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (:dispatch, :project, :hash, :at) ON CONFLICT DO NOTHING;

-- name: nonce_of
-- The hash of a coordinator's nonce, and whether it was presented.
-- returns: Nonce?
SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = :dispatch;

-- name: spend_nonce
-- Compare and set: record that a nonce was presented; it works once.
UPDATE nonces SET spent_at = :at WHERE dispatch = :dispatch AND spent_at IS NULL;

-- name: stale_nonces
-- Nonces that were never presented and whose dispatch is no longer a candidate: a Replace that failed.
-- returns: StaleNonce*
SELECT n.dispatch, n.project, n.minted_at FROM nonces n
WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch)
ORDER BY n.minted_at;

-- name: old_nonces
-- How many nonces were presented before a time.
-- returns: Count!
SELECT COUNT(*) AS n FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before;

-- name: prune_nonces
-- Delete nonces that were presented before a time; never one that was not presented.
DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before;

-- name: set_candidate
-- Compare and set: put a candidate into the seat beside its holder; one candidate at a time.
UPDATE seats SET candidate = :candidate, deadline = :deadline
WHERE project = :project AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(:holder AS TEXT), '');

-- name: seat_candidate
-- Compare and set: make the candidate the holder of the seat. This is the commit of a Replace.
UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL
WHERE project = :project AND candidate = :candidate;

-- name: withdraw_candidate
-- Compare and set: remove the candidate from the seat; the holder stays.
UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate;

-- name: empty_seat
-- Compare and set: remove the holder from the seat and put nobody in its place.
UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = :project AND holder = :holder;

-- name: add_handoff
-- Queue a handoff of an agent.
INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at)
VALUES (:id, :dispatch, :project, :slug, :reason, :document, :asked_by, :at) ON CONFLICT DO NOTHING;

-- name: queued_handoff_of
-- The queued handoff of an agent.
-- returns: Handoff?
SELECT * FROM handoffs WHERE dispatch = :dispatch AND state = 'queued';

-- name: queued_handoffs
-- The handoffs that wait to be carried out, oldest first.
-- returns: Handoff*
SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id;

-- name: listed_handoffs
-- All handoffs of one project or of all, oldest first.
-- returns: Handoff*
SELECT * FROM handoffs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id;

-- name: handed_to
-- The successor of an agent that was handed off; no row when no handoff of the agent was completed.
-- returns: HandedTo?
SELECT successor FROM handoffs WHERE dispatch = :dispatch AND state = 'done' ORDER BY done_at DESC LIMIT 1;

-- name: handoff_by_id
-- A handoff by its id.
-- returns: Handoff?
SELECT * FROM handoffs WHERE id = :id;

-- name: try_handoff
-- Count one more attempt to start the successor of a handoff.
UPDATE handoffs SET tries = tries + 1 WHERE id = :id AND state = 'queued';

-- name: renew_handoff
-- Reset the attempts of a handoff that was requested again.
UPDATE handoffs SET tries = 0, deferred = NULL WHERE id = :id AND state = 'queued' AND tries > 0;

-- name: defer_handoff
-- Record why a handoff was postponed.
UPDATE handoffs SET deferred = :why WHERE id = :id AND state = 'queued';

-- name: handoff_before
-- The newest earlier handoff of the same task whose progress was measured.
-- returns: Handoff?
SELECT * FROM handoffs WHERE project = :project AND slug = :slug AND fruitless IS NOT NULL AND id <> :id AND at <= :at
ORDER BY at DESC, id DESC LIMIT 1;

-- name: weigh_handoff
-- Record at a queued handoff the fingerprint of the task's work (`mark`), and how many handoffs in a row have brought no
-- progress.
UPDATE handoffs SET mark = :mark, fruitless = :fruitless WHERE id = :id AND state = 'queued';

-- name: park_handoff
-- Compare and set: drop a handoff without a successor, because handoffs have brought no progress.
UPDATE handoffs SET mark = :mark, fruitless = :fruitless, parked_at = :at, state = :after, done_at = :at, deferred = NULL
WHERE id = :id AND state = :before;

-- name: handed_off_agents
-- The agents of a task for which a handoff was requested, newest first; a queued handoff counts, too.
-- returns: HandedOffAgent*
SELECT dispatch FROM handoffs WHERE project = :project AND slug = :slug ORDER BY at DESC, id DESC LIMIT :most;

-- name: parked_handoff_of
-- The handoff of an agent at which its task was parked.
-- returns: Handoff?
SELECT * FROM handoffs WHERE dispatch = :dispatch AND parked_at IS NOT NULL ORDER BY parked_at DESC LIMIT 1;

-- name: handoffs_of_task
-- How many handoffs of a task's agents have ended: with a successor, or with the task parked.
-- returns: Count!
SELECT COUNT(*) AS n FROM handoffs WHERE project = :project AND slug = :slug AND (state = 'done' OR parked_at IS NOT NULL);

-- name: tasks_parked_by_handoffs
-- Tasks that were parked because handoffs brought no progress, and that nobody has continued since, newest first.
-- returns: ParkedByHandoffs*
-- column: parked_at int
SELECT t.project, t.slug, t.reason, h.dispatch, h.parked_at FROM handoffs h CROSS JOIN tasks t
WHERE t.project = h.project AND t.slug = h.slug AND t.assignee = h.dispatch
  AND h.parked_at IS NOT NULL AND t.status = 'blocked' AND t.archived = 0 AND t.job IS NULL ORDER BY h.parked_at DESC, h.id;

-- name: end_handoff
-- Compare and set: finish a queued handoff, once.
UPDATE handoffs SET state = :after, successor = :successor, done_at = :at, deferred = NULL WHERE id = :id AND state = :before;

-- name: other_coordinators
-- Unfinished coordinators of a project that are neither the holder nor the candidate of its seat.
-- returns: Dispatch*
SELECT d.* FROM dispatches d JOIN seats s ON s.project = d.project
WHERE d.project = :project AND d.kind = 'coord' AND d.exec_state IN ('pending', 'in_flight')
  AND COALESCE(s.holder, '') <> d.id AND COALESCE(s.candidate, '') <> d.id
ORDER BY d.created_at, d.id;

-- name: set_remote_control
-- Record whether the coordinator of a project may be controlled from another device.
UPDATE projects SET remote_control = :to WHERE name = :project AND COALESCE(remote_control, '') <> :to;

-- name: remote_control_of
-- Whether the coordinator of a project may be controlled from another device.
-- returns: RemoteControlOf?
SELECT remote_control FROM projects WHERE name = :project;

-- name: remote_controlled
-- Projects whose coordinator may be controlled from another device and is an agent, not fleet's own loop.
-- returns: HeldSeat*
SELECT p.name AS project FROM projects p JOIN seats s ON s.project = p.name JOIN dispatches d ON d.id = s.holder
WHERE p.remote_control = 'up' AND d.engine <> 'fleet' ORDER BY p.name;

-- name: successor_of
-- The dispatch of the same kind that followed another one; one that could not be started does not count.
-- returns: Dispatch?
SELECT * FROM dispatches WHERE project = :project AND predecessor = :predecessor AND kind = :kind
  AND (exec_state <> 'failed' OR launched_at IS NOT NULL) ORDER BY created_at DESC, id LIMIT 1;

-- name: count_handoffs
-- Record how many handoffs led to a pending dispatch.
UPDATE dispatches SET handoffs = :handoffs WHERE id = :id AND exec_state = 'pending';

-- name: questions_of
-- The unanswered questions of an agent.
-- returns: UnansweredQuestion*
SELECT id, kind, text, command, choices, asked_at FROM questions
WHERE dispatch = :dispatch AND answered_at IS NULL AND closed_at IS NULL ORDER BY asked_at, id;

-- name: contexts
-- How full the contexts of a project's agents are, and whether each was reminded to hand off. Only agents at work: in flight,
-- without a report, a request to exit or a queued handoff.
-- returns: AgentContext*
SELECT d.id, d.kind, d.project, d.slug, d.home, d.host, d.tmux_socket, a.context, a.tokens, a.compacting,
       EXISTS (SELECT 1 FROM messages m WHERE m.dispatch = d.id AND m.kind = 'reminder' AND m.sender = 'fleet') AS reminded
FROM dispatches d JOIN agents a ON a.dispatch = d.id
WHERE d.project = :project AND d.exec_state = 'in_flight' AND d.report IS NULL AND d.asked_for IS NULL
  AND (a.context IS NOT NULL OR a.tokens IS NOT NULL OR a.compacting = 1)
  AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = d.id AND h.state = 'queued')
ORDER BY d.created_at, d.id;

-- name: trouble_of
-- The blocked and failed tasks of a project, which wait for a person.
-- returns: TaskTrouble*
SELECT slug, status, reason FROM tasks
WHERE project = :project AND archived = 0 AND status IN ('blocked', 'failed') ORDER BY changed_at DESC, slug LIMIT :most;

-- name: seats_held_by
-- The projects whose seat a dispatch holds.
-- returns: HeldSeat*
SELECT project FROM seats WHERE holder = :dispatch;

-- name: wake_of
-- What the coordinator of a project was last told, in a tick or by a message that woke it.
-- returns: Wake?
SELECT * FROM wakes WHERE project = :project;

-- name: tell_coordinator
-- Record what a coordinator now knows, because it has ticked or a message that wakes it is on its way. Forget why another one,
-- before it, could not be woken.
INSERT INTO wakes (project, dispatch, told, at, message) VALUES (:project, :dispatch, :told, :at, :message)
ON CONFLICT (project) DO UPDATE SET dispatch = excluded.dispatch, told = excluded.told, at = excluded.at, message = excluded.message,
  trouble = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.trouble END;

-- name: note_wake_trouble
-- Record why a coordinator cannot be woken; NULL when it can be woken again. One that was told nothing before was last told at
-- its launch.
INSERT INTO wakes (project, dispatch, at, trouble)
VALUES (:project, :dispatch, COALESCE((SELECT launched_at FROM dispatches WHERE id = :dispatch), :at), :trouble)
ON CONFLICT (project) DO UPDATE SET trouble = excluded.trouble, dispatch = excluded.dispatch,
  told = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.told ELSE '[]' END,
  at = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.at ELSE excluded.at END,
  message = CASE WHEN wakes.dispatch = excluded.dispatch THEN wakes.message END;

-- name: remove_wake
-- Delete what is recorded about waking a project's coordinator.
DELETE FROM wakes WHERE project = :project;

-- name: restarts_of
-- How often fleet has restarted its own coordinator loop of a project.
-- returns: Restarts?
SELECT * FROM restarts WHERE project = :project;

-- name: count_restart
-- Compare and set: record a restart of fleet's own coordinator loop. `before` is the time of the last restart: of two
-- processes that restart the loop at once, one succeeds.
INSERT INTO restarts (project, holder, tries, at) VALUES (:project, :holder, :tries, :at)
ON CONFLICT (project) DO UPDATE SET holder = excluded.holder, tries = excluded.tries, at = excluded.at
WHERE restarts.at = :before;

-- name: remove_restarts
-- Delete the count of restarts of a project.
DELETE FROM restarts WHERE project = :project;
