"""The named queries of sql/, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.query import Query

# What is known of an agent whose dispatch has not ended, for its hooks.
HEARD_AGENT = Query(
    'heard_agent',
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.dispatch = :dispatch AND a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight')",
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.dispatch = %(dispatch)s AND a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight')",
)

# The same of all agents, of one project or of all, oldest first.
LIVING_AGENTS = Query(
    'living_agents',
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(:project AS TEXT) IS NULL OR d.project = :project) ORDER BY d.created_at, d.id",
    "SELECT a.*, d.project, d.slug, d.kind, d.report, d.asked_for, d.launched_at, d.host, d.home, d.tmux_socket, d.process FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE a.archived_at IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(%(project)s AS TEXT) IS NULL OR d.project = %(project)s) ORDER BY d.created_at, d.id",
)

# What its hooks told, weighed in the same transaction.
LEARN_AGENT = Query(
    'learn_agent',
    'UPDATE agents SET state = :state, state_at = :state_at, detail = :detail, context = :context, tokens = :tokens, cost = :cost, conversation = :conversation, compacting = :compacting, sent_back = :sent_back, failed_turns = :failed_turns, heartbeat_at = :heartbeat_at WHERE dispatch = :dispatch AND archived_at IS NULL',
    'UPDATE agents SET state = %(state)s, state_at = %(state_at)s, detail = %(detail)s, context = %(context)s, tokens = %(tokens)s, cost = %(cost)s, conversation = %(conversation)s, compacting = %(compacting)s, sent_back = %(sent_back)s, failed_turns = %(failed_turns)s, heartbeat_at = %(heartbeat_at)s WHERE dispatch = %(dispatch)s AND archived_at IS NULL',
)

ADD_QUESTION = Query(
    'add_question',
    'INSERT INTO questions (id, dispatch, kind, text, command, choices, asked_at) VALUES (:id, :dispatch, :kind, :text, :command, :choices, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO questions (id, dispatch, kind, text, command, choices, asked_at) VALUES (%(id)s, %(dispatch)s, %(kind)s, %(text)s, %(command)s, %(choices)s, %(at)s) ON CONFLICT DO NOTHING',
)

QUESTION_BY_ID = Query(
    'question_by_id',
    'SELECT q.*, d.project, d.slug, d.exec_state FROM questions q LEFT JOIN dispatches d ON d.id = q.dispatch WHERE q.id = :id',
    'SELECT q.*, d.project, d.slug, d.exec_state FROM questions q LEFT JOIN dispatches d ON d.id = q.dispatch WHERE q.id = %(id)s',
)

# What is asked and not answered, by agents that have not ended; oldest first.
OPEN_QUESTIONS = Query(
    'open_questions',
    "SELECT q.*, d.project, d.slug, d.engine FROM questions q JOIN dispatches d ON d.id = q.dispatch WHERE q.closed_at IS NULL AND q.answer IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(:dispatch AS TEXT) IS NULL OR q.dispatch = :dispatch) ORDER BY q.asked_at, q.id",
    "SELECT q.*, d.project, d.slug, d.engine FROM questions q JOIN dispatches d ON d.id = q.dispatch WHERE q.closed_at IS NULL AND q.answer IS NULL AND d.exec_state IN ('pending', 'in_flight') AND (CAST(%(dispatch)s AS TEXT) IS NULL OR q.dispatch = %(dispatch)s) ORDER BY q.asked_at, q.id",
)

# Compare and set: the first answer counts.
ANSWER_QUESTION = Query(
    'answer_question',
    'UPDATE questions SET answer = :answer, answered_by = :by, answered_at = :at WHERE id = :id AND answer IS NULL AND closed_at IS NULL',
    'UPDATE questions SET answer = %(answer)s, answered_by = %(by)s, answered_at = %(at)s WHERE id = %(id)s AND answer IS NULL AND closed_at IS NULL',
)

# Compare and set: the agent has the answer, or needs none any more.
CLOSE_QUESTION = Query(
    'close_question',
    'UPDATE questions SET closed_at = :at WHERE id = :id AND closed_at IS NULL',
    'UPDATE questions SET closed_at = %(at)s WHERE id = %(id)s AND closed_at IS NULL',
)

# Compare and set: nobody waits for the answer any more, and there is none.
CLOSE_UNANSWERED = Query(
    'close_unanswered',
    'UPDATE questions SET closed_at = :at WHERE id = :id AND closed_at IS NULL AND answer IS NULL',
    'UPDATE questions SET closed_at = %(at)s WHERE id = %(id)s AND closed_at IS NULL AND answer IS NULL',
)

# An agent went on, or ended: what it asked before is over; of one tool call only, if one is named.
CLOSE_QUESTIONS = Query(
    'close_questions',
    'UPDATE questions SET closed_at = :at WHERE dispatch = :dispatch AND closed_at IS NULL AND asked_at < :at AND (CAST(:text AS TEXT) IS NULL OR (text = :text AND answer IS NULL))',
    'UPDATE questions SET closed_at = %(at)s WHERE dispatch = %(dispatch)s AND closed_at IS NULL AND asked_at < %(at)s AND (CAST(%(text)s AS TEXT) IS NULL OR (text = %(text)s AND answer IS NULL))',
)

# Questions of agents that have ended.
CLOSE_ORPHANED_QUESTIONS = Query(
    'close_orphaned_questions',
    "UPDATE questions SET closed_at = :at WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE questions SET closed_at = %(at)s WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
)

ORPHANED_QUESTIONS = Query(
    'orphaned_questions',
    "SELECT COUNT(*) AS n FROM questions WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
    "SELECT COUNT(*) AS n FROM questions WHERE closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = questions.dispatch AND d.exec_state IN ('pending', 'in_flight'))",
)

HOLD_OF = Query(
    'hold_of',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds WHERE engine = :engine',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds WHERE engine = %(engine)s',
)

EVERY_HOLD = Query(
    'every_hold',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds ORDER BY engine',
    'SELECT engine, kind, reason, since, until, trial, tried_at FROM holds ORDER BY engine',
)

# When a limit is reset became known only after it.
MOVE_HOLD = Query(
    'move_hold',
    "UPDATE holds SET until = :until WHERE engine = :engine AND kind = 'limit' AND trial IS NULL",
    "UPDATE holds SET until = %(until)s WHERE engine = %(engine)s AND kind = 'limit' AND trial IS NULL",
)

# Hold an engine back; who was trying has failed.
HOLD_ENGINE = Query(
    'hold_engine',
    'INSERT INTO holds (engine, kind, reason, since, until, trial) VALUES (:engine, :kind, :reason, :at, :until, NULL) ON CONFLICT (engine) DO UPDATE SET kind = excluded.kind, reason = excluded.reason, since = excluded.since, until = excluded.until, trial = NULL, tried_at = NULL',
    'INSERT INTO holds (engine, kind, reason, since, until, trial) VALUES (%(engine)s, %(kind)s, %(reason)s, %(at)s, %(until)s, NULL) ON CONFLICT (engine) DO UPDATE SET kind = excluded.kind, reason = excluded.reason, since = excluded.since, until = excluded.until, trial = NULL, tried_at = NULL',
)

# Compare and set: one trial at a time.
TRY_ENGINE = Query(
    'try_engine',
    "UPDATE holds SET trial = :dispatch, tried_at = :at WHERE engine = :engine AND COALESCE(trial, '') = COALESCE(CAST(:was AS TEXT), '')",
    "UPDATE holds SET trial = %(dispatch)s, tried_at = %(at)s WHERE engine = %(engine)s AND COALESCE(trial, '') = COALESCE(CAST(%(was)s AS TEXT), '')",
)

LIFT_HOLD = Query(
    'lift_hold',
    'DELETE FROM holds WHERE engine = :engine',
    'DELETE FROM holds WHERE engine = %(engine)s',
)

SET_QUOTA = Query(
    'set_quota',
    'INSERT INTO quotas (engine, span, percent, resets_at, at) VALUES (:engine, :span, :percent, :resets_at, :at) ON CONFLICT (engine, span) DO UPDATE SET percent = excluded.percent, resets_at = excluded.resets_at, at = excluded.at WHERE quotas.at <= excluded.at',
    'INSERT INTO quotas (engine, span, percent, resets_at, at) VALUES (%(engine)s, %(span)s, %(percent)s, %(resets_at)s, %(at)s) ON CONFLICT (engine, span) DO UPDATE SET percent = excluded.percent, resets_at = excluded.resets_at, at = excluded.at WHERE quotas.at <= excluded.at',
)

QUOTAS_OF = Query(
    'quotas_of',
    'SELECT engine, span, percent, resets_at, at FROM quotas WHERE engine = :engine ORDER BY span',
    'SELECT engine, span, percent, resets_at, at FROM quotas WHERE engine = %(engine)s ORDER BY span',
)

ALL_QUOTAS = Query(
    'all_quotas',
    'SELECT engine, span, percent, resets_at, at FROM quotas ORDER BY engine, span',
    'SELECT engine, span, percent, resets_at, at FROM quotas ORDER BY engine, span',
)

# An intent: the thing is about to be made.
ADD_CLAIM = Query(
    'add_claim',
    'INSERT INTO claims (id, dispatch, project, slug, job, host, home, kind, name, actor, effect_lock, data, created_at, updated_at) VALUES (:id, :dispatch, :project, :slug, :job, :host, :home, :kind, :name, :actor, :effect_lock, :data, :at, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO claims (id, dispatch, project, slug, job, host, home, kind, name, actor, effect_lock, data, created_at, updated_at) VALUES (%(id)s, %(dispatch)s, %(project)s, %(slug)s, %(job)s, %(host)s, %(home)s, %(kind)s, %(name)s, %(actor)s, %(effect_lock)s, %(data)s, %(at)s, %(at)s) ON CONFLICT DO NOTHING',
)

# Compare and set of a claim's state.
STEP_CLAIM = Query(
    'step_claim',
    'UPDATE claims SET state = :after, updated_at = :at WHERE id = :id AND state = :before',
    'UPDATE claims SET state = %(after)s, updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s',
)

# The intent to remove a thing, with who does it; not when it was handed over meanwhile.
LET_GO_CLAIM = Query(
    'let_go_claim',
    "UPDATE claims SET state = 'releasing', actor = :actor, updated_at = :at WHERE id = :id AND state = :before AND actor = :was AND COALESCE(dispatch, '') = :owner",
    "UPDATE claims SET state = 'releasing', actor = %(actor)s, updated_at = %(at)s WHERE id = %(id)s AND state = %(before)s AND actor = %(was)s AND COALESCE(dispatch, '') = %(owner)s",
)

# A successor finishes what a dead creator began, or makes the thing anew.
RETAKE_CLAIM = Query(
    'retake_claim',
    "UPDATE claims SET state = 'allocating', actor = :actor, data = :data, updated_at = :at WHERE id = :id AND state = 'allocating' AND actor = :was",
    "UPDATE claims SET state = 'allocating', actor = %(actor)s, data = %(data)s, updated_at = %(at)s WHERE id = %(id)s AND state = 'allocating' AND actor = %(was)s",
)

# A release did not work: count it. Nobody is at it any more.
FAIL_RELEASE = Query(
    'fail_release',
    "UPDATE claims SET failures = failures + 1, failed_at = :at, state = :after, actor = '', updated_at = :at WHERE id = :id AND state = 'releasing'",
    "UPDATE claims SET failures = failures + 1, failed_at = %(at)s, state = %(after)s, actor = '', updated_at = %(at)s WHERE id = %(id)s AND state = 'releasing'",
)

# A session that runs was made last: all that its dispatch needs is there.
NOTE_MADE = Query(
    'note_made',
    "UPDATE claims SET state = 'live', updated_at = :at WHERE (state = 'allocating' AND (dispatch = :dispatch OR (dispatch IS NULL AND project = :project AND slug = :slug AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = :project AND b.slug = :slug AND b.owner = :dispatch)))) OR (state = 'failed_alloc' AND dispatch = :dispatch AND kind = 'tmux_session')",
    "UPDATE claims SET state = 'live', updated_at = %(at)s WHERE (state = 'allocating' AND (dispatch = %(dispatch)s OR (dispatch IS NULL AND project = %(project)s AND slug = %(slug)s AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = %(project)s AND b.slug = %(slug)s AND b.owner = %(dispatch)s)))) OR (state = 'failed_alloc' AND dispatch = %(dispatch)s AND kind = 'tmux_session')",
)

# A thing could not be made. Nobody is at it any more.
FAIL_MAKING = Query(
    'fail_making',
    "UPDATE claims SET state = 'failed_alloc', actor = '', updated_at = :at WHERE id = :id AND state = 'allocating'",
    "UPDATE claims SET state = 'failed_alloc', actor = '', updated_at = %(at)s WHERE id = %(id)s AND state = 'allocating'",
)

# Whoever holds a thing.
HELD_CLAIM = Query(
    'held_claim',
    "SELECT * FROM claims WHERE host = :host AND kind = :kind AND name = :name AND state IN ('allocating', 'live', 'releasing', 'releasing_blocked')",
    "SELECT * FROM claims WHERE host = %(host)s AND kind = %(kind)s AND name = %(name)s AND state IN ('allocating', 'live', 'releasing', 'releasing_blocked')",
)

# What a dispatch holds or held.
CLAIMS_OF_DISPATCH = Query(
    'claims_of_dispatch',
    'SELECT * FROM claims WHERE dispatch = :dispatch ORDER BY created_at, id',
    'SELECT * FROM claims WHERE dispatch = %(dispatch)s ORDER BY created_at, id',
)

# What a task's bundle holds.
CLAIMS_OF_BUNDLE = Query(
    'claims_of_bundle',
    "SELECT * FROM claims WHERE project = :project AND slug = :slug AND state <> 'released' AND dispatch IS NULL ORDER BY created_at, id",
    "SELECT * FROM claims WHERE project = %(project)s AND slug = %(slug)s AND state <> 'released' AND dispatch IS NULL ORDER BY created_at, id",
)

# What runners of a job started themselves and is not released.
OPEN_CLAIMS_OF_JOB = Query(
    'open_claims_of_job',
    "SELECT * FROM claims WHERE job = :job AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE job = %(job)s AND state <> 'released' ORDER BY created_at, id",
)

# The same, of every job.
OPEN_CLAIMS_OF_JOBS = Query(
    'open_claims_of_jobs',
    "SELECT * FROM claims WHERE job IS NOT NULL AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE job IS NOT NULL AND state <> 'released' ORDER BY created_at, id",
)

FORGET_RELEASED_OF_JOB = Query(
    'forget_released_of_job',
    "DELETE FROM claims WHERE job = :job AND state = 'released'",
    "DELETE FROM claims WHERE job = %(job)s AND state = 'released'",
)

# Every claim that is not released, oldest first.
OPEN_CLAIMS = Query(
    'open_claims',
    "SELECT * FROM claims WHERE state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE state <> 'released' ORDER BY created_at, id",
)

FORGET_RELEASED_OF_BUNDLE = Query(
    'forget_released_of_bundle',
    "DELETE FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'released'",
    "DELETE FROM claims WHERE project = %(project)s AND slug = %(slug)s AND dispatch IS NULL AND state = 'released'",
)

# A task's bundle.
BUNDLE_OF = Query(
    'bundle_of',
    'SELECT * FROM bundles WHERE project = :project AND slug = :slug',
    'SELECT * FROM bundles WHERE project = %(project)s AND slug = %(slug)s',
)

ADD_BUNDLE = Query(
    'add_bundle',
    'INSERT INTO bundles (project, slug, host, owner, generation) VALUES (:project, :slug, :host, :owner, 1) ON CONFLICT DO NOTHING',
    'INSERT INTO bundles (project, slug, host, owner, generation) VALUES (%(project)s, %(slug)s, %(host)s, %(owner)s, 1) ON CONFLICT DO NOTHING',
)

# Compare and set of the owner; the generation only grows.
ADOPT_BUNDLE = Query(
    'adopt_bundle',
    'UPDATE bundles SET owner = :owner, host = :host, generation = generation + 1 WHERE project = :project AND slug = :slug AND owner = :was AND generation = :generation',
    'UPDATE bundles SET owner = %(owner)s, host = %(host)s, generation = generation + 1 WHERE project = %(project)s AND slug = %(slug)s AND owner = %(was)s AND generation = %(generation)s',
)

ADD_ADOPTION = Query(
    'add_adoption',
    'INSERT INTO adoptions (project, slug, generation, dispatch, kind, adopted_at) VALUES (:project, :slug, :generation, :dispatch, :kind, :at)',
    'INSERT INTO adoptions (project, slug, generation, dispatch, kind, adopted_at) VALUES (%(project)s, %(slug)s, %(generation)s, %(dispatch)s, %(kind)s, %(at)s)',
)

END_ADOPTION = Query(
    'end_adoption',
    'UPDATE adoptions SET released_at = :at WHERE project = :project AND slug = :slug AND dispatch = :dispatch AND released_at IS NULL',
    'UPDATE adoptions SET released_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND dispatch = %(dispatch)s AND released_at IS NULL',
)

# Who had a task's bundle, oldest first.
ADOPTIONS_OF = Query(
    'adoptions_of',
    'SELECT dispatch, kind, generation, adopted_at, released_at FROM adoptions WHERE project = :project AND slug = :slug ORDER BY generation',
    'SELECT dispatch, kind, generation, adopted_at, released_at FROM adoptions WHERE project = %(project)s AND slug = %(slug)s ORDER BY generation',
)

# A project's coordinator.
SEAT_OF = Query(
    'seat_of',
    'SELECT * FROM seats WHERE project = :project',
    'SELECT * FROM seats WHERE project = %(project)s',
)

ALL_SEATS = Query(
    'all_seats',
    'SELECT * FROM seats ORDER BY project',
    'SELECT * FROM seats ORDER BY project',
)

ADD_SEAT = Query(
    'add_seat',
    'INSERT INTO seats (project) VALUES (:project) ON CONFLICT DO NOTHING',
    'INSERT INTO seats (project) VALUES (%(project)s) ON CONFLICT DO NOTHING',
)

# Compare and set of the holder.
TAKE_SEAT = Query(
    'take_seat',
    "UPDATE seats SET holder = :holder, epoch = epoch + 1 WHERE project = :project AND COALESCE(holder, '') = COALESCE(CAST(:was AS TEXT), '')",
    "UPDATE seats SET holder = %(holder)s, epoch = epoch + 1 WHERE project = %(project)s AND COALESCE(holder, '') = COALESCE(CAST(%(was)s AS TEXT), '')",
)

# What was learnt of a thing since its intent.
SET_CLAIM_DATA = Query(
    'set_claim_data',
    'UPDATE claims SET data = :data, updated_at = :at WHERE id = :id',
    'UPDATE claims SET data = %(data)s, updated_at = %(at)s WHERE id = %(id)s',
)

# Claims of bundles whose task is archived, and so to be released.
LONE_CLAIMS = Query(
    'lone_claims',
    "SELECT c.* FROM claims c JOIN tasks t ON t.project = c.project AND t.slug = c.slug WHERE c.dispatch IS NULL AND c.state <> 'released' AND t.archived = 1 ORDER BY c.created_at DESC, c.id",
    "SELECT c.* FROM claims c JOIN tasks t ON t.project = c.project AND t.slug = c.slug WHERE c.dispatch IS NULL AND c.state <> 'released' AND t.archived = 1 ORDER BY c.created_at DESC, c.id",
)

# How many things of a bundle are not released.
CLAIMS_ON_TASK = Query(
    'claims_on_task',
    "SELECT COUNT(*) AS n FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state <> 'released'",
    "SELECT COUNT(*) AS n FROM claims WHERE project = %(project)s AND slug = %(slug)s AND dispatch IS NULL AND state <> 'released'",
)

# Compare and set of a claim's owner, with what its new owner is to find.
GIVE_CLAIM = Query(
    'give_claim',
    "UPDATE claims SET dispatch = :dispatch, data = :data, updated_at = :at WHERE id = :id AND dispatch = :was AND state = 'live'",
    "UPDATE claims SET dispatch = %(dispatch)s, data = %(data)s, updated_at = %(at)s WHERE id = %(id)s AND dispatch = %(was)s AND state = 'live'",
)

# Inboxes that were handed over, and whose file may not say so yet.
UNFINISHED_REWRITES = Query(
    'unfinished_rewrites',
    'SELECT * FROM claims WHERE kind = \'coord_prompt_inbox\' AND state = \'live\' AND data LIKE \'%"rewrite": %\' ORDER BY created_at, id',
    'SELECT * FROM claims WHERE kind = \'coord_prompt_inbox\' AND state = \'live\' AND data LIKE \'%%"rewrite": %%\' ORDER BY created_at, id',
)

ALL_BUNDLES = Query(
    'all_bundles',
    'SELECT * FROM bundles',
    'SELECT * FROM bundles',
)

# Things of a bundle whose making failed.
UNMADE_OF_BUNDLE = Query(
    'unmade_of_bundle',
    "SELECT * FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'failed_alloc' ORDER BY created_at DESC, id",
    "SELECT * FROM claims WHERE project = %(project)s AND slug = %(slug)s AND dispatch IS NULL AND state = 'failed_alloc' ORDER BY created_at DESC, id",
)

# Prompts that are still held though their dispatch ended before a time.
LATE_INBOXES = Query(
    'late_inboxes',
    "SELECT c.* FROM claims c JOIN dispatches d ON d.id = c.dispatch WHERE c.kind = 'coord_prompt_inbox' AND c.state <> 'released' AND d.exec_state IN ('done', 'blocked', 'failed') AND d.ended_at <= :before ORDER BY c.created_at, c.id",
    "SELECT c.* FROM claims c JOIN dispatches d ON d.id = c.dispatch WHERE c.kind = 'coord_prompt_inbox' AND c.state <> 'released' AND d.exec_state IN ('done', 'blocked', 'failed') AND d.ended_at <= %(before)s ORDER BY c.created_at, c.id",
)

# One claim.
CLAIM_BY_ID = Query(
    'claim_by_id',
    'SELECT * FROM claims WHERE id = :id',
    'SELECT * FROM claims WHERE id = %(id)s',
)

# The hash of a new coordinator's proof.
ADD_NONCE = Query(
    'add_nonce',
    'INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (:dispatch, :project, :hash, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO nonces (dispatch, project, hash, minted_at) VALUES (%(dispatch)s, %(project)s, %(hash)s, %(at)s) ON CONFLICT DO NOTHING',
)

NONCE_OF = Query(
    'nonce_of',
    'SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = :dispatch',
    'SELECT dispatch, project, hash, minted_at, spent_at FROM nonces WHERE dispatch = %(dispatch)s',
)

# Compare and set: a proof is presented once.
SPEND_NONCE = Query(
    'spend_nonce',
    'UPDATE nonces SET spent_at = :at WHERE dispatch = :dispatch AND spent_at IS NULL',
    'UPDATE nonces SET spent_at = %(at)s WHERE dispatch = %(dispatch)s AND spent_at IS NULL',
)

# Proofs that were never presented, and whose dispatch is no candidate any more: evidence of a change that did not come off.
STALE_NONCES = Query(
    'stale_nonces',
    'SELECT n.dispatch, n.project, n.minted_at FROM nonces n WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch) ORDER BY n.minted_at',
    'SELECT n.dispatch, n.project, n.minted_at FROM nonces n WHERE n.spent_at IS NULL AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.candidate = n.dispatch) ORDER BY n.minted_at',
)

# How many spent proofs are older than a time.
OLD_NONCES = Query(
    'old_nonces',
    'SELECT COUNT(*) AS n FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before',
    'SELECT COUNT(*) AS n FROM nonces WHERE spent_at IS NOT NULL AND spent_at < %(before)s',
)

# Spent proofs, after a month; never an unspent one.
PRUNE_NONCES = Query(
    'prune_nonces',
    'DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < :before',
    'DELETE FROM nonces WHERE spent_at IS NOT NULL AND spent_at < %(before)s',
)

# Compare and set: one candidate at a time, beside the holder it is to follow.
SET_CANDIDATE = Query(
    'set_candidate',
    "UPDATE seats SET candidate = :candidate, deadline = :deadline WHERE project = :project AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(:holder AS TEXT), '')",
    "UPDATE seats SET candidate = %(candidate)s, deadline = %(deadline)s WHERE project = %(project)s AND candidate IS NULL AND COALESCE(holder, '') = COALESCE(CAST(%(holder)s AS TEXT), '')",
)

# The commit of a Replace: the candidate becomes the holder.
SEAT_CANDIDATE = Query(
    'seat_candidate',
    'UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate',
    'UPDATE seats SET holder = candidate, epoch = epoch + 1, candidate = NULL, deadline = NULL WHERE project = %(project)s AND candidate = %(candidate)s',
)

# The opposite: the candidate goes, the holder stays.
WITHDRAW_CANDIDATE = Query(
    'withdraw_candidate',
    'UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = :project AND candidate = :candidate',
    'UPDATE seats SET candidate = NULL, deadline = NULL WHERE project = %(project)s AND candidate = %(candidate)s',
)

# The coordinator was stopped on purpose.
EMPTY_SEAT = Query(
    'empty_seat',
    'UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = :project AND holder = :holder',
    'UPDATE seats SET holder = NULL, epoch = epoch + 1 WHERE project = %(project)s AND holder = %(holder)s',
)

ADD_HANDOFF = Query(
    'add_handoff',
    'INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at) VALUES (:id, :dispatch, :project, :slug, :reason, :document, :asked_by, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO handoffs (id, dispatch, project, slug, reason, document, asked_by, at) VALUES (%(id)s, %(dispatch)s, %(project)s, %(slug)s, %(reason)s, %(document)s, %(asked_by)s, %(at)s) ON CONFLICT DO NOTHING',
)

QUEUED_HANDOFF_OF = Query(
    'queued_handoff_of',
    "SELECT * FROM handoffs WHERE dispatch = :dispatch AND state = 'queued'",
    "SELECT * FROM handoffs WHERE dispatch = %(dispatch)s AND state = 'queued'",
)

# What is to be drained, oldest first.
QUEUED_HANDOFFS = Query(
    'queued_handoffs',
    "SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id",
    "SELECT * FROM handoffs WHERE state = 'queued' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY at, id",
)

LISTED_HANDOFFS = Query(
    'listed_handoffs',
    'SELECT * FROM handoffs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY at, id',
    'SELECT * FROM handoffs WHERE (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY at, id',
)

# Whom an agent was handed off to.
HANDED_TO = Query(
    'handed_to',
    "SELECT successor FROM handoffs WHERE dispatch = :dispatch AND state = 'done' ORDER BY done_at DESC LIMIT 1",
    "SELECT successor FROM handoffs WHERE dispatch = %(dispatch)s AND state = 'done' ORDER BY done_at DESC LIMIT 1",
)

HANDOFF_BY_ID = Query(
    'handoff_by_id',
    'SELECT * FROM handoffs WHERE id = :id',
    'SELECT * FROM handoffs WHERE id = %(id)s',
)

# Another successor is started for it.
TRY_HANDOFF = Query(
    'try_handoff',
    "UPDATE handoffs SET tries = tries + 1 WHERE id = :id AND state = 'queued'",
    "UPDATE handoffs SET tries = tries + 1 WHERE id = %(id)s AND state = 'queued'",
)

# It was asked for again: it may be tried as often as a new one.
RENEW_HANDOFF = Query(
    'renew_handoff',
    "UPDATE handoffs SET tries = 0, deferred = NULL WHERE id = :id AND state = 'queued' AND tries > 0",
    "UPDATE handoffs SET tries = 0, deferred = NULL WHERE id = %(id)s AND state = 'queued' AND tries > 0",
)

DEFER_HANDOFF = Query(
    'defer_handoff',
    "UPDATE handoffs SET deferred = :why WHERE id = :id AND state = 'queued'",
    "UPDATE handoffs SET deferred = %(why)s WHERE id = %(id)s AND state = 'queued'",
)

# Compare and set: an entry is finished once.
END_HANDOFF = Query(
    'end_handoff',
    "UPDATE handoffs SET state = :state, successor = :successor, done_at = :at, deferred = NULL WHERE id = :id AND state = 'queued'",
    "UPDATE handoffs SET state = %(state)s, successor = %(successor)s, done_at = %(at)s, deferred = NULL WHERE id = %(id)s AND state = 'queued'",
)

# Whether a dispatch may not act any more, or not yet: it was archived, or is a coordinator that is not in its seat.
STALE_SPEAKER = Query(
    'stale_speaker',
    "SELECT d.project, s.holder FROM ids i LEFT JOIN dispatches d ON d.id = i.id LEFT JOIN seats s ON s.project = d.project WHERE i.id = :id AND (d.id IS NULL OR (d.kind = 'coord' AND d.exec_state <> 'pending' AND COALESCE(s.holder, '') <> d.id))",
    "SELECT d.project, s.holder FROM ids i LEFT JOIN dispatches d ON d.id = i.id LEFT JOIN seats s ON s.project = d.project WHERE i.id = %(id)s AND (d.id IS NULL OR (d.kind = 'coord' AND d.exec_state <> 'pending' AND COALESCE(s.holder, '') <> d.id))",
)

# Unfinished coordinators of a project that are neither in the seat nor the next for it.
OTHER_COORDINATORS = Query(
    'other_coordinators',
    "SELECT d.* FROM dispatches d JOIN seats s ON s.project = d.project WHERE d.project = :project AND d.kind = 'coord' AND d.exec_state IN ('pending', 'in_flight') AND COALESCE(s.holder, '') <> d.id AND COALESCE(s.candidate, '') <> d.id ORDER BY d.created_at, d.id",
    "SELECT d.* FROM dispatches d JOIN seats s ON s.project = d.project WHERE d.project = %(project)s AND d.kind = 'coord' AND d.exec_state IN ('pending', 'in_flight') AND COALESCE(s.holder, '') <> d.id AND COALESCE(s.candidate, '') <> d.id ORDER BY d.created_at, d.id",
)

SET_REMOTE_CONTROL = Query(
    'set_remote_control',
    "UPDATE projects SET remote_control = :to WHERE name = :project AND COALESCE(remote_control, '') <> :to",
    "UPDATE projects SET remote_control = %(to)s WHERE name = %(project)s AND COALESCE(remote_control, '') <> %(to)s",
)

REMOTE_CONTROL_OF = Query(
    'remote_control_of',
    'SELECT remote_control FROM projects WHERE name = :project',
    'SELECT remote_control FROM projects WHERE name = %(project)s',
)

# The dispatch that followed another as the same kind; one that could not be started does not count.
SUCCESSOR_OF = Query(
    'successor_of',
    "SELECT id, launched_at FROM dispatches WHERE project = :project AND predecessor = :predecessor AND kind = :kind AND (exec_state <> 'failed' OR launched_at IS NOT NULL) ORDER BY created_at DESC, id LIMIT 1",
    "SELECT id, launched_at FROM dispatches WHERE project = %(project)s AND predecessor = %(predecessor)s AND kind = %(kind)s AND (exec_state <> 'failed' OR launched_at IS NOT NULL) ORDER BY created_at DESC, id LIMIT 1",
)

# How many handoffs led to a dispatch.
COUNT_HANDOFFS = Query(
    'count_handoffs',
    "UPDATE dispatches SET handoffs = :handoffs WHERE id = :id AND exec_state = 'pending'",
    "UPDATE dispatches SET handoffs = %(handoffs)s WHERE id = %(id)s AND exec_state = 'pending'",
)

# What an agent asked and was not answered.
QUESTIONS_OF = Query(
    'questions_of',
    'SELECT id, kind, text, command, choices, asked_at FROM questions WHERE dispatch = :dispatch AND answered_at IS NULL AND closed_at IS NULL ORDER BY asked_at, id',
    'SELECT id, kind, text, command, choices, asked_at FROM questions WHERE dispatch = %(dispatch)s AND answered_at IS NULL AND closed_at IS NULL ORDER BY asked_at, id',
)

# How full the contexts of a project's agents are, and whether they were reminded of it.
CONTEXTS = Query(
    'contexts',
    "SELECT d.id, d.kind, d.project, d.slug, d.home, d.host, d.tmux_socket, a.context, a.tokens, a.compacting, EXISTS (SELECT 1 FROM messages m WHERE m.dispatch = d.id AND m.kind = 'reminder' AND m.sender = 'fleet') AS reminded FROM dispatches d JOIN agents a ON a.dispatch = d.id WHERE d.project = :project AND d.exec_state = 'in_flight' AND d.report IS NULL AND d.asked_for IS NULL AND (a.context IS NOT NULL OR a.tokens IS NOT NULL OR a.compacting = 1) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = d.id AND h.state = 'queued') ORDER BY d.created_at, d.id",
    "SELECT d.id, d.kind, d.project, d.slug, d.home, d.host, d.tmux_socket, a.context, a.tokens, a.compacting, EXISTS (SELECT 1 FROM messages m WHERE m.dispatch = d.id AND m.kind = 'reminder' AND m.sender = 'fleet') AS reminded FROM dispatches d JOIN agents a ON a.dispatch = d.id WHERE d.project = %(project)s AND d.exec_state = 'in_flight' AND d.report IS NULL AND d.asked_for IS NULL AND (a.context IS NOT NULL OR a.tokens IS NOT NULL OR a.compacting = 1) AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = d.id AND h.state = 'queued') ORDER BY d.created_at, d.id",
)

# Tasks of a project that wait for a person: blocked or failed.
TROUBLE_OF = Query(
    'trouble_of',
    "SELECT slug, status, reason FROM tasks WHERE project = :project AND archived = 0 AND status IN ('blocked', 'failed') ORDER BY changed_at DESC, slug LIMIT :most",
    "SELECT slug, status, reason FROM tasks WHERE project = %(project)s AND archived = 0 AND status IN ('blocked', 'failed') ORDER BY changed_at DESC, slug LIMIT %(most)s",
)

# Work that waits for a verdict, with nobody at it, most urgent first.
REVIEW_QUEUE = Query(
    'review_queue',
    "SELECT project, slug, title, status, assignee, fixes, reason, priority, changed_at FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, project, slug",
    "SELECT project, slug, title, status, assignee, fixes, reason, priority, changed_at FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, project, slug",
)

# What a reviewer said.
ADD_VERDICT = Query(
    'add_verdict',
    'INSERT INTO verdicts (project, slug, seq, at, actor, verdict, comments, work) VALUES (:project, :slug, :seq, :at, :actor, :verdict, :comments, :work)',
    'INSERT INTO verdicts (project, slug, seq, at, actor, verdict, comments, work) VALUES (%(project)s, %(slug)s, %(seq)s, %(at)s, %(actor)s, %(verdict)s, %(comments)s, %(work)s)',
)

# Whether a commit of a task's work was accepted.
ACCEPTED_WORK = Query(
    'accepted_work',
    "SELECT 1 AS yes FROM verdicts WHERE project = :project AND slug = :slug AND verdict = 'accept' AND work = :work LIMIT 1",
    "SELECT 1 AS yes FROM verdicts WHERE project = %(project)s AND slug = %(slug)s AND verdict = 'accept' AND work = %(work)s LIMIT 1",
)

# What was said of a task's work, oldest first.
VERDICTS_OF = Query(
    'verdicts_of',
    'SELECT at, actor, verdict, comments, work FROM verdicts WHERE project = :project AND slug = :slug ORDER BY seq',
    'SELECT at, actor, verdict, comments, work FROM verdicts WHERE project = %(project)s AND slug = %(slug)s ORDER BY seq',
)

# Compare and set: a verdict moves work that is under review on, or back. It names the commit that it speaks of.
JUDGE_TASK = Query(
    'judge_task',
    "UPDATE tasks SET status = :status, stage = :stage, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work), assignee = COALESCE(assignee, :actor), changed_at = :at WHERE project = :project AND slug = :slug AND stage = 'review' AND status = :was AND COALESCE(assignee, '') = COALESCE(CAST(:assignee AS TEXT), '')",
    "UPDATE tasks SET status = %(status)s, stage = %(stage)s, reason = %(reason)s, work = COALESCE(CAST(%(work)s AS TEXT), work), assignee = COALESCE(assignee, %(actor)s), changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND stage = 'review' AND status = %(was)s AND COALESCE(assignee, '') = COALESCE(CAST(%(assignee)s AS TEXT), '')",
)

# Where a task's pull request is, and how far the task is.
PULL_REQUEST_OF = Query(
    'pull_request_of',
    'SELECT title, description, status, stage, pull_request, merged FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT title, description, status, stage, pull_request, merged FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
)

# Compare and set: a task has one pull request.
SET_PULL_REQUEST = Query(
    'set_pull_request',
    "UPDATE tasks SET pull_request = :pull_request, changed_at = :at WHERE project = :project AND slug = :slug AND COALESCE(pull_request, '') = COALESCE(CAST(:was AS TEXT), '')",
    "UPDATE tasks SET pull_request = %(pull_request)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND COALESCE(pull_request, '') = COALESCE(CAST(%(was)s AS TEXT), '')",
)

# Work at its last stage with nobody at it: what has a pull request, and what may still get one.
TASKS_TO_PULL = Query(
    'tasks_to_pull',
    "SELECT slug, pull_request FROM tasks WHERE project = :project AND merged IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    "SELECT slug, pull_request FROM tasks WHERE project = %(project)s AND merged IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
)

# What was merged since a time, oldest first.
MERGED_SINCE = Query(
    'merged_since',
    'SELECT project, slug, title, merged, merged_at FROM tasks WHERE merged_at >= :since AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY merged_at, project, slug',
    'SELECT project, slug, title, merged, merged_at FROM tasks WHERE merged_at >= %(since)s AND job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY merged_at, project, slug',
)

# How dispatches ended since a time, oldest first.
SETTLED_SINCE = Query(
    'settled_since',
    "SELECT at, project, slug, dispatch, what FROM operations WHERE at >= :since AND why LIKE 'settle %' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY seq",
    "SELECT at, project, slug, dispatch, what FROM operations WHERE at >= %(since)s AND why LIKE 'settle %%' AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY seq",
)

# The journals that were archived since a time, with what their agents had spent.
ARCHIVED_SINCE = Query(
    'archived_since',
    "SELECT dispatch, what FROM operations WHERE at >= :since AND why LIKE 'archive %' AND dispatch IS NOT NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project)",
    "SELECT dispatch, what FROM operations WHERE at >= %(since)s AND why LIKE 'archive %%' AND dispatch IS NOT NULL AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s)",
)

# What the agents in the tables have spent, of those that were at work since a time.
SPENDING = Query(
    'spending',
    'SELECT a.dispatch, a.tokens, a.cost FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE (a.archived_at IS NULL OR a.archived_at >= :since) AND (CAST(:project AS TEXT) IS NULL OR d.project = :project)',
    'SELECT a.dispatch, a.tokens, a.cost FROM agents a JOIN dispatches d ON d.id = a.dispatch WHERE (a.archived_at IS NULL OR a.archived_at >= %(since)s) AND (CAST(%(project)s AS TEXT) IS NULL OR d.project = %(project)s)',
)

# What agents ask a person and nobody has answered yet, oldest first.
WAITING_QUESTIONS = Query(
    'waiting_questions',
    "SELECT u.id, u.dispatch, u.kind, u.text, u.command, u.asked_at, d.project, d.slug FROM questions u JOIN dispatches d ON d.id = u.dispatch WHERE u.closed_at IS NULL AND u.answered_at IS NULL AND d.exec_state IN ('pending', 'in_flight') ORDER BY u.asked_at, u.id",
    "SELECT u.id, u.dispatch, u.kind, u.text, u.command, u.asked_at, d.project, d.slug FROM questions u JOIN dispatches d ON d.id = u.dispatch WHERE u.closed_at IS NULL AND u.answered_at IS NULL AND d.exec_state IN ('pending', 'in_flight') ORDER BY u.asked_at, u.id",
)

# What is blocked, or waits for a time; newest first. A review that came to nothing waits for a person, and is not among them.
PARKED_TASKS = Query(
    'parked_tasks',
    "SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks WHERE archived = 0 AND job IS NULL AND ((status = 'blocked' AND stage <> 'review') OR (status = 'open' AND not_before > :now)) ORDER BY changed_at DESC, project, slug LIMIT :most",
    "SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks WHERE archived = 0 AND job IS NULL AND ((status = 'blocked' AND stage <> 'review') OR (status = 'open' AND not_before > %(now)s)) ORDER BY changed_at DESC, project, slug LIMIT %(most)s",
)

# Tasks that failed, newest first.
FAILED_TASKS = Query(
    'failed_tasks',
    "SELECT project, slug, title, reason, changed_at FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL ORDER BY changed_at DESC, project, slug LIMIT :most",
    "SELECT project, slug, title, reason, changed_at FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL ORDER BY changed_at DESC, project, slug LIMIT %(most)s",
)

# Tasks in progress, longest first, and whether an agent is at work on them.
TASKS_ON_HAND = Query(
    'tasks_on_hand',
    "SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) AS attempted FROM tasks WHERE status = 'in_progress' AND job IS NULL ORDER BY started_at, project, slug LIMIT :most",
    "SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) AS attempted FROM tasks WHERE status = 'in_progress' AND job IS NULL ORDER BY started_at, project, slug LIMIT %(most)s",
)

# Tasks that a person called done and whose work, by an agent, is not merged.
UNMERGED_TASKS = Query(
    'unmerged_tasks',
    "SELECT project, slug, title, pull_request, changed_at FROM tasks WHERE status = 'done' AND merged IS NULL AND archived = 0 AND job IS NULL AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = tasks.project AND b.slug = tasks.slug) ORDER BY changed_at, project, slug LIMIT :most",
    "SELECT project, slug, title, pull_request, changed_at FROM tasks WHERE status = 'done' AND merged IS NULL AND archived = 0 AND job IS NULL AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = tasks.project AND b.slug = tasks.slug) ORDER BY changed_at, project, slug LIMIT %(most)s",
)

# Engines that are held back for the whole fleet.
ALL_HOLDS = Query(
    'all_holds',
    'SELECT engine, kind, reason, since, until FROM holds ORDER BY engine',
    'SELECT engine, kind, reason, since, until FROM holds ORDER BY engine',
)

# Claims that this home does not answer for: another home's, another host's, or, from before homes were recorded, another socket's.
CLAIMS_ELSEWHERE = Query(
    'claims_elsewhere',
    "SELECT c.host, c.home, COALESCE(d.tmux_socket, '') AS tmux_socket, h.path, h.name, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN homes h ON h.id = c.home WHERE c.state <> 'released' AND (c.host <> :host OR (c.home IS NOT NULL AND c.home <> :home) OR (c.home IS NULL AND d.tmux_socket IS NOT NULL AND d.tmux_socket <> :socket)) GROUP BY c.host, c.home, d.tmux_socket, h.path, h.name ORDER BY c.host, c.home, d.tmux_socket",
    "SELECT c.host, c.home, COALESCE(d.tmux_socket, '') AS tmux_socket, h.path, h.name, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN homes h ON h.id = c.home WHERE c.state <> 'released' AND (c.host <> %(host)s OR (c.home IS NOT NULL AND c.home <> %(home)s) OR (c.home IS NULL AND d.tmux_socket IS NOT NULL AND d.tmux_socket <> %(socket)s)) GROUP BY c.host, c.home, d.tmux_socket, h.path, h.name ORDER BY c.host, c.home, d.tmux_socket",
)

# Give out a dispatch id, once and for all time.
RESERVE_ID = Query(
    'reserve_id',
    'INSERT INTO ids (id, at) VALUES (:id, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO ids (id, at) VALUES (%(id)s, %(at)s) ON CONFLICT DO NOTHING',
)

# Whether an id was ever given out.
ID_GIVEN = Query(
    'id_given',
    'SELECT 1 AS yes FROM ids WHERE id = :id',
    'SELECT 1 AS yes FROM ids WHERE id = %(id)s',
)

# The journal of an attempt begins.
ADD_DISPATCH = Query(
    'add_dispatch',
    'INSERT INTO dispatches (id, kind, project, slug, owner, host, home, tmux_socket, created_at, updated_at, predecessor, engine, autonomy, model, command, base, spawner, server) VALUES (:id, :kind, :project, :slug, :owner, :host, :home, :tmux_socket, :at, :at, :predecessor, :engine, :autonomy, :model, :command, :base, :spawner, :server) ON CONFLICT DO NOTHING',
    'INSERT INTO dispatches (id, kind, project, slug, owner, host, home, tmux_socket, created_at, updated_at, predecessor, engine, autonomy, model, command, base, spawner, server) VALUES (%(id)s, %(kind)s, %(project)s, %(slug)s, %(owner)s, %(host)s, %(home)s, %(tmux_socket)s, %(at)s, %(at)s, %(predecessor)s, %(engine)s, %(autonomy)s, %(model)s, %(command)s, %(base)s, %(spawner)s, %(server)s) ON CONFLICT DO NOTHING',
)

# One journal.
DISPATCH_BY_ID = Query(
    'dispatch_by_id',
    'SELECT * FROM dispatches WHERE id = :id',
    'SELECT * FROM dispatches WHERE id = %(id)s',
)

# Journals in the tables, oldest first.
LISTED_DISPATCHES = Query(
    'listed_dispatches',
    "SELECT * FROM dispatches WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) AND (:ended = 1 OR exec_state IN ('pending', 'in_flight')) ORDER BY created_at, id",
    "SELECT * FROM dispatches WHERE (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) AND (%(ended)s = 1 OR exec_state IN ('pending', 'in_flight')) ORDER BY created_at, id",
)

# Journals whose id begins with a text, or that work on a task of that slug.
DISPATCHES_LIKE = Query(
    'dispatches_like',
    'SELECT id, kind, project, slug, exec_state, created_at FROM dispatches WHERE id LIKE :prefix OR slug = :slug ORDER BY created_at DESC, id',
    'SELECT id, kind, project, slug, exec_state, created_at FROM dispatches WHERE id LIKE %(prefix)s OR slug = %(slug)s ORDER BY created_at DESC, id',
)

# The journal that was begun last.
NEWEST_DISPATCH = Query(
    'newest_dispatch',
    'SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1',
    'SELECT id FROM dispatches ORDER BY created_at DESC, id LIMIT 1',
)

# The attempt that a task has now.
UNFINISHED_OF_TASK = Query(
    'unfinished_of_task',
    "SELECT * FROM dispatches WHERE project = :project AND slug = :slug AND exec_state IN ('pending', 'in_flight')",
    "SELECT * FROM dispatches WHERE project = %(project)s AND slug = %(slug)s AND exec_state IN ('pending', 'in_flight')",
)

# The newest journal of a task.
LAST_OF_TASK = Query(
    'last_of_task',
    'SELECT * FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at DESC, id LIMIT 1',
    'SELECT * FROM dispatches WHERE project = %(project)s AND slug = %(slug)s ORDER BY created_at DESC, id LIMIT 1',
)

# How many agents are at work, in all and in one project; coordinators are not counted.
COUNT_UNFINISHED = Query(
    'count_unfinished',
    "SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = :project THEN 1 ELSE 0 END), 0) AS here FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord'",
    "SELECT COUNT(*) AS everywhere, COALESCE(SUM(CASE WHEN project = %(project)s THEN 1 ELSE 0 END), 0) AS here FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND kind <> 'coord'",
)

# Compare and set: one launch a dispatch.
LAUNCH_DISPATCH = Query(
    'launch_dispatch',
    "UPDATE dispatches SET exec_state = 'in_flight', process = :process, launched_at = :at, updated_at = :at WHERE id = :id AND exec_state = 'pending' AND asked_for IS NULL",
    "UPDATE dispatches SET exec_state = 'in_flight', process = %(process)s, launched_at = %(at)s, updated_at = %(at)s WHERE id = %(id)s AND exec_state = 'pending' AND asked_for IS NULL",
)

# The first report counts.
REPORT_DISPATCH = Query(
    'report_dispatch',
    "UPDATE dispatches SET report = :report, report_reason = :reason, reported_commit = :work, reported_at = :at, updated_at = :at WHERE id = :id AND report IS NULL AND exec_state IN ('pending', 'in_flight')",
    "UPDATE dispatches SET report = %(report)s, report_reason = %(reason)s, reported_commit = %(work)s, reported_at = %(at)s, updated_at = %(at)s WHERE id = %(id)s AND report IS NULL AND exec_state IN ('pending', 'in_flight')",
)

# Write down that an agent is asked to exit. A kill weighs more than a stop, a stop more than a handoff or a report.
ASK_DISPATCH = Query(
    'ask_dispatch',
    "UPDATE dispatches SET asked_at = COALESCE(asked_at, :at), asked_for = :asked_for, asked_reason = :reason, updated_at = :at WHERE id = :id AND exec_state IN ('pending', 'in_flight') AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for <> 'kill' AND :asked_for = 'kill') OR (asked_for = 'handoff' AND :asked_for = 'stop'))",
    "UPDATE dispatches SET asked_at = COALESCE(asked_at, %(at)s), asked_for = %(asked_for)s, asked_reason = %(reason)s, updated_at = %(at)s WHERE id = %(id)s AND exec_state IN ('pending', 'in_flight') AND (asked_for IS NULL OR asked_for = 'report' OR (asked_for <> 'kill' AND %(asked_for)s = 'kill') OR (asked_for = 'handoff' AND %(asked_for)s = 'stop'))",
)

# Compare and set: the outcome, committed only by settle.
END_DISPATCH = Query(
    'end_dispatch',
    "UPDATE dispatches SET exec_state = :after, exit_status = :exit_status, blocked_reason = :reason, settled_commit = :work, ended_at = :at, updated_at = :at WHERE id = :id AND exec_state = :before AND COALESCE(report, '') = COALESCE(CAST(:report AS TEXT), '') AND COALESCE(asked_for, '') = COALESCE(CAST(:asked_for AS TEXT), '')",
    "UPDATE dispatches SET exec_state = %(after)s, exit_status = %(exit_status)s, blocked_reason = %(reason)s, settled_commit = %(work)s, ended_at = %(at)s, updated_at = %(at)s WHERE id = %(id)s AND exec_state = %(before)s AND COALESCE(report, '') = COALESCE(CAST(%(report)s AS TEXT), '') AND COALESCE(asked_for, '') = COALESCE(CAST(%(asked_for)s AS TEXT), '')",
)

# Compare and set of the reclamation state.
STEP_RECL = Query(
    'step_recl',
    'UPDATE dispatches SET recl_state = :after, updated_at = :at WHERE id = :id AND recl_state = :before',
    'UPDATE dispatches SET recl_state = %(after)s, updated_at = %(at)s WHERE id = %(id)s AND recl_state = %(before)s',
)

FORGET_DISPATCH = Query(
    'forget_dispatch',
    "DELETE FROM dispatches WHERE id = :id AND recl_state = 'complete'",
    "DELETE FROM dispatches WHERE id = %(id)s AND recl_state = 'complete'",
)

FORGET_CLAIMS = Query(
    'forget_claims',
    "DELETE FROM claims WHERE dispatch = :id AND state = 'released'",
    "DELETE FROM claims WHERE dispatch = %(id)s AND state = 'released'",
)

FORGET_AGENT = Query(
    'forget_agent',
    'DELETE FROM agents WHERE dispatch = :id AND archived_at IS NOT NULL',
    'DELETE FROM agents WHERE dispatch = %(id)s AND archived_at IS NOT NULL',
)

# An agent's record.
ADD_AGENT = Query(
    'add_agent',
    'INSERT INTO agents (dispatch, engine, session, started_at, conversation) VALUES (:id, :engine, :session, :at, :conversation) ON CONFLICT DO NOTHING',
    'INSERT INTO agents (dispatch, engine, session, started_at, conversation) VALUES (%(id)s, %(engine)s, %(session)s, %(at)s, %(conversation)s) ON CONFLICT DO NOTHING',
)

ARCHIVE_AGENT = Query(
    'archive_agent',
    'UPDATE agents SET archived_at = :at WHERE dispatch = :id AND archived_at IS NULL',
    'UPDATE agents SET archived_at = %(at)s WHERE dispatch = %(id)s AND archived_at IS NULL',
)

AGENT_BY_ID = Query(
    'agent_by_id',
    'SELECT * FROM agents WHERE dispatch = :id',
    'SELECT * FROM agents WHERE dispatch = %(id)s',
)

ADD_SPAWN_FAILURE = Query(
    'add_spawn_failure',
    'INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (:project, :slug, :dispatch, :at, :why) ON CONFLICT DO NOTHING',
    'INSERT INTO spawn_failures (project, slug, dispatch, at, why) VALUES (%(project)s, %(slug)s, %(dispatch)s, %(at)s, %(why)s) ON CONFLICT DO NOTHING',
)

COUNT_SPAWN_FAILURES = Query(
    'count_spawn_failures',
    'SELECT COUNT(*) AS n FROM spawn_failures WHERE project = :project AND slug = :slug AND at > :since',
    'SELECT COUNT(*) AS n FROM spawn_failures WHERE project = %(project)s AND slug = %(slug)s AND at > %(since)s',
)

# The claiming transaction of a dispatch: open and ready becomes in progress.
ASSIGN_TASK = Query(
    'assign_task',
    "UPDATE tasks SET status = 'in_progress', assignee = :id, attempts = attempts + 1, reason = NULL, started_at = :at, ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= :at)",
    "UPDATE tasks SET status = 'in_progress', assignee = %(id)s, attempts = attempts + 1, reason = NULL, started_at = %(at)s, ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= %(at)s)",
)

# The claiming transaction of a later stage: what waits for this stage, parked to be mended or left by its predecessor.
ASSIGN_STAGE = Query(
    'assign_stage',
    "UPDATE tasks SET status = 'in_progress', assignee = :id, attempts = attempts + 1, reason = NULL, fixes = fixes + CASE WHEN status = 'blocked' THEN :mends ELSE 0 END, started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND stage = :stage AND paused = 0 AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND assignee = :predecessor)) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE tasks SET status = 'in_progress', assignee = %(id)s, attempts = attempts + 1, reason = NULL, fixes = fixes + CASE WHEN status = 'blocked' THEN %(mends)s ELSE 0 END, started_at = COALESCE(started_at, %(at)s), ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND stage = %(stage)s AND paused = 0 AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND assignee = %(predecessor)s)) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
)

# The claiming transaction of a resume: what was left by the attempt that it follows, and taken up by nobody since.
RESUME_TASK = Query(
    'resume_task',
    "UPDATE tasks SET status = 'in_progress', assignee = :id, attempts = attempts + 1, reason = NULL, started_at = COALESCE(started_at, :at), ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status IN ('blocked', 'failed') AND assignee = :predecessor AND paused = 0 AND archived = 0",
    "UPDATE tasks SET status = 'in_progress', assignee = %(id)s, attempts = attempts + 1, reason = NULL, started_at = COALESCE(started_at, %(at)s), ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status IN ('blocked', 'failed') AND assignee = %(predecessor)s AND paused = 0 AND archived = 0",
)

# Ended attempts whose task is still where they left it, oldest first: what could be resumed.
LEFT_ATTEMPTS = Query(
    'left_attempts',
    "SELECT d.*, a.conversation FROM dispatches d JOIN tasks t ON t.project = d.project AND t.slug = d.slug AND t.assignee = d.id LEFT JOIN agents a ON a.dispatch = d.id WHERE d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR d.project = :project) ORDER BY d.created_at, d.id",
    "SELECT d.*, a.conversation FROM dispatches d JOIN tasks t ON t.project = d.project AND t.slug = d.slug AND t.assignee = d.id LEFT JOIN agents a ON a.dispatch = d.id WHERE d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher' AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL AND (CAST(%(project)s AS TEXT) IS NULL OR d.project = %(project)s) ORDER BY d.created_at, d.id",
)

# The job whose item a task is.
JOB_OF_TASK = Query(
    'job_of_task',
    'SELECT job FROM tasks WHERE project = :project AND slug = :slug AND job IS NOT NULL',
    'SELECT job FROM tasks WHERE project = %(project)s AND slug = %(slug)s AND job IS NOT NULL',
)

# How a resume goes on.
SET_RESUMES = Query(
    'set_resumes',
    "UPDATE dispatches SET resumes = :resumes WHERE id = :id AND exec_state = 'pending'",
    "UPDATE dispatches SET resumes = %(resumes)s WHERE id = %(id)s AND exec_state = 'pending'",
)

# Processes that descend from an agent and may outlive it unmarked.
NOTE_DESCENDANTS = Query(
    'note_descendants',
    "UPDATE dispatches SET descendants = :descendants WHERE id = :id AND exec_state = 'in_flight'",
    "UPDATE dispatches SET descendants = %(descendants)s WHERE id = %(id)s AND exec_state = 'in_flight'",
)

# What became of a task, by the attempt that still has it; and the commit that its work is at now, if there is work.
SETTLE_TASK = Query(
    'settle_task',
    "UPDATE tasks SET status = :status, stage = COALESCE(CAST(:stage AS TEXT), stage), work = COALESCE(CAST(:work AS TEXT), work), assignee = :assignee, reason = :reason, not_before = COALESCE(CAST(:not_before AS BIGINT), not_before), ended_at = :ended_at, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'in_progress' AND assignee = :id",
    "UPDATE tasks SET status = %(status)s, stage = COALESCE(CAST(%(stage)s AS TEXT), stage), work = COALESCE(CAST(%(work)s AS TEXT), work), assignee = %(assignee)s, reason = %(reason)s, not_before = COALESCE(CAST(%(not_before)s AS BIGINT), not_before), ended_at = %(ended_at)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'in_progress' AND assignee = %(id)s",
)

# Git says it is merged: the last stage is over, and the task is done.
MERGE_TASK = Query(
    'merge_task',
    "UPDATE tasks SET merged = :commit, merged_at = :at, changed_at = :at, status = 'done', stage = 'finisher', reason = NULL, ended_at = COALESCE(ended_at, :at) WHERE project = :project AND slug = :slug AND merged IS NULL AND status = :was",
    "UPDATE tasks SET merged = %(commit)s, merged_at = %(at)s, changed_at = %(at)s, status = 'done', stage = 'finisher', reason = NULL, ended_at = COALESCE(ended_at, %(at)s) WHERE project = %(project)s AND slug = %(slug)s AND merged IS NULL AND status = %(was)s",
)

# Something stands in the way of a task's last stage: it waits to be mended, at the stage that can.
PARK_TASK = Query(
    'park_task',
    "UPDATE tasks SET status = 'blocked', stage = :stage, reason = :reason, changed_at = :at WHERE project = :project AND slug = :slug AND status = :was",
    "UPDATE tasks SET status = 'blocked', stage = %(stage)s, reason = %(reason)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = %(was)s",
)

# Tasks that wait to be merged: at their last stage with nobody at work, or done by somebody's word.
MERGEABLE_TASKS = Query(
    'mergeable_tasks',
    "SELECT slug, status, stage, assignee FROM tasks WHERE project = :project AND merged IS NULL AND pull_request IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    "SELECT slug, status, stage, assignee FROM tasks WHERE project = %(project)s AND merged IS NULL AND pull_request IS NULL AND archived = 0 AND job IS NULL AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
)

# Tasks that wait for an agent at a later stage: a review, or something to be mended. What a mender left blocked (interrupted, stopped, or by its own word) waits to be resumed, or for a person.
WAITING_STAGES = Query(
    'waiting_stages',
    "SELECT slug, status, stage, assignee, fixes, reason FROM tasks WHERE project = :project AND archived = 0 AND paused = 0 AND job IS NULL AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND stage = 'review')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = tasks.assignee AND d.kind IN ('fix', 'rebase') AND d.exec_state = 'blocked' AND tasks.status = 'blocked') AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
    "SELECT slug, status, stage, assignee, fixes, reason FROM tasks WHERE project = %(project)s AND archived = 0 AND paused = 0 AND job IS NULL AND ((status = 'blocked' AND stage IN ('fix', 'rebase')) OR (status = 'in_progress' AND stage = 'review')) AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = tasks.assignee AND d.kind IN ('fix', 'rebase') AND d.exec_state = 'blocked' AND tasks.status = 'blocked') AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) ORDER BY priority DESC, changed_at, slug",
)

# Its session was made on another tmux server than was meant.
MOVE_TO_SERVER = Query(
    'move_to_server',
    'UPDATE dispatches SET server = :server, updated_at = :at WHERE id = :id',
    'UPDATE dispatches SET server = %(server)s, updated_at = %(at)s WHERE id = %(id)s',
)

# The tmux server that the newest dispatch of a home on a socket was made on.
LAST_SERVER = Query(
    'last_server',
    'SELECT server FROM dispatches WHERE tmux_socket = :socket AND (home IS NULL OR home = :home) AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1',
    'SELECT server FROM dispatches WHERE tmux_socket = %(socket)s AND (home IS NULL OR home = %(home)s) AND server IS NOT NULL ORDER BY created_at DESC LIMIT 1',
)

# A home that uses this database, as it was when it last wrote a dispatch or job.
SEE_HOME = Query(
    'see_home',
    'INSERT INTO homes (id, host, machine, name, path, seen_at) VALUES (:id, :host, :machine, :name, :path, :at) ON CONFLICT (id) DO UPDATE SET host = excluded.host, machine = excluded.machine, name = excluded.name, path = excluded.path, seen_at = excluded.seen_at',
    'INSERT INTO homes (id, host, machine, name, path, seen_at) VALUES (%(id)s, %(host)s, %(machine)s, %(name)s, %(path)s, %(at)s) ON CONFLICT (id) DO UPDATE SET host = excluded.host, machine = excluded.machine, name = excluded.name, path = excluded.path, seen_at = excluded.seen_at',
)

HOME_BY_ID = Query(
    'home_by_id',
    'SELECT * FROM homes WHERE id = :id',
    'SELECT * FROM homes WHERE id = %(id)s',
)

# A home takes over the journal of one that is no more.
TAKE_OVER_DISPATCH = Query(
    'take_over_dispatch',
    'UPDATE dispatches SET home = :home, host = :host, tmux_socket = :socket, updated_at = :at WHERE id = :id',
    'UPDATE dispatches SET home = %(home)s, host = %(host)s, tmux_socket = %(socket)s, updated_at = %(at)s WHERE id = %(id)s',
)

# A person says that whoever was at a claim is no more.
CLEAR_ACTOR = Query(
    'clear_actor',
    "UPDATE claims SET actor = '', updated_at = :at WHERE id = :id AND actor = :was",
    "UPDATE claims SET actor = '', updated_at = %(at)s WHERE id = %(id)s AND actor = %(was)s",
)

# Claims of a home, those from before homes were recorded too, for a home that was moved.
CLAIMS_BELOW = Query(
    'claims_below',
    "SELECT * FROM claims WHERE (home = :home OR (home IS NULL AND host = :host)) AND state <> 'released' ORDER BY created_at, id",
    "SELECT * FROM claims WHERE (home = %(home)s OR (home IS NULL AND host = %(host)s)) AND state <> 'released' ORDER BY created_at, id",
)

# A home was moved, and what it holds with it.
MOVE_CLAIM = Query(
    'move_claim',
    'UPDATE claims SET name = :name, data = :data, updated_at = :at WHERE id = :id AND name = :was',
    'UPDATE claims SET name = %(name)s, data = %(data)s, updated_at = %(at)s WHERE id = %(id)s AND name = %(was)s',
)

# A home was moved, and its tmux socket with it.
MOVE_SOCKETS = Query(
    'move_sockets',
    'UPDATE dispatches SET tmux_socket = :socket, updated_at = :at WHERE tmux_socket = :was AND (home = :home OR (home IS NULL AND host = :host))',
    'UPDATE dispatches SET tmux_socket = %(socket)s, updated_at = %(at)s WHERE tmux_socket = %(was)s AND (home = %(home)s OR (home IS NULL AND host = %(host)s))',
)

# A home takes over the job of one that is no more.
TAKE_OVER_JOB = Query(
    'take_over_job',
    'UPDATE jobs SET home = :home, changed_at = :at WHERE id = :id',
    'UPDATE jobs SET home = %(home)s, changed_at = %(at)s WHERE id = %(id)s',
)

# The other homes that have used this database, the one seen last first.
OTHER_HOMES = Query(
    'other_homes',
    'SELECT * FROM homes WHERE id <> :id ORDER BY seen_at DESC, id',
    'SELECT * FROM homes WHERE id <> %(id)s ORDER BY seen_at DESC, id',
)

ADD_JOB = Query(
    'add_job',
    'INSERT INTO jobs (id, project, name, source, folder, parameters, actor, home, added_at, changed_at, begun_at) VALUES (:id, :project, :name, :source, :folder, :parameters, :actor, :home, :at, :at, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO jobs (id, project, name, source, folder, parameters, actor, home, added_at, changed_at, begun_at) VALUES (%(id)s, %(project)s, %(name)s, %(source)s, %(folder)s, %(parameters)s, %(actor)s, %(home)s, %(at)s, %(at)s, %(at)s) ON CONFLICT DO NOTHING',
)

JOB_BY_ID = Query(
    'job_by_id',
    'SELECT * FROM jobs WHERE id = :id',
    'SELECT * FROM jobs WHERE id = %(id)s',
)

# Jobs whose id begins with a text, newest first.
JOBS_LIKE = Query(
    'jobs_like',
    'SELECT id, name, project, state FROM jobs WHERE id LIKE :prefix ORDER BY added_at DESC, id LIMIT :most',
    'SELECT id, name, project, state FROM jobs WHERE id LIKE %(prefix)s ORDER BY added_at DESC, id LIMIT %(most)s',
)

# Jobs of one project or of all, newest first.
LISTED_JOBS = Query(
    'listed_jobs',
    'SELECT * FROM jobs WHERE (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY added_at DESC, id LIMIT :most',
    'SELECT * FROM jobs WHERE (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY added_at DESC, id LIMIT %(most)s',
)

# A runner takes a job up: what was paused or failed goes on.
BEGIN_JOB = Query(
    'begin_job',
    "UPDATE jobs SET state = 'running', reason = NULL, begun_at = :at, changed_at = :at, ended_at = NULL WHERE id = :id AND state IN ('running', 'paused', 'failed')",
    "UPDATE jobs SET state = 'running', reason = NULL, begun_at = %(at)s, changed_at = %(at)s, ended_at = NULL WHERE id = %(id)s AND state IN ('running', 'paused', 'failed')",
)

# The same job is run once more, with its document and input read anew.
RENEW_JOB = Query(
    'renew_job',
    "UPDATE jobs SET state = 'running', phase = 'setup', reason = NULL, source = :source, folder = :folder, parameters = :parameters, begun_at = :at, changed_at = :at, ended_at = NULL WHERE id = :id AND state <> 'cancelled'",
    "UPDATE jobs SET state = 'running', phase = 'setup', reason = NULL, source = %(source)s, folder = %(folder)s, parameters = %(parameters)s, begun_at = %(at)s, changed_at = %(at)s, ended_at = NULL WHERE id = %(id)s AND state <> 'cancelled'",
)

# Compare and set: a job that runs is paused, fails, is done or cancelled.
END_JOB = Query(
    'end_job',
    "UPDATE jobs SET state = :state, reason = :reason, changed_at = :at, ended_at = :at WHERE id = :id AND state = 'running'",
    "UPDATE jobs SET state = %(state)s, reason = %(reason)s, changed_at = %(at)s, ended_at = %(at)s WHERE id = %(id)s AND state = 'running'",
)

CANCEL_JOB = Query(
    'cancel_job',
    "UPDATE jobs SET state = 'cancelled', reason = :reason, changed_at = :at, ended_at = :at WHERE id = :id AND state NOT IN ('done', 'cancelled')",
    "UPDATE jobs SET state = 'cancelled', reason = %(reason)s, changed_at = %(at)s, ended_at = %(at)s WHERE id = %(id)s AND state NOT IN ('done', 'cancelled')",
)

# A job that was over has something to do again.
REOPEN_JOB = Query(
    'reopen_job',
    "UPDATE jobs SET state = 'paused', phase = 'map', reason = :reason, changed_at = :at, ended_at = NULL WHERE id = :id AND state IN ('done', 'failed', 'paused')",
    "UPDATE jobs SET state = 'paused', phase = 'map', reason = %(reason)s, changed_at = %(at)s, ended_at = NULL WHERE id = %(id)s AND state IN ('done', 'failed', 'paused')",
)

# Compare and set of the phase.
STEP_PHASE = Query(
    'step_phase',
    'UPDATE jobs SET phase = :after, changed_at = :at WHERE id = :id AND phase = :before',
    'UPDATE jobs SET phase = %(after)s, changed_at = %(at)s WHERE id = %(id)s AND phase = %(before)s',
)

# The same content again is the same item.
ADD_ITEM = Query(
    'add_item',
    'INSERT INTO items (job, id, part, number, data) VALUES (:job, :id, :part, :number, :data) ON CONFLICT DO NOTHING',
    'INSERT INTO items (job, id, part, number, data) VALUES (%(job)s, %(id)s, %(part)s, %(number)s, %(data)s) ON CONFLICT DO NOTHING',
)

RENUMBER_ITEM = Query(
    'renumber_item',
    "UPDATE items SET number = :number WHERE job = :job AND id = :id AND part = 'map' AND number <> :number",
    "UPDATE items SET number = %(number)s WHERE job = %(job)s AND id = %(id)s AND part = 'map' AND number <> %(number)s",
)

# Before the input is read anew: every item is thought to be gone.
NUMBER_AWAY = Query(
    'number_away',
    "UPDATE items SET number = -number WHERE job = :job AND part = 'map' AND number > 0",
    "UPDATE items SET number = -number WHERE job = %(job)s AND part = 'map' AND number > 0",
)

# Items that were not in the input any more and nobody had begun.
SKIP_GONE_ITEMS = Query(
    'skip_gone_items',
    "UPDATE items SET state = 'skipped', reason = :reason, ended_at = :at WHERE job = :job AND part = 'map' AND number < 0 AND state = 'waiting'",
    "UPDATE items SET state = 'skipped', reason = %(reason)s, ended_at = %(at)s WHERE job = %(job)s AND part = 'map' AND number < 0 AND state = 'waiting'",
)

# Items that were skipped because they were gone, and are in the input again.
BACK_ITEMS = Query(
    'back_items',
    "UPDATE items SET state = 'waiting', reason = NULL, ended_at = NULL, failures = 0 WHERE job = :job AND part = 'map' AND number > 0 AND state = 'skipped' AND reason = :reason",
    "UPDATE items SET state = 'waiting', reason = NULL, ended_at = NULL, failures = 0 WHERE job = %(job)s AND part = 'map' AND number > 0 AND state = 'skipped' AND reason = %(reason)s",
)

ITEM_BY_ID = Query(
    'item_by_id',
    'SELECT * FROM items WHERE job = :job AND id = :id',
    'SELECT * FROM items WHERE job = %(job)s AND id = %(id)s',
)

# Items whose id begins with a text.
ITEMS_LIKE = Query(
    'items_like',
    'SELECT id FROM items WHERE job = :job AND id LIKE :prefix ORDER BY id LIMIT :most',
    'SELECT id FROM items WHERE job = %(job)s AND id LIKE %(prefix)s ORDER BY id LIMIT %(most)s',
)

# The item that a dispatch works on, with its job.
ITEM_OF_TASK = Query(
    'item_of_task',
    "SELECT i.*, j.project, j.source, j.parameters, j.folder FROM tasks t JOIN jobs j ON j.id = t.job AND j.project = t.project JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.project = :project AND t.slug = :slug",
    "SELECT i.*, j.project, j.source, j.parameters, j.folder FROM tasks t JOIN jobs j ON j.id = t.job AND j.project = t.project JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.project = %(project)s AND t.slug = %(slug)s",
)

# How many items of a job's map are in each state.
COUNT_ITEMS = Query(
    'count_items',
    "SELECT state, COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' GROUP BY state",
    "SELECT state, COUNT(*) AS n FROM items WHERE job = %(job)s AND part = 'map' GROUP BY state",
)

# Items whose time has come, in their order.
NEXT_ITEMS = Query(
    'next_items',
    "SELECT * FROM items WHERE job = :job AND state = 'waiting' AND part = :part AND (not_before IS NULL OR not_before <= :now) ORDER BY number LIMIT :most",
    "SELECT * FROM items WHERE job = %(job)s AND state = 'waiting' AND part = %(part)s AND (not_before IS NULL OR not_before <= %(now)s) ORDER BY number LIMIT %(most)s",
)

# When the next of those that wait may be tried.
SOONEST_ITEM = Query(
    'soonest_item',
    "SELECT COUNT(*) AS n, MIN(COALESCE(not_before, 0)) AS at FROM items WHERE job = :job AND state = 'waiting' AND part = :part",
    "SELECT COUNT(*) AS n, MIN(COALESCE(not_before, 0)) AS at FROM items WHERE job = %(job)s AND state = 'waiting' AND part = %(part)s",
)

# Items that are worked on or to be merged.
ITEMS_AT_WORK = Query(
    'items_at_work',
    "SELECT * FROM items WHERE job = :job AND state IN ('running', 'merging') ORDER BY number",
    "SELECT * FROM items WHERE job = %(job)s AND state IN ('running', 'merging') ORDER BY number",
)

# Items by number, a page at a time.
ITEMS_PAGE = Query(
    'items_page',
    "SELECT * FROM items WHERE job = :job AND part = 'map' AND (CAST(:state AS TEXT) IS NULL OR state = :state) AND (number > :after OR (number = :after AND id > :after_id)) ORDER BY number, id LIMIT :most",
    "SELECT * FROM items WHERE job = %(job)s AND part = 'map' AND (CAST(%(state)s AS TEXT) IS NULL OR state = %(state)s) AND (number > %(after)s OR (number = %(after)s AND id > %(after_id)s)) ORDER BY number, id LIMIT %(most)s",
)

# Compare and set: one attempt at a time.
START_ITEM = Query(
    'start_item',
    "UPDATE items SET state = 'running', attempts = attempts + 1, dispatch = NULL, verdict = NULL, reason = NULL, not_before = NULL, started_at = :at, ended_at = NULL WHERE job = :job AND id = :id AND state = 'waiting'",
    "UPDATE items SET state = 'running', attempts = attempts + 1, dispatch = NULL, verdict = NULL, reason = NULL, not_before = NULL, started_at = %(at)s, ended_at = NULL WHERE job = %(job)s AND id = %(id)s AND state = 'waiting'",
)

# An attempt that never began does not count; one that was interrupted, or ended by a usage limit, does, but is no failure.
PUT_BACK_ITEM = Query(
    'put_back_item',
    "UPDATE items SET state = 'waiting', attempts = attempts - :unbegun, not_before = :not_before, started_at = NULL WHERE job = :job AND id = :id AND state = 'running' AND (verdict IS NULL OR signature = 'limit')",
    "UPDATE items SET state = 'waiting', attempts = attempts - %(unbegun)s, not_before = %(not_before)s, started_at = NULL WHERE job = %(job)s AND id = %(id)s AND state = 'running' AND (verdict IS NULL OR signature = 'limit')",
)

# Which dispatch is the attempt.
GIVE_ITEM = Query(
    'give_item',
    "UPDATE items SET dispatch = :dispatch WHERE job = :job AND id = :id AND state = 'running' AND dispatch IS NULL",
    "UPDATE items SET dispatch = %(dispatch)s WHERE job = %(job)s AND id = %(id)s AND state = 'running' AND dispatch IS NULL",
)

# What the steps came to, by the dispatch that did them; the first word counts.
JUDGE_ITEM = Query(
    'judge_item',
    "UPDATE items SET verdict = :verdict, reason = :reason, signature = :signature WHERE job = :job AND id = :id AND state = 'running' AND verdict IS NULL AND COALESCE(dispatch, :dispatch) = :dispatch",
    "UPDATE items SET verdict = %(verdict)s, reason = %(reason)s, signature = %(signature)s WHERE job = %(job)s AND id = %(id)s AND state = 'running' AND verdict IS NULL AND COALESCE(dispatch, %(dispatch)s) = %(dispatch)s",
)

# Compare and set: an attempt failed; it waits for the next, or is over.
FAIL_ITEM = Query(
    'fail_item',
    "UPDATE items SET state = :state, reason = :reason, signature = :signature, failed_at = :at, not_before = :not_before, failures = failures + 1, history = :history, ended_at = CASE WHEN :state = 'waiting' THEN NULL ELSE :at END WHERE job = :job AND id = :id AND state = :was",
    "UPDATE items SET state = %(state)s, reason = %(reason)s, signature = %(signature)s, failed_at = %(at)s, not_before = %(not_before)s, failures = failures + 1, history = %(history)s, ended_at = CASE WHEN %(state)s = 'waiting' THEN NULL ELSE %(at)s END WHERE job = %(job)s AND id = %(id)s AND state = %(was)s",
)

# Compare and set: its steps are done, it is to be merged.
PASS_ITEM = Query(
    'pass_item',
    "UPDATE items SET state = 'merging', reason = NULL, signature = NULL WHERE job = :job AND id = :id AND state = 'running'",
    "UPDATE items SET state = 'merging', reason = NULL, signature = NULL WHERE job = %(job)s AND id = %(id)s AND state = 'running'",
)

# Compare and set: it is done.
FINISH_ITEM = Query(
    'finish_item',
    "UPDATE items SET state = 'done', merged = :merged, reason = NULL, signature = NULL, ended_at = :at WHERE job = :job AND id = :id AND state IN ('running', 'merging')",
    "UPDATE items SET state = 'done', merged = %(merged)s, reason = NULL, signature = NULL, ended_at = %(at)s WHERE job = %(job)s AND id = %(id)s AND state IN ('running', 'merging')",
)

# Out of the dead-letter queue, or parked: to be tried again.
REVIVE_ITEM = Query(
    'revive_item',
    "UPDATE items SET state = 'waiting', failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = :job AND id = :id AND state IN ('dead', 'parked', 'skipped')",
    "UPDATE items SET state = 'waiting', failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = %(job)s AND id = %(id)s AND state IN ('dead', 'parked', 'skipped')",
)

# Out of the dead-letter queue for good.
DROP_ITEM = Query(
    'drop_item',
    "UPDATE items SET state = 'skipped', reason = :reason WHERE job = :job AND id = :id AND state IN ('dead', 'parked')",
    "UPDATE items SET state = 'skipped', reason = %(reason)s WHERE job = %(job)s AND id = %(id)s AND state IN ('dead', 'parked')",
)

# Setup or reduce is to be done once more.
RESET_PART = Query(
    'reset_part',
    "UPDATE items SET state = 'waiting', failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = :job AND id = :id AND state NOT IN ('waiting', 'running', 'merging')",
    "UPDATE items SET state = 'waiting', failures = 0, not_before = NULL, ended_at = NULL, reason = NULL, verdict = NULL WHERE job = %(job)s AND id = %(id)s AND state NOT IN ('waiting', 'running', 'merging')",
)

# How many items failed in the same way since a time, most frequent first.
FAILURES_ALIKE = Query(
    'failures_alike',
    "SELECT signature, COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' AND signature IS NOT NULL AND failed_at >= :since GROUP BY signature ORDER BY n DESC, signature LIMIT 1",
    "SELECT signature, COUNT(*) AS n FROM items WHERE job = %(job)s AND part = 'map' AND signature IS NOT NULL AND failed_at >= %(since)s GROUP BY signature ORDER BY n DESC, signature LIMIT 1",
)

# How many items failed or were done since a time.
ITEMS_TRIED = Query(
    'items_tried',
    "SELECT COUNT(*) AS n FROM items WHERE job = :job AND part = 'map' AND ((signature IS NOT NULL AND failed_at >= :since) OR (state = 'done' AND ended_at >= :since))",
    "SELECT COUNT(*) AS n FROM items WHERE job = %(job)s AND part = 'map' AND ((signature IS NOT NULL AND failed_at >= %(since)s) OR (state = 'done' AND ended_at >= %(since)s))",
)

# When items ended, for the chart.
ENDED_OVER_TIME = Query(
    'ended_over_time',
    "SELECT ended_at, state FROM items WHERE job = :job AND part = 'map' AND ended_at IS NOT NULL ORDER BY ended_at, id",
    "SELECT ended_at, state FROM items WHERE job = %(job)s AND part = 'map' AND ended_at IS NOT NULL ORDER BY ended_at, id",
)

ADD_STEP = Query(
    'add_step',
    'INSERT INTO job_steps (job, item, attempt, number, title, started_at, ended_at, status, reason, commits) VALUES (:job, :item, :attempt, :number, :title, :started_at, :ended_at, :status, :reason, :commits) ON CONFLICT DO NOTHING',
    'INSERT INTO job_steps (job, item, attempt, number, title, started_at, ended_at, status, reason, commits) VALUES (%(job)s, %(item)s, %(attempt)s, %(number)s, %(title)s, %(started_at)s, %(ended_at)s, %(status)s, %(reason)s, %(commits)s) ON CONFLICT DO NOTHING',
)

STEPS_OF_ITEM = Query(
    'steps_of_item',
    'SELECT * FROM job_steps WHERE job = :job AND item = :item ORDER BY attempt, number',
    'SELECT * FROM job_steps WHERE job = %(job)s AND item = %(item)s ORDER BY attempt, number',
)

# The task that an item is worked on as.
ADD_JOB_TASK = Query(
    'add_job_task',
    'INSERT INTO tasks (project, slug, title, description, added_at, changed_at, job) VALUES (:project, :slug, :title, :description, :at, :at, :job) ON CONFLICT DO NOTHING',
    'INSERT INTO tasks (project, slug, title, description, added_at, changed_at, job) VALUES (%(project)s, %(slug)s, %(title)s, %(description)s, %(at)s, %(at)s, %(job)s) ON CONFLICT DO NOTHING',
)

# An attempt begins: whatever the last one left, the task is open.
OPEN_JOB_TASK = Query(
    'open_job_task',
    "UPDATE tasks SET status = 'open', stage = 'worker', assignee = NULL, reason = NULL, archived = 0, paused = 0, fixes = 0, ended_at = NULL, not_before = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND job = :job AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE tasks SET status = 'open', stage = 'worker', assignee = NULL, reason = NULL, archived = 0, paused = 0, fixes = 0, ended_at = NULL, not_before = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND job = %(job)s AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
)

# The item is over: its worktree may go.
CLOSE_JOB_TASK = Query(
    'close_job_task',
    "UPDATE tasks SET status = :status, archived = 1, reason = :reason, ended_at = :at, changed_at = :at WHERE project = :project AND slug = :slug AND job = :job AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
    "UPDATE tasks SET status = %(status)s, archived = 1, reason = %(reason)s, ended_at = %(at)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND job = %(job)s AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight'))",
)

# Tasks of a job whose worktrees may still be there.
OPEN_TASKS_OF_JOB = Query(
    'open_tasks_of_job',
    'SELECT slug, status, reason FROM tasks WHERE project = :project AND job = :job AND archived = 0 ORDER BY slug',
    'SELECT slug, status, reason FROM tasks WHERE project = %(project)s AND job = %(job)s AND archived = 0 ORDER BY slug',
)

# Tasks of jobs whose items are over, and that should have been let go.
JOB_LITTER = Query(
    'job_litter',
    "SELECT t.project, t.slug, t.job, i.id AS item, i.state, j.state AS job_state, j.home FROM tasks t JOIN jobs j ON j.id = t.job JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.job IS NOT NULL AND t.archived = 0 AND (j.state = 'cancelled' OR (i.state IN ('done', 'skipped') AND (i.part = 'map' OR j.state = 'done'))) ORDER BY t.project, t.slug",
    "SELECT t.project, t.slug, t.job, i.id AS item, i.state, j.state AS job_state, j.home FROM tasks t JOIN jobs j ON j.id = t.job JOIN items i ON i.job = t.job AND i.id = SUBSTR(t.slug, LENGTH('job-' || t.job || '-') + 1) WHERE t.job IS NOT NULL AND t.archived = 0 AND (j.state = 'cancelled' OR (i.state IN ('done', 'skipped') AND (i.part = 'map' OR j.state = 'done'))) ORDER BY t.project, t.slug",
)

TASK_JOB = Query(
    'task_job',
    'SELECT job FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT job FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
)

REMOVE_JOB_STEPS = Query(
    'remove_job_steps',
    'DELETE FROM job_steps WHERE job IN (SELECT id FROM jobs WHERE project = :project)',
    'DELETE FROM job_steps WHERE job IN (SELECT id FROM jobs WHERE project = %(project)s)',
)

REMOVE_ITEMS = Query(
    'remove_items',
    'DELETE FROM items WHERE job IN (SELECT id FROM jobs WHERE project = :project)',
    'DELETE FROM items WHERE job IN (SELECT id FROM jobs WHERE project = %(project)s)',
)

# Claims of a project's jobs that are not released.
COUNT_JOB_CLAIMS = Query(
    'count_job_claims',
    "SELECT COUNT(*) AS n FROM claims WHERE state <> 'released' AND job IN (SELECT id FROM jobs WHERE project = :project)",
    "SELECT COUNT(*) AS n FROM claims WHERE state <> 'released' AND job IN (SELECT id FROM jobs WHERE project = %(project)s)",
)

REMOVE_JOB_CLAIMS = Query(
    'remove_job_claims',
    "DELETE FROM claims WHERE state = 'released' AND job IN (SELECT id FROM jobs WHERE project = :project)",
    "DELETE FROM claims WHERE state = 'released' AND job IN (SELECT id FROM jobs WHERE project = %(project)s)",
)

REMOVE_JOBS = Query(
    'remove_jobs',
    'DELETE FROM jobs WHERE project = :project',
    'DELETE FROM jobs WHERE project = %(project)s',
)

# Every journal of a task that is still in the tables, oldest first.
DISPATCHES_OF_TASK = Query(
    'dispatches_of_task',
    'SELECT id, exec_state FROM dispatches WHERE project = :project AND slug = :slug ORDER BY created_at, id',
    'SELECT id, exec_state FROM dispatches WHERE project = %(project)s AND slug = %(slug)s ORDER BY created_at, id',
)

# What could be started now: most urgent first, then oldest.
READY_TASKS = Query(
    'ready_tasks',
    "SELECT project, slug, title, status, stage, priority, paused, archived, not_before, engine, assignee, attempts, reason, open_blockers, added_at, changed_at FROM tasks WHERE project = :project AND status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= :now) ORDER BY project, priority DESC, added_at, slug LIMIT :most",
    "SELECT project, slug, title, status, stage, priority, paused, archived, not_before, engine, assignee, attempts, reason, open_blockers, added_at, changed_at FROM tasks WHERE project = %(project)s AND status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= %(now)s) ORDER BY project, priority DESC, added_at, slug LIMIT %(most)s",
)

# Tasks that fit every filter that is given, in the order of their slugs.
LISTED_TASKS = Query(
    'listed_tasks',
    "SELECT t.project, t.slug, t.title, t.status, t.stage, t.priority, t.paused, t.archived, t.not_before, t.engine, t.assignee, t.attempts, t.reason, t.open_blockers, t.added_at, t.changed_at FROM tasks t WHERE t.project = :project AND t.slug > :after_slug AND t.job IS NULL AND (CAST(:status AS TEXT) IS NULL OR t.status = :status) AND (CAST(:assignee AS TEXT) IS NULL OR t.assignee = :assignee) AND (:archived = 1 OR t.archived = 0) AND (CAST(:text AS TEXT) IS NULL OR LOWER(t.title) LIKE :text ESCAPE '!' OR LOWER(t.description) LIKE :text ESCAPE '!' OR t.slug LIKE :text ESCAPE '!') AND (CAST(:tag AS TEXT) IS NULL OR EXISTS ( SELECT 1 FROM tags g WHERE g.project = t.project AND g.slug = t.slug AND g.tag = :tag)) ORDER BY t.slug LIMIT :most",
    "SELECT t.project, t.slug, t.title, t.status, t.stage, t.priority, t.paused, t.archived, t.not_before, t.engine, t.assignee, t.attempts, t.reason, t.open_blockers, t.added_at, t.changed_at FROM tasks t WHERE t.project = %(project)s AND t.slug > %(after_slug)s AND t.job IS NULL AND (CAST(%(status)s AS TEXT) IS NULL OR t.status = %(status)s) AND (CAST(%(assignee)s AS TEXT) IS NULL OR t.assignee = %(assignee)s) AND (%(archived)s = 1 OR t.archived = 0) AND (CAST(%(text)s AS TEXT) IS NULL OR LOWER(t.title) LIKE %(text)s ESCAPE '!' OR LOWER(t.description) LIKE %(text)s ESCAPE '!' OR t.slug LIKE %(text)s ESCAPE '!') AND (CAST(%(tag)s AS TEXT) IS NULL OR EXISTS ( SELECT 1 FROM tags g WHERE g.project = t.project AND g.slug = t.slug AND g.tag = %(tag)s)) ORDER BY t.slug LIMIT %(most)s",
)

# All dependencies of a project.
PROJECT_EDGES = Query(
    'project_edges',
    'SELECT slug, needs FROM edges WHERE project = :project ORDER BY slug, needs',
    'SELECT slug, needs FROM edges WHERE project = %(project)s ORDER BY slug, needs',
)

# The dependencies of a page of tasks, but for those on the tasks of jobs, which belong to no page.
EDGES_FROM = Query(
    'edges_from',
    'SELECT e.slug, e.needs FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.needs WHERE e.project = :project AND e.slug > :after_slug AND e.slug <= :until_slug AND t.job IS NULL ORDER BY e.slug, e.needs',
    'SELECT e.slug, e.needs FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.needs WHERE e.project = %(project)s AND e.slug > %(after_slug)s AND e.slug <= %(until_slug)s AND t.job IS NULL ORDER BY e.slug, e.needs',
)

# The tags of a page of tasks.
TAGS_FROM = Query(
    'tags_from',
    'SELECT slug, tag FROM tags WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, tag',
    'SELECT slug, tag FROM tags WHERE project = %(project)s AND slug > %(after_slug)s AND slug <= %(until_slug)s ORDER BY slug, tag',
)

# The messages of a page of tasks.
LOG_FROM = Query(
    'log_from',
    'SELECT slug, at, actor, message FROM task_log WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, seq',
    'SELECT slug, at, actor, message FROM task_log WHERE project = %(project)s AND slug > %(after_slug)s AND slug <= %(until_slug)s ORDER BY slug, seq',
)

# The artifacts of a page of tasks.
ARTIFACTS_FROM = Query(
    'artifacts_from',
    'SELECT slug, path, at, actor FROM artifacts WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, path',
    'SELECT slug, path, at, actor FROM artifacts WHERE project = %(project)s AND slug > %(after_slug)s AND slug <= %(until_slug)s ORDER BY slug, path',
)

# Whole tasks by slug, a page at a time.
PAGE_OF_TASKS = Query(
    'page_of_tasks',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at FROM tasks WHERE project = :project AND slug > :after_slug AND job IS NULL AND (:archived = 1 OR archived = 0) ORDER BY slug LIMIT :most',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at FROM tasks WHERE project = %(project)s AND slug > %(after_slug)s AND job IS NULL AND (%(archived)s = 1 OR archived = 0) ORDER BY slug LIMIT %(most)s',
)

# Slugs that begin with a text, for completion.
SLUGS_LIKE = Query(
    'slugs_like',
    'SELECT slug, title FROM tasks WHERE project = :project AND slug >= :prefix AND slug < :beyond AND archived = 0 AND job IS NULL ORDER BY slug LIMIT :most',
    'SELECT slug, title FROM tasks WHERE project = %(project)s AND slug >= %(prefix)s AND slug < %(beyond)s AND archived = 0 AND job IS NULL ORDER BY slug LIMIT %(most)s',
)

# A task's work was merged into the integration branch.
ADD_MERGE = Query(
    'add_merge',
    'INSERT INTO merges (seq, project, slug, integration, made, work, base, at) VALUES (:seq, :project, :slug, :integration, :made, :work, :base, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO merges (seq, project, slug, integration, made, work, base, at) VALUES (%(seq)s, %(project)s, %(slug)s, %(integration)s, %(made)s, %(work)s, %(base)s, %(at)s) ON CONFLICT DO NOTHING',
)

# Every merge into an integration branch that nobody has given up, newest first.
RECORDED_MERGES = Query(
    'recorded_merges',
    'SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL ORDER BY seq DESC',
    'SELECT * FROM merges WHERE project = %(project)s AND integration = %(integration)s AND acknowledged_at IS NULL ORDER BY seq DESC',
)

# Every merge into an integration branch, newest first.
ALL_MERGES = Query(
    'all_merges',
    'SELECT * FROM merges WHERE project = :project AND integration = :integration ORDER BY seq DESC',
    'SELECT * FROM merges WHERE project = %(project)s AND integration = %(integration)s ORDER BY seq DESC',
)

# The merge that was recorded last, of those that nobody has given up.
NEWEST_MERGE = Query(
    'newest_merge',
    'SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL ORDER BY seq DESC LIMIT 1',
    'SELECT * FROM merges WHERE project = %(project)s AND integration = %(integration)s AND acknowledged_at IS NULL ORDER BY seq DESC LIMIT 1',
)

# A person says that a merge is gone from the branch, and why.
ACKNOWLEDGE_MERGE = Query(
    'acknowledge_merge',
    'UPDATE merges SET acknowledged_at = :at, acknowledged_by = :by, reason = :reason WHERE seq = :seq AND acknowledged_at IS NULL',
    'UPDATE merges SET acknowledged_at = %(at)s, acknowledged_by = %(by)s, reason = %(reason)s WHERE seq = %(seq)s AND acknowledged_at IS NULL',
)

# The merges of a project that is removed. Its integration branch stays.
REMOVE_MERGES = Query(
    'remove_merges',
    'DELETE FROM merges WHERE project = :project',
    'DELETE FROM merges WHERE project = %(project)s',
)

# Something to be told to an agent.
ADD_MESSAGE = Query(
    'add_message',
    'INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (:id, :dispatch, :kind, :sender, :text, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO messages (id, dispatch, kind, sender, text, sent_at) VALUES (%(id)s, %(dispatch)s, %(kind)s, %(sender)s, %(text)s, %(at)s) ON CONFLICT DO NOTHING',
)

# What an agent has not acknowledged yet, oldest first.
WAITING_MESSAGES = Query(
    'waiting_messages',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how FROM messages WHERE dispatch = :dispatch AND acknowledged_at IS NULL ORDER BY sent_at, id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how FROM messages WHERE dispatch = %(dispatch)s AND acknowledged_at IS NULL ORDER BY sent_at, id',
)

# It was handed out; again is fine, the id stays the same.
DELIVER_MESSAGE = Query(
    'deliver_message',
    'UPDATE messages SET delivered_at = COALESCE(delivered_at, :at), how = COALESCE(how, :how) WHERE id = :id AND dispatch = :dispatch',
    'UPDATE messages SET delivered_at = COALESCE(delivered_at, %(at)s), how = COALESCE(how, %(how)s) WHERE id = %(id)s AND dispatch = %(dispatch)s',
)

# Compare and set: applied once.
ACKNOWLEDGE_MESSAGE = Query(
    'acknowledge_message',
    'UPDATE messages SET acknowledged_at = :at, delivered_at = COALESCE(delivered_at, :at) WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL',
    'UPDATE messages SET acknowledged_at = %(at)s, delivered_at = COALESCE(delivered_at, %(at)s) WHERE id = %(id)s AND dispatch = %(dispatch)s AND acknowledged_at IS NULL',
)

# Who goes on in another's place gets what that one has not acknowledged.
INHERIT_MESSAGES = Query(
    'inherit_messages',
    "UPDATE messages SET dispatch = :dispatch, delivered_at = NULL, how = NULL WHERE dispatch = :predecessor AND acknowledged_at IS NULL AND kind = 'message'",
    "UPDATE messages SET dispatch = %(dispatch)s, delivered_at = NULL, how = NULL WHERE dispatch = %(predecessor)s AND acknowledged_at IS NULL AND kind = 'message'",
)

# When something was last said to an agent.
LAST_SAID = Query(
    'last_said',
    'SELECT MAX(delivered_at) AS at FROM messages WHERE dispatch = :dispatch',
    'SELECT MAX(delivered_at) AS at FROM messages WHERE dispatch = %(dispatch)s',
)

# Every message that is kept, oldest first.
ALL_MESSAGES = Query(
    'all_messages',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, acknowledged_at FROM messages ORDER BY sent_at, id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, acknowledged_at FROM messages ORDER BY sent_at, id',
)

# How many acknowledged ones are older than a time.
OLD_MESSAGES = Query(
    'old_messages',
    'SELECT COUNT(*) AS n FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before',
    'SELECT COUNT(*) AS n FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < %(before)s',
)

# Ids of what was acknowledged are kept for a week.
PRUNE_MESSAGES = Query(
    'prune_messages',
    'DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < :before',
    'DELETE FROM messages WHERE acknowledged_at IS NOT NULL AND acknowledged_at < %(before)s',
)

# Compare and set: one at a time hands it out; who did so long ago without an acknowledgement has died over it.
HAND_OUT_MESSAGE = Query(
    'hand_out_message',
    'UPDATE messages SET delivered_at = :at, how = :how WHERE id = :id AND dispatch = :dispatch AND acknowledged_at IS NULL AND (delivered_at IS NULL OR delivered_at < :before)',
    'UPDATE messages SET delivered_at = %(at)s, how = %(how)s WHERE id = %(id)s AND dispatch = %(dispatch)s AND acknowledged_at IS NULL AND (delivered_at IS NULL OR delivered_at < %(before)s)',
)

MESSAGE_BY_ID = Query(
    'message_by_id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how, acknowledged_at FROM messages WHERE id = :id',
    'SELECT id, dispatch, kind, sender, text, sent_at, delivered_at, how, acknowledged_at FROM messages WHERE id = %(id)s',
)

# The sequence number of the operation about to be written, and what is stored under its key.
NEXT_OPERATION = Query(
    'next_operation',
    'SELECT COALESCE((SELECT MAX(seq) FROM operations), 0) + 1 AS seq, (SELECT why FROM operations WHERE key = :key) AS why, (SELECT request FROM operations WHERE key = :key) AS request, (SELECT result FROM operations WHERE key = :key) AS result',
    'SELECT COALESCE((SELECT MAX(seq) FROM operations), 0) + 1 AS seq, (SELECT why FROM operations WHERE key = %(key)s) AS why, (SELECT request FROM operations WHERE key = %(key)s) AS request, (SELECT result FROM operations WHERE key = %(key)s) AS result',
)

# One committed change.
WRITE_OPERATION = Query(
    'write_operation',
    'INSERT INTO operations (seq, key, at, actor, why, request, project, slug, dispatch, what, result) VALUES (:seq, :key, :at, :actor, :why, :request, :project, :slug, :dispatch, :what, :result)',
    'INSERT INTO operations (seq, key, at, actor, why, request, project, slug, dispatch, what, result) VALUES (%(seq)s, %(key)s, %(at)s, %(actor)s, %(why)s, %(request)s, %(project)s, %(slug)s, %(dispatch)s, %(what)s, %(result)s)',
)

# What was answered to a request, if it was committed.
OPERATION_BY_KEY = Query(
    'operation_by_key',
    'SELECT why, request, result FROM operations WHERE key = :key',
    'SELECT why, request, result FROM operations WHERE key = %(key)s',
)

# The newest sequence number, 0 in an empty store.
LAST_OPERATION = Query(
    'last_operation',
    'SELECT COALESCE(MAX(seq), 0) AS seq FROM operations',
    'SELECT COALESCE(MAX(seq), 0) AS seq FROM operations',
)

# What happened since a sequence number, oldest first.
OPERATIONS_AFTER = Query(
    'operations_after',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq > %(after)s AND seq <= %(until)s ORDER BY seq LIMIT %(most)s',
)

# The history of one task, newest first.
OPERATIONS_OF_TASK = Query(
    'operations_of_task',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE project = :project AND slug = :slug AND seq <= :until AND at >= :since AND at <= :before AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor) ORDER BY seq DESC LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE project = %(project)s AND slug = %(slug)s AND seq <= %(until)s AND at >= %(since)s AND at <= %(before)s AND (CAST(%(actor)s AS TEXT) IS NULL OR actor = %(actor)s) ORDER BY seq DESC LIMIT %(most)s',
)

# What one dispatch did or had done to it, newest first.
OPERATIONS_OF_DISPATCH = Query(
    'operations_of_dispatch',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE dispatch = :dispatch AND seq <= :until AND at >= :since AND at <= :before AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor) ORDER BY seq DESC LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE dispatch = %(dispatch)s AND seq <= %(until)s AND at >= %(since)s AND at <= %(before)s AND (CAST(%(actor)s AS TEXT) IS NULL OR actor = %(actor)s) ORDER BY seq DESC LIMIT %(most)s',
)

# What was done to one dispatch for one reason, oldest first.
OPERATIONS_BY_WHY = Query(
    'operations_by_why',
    'SELECT what FROM operations WHERE dispatch = :dispatch AND why = :why ORDER BY seq',
    'SELECT what FROM operations WHERE dispatch = %(dispatch)s AND why = %(why)s ORDER BY seq',
)

# Operations of all or one project, newest first.
OPERATIONS_MATCHING = Query(
    'operations_matching',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq <= :until AND at >= :since AND at <= :before AND (CAST(:actor AS TEXT) IS NULL OR actor = :actor) AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY seq DESC LIMIT :most',
    'SELECT seq, at, actor, why, project, slug, dispatch, what FROM operations WHERE seq <= %(until)s AND at >= %(since)s AND at <= %(before)s AND (CAST(%(actor)s AS TEXT) IS NULL OR actor = %(actor)s) AND (CAST(%(project)s AS TEXT) IS NULL OR project = %(project)s) ORDER BY seq DESC LIMIT %(most)s',
)

# The oldest operations before a time, whole and without a gap (clocks step back, sequences do not); never the newest one, which keeps the sequence going.
OPERATIONS_TO_ROTATE = Query(
    'operations_to_rotate',
    'SELECT seq, key, at, actor, why, request, project, slug, dispatch, what, result FROM operations WHERE seq < COALESCE((SELECT MIN(seq) FROM operations WHERE at >= :before), 9223372036854775807) AND seq < (SELECT MAX(seq) FROM operations) ORDER BY seq LIMIT :most',
    'SELECT seq, key, at, actor, why, request, project, slug, dispatch, what, result FROM operations WHERE seq < COALESCE((SELECT MIN(seq) FROM operations WHERE at >= %(before)s), 9223372036854775807) AND seq < (SELECT MAX(seq) FROM operations) ORDER BY seq LIMIT %(most)s',
)

# Whether anything happened in a project after a sequence number.
OPERATION_SINCE = Query(
    'operation_since',
    'SELECT seq FROM operations WHERE project = :project AND seq > :after LIMIT 1',
    'SELECT seq FROM operations WHERE project = %(project)s AND seq > %(after)s LIMIT 1',
)

# The keys of the operations from one sequence number to another.
OPERATION_KEYS = Query(
    'operation_keys',
    'SELECT key FROM operations WHERE seq >= :first AND seq <= :last',
    'SELECT key FROM operations WHERE seq >= %(first)s AND seq <= %(last)s',
)

# Operations that are safe in the archive.
FORGET_OPERATIONS = Query(
    'forget_operations',
    'DELETE FROM operations WHERE seq >= :first AND seq <= :last',
    'DELETE FROM operations WHERE seq >= %(first)s AND seq <= %(last)s',
)

# How many there are in the tables.
COUNT_OPERATIONS = Query(
    'count_operations',
    'SELECT COUNT(*) AS n FROM operations',
    'SELECT COUNT(*) AS n FROM operations',
)

# Register a repository.
ADD_PROJECT = Query(
    'add_project',
    'INSERT INTO projects (name, path, added_at) VALUES (:name, :path, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO projects (name, path, added_at) VALUES (%(name)s, %(path)s, %(at)s) ON CONFLICT DO NOTHING',
)

# One project.
PROJECT_BY_NAME = Query(
    'project_by_name',
    'SELECT name, path, added_at FROM projects WHERE name = :name',
    'SELECT name, path, added_at FROM projects WHERE name = %(name)s',
)

# The project of a repository.
PROJECT_BY_PATH = Query(
    'project_by_path',
    'SELECT name, path, added_at FROM projects WHERE path = :path',
    'SELECT name, path, added_at FROM projects WHERE path = %(path)s',
)

# All projects by name.
ALL_PROJECTS = Query(
    'all_projects',
    'SELECT name, path, added_at FROM projects ORDER BY name',
    'SELECT name, path, added_at FROM projects ORDER BY name',
)

# How many tasks each project has in each status; archived ones apart.
PROJECT_COUNTS = Query(
    'project_counts',
    'SELECT project, status, archived, COUNT(*) AS n FROM tasks WHERE job IS NULL GROUP BY project, status, archived',
    'SELECT project, status, archived, COUNT(*) AS n FROM tasks WHERE job IS NULL GROUP BY project, status, archived',
)

# How many tasks of each project could be started now.
READY_COUNTS = Query(
    'ready_counts',
    "SELECT project, COUNT(*) AS n FROM tasks WHERE status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= :now) GROUP BY project",
    "SELECT project, COUNT(*) AS n FROM tasks WHERE status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= %(now)s) GROUP BY project",
)

# Tasks of a project, and how many of them are in progress.
COUNT_TASKS = Query(
    'count_tasks',
    "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN status = 'in_progress' THEN 1 ELSE 0 END), 0) AS working FROM tasks WHERE project = :project",
    "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN status = 'in_progress' THEN 1 ELSE 0 END), 0) AS working FROM tasks WHERE project = %(project)s",
)

# Dispatches of a project that are still in the tables.
COUNT_DISPATCHES = Query(
    'count_dispatches',
    'SELECT COUNT(*) AS n FROM dispatches WHERE project = :project',
    'SELECT COUNT(*) AS n FROM dispatches WHERE project = %(project)s',
)

REMOVE_LOG = Query(
    'remove_log',
    'DELETE FROM task_log WHERE project = :project',
    'DELETE FROM task_log WHERE project = %(project)s',
)

REMOVE_ARTIFACTS = Query(
    'remove_artifacts',
    'DELETE FROM artifacts WHERE project = :project',
    'DELETE FROM artifacts WHERE project = %(project)s',
)

REMOVE_TAGS = Query(
    'remove_tags',
    'DELETE FROM tags WHERE project = :project',
    'DELETE FROM tags WHERE project = %(project)s',
)

REMOVE_EDGES = Query(
    'remove_edges',
    'DELETE FROM edges WHERE project = :project',
    'DELETE FROM edges WHERE project = %(project)s',
)

REMOVE_VERDICTS = Query(
    'remove_verdicts',
    'DELETE FROM verdicts WHERE project = :project',
    'DELETE FROM verdicts WHERE project = %(project)s',
)

REMOVE_TASKS = Query(
    'remove_tasks',
    'DELETE FROM tasks WHERE project = :project',
    'DELETE FROM tasks WHERE project = %(project)s',
)

REMOVE_SEAT = Query(
    'remove_seat',
    'DELETE FROM seats WHERE project = :project',
    'DELETE FROM seats WHERE project = %(project)s',
)

REMOVE_PROJECT = Query(
    'remove_project',
    'DELETE FROM projects WHERE name = :project',
    'DELETE FROM projects WHERE name = %(project)s',
)

REMOVE_SPAWN_FAILURES = Query(
    'remove_spawn_failures',
    'DELETE FROM spawn_failures WHERE project = :project',
    'DELETE FROM spawn_failures WHERE project = %(project)s',
)

# How many dispatches of each project are at work, and how many could not be reclaimed.
DISPATCH_COUNTS = Query(
    'dispatch_counts',
    "SELECT project, SUM(CASE WHEN exec_state IN ('pending', 'in_flight') THEN 1 ELSE 0 END) AS active, SUM(CASE WHEN recl_state IN ('partial', 'blocked') THEN 1 ELSE 0 END) AS blocked FROM dispatches GROUP BY project",
    "SELECT project, SUM(CASE WHEN exec_state IN ('pending', 'in_flight') THEN 1 ELSE 0 END) AS active, SUM(CASE WHEN recl_state IN ('partial', 'blocked') THEN 1 ELSE 0 END) AS blocked FROM dispatches GROUP BY project",
)

# Things that are still held although nobody needs them any more, counted by kind.
RECLAIM_TROUBLE = Query(
    'reclaim_trouble',
    "SELECT c.kind, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir' GROUP BY c.kind ORDER BY c.kind",
    "SELECT c.kind, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir' GROUP BY c.kind ORDER BY c.kind",
)

# A new task. Its count of open blockers is set once its edges are there.
ADD_TASK = Query(
    'add_task',
    'INSERT INTO tasks (project, slug, title, description, status, priority, paused, archived, not_before, verify, engine, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at) VALUES (:project, :slug, :title, :description, :status, :priority, :paused, :archived, :not_before, :verify, :engine, :assignee, :attempts, :reason, :open_blockers, :added_at, :changed_at, :started_at, :ended_at) ON CONFLICT DO NOTHING',
    'INSERT INTO tasks (project, slug, title, description, status, priority, paused, archived, not_before, verify, engine, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at) VALUES (%(project)s, %(slug)s, %(title)s, %(description)s, %(status)s, %(priority)s, %(paused)s, %(archived)s, %(not_before)s, %(verify)s, %(engine)s, %(assignee)s, %(attempts)s, %(reason)s, %(open_blockers)s, %(added_at)s, %(changed_at)s, %(started_at)s, %(ended_at)s) ON CONFLICT DO NOTHING',
)

# Whether a slug is taken.
TASK_EXISTS = Query(
    'task_exists',
    'SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT 1 AS yes FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
)

# What the table of steps and the fence need to know of a task, and whether somebody is at work on it.
TASK_STATE = Query(
    'task_state',
    "SELECT status, stage, assignee, archived, paused, not_before, open_blockers, started_at, attempts, fixes, merged, work, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) AS attempted FROM tasks WHERE project = :project AND slug = :slug",
    "SELECT status, stage, assignee, archived, paused, not_before, open_blockers, started_at, attempts, fixes, merged, work, EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug AND d.exec_state IN ('pending', 'in_flight')) AS attempted FROM tasks WHERE project = %(project)s AND slug = %(slug)s",
)

# Whether a task of any project is called so.
TASK_CALLED = Query(
    'task_called',
    'SELECT slug FROM tasks WHERE slug = :slug LIMIT 1',
    'SELECT slug FROM tasks WHERE slug = %(slug)s LIMIT 1',
)

# Everything in the task's own row.
TASK_WHOLE = Query(
    'task_whole',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
)

# Compare and set: only a ready task, only by one.
CLAIM_TASK = Query(
    'claim_task',
    "UPDATE tasks SET status = 'in_progress', assignee = :actor, attempts = attempts + 1, reason = NULL, started_at = :at, ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= :at)",
    "UPDATE tasks SET status = 'in_progress', assignee = %(actor)s, attempts = attempts + 1, reason = NULL, started_at = %(at)s, ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'open' AND paused = 0 AND open_blockers = 0 AND (not_before IS NULL OR not_before <= %(at)s)",
)

# A person claims an open task that is not ready.
CLAIM_TASK_ALL_THE_SAME = Query(
    'claim_task_all_the_same',
    "UPDATE tasks SET status = 'in_progress', assignee = :actor, attempts = attempts + 1, reason = NULL, started_at = :at, ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'open'",
    "UPDATE tasks SET status = 'in_progress', assignee = %(actor)s, attempts = attempts + 1, reason = NULL, started_at = %(at)s, ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'open'",
)

# A report or a person's word, fenced by the status and assignee it was decided on; done speaks of the commit that is there.
END_TASK = Query(
    'end_task',
    "UPDATE tasks SET status = :status, assignee = :assignee, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work), ended_at = :at, changed_at = :at WHERE project = :project AND slug = :slug AND status = :was AND COALESCE(assignee, '') = COALESCE(CAST(:was_assignee AS TEXT), '')",
    "UPDATE tasks SET status = %(status)s, assignee = %(assignee)s, reason = %(reason)s, work = COALESCE(CAST(%(work)s AS TEXT), work), ended_at = %(at)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = %(was)s AND COALESCE(assignee, '') = COALESCE(CAST(%(was_assignee)s AS TEXT), '')",
)

# Back to open, with nobody on it. What was blocked or failed goes on at its stage, and may be mended as often as a new one; anything else begins anew. The commit of its work is forgotten, unless somebody accepted it.
REOPEN_TASK = Query(
    'reopen_task',
    "UPDATE tasks SET status = 'open', assignee = NULL, started_at = NULL, ended_at = NULL, archived = 0, fixes = 0, merged = NULL, merged_at = NULL, changed_at = :at, pull_request = CASE WHEN merged IS NULL THEN pull_request END, stage = CASE WHEN status IN ('blocked', 'failed') THEN stage ELSE 'worker' END, reason = CASE WHEN status IN ('blocked', 'failed') AND stage IN ('fix', 'rebase') THEN reason END, work = CASE WHEN status IN ('blocked', 'failed') AND EXISTS (SELECT 1 FROM verdicts v WHERE v.project = tasks.project AND v.slug = tasks.slug AND v.verdict = 'accept') THEN work END WHERE project = :project AND slug = :slug AND status = :was",
    "UPDATE tasks SET status = 'open', assignee = NULL, started_at = NULL, ended_at = NULL, archived = 0, fixes = 0, merged = NULL, merged_at = NULL, changed_at = %(at)s, pull_request = CASE WHEN merged IS NULL THEN pull_request END, stage = CASE WHEN status IN ('blocked', 'failed') THEN stage ELSE 'worker' END, reason = CASE WHEN status IN ('blocked', 'failed') AND stage IN ('fix', 'rebase') THEN reason END, work = CASE WHEN status IN ('blocked', 'failed') AND EXISTS (SELECT 1 FROM verdicts v WHERE v.project = tasks.project AND v.slug = tasks.slug AND v.verdict = 'accept') THEN work END WHERE project = %(project)s AND slug = %(slug)s AND status = %(was)s",
)

# A dependency was satisfied (-1) or is open again (+1): tell those who wait for it.
SHIFT_BLOCKERS = Query(
    'shift_blockers',
    'UPDATE tasks SET open_blockers = open_blockers + :change WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project AND needs = :slug)',
    'UPDATE tasks SET open_blockers = open_blockers + %(change)s WHERE project = %(project)s AND slug IN (SELECT slug FROM edges WHERE project = %(project)s AND needs = %(slug)s)',
)

# Open tasks that waited for this one and for no other any more. Whether they are held back otherwise is told, not asked: with more conditions SQLite would go through all ready tasks instead of the few that waited.
FREED_BY = Query(
    'freed_by',
    "SELECT t.slug, t.paused, t.not_before FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.slug WHERE e.project = :project AND e.needs = :slug AND t.status = 'open' AND t.open_blockers = 0 ORDER BY t.priority DESC, t.added_at, t.slug LIMIT :most",
    "SELECT t.slug, t.paused, t.not_before FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.slug WHERE e.project = %(project)s AND e.needs = %(slug)s AND t.status = 'open' AND t.open_blockers = 0 ORDER BY t.priority DESC, t.added_at, t.slug LIMIT %(most)s",
)

# Count a task's open blockers anew, after its edges changed.
COUNT_BLOCKERS = Query(
    'count_blockers',
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = :project AND e.slug = :slug AND n.status NOT IN ('done', 'abandoned')), changed_at = :at WHERE project = :project AND slug = :slug",
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = %(project)s AND e.slug = %(slug)s AND n.status NOT IN ('done', 'abandoned')), changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s",
)

# Count every task's open blockers anew, after an import.
COUNT_ALL_BLOCKERS = Query(
    'count_all_blockers',
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = tasks.project AND e.slug = tasks.slug AND n.status NOT IN ('done', 'abandoned')) WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project)",
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = tasks.project AND e.slug = tasks.slug AND n.status NOT IN ('done', 'abandoned')) WHERE project = %(project)s AND slug IN (SELECT slug FROM edges WHERE project = %(project)s)",
)

# Tasks whose count of open blockers is not what their edges say. There should be none.
MISCOUNTED = Query(
    'miscounted',
    "SELECT t.project, t.slug, t.open_blockers AS kept, COUNT(n.slug) AS counted FROM tasks t LEFT JOIN edges e ON e.project = t.project AND e.slug = t.slug LEFT JOIN tasks n ON n.project = e.project AND n.slug = e.needs AND n.status NOT IN ('done', 'abandoned') GROUP BY t.project, t.slug, t.open_blockers HAVING t.open_blockers <> COUNT(n.slug)",
    "SELECT t.project, t.slug, t.open_blockers AS kept, COUNT(n.slug) AS counted FROM tasks t LEFT JOIN edges e ON e.project = t.project AND e.slug = t.slug LEFT JOIN tasks n ON n.project = e.project AND n.slug = e.needs AND n.status NOT IN ('done', 'abandoned') GROUP BY t.project, t.slug, t.open_blockers HAVING t.open_blockers <> COUNT(n.slug)",
)

# The fields a person may change.
EDIT_TASK = Query(
    'edit_task',
    'UPDATE tasks SET title = :title, description = :description, priority = :priority, not_before = :not_before, verify = :verify, engine = :engine, changed_at = :at WHERE project = :project AND slug = :slug',
    'UPDATE tasks SET title = %(title)s, description = %(description)s, priority = %(priority)s, not_before = %(not_before)s, verify = %(verify)s, engine = %(engine)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s',
)

# Hold a task back, or let it go on.
PAUSE_TASK = Query(
    'pause_task',
    'UPDATE tasks SET paused = :paused, changed_at = :at WHERE project = :project AND slug = :slug AND paused <> :paused',
    'UPDATE tasks SET paused = %(paused)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND paused <> %(paused)s',
)

# Put an ended task out of sight.
ARCHIVE_TASK = Query(
    'archive_task',
    "UPDATE tasks SET archived = 1, changed_at = :at WHERE project = :project AND slug = :slug AND archived = 0 AND status IN ('done', 'failed', 'abandoned')",
    "UPDATE tasks SET archived = 1, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND archived = 0 AND status IN ('done', 'failed', 'abandoned')",
)

# Put every task that ended before a time out of sight.
ARCHIVE_ENDED_TASKS = Query(
    'archive_ended_tasks',
    "UPDATE tasks SET archived = 1, changed_at = :at WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('done', 'failed', 'abandoned') AND ended_at <= :before",
    "UPDATE tasks SET archived = 1, changed_at = %(at)s WHERE project = %(project)s AND archived = 0 AND job IS NULL AND status IN ('done', 'failed', 'abandoned') AND ended_at <= %(before)s",
)

# Tasks that failed or were abandoned before a time and are still in sight. Done ones wait for their merge.
LONG_ENDED_TASKS = Query(
    'long_ended_tasks',
    "SELECT slug, status, ended_at FROM tasks WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= :before ORDER BY ended_at, slug",
    "SELECT slug, status, ended_at FROM tasks WHERE project = %(project)s AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= %(before)s ORDER BY ended_at, slug",
)

# Compare and set: put one of them out of sight, unless it was taken up again meanwhile.
ARCHIVE_LONG_ENDED_TASK = Query(
    'archive_long_ended_task',
    "UPDATE tasks SET archived = 1, changed_at = :at WHERE project = :project AND slug = :slug AND archived = 0 AND status IN ('failed', 'abandoned') AND ended_at <= :before",
    "UPDATE tasks SET archived = 1, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND archived = 0 AND status IN ('failed', 'abandoned') AND ended_at <= %(before)s",
)

# One message.
ADD_LOG = Query(
    'add_log',
    'INSERT INTO task_log (project, slug, seq, at, actor, message) VALUES (:project, :slug, :seq, :at, :actor, :message)',
    'INSERT INTO task_log (project, slug, seq, at, actor, message) VALUES (%(project)s, %(slug)s, %(seq)s, %(at)s, %(actor)s, %(message)s)',
)

# What was said, oldest first.
TASK_LOG = Query(
    'task_log',
    'SELECT at, actor, message FROM task_log WHERE project = :project AND slug = :slug ORDER BY seq',
    'SELECT at, actor, message FROM task_log WHERE project = %(project)s AND slug = %(slug)s ORDER BY seq',
)

# A path that a task made. The same again is fine.
ADD_ARTIFACT = Query(
    'add_artifact',
    'INSERT INTO artifacts (project, slug, path, at, actor) VALUES (:project, :slug, :path, :at, :actor) ON CONFLICT DO NOTHING',
    'INSERT INTO artifacts (project, slug, path, at, actor) VALUES (%(project)s, %(slug)s, %(path)s, %(at)s, %(actor)s) ON CONFLICT DO NOTHING',
)

# What a task made.
TASK_ARTIFACTS = Query(
    'task_artifacts',
    'SELECT path, at, actor FROM artifacts WHERE project = :project AND slug = :slug ORDER BY path',
    'SELECT path, at, actor FROM artifacts WHERE project = %(project)s AND slug = %(slug)s ORDER BY path',
)

ADD_TAG = Query(
    'add_tag',
    'INSERT INTO tags (project, slug, tag) VALUES (:project, :slug, :tag) ON CONFLICT DO NOTHING',
    'INSERT INTO tags (project, slug, tag) VALUES (%(project)s, %(slug)s, %(tag)s) ON CONFLICT DO NOTHING',
)

DROP_TAG = Query(
    'drop_tag',
    'DELETE FROM tags WHERE project = :project AND slug = :slug AND tag = :tag',
    'DELETE FROM tags WHERE project = %(project)s AND slug = %(slug)s AND tag = %(tag)s',
)

TASK_TAGS = Query(
    'task_tags',
    'SELECT tag FROM tags WHERE project = :project AND slug = :slug ORDER BY tag',
    'SELECT tag FROM tags WHERE project = %(project)s AND slug = %(slug)s ORDER BY tag',
)

# slug waits for needs.
ADD_EDGE = Query(
    'add_edge',
    'INSERT INTO edges (project, slug, needs) VALUES (:project, :slug, :needs) ON CONFLICT DO NOTHING',
    'INSERT INTO edges (project, slug, needs) VALUES (%(project)s, %(slug)s, %(needs)s) ON CONFLICT DO NOTHING',
)

DROP_EDGE = Query(
    'drop_edge',
    'DELETE FROM edges WHERE project = :project AND slug = :slug AND needs = :needs',
    'DELETE FROM edges WHERE project = %(project)s AND slug = %(slug)s AND needs = %(needs)s',
)

# What a task waits for, and how far that is.
TASK_NEEDS = Query(
    'task_needs',
    'SELECT e.needs AS slug, n.title, n.status, n.assignee, n.reason, n.paused, n.not_before, n.open_blockers FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = :project AND e.slug = :slug ORDER BY e.needs',
    'SELECT e.needs AS slug, n.title, n.status, n.assignee, n.reason, n.paused, n.not_before, n.open_blockers FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = %(project)s AND e.slug = %(slug)s ORDER BY e.needs',
)

# Who waits for a task.
TASK_DEPENDENTS = Query(
    'task_dependents',
    'SELECT slug FROM edges WHERE project = :project AND needs = :slug ORDER BY slug',
    'SELECT slug FROM edges WHERE project = %(project)s AND needs = %(slug)s ORDER BY slug',
)

# The edges of everything that a task waits for, near and far.
ANCESTORS = Query(
    'ancestors',
    'WITH RECURSIVE above (slug) AS ( SELECT needs FROM edges WHERE project = :project AND slug = :slug UNION SELECT e.needs FROM edges e JOIN above a ON e.slug = a.slug WHERE e.project = :project ) SELECT slug, needs FROM edges WHERE project = :project AND (slug = :slug OR slug IN (SELECT slug FROM above)) ORDER BY slug, needs',
    'WITH RECURSIVE above (slug) AS ( SELECT needs FROM edges WHERE project = %(project)s AND slug = %(slug)s UNION SELECT e.needs FROM edges e JOIN above a ON e.slug = a.slug WHERE e.project = %(project)s ) SELECT slug, needs FROM edges WHERE project = %(project)s AND (slug = %(slug)s OR slug IN (SELECT slug FROM above)) ORDER BY slug, needs',
)

# The intent to put ignored files of a worktree aside.
ADD_TRASH = Query(
    'add_trash',
    'INSERT INTO trash (id, project, slug, claim, home, name, path, why, files, bytes, at, until) VALUES (:id, :project, :slug, :claim, :home, :name, :path, :why, :files, :bytes, :at, :until) ON CONFLICT DO NOTHING',
    'INSERT INTO trash (id, project, slug, claim, home, name, path, why, files, bytes, at, until) VALUES (%(id)s, %(project)s, %(slug)s, %(claim)s, %(home)s, %(name)s, %(path)s, %(why)s, %(files)s, %(bytes)s, %(at)s, %(until)s) ON CONFLICT DO NOTHING',
)

# All its files are there: so many as are found there.
NOTE_TRASH_MOVED = Query(
    'note_trash_moved',
    'UPDATE trash SET moved_at = :at, files = :files, bytes = :bytes WHERE id = :id AND moved_at IS NULL AND gone_at IS NULL',
    'UPDATE trash SET moved_at = %(at)s, files = %(files)s, bytes = %(bytes)s WHERE id = %(id)s AND moved_at IS NULL AND gone_at IS NULL',
)

# Some of its files went back: so many are left.
COUNT_TRASH = Query(
    'count_trash',
    'UPDATE trash SET files = :files, bytes = :bytes WHERE id = :id AND gone_at IS NULL',
    'UPDATE trash SET files = %(files)s, bytes = %(bytes)s WHERE id = %(id)s AND gone_at IS NULL',
)

# It was deleted, or its files went back.
END_TRASH = Query(
    'end_trash',
    'UPDATE trash SET gone_at = :at WHERE id = :id AND gone_at IS NULL',
    'UPDATE trash SET gone_at = %(at)s WHERE id = %(id)s AND gone_at IS NULL',
)

# What a home has put aside and not deleted yet, first to expire first; whether its worktree's claim is still open.
KEPT_TRASH = Query(
    'kept_trash',
    "SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.id = t.claim AND c.state <> 'released') THEN 1 ELSE 0 END AS held FROM trash t WHERE t.home = :home AND t.gone_at IS NULL ORDER BY t.until, t.id",
    "SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.id = t.claim AND c.state <> 'released') THEN 1 ELSE 0 END AS held FROM trash t WHERE t.home = %(home)s AND t.gone_at IS NULL ORDER BY t.until, t.id",
)

# What was put aside of one worktree that is not gone yet.
TRASH_OF_CLAIM = Query(
    'trash_of_claim',
    'SELECT * FROM trash WHERE claim = :claim AND home = :home AND gone_at IS NULL ORDER BY at, id',
    'SELECT * FROM trash WHERE claim = %(claim)s AND home = %(home)s AND gone_at IS NULL ORDER BY at, id',
)

# What was put aside of a task's worktrees.
TRASH_OF_TASK = Query(
    'trash_of_task',
    'SELECT * FROM trash WHERE project = :project AND slug = :slug AND home = :home AND gone_at IS NULL ORDER BY at, id',
    'SELECT * FROM trash WHERE project = %(project)s AND slug = %(slug)s AND home = %(home)s AND gone_at IS NULL ORDER BY at, id',
)

# How much a home has put aside.
TRASH_SIZE = Query(
    'trash_size',
    'SELECT COALESCE(SUM(bytes), 0) AS n FROM trash WHERE home = :home AND gone_at IS NULL',
    'SELECT COALESCE(SUM(bytes), 0) AS n FROM trash WHERE home = %(home)s AND gone_at IS NULL',
)
