-- name: standing_notices
-- Notices whose condition still holds.
-- returns: Notice*
SELECT * FROM notices WHERE over_at IS NULL;

-- name: add_notice
-- Add a notice for a condition that has begun, unless that condition has a notice already: one that has not ended, or, if
-- `is_unique`, any.
-- takes: is_unique int
INSERT INTO notices (id, subject, kind, state, home, project, slug, dispatch, question, title, body, since, seen_at)
SELECT CAST(:id AS TEXT), CAST(:subject AS TEXT), CAST(:kind AS TEXT), CAST(:state AS TEXT), CAST(:home AS TEXT),
       CAST(:project AS TEXT), CAST(:slug AS TEXT), CAST(:dispatch AS TEXT), CAST(:question AS TEXT), CAST(:title AS TEXT),
       CAST(:body AS TEXT), CAST(:since AS BIGINT), CAST(:at AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM notices n WHERE n.subject = :subject AND (n.over_at IS NULL OR :is_unique = 1))
ON CONFLICT DO NOTHING;

-- name: end_notice
-- Record that the condition of a notice has ended.
UPDATE notices SET over_at = :at WHERE id = :id AND over_at IS NULL;

-- name: step_ended_notice
-- Compare and set: change the state of a notice whose condition has ended.
UPDATE notices SET state = :after WHERE id = :id AND state = :before AND over_at IS NOT NULL;

-- name: due_notices
-- Notices to send now, oldest first. A `next_at` after `latest` was set while the clock was ahead, and counts as reached.
-- returns: Notice*
SELECT * FROM notices WHERE state = 'due' AND (next_at <= :now OR next_at > :latest) ORDER BY since, id LIMIT :most;

-- name: notices_of_lost_senders
-- Notices that are marked as being sent by a home. The caller knows that no process of that home is sending now.
-- returns: Notice*
SELECT * FROM notices WHERE state = 'sending' AND sender = :sender;

-- name: take_notice
-- Compare and set: take a notice for sending, so that one process sends it.
UPDATE notices SET state = :after, message = :message, sender = :sender, attempts = attempts + 1
WHERE id = :id AND state = :before;

-- name: record_sending
-- Compare and set: record the result of sending the message of a notice.
UPDATE notices SET state = :after, sender = NULL, told_at = :told_at, channels = :channels, trouble = :trouble,
                   next_at = :next_at
WHERE id = :id AND state = :before AND message = :message;

-- name: messages_since
-- The messages that were sent between two times, and how many notices each of them contained.
-- returns: SentMessage*
-- column: message str
SELECT message, COUNT(*) AS n FROM notices WHERE told_at > :since AND told_at <= :now AND message IS NOT NULL GROUP BY message;

-- name: newest_notices
-- Notices, newest first.
-- returns: Notice*
SELECT * FROM notices ORDER BY seen_at DESC, id LIMIT :most;

-- name: forget_notices
-- Delete notices of ended conditions, except those that are still to be sent and the newest ones.
DELETE FROM notices WHERE over_at IS NOT NULL AND state NOT IN ('due', 'sending')
  AND id NOT IN (SELECT n.id FROM notices n ORDER BY n.seen_at DESC, n.id LIMIT :most);

-- name: dispatches_of_other_homes
-- Unfinished dispatches of other homes that share this store.
-- returns: DispatchIdent*
SELECT id FROM dispatches WHERE exec_state IN ('pending', 'in_flight') AND home IS NOT NULL AND home <> :home;

-- name: count_notices
-- How many notices there are.
-- returns: Count!
SELECT COUNT(*) AS n FROM notices;

-- name: failed_task_news
-- Tasks that failed after a time.
-- returns: FailedTaskNews*
-- column: ended_at int
SELECT project, slug, title, reason, assignee, ended_at FROM tasks
WHERE status = 'failed' AND archived = 0 AND job IS NULL AND ended_at > :since;

-- name: failed_jobs
-- Jobs that failed after a time.
-- returns: FailedJob*
-- column: ended_at int
SELECT id, project, name, reason, ended_at FROM jobs WHERE state = 'failed' AND ended_at > :since;
