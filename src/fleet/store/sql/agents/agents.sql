-- name: heard_agent
-- The record of an agent whose dispatch has not ended, with columns of its dispatch; no row for any other agent.
-- returns: LivingAgent?
SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process
FROM agents a JOIN dispatches d ON d.id = a.dispatch
WHERE a.dispatch = :dispatch AND a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight');

-- name: living_agents
-- The records of all agents whose dispatch has not ended, with columns of their dispatches, of one project or of all, oldest first.
-- returns: LivingAgent*
SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a
JOIN dispatches d ON d.id = a.dispatch
WHERE a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight')
  AND (CAST(:project AS TEXT) IS NULL OR d.project = :project)
ORDER BY d.created_at, d.id;

-- name: learn_agent
-- Write what is now known of an agent into its record. Nothing is compared: the caller has read the record in the same
-- transaction.
UPDATE agents SET state = :state, state_at = :state_at, detail = :detail, context = :context, tokens = :tokens, cost = :cost,
                  conversation = :conversation, compacting = :compacting, sent_back = :sent_back,
                  failed_turns = :failed_turns, heartbeat_at = :heartbeat_at
WHERE dispatch = :dispatch AND archived_at IS NULL;

-- name: add_question
-- Record a question that an agent asks; nothing changes when the id exists.
INSERT INTO questions (id, dispatch, kind, text, command, runs, choices, asked_at)
VALUES (:id, :dispatch, :kind, :text, :command, :runs, :choices, :at) ON CONFLICT DO NOTHING;

-- name: question_by_id
-- A question, with the dispatch of the agent that asks, if it is still in the tables.
-- returns: AskedQuestion?
SELECT q.*, d.project, d.slug, d.exec_state FROM questions q LEFT JOIN dispatches d ON d.id = q.dispatch WHERE q.id = :id;

-- name: open_questions
-- Unanswered questions of agents whose dispatch has not ended, of one agent or of all, oldest first.
-- returns: OpenQuestion*
SELECT q.*, d.project, d.slug, d.engine FROM questions q JOIN dispatches d ON d.id = q.dispatch
WHERE q.closed_at IS NULL AND q.answer IS NULL AND d.exec_state IN ('pending', 'in_flight')
  AND (CAST(:dispatch AS TEXT) IS NULL OR q.dispatch = :dispatch)
ORDER BY q.asked_at, q.id;

-- name: answered_since
-- Whether a question that an agent asked since a time was answered.
-- returns: Existence?
SELECT 1 AS yes FROM questions WHERE dispatch = :dispatch AND asked_at >= :since AND answered_at IS NOT NULL LIMIT 1;

-- name: answer_question
-- Compare and set: record the answer to a question; only the first answer counts.
UPDATE questions SET answer = :answer, answered_by = :by, answered_at = :at
WHERE id = :id AND answer IS NULL AND closed_at IS NULL;

-- name: close_question
-- Compare and set: close a question, because the agent has the answer or no longer needs one.
UPDATE questions SET closed_at = :at WHERE id = :id AND closed_at IS NULL;

-- name: close_unanswered
-- Compare and set: close a question that nobody answered and whose answer nobody waits for.
UPDATE questions SET closed_at = :at WHERE id = :id AND closed_at IS NULL AND answer IS NULL;

-- name: close_questions
-- Close the questions that an agent asked before a time, because it went on or ended. With `text`, close only unanswered
-- questions with this text: the question of one tool call.
UPDATE questions SET closed_at = :at
WHERE dispatch = :dispatch AND closed_at IS NULL AND asked_at < :at
  AND (CAST(:text AS TEXT) IS NULL OR (text = :text AND answer IS NULL));

-- name: close_orphaned_questions
-- Close the questions of agents whose dispatch has ended.
UPDATE questions SET closed_at = :at WHERE closed_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'));

-- name: orphaned_questions
-- How many open questions belong to agents whose dispatch has ended.
-- returns: Count!
SELECT COUNT(*) AS n FROM questions WHERE closed_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'));

-- name: hold_of
-- The hold of an engine, if no agent may be started on it now.
-- returns: Hold?
SELECT engine, kind, reason, since, until, trial, tried_at FROM holds WHERE engine = :engine;

-- name: every_hold
-- The holds of all engines.
-- returns: Hold*
SELECT engine, kind, reason, since, until, trial, tried_at FROM holds ORDER BY engine;

-- name: move_hold
-- Set the time when a usage limit ends, for an engine that is held by a limit and is not being tried.
UPDATE holds SET until = :until WHERE engine = :engine AND kind = 'limit' AND trial IS NULL;

-- name: hold_engine
-- Hold an engine: no more agents are started on it. This also ends a trial of the engine, because the trial has failed.
INSERT INTO holds (engine, kind, reason, since, until, trial) VALUES (:engine, :kind, :reason, :at, :until, NULL)
ON CONFLICT (engine) DO UPDATE SET kind = excluded.kind, reason = excluded.reason, since = excluded.since,
                                   until = excluded.until, trial = NULL, tried_at = NULL;

-- name: try_engine
-- Compare and set: record the dispatch that tries a held engine; `was` is the dispatch of the trial before, NULL for none.
UPDATE holds SET trial = :dispatch, tried_at = :at WHERE engine = :engine AND COALESCE(trial, '') = COALESCE(CAST(:was AS TEXT), '');

-- name: end_hold
-- End the hold of an engine because a person says that it works: the next dispatch tries it.
UPDATE holds SET until = :at, trial = NULL, tried_at = NULL WHERE engine = :engine;

-- name: lift_hold
-- Remove the hold of an engine, because the engine works again.
DELETE FROM holds WHERE engine = :engine;

-- name: set_quota
-- Record how much of an engine's quota window is used, unless a newer report is recorded.
INSERT INTO quotas (engine, span, percent, resets_at, at) VALUES (:engine, :span, :percent, :resets_at, :at)
ON CONFLICT (engine, span) DO UPDATE SET percent = excluded.percent, resets_at = excluded.resets_at, at = excluded.at
WHERE quotas.at <= excluded.at;

-- name: quotas_of
-- The quota windows of one engine.
-- returns: Quota*
SELECT engine, span, percent, resets_at, at FROM quotas WHERE engine = :engine ORDER BY span;

-- name: all_quotas
-- The quota windows of all engines.
-- returns: Quota*
SELECT engine, span, percent, resets_at, at FROM quotas ORDER BY engine, span;
