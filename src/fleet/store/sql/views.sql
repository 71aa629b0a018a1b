-- name: review_queue
-- Tasks whose work waits for a review and on which no dispatch works, most urgent first.
-- returns: QueuedReview*
SELECT project, slug, title, status, assignee, fixes, reason, priority, changed_at FROM tasks
WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL
  AND (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY priority DESC, changed_at, project, slug LIMIT :most;

-- name: add_verdict
-- Record a reviewer's verdict. `counted` is 0 for a verdict that decides nothing, because another one came first or the reviewer was
-- superseded; its comments are kept.
INSERT INTO verdicts (project, slug, seq, at, actor, verdict, comments, work, counted)
VALUES (:project, :slug, :seq, :at, :actor, :verdict, :comments, :work, :counted);

-- name: accepted_work
-- Whether a commit of a task's work was accepted by a review.
-- returns: Existence?
SELECT 1 AS yes FROM verdicts WHERE project = :project AND slug = :slug AND verdict = 'accept' AND work = :work AND counted = 1 LIMIT 1;

-- name: verdicts_of
-- The verdicts on a task's work, oldest first.
-- returns: Verdict*
SELECT at, actor, verdict, comments, work, counted FROM verdicts WHERE project = :project AND slug = :slug ORDER BY seq;

-- name: judge_task
-- Compare and set: move a task under review to its next stage, or send it back, and record the commit that the verdict is
-- about.
UPDATE tasks SET status = :after, stage = :stage, reason = :reason, work = COALESCE(CAST(:work AS TEXT), work),
                 assignee = COALESCE(assignee, :actor), changed_at = :at
WHERE project = :project AND slug = :slug AND stage = 'review' AND status = :before
  AND COALESCE(assignee, '') = COALESCE(CAST(:assignee AS TEXT), '');

-- name: pull_request_of
-- The pull request of a task, and the task's state.
-- returns: PullRequest?
SELECT title, description, status, stage, pull_request, merged FROM tasks WHERE project = :project AND slug = :slug;

-- name: set_pull_request
-- Compare and set: set the address of a task's only pull request.
UPDATE tasks SET pull_request = :pull_request, changed_at = :at
WHERE project = :project AND slug = :slug AND COALESCE(pull_request, '') = COALESCE(CAST(:was AS TEXT), '');

-- name: tasks_to_pull
-- Tasks at their last stage, without an unfinished dispatch: those with a pull request, and those that may get one.
-- returns: TaskToPull*
SELECT slug, pull_request FROM tasks
WHERE project = :project AND merged IS NULL AND archived = 0 AND job IS NULL
  AND (status = 'done' OR (status IN ('in_progress', 'open') AND stage = 'finisher'))
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY priority DESC, changed_at, slug;

-- name: merged_since
-- Tasks that were merged since a time, oldest first.
-- returns: MergedTask*
-- column: merged str
-- column: merged_at int
SELECT project, slug, title, merged, merged_at FROM tasks
WHERE merged_at >= :since AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY merged_at, project, slug;

-- name: settled_since
-- The operations that settled dispatches since a time, oldest first.
-- returns: SettledDispatch*
-- column: project str
-- column: dispatch str
SELECT at, project, slug, dispatch, what FROM operations
WHERE at >= :since AND why LIKE 'settle %' AND (CAST(:project AS TEXT) IS NULL OR project = :project) ORDER BY seq;

-- name: archived_since
-- The operations that archived journals since a time, with what the agents had spent.
-- returns: ArchivedDispatch*
-- column: dispatch str
SELECT dispatch, what FROM operations
WHERE at >= :since AND why LIKE 'archive %' AND dispatch IS NOT NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project);

-- name: spending
-- What each agent has spent that worked since a time and whose record is still in the tables.
-- returns: Spending*
SELECT a.dispatch, a.tokens, a.cost FROM agents a JOIN dispatches d ON d.id = a.dispatch
WHERE (a.archived_at IS NULL OR a.archived_at >= :since) AND (CAST(:project AS TEXT) IS NULL OR d.project = :project);

-- name: waiting_questions
-- Unanswered questions of agents to a person, oldest first.
-- returns: WaitingQuestion*
SELECT u.id, u.dispatch, u.kind, u.text, u.command, u.asked_at, d.project, d.slug FROM questions u
JOIN dispatches d ON d.id = u.dispatch
WHERE u.closed_at IS NULL AND u.answered_at IS NULL AND d.exec_state IN ('pending', 'in_flight') ORDER BY u.asked_at, u.id;

-- name: blocked_tasks
-- Blocked tasks, newest first, without those listed elsewhere: reviews, and tasks parked because handoffs brought no
-- progress.
-- returns: ParkedTask*
SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks
WHERE status = 'blocked' AND job IS NULL AND stage <> 'review' AND (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.project = tasks.project AND h.slug = tasks.slug AND h.dispatch = tasks.assignee
                  AND h.parked_at IS NOT NULL)
ORDER BY changed_at DESC, project, slug LIMIT :most;

-- name: early_tasks
-- Open tasks that wait for a time, newest first.
-- returns: ParkedTask*
SELECT project, slug, title, status, stage, reason, not_before, changed_at FROM tasks
WHERE status = 'open' AND job IS NULL AND not_before > :now AND (CAST(:project AS TEXT) IS NULL OR project = :project)
ORDER BY changed_at DESC, project, slug LIMIT :most;

-- name: failed_tasks
-- Failed tasks, newest first.
-- returns: FailedTask*
SELECT project, slug, title, reason, changed_at FROM tasks
WHERE status = 'failed' AND archived = 0 AND job IS NULL AND (CAST(:project AS TEXT) IS NULL OR project = :project)
ORDER BY changed_at DESC, project, slug LIMIT :most;

-- name: claimed_tasks
-- Tasks in progress without an agent at work that wait for neither a review nor a merge, oldest first.
-- returns: TaskOnHand*
-- column: assignee str
SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request FROM tasks
WHERE status = 'in_progress' AND job IS NULL AND stage NOT IN ('review', 'finisher') AND (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY started_at, project, slug LIMIT :most;

-- name: tasks_to_merge
-- Tasks in progress that only have to be merged and on which no agent works, oldest first.
-- returns: TaskOnHand*
-- column: assignee str
SELECT project, slug, title, stage, assignee, started_at, changed_at, pull_request FROM tasks
WHERE status = 'in_progress' AND job IS NULL AND stage = 'finisher' AND (CAST(:project AS TEXT) IS NULL OR project = :project)
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))
ORDER BY started_at, project, slug LIMIT :most;

-- name: slugs_in_progress
-- The slugs of a project's tasks that are in progress.
-- returns: TaskSlug*
SELECT slug FROM tasks WHERE project = :project AND status = 'in_progress' AND job IS NULL;

-- name: titles_of_attempts
-- The titles of the tasks that have an unfinished dispatch.
-- returns: AttemptTitle*
SELECT t.project, t.slug, t.title FROM dispatches d CROSS JOIN tasks t
WHERE d.exec_state IN ('pending', 'in_flight') AND t.project = d.project AND t.slug = d.slug;

-- name: unmerged_tasks
-- Tasks that a person reported done and whose work, by an agent, is not merged.
-- returns: UnmergedTask*
SELECT t.project, t.slug, t.title, t.pull_request, t.changed_at FROM bundles b CROSS JOIN tasks t
WHERE t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0
  AND t.job IS NULL AND (CAST(:project AS TEXT) IS NULL OR b.project = :project)
ORDER BY t.changed_at, t.project, t.slug LIMIT :most;

-- name: projects_to_merge
-- The projects that have a task in `tasks_to_merge` or in `unmerged_tasks`.
-- returns: ProjectName*
SELECT p.name FROM projects p
WHERE EXISTS (SELECT 1 FROM tasks WHERE tasks.status = 'in_progress' AND tasks.job IS NULL AND tasks.stage = 'finisher'
              AND tasks.project = p.name
              AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                              AND d.exec_state IN ('pending', 'in_flight')))
   OR EXISTS (SELECT 1 FROM bundles b CROSS JOIN tasks t
              WHERE b.project = p.name AND t.project = b.project AND t.slug = b.slug AND t.status = 'done'
                AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL);

-- name: page_counts
-- How many entries the lists of the status page would have without a limit.
-- returns: PageCount!
-- column: review int
-- column: failed int
-- column: blocked int
-- column: early int
-- column: claimed int
-- column: to_merge int
-- column: unmerged int
SELECT
  (SELECT COUNT(*) FROM tasks WHERE stage = 'review' AND status IN ('in_progress', 'blocked', 'open') AND archived = 0 AND job IS NULL
     AND (CAST(:project AS TEXT) IS NULL OR project = :project)
     AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))) AS review,
  (SELECT COUNT(*) FROM tasks WHERE status = 'failed' AND archived = 0 AND job IS NULL
     AND (CAST(:project AS TEXT) IS NULL OR project = :project)) AS failed,
  (SELECT COUNT(*) FROM tasks WHERE status = 'blocked' AND job IS NULL AND stage <> 'review'
     AND (CAST(:project AS TEXT) IS NULL OR project = :project)
     AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.project = tasks.project AND h.slug = tasks.slug AND h.dispatch = tasks.assignee
                  AND h.parked_at IS NOT NULL)) AS blocked,
  (SELECT COUNT(*) FROM tasks WHERE status = 'open' AND job IS NULL AND not_before > :now
     AND (CAST(:project AS TEXT) IS NULL OR project = :project)) AS early,
  (SELECT COUNT(*) FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage NOT IN ('review', 'finisher')
     AND (CAST(:project AS TEXT) IS NULL OR project = :project)
     AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))) AS claimed,
  (SELECT COUNT(*) FROM tasks WHERE status = 'in_progress' AND job IS NULL AND stage = 'finisher'
     AND (CAST(:project AS TEXT) IS NULL OR project = :project)
     AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.project = tasks.project AND d.slug = tasks.slug
                  AND d.exec_state IN ('pending', 'in_flight'))) AS to_merge,
  (SELECT COUNT(*) FROM bundles b CROSS JOIN tasks t
   WHERE t.project = b.project AND t.slug = b.slug AND t.status = 'done' AND t.merged IS NULL AND t.archived = 0 AND t.job IS NULL
     AND (CAST(:project AS TEXT) IS NULL OR b.project = :project)) AS unmerged;

-- name: all_holds
-- The engines that are held, for the status page.
-- returns: EngineHold*
SELECT engine, kind, reason, since, until FROM holds ORDER BY engine;

-- name: claims_elsewhere
-- Claims that this home cannot release: of another home, of another host, or (recorded before homes had ids) of another tmux
-- socket.
-- returns: ClaimsElsewhere*
SELECT c.host, c.home, COALESCE(d.tmux_socket, '') AS tmux_socket, h.path, h.name, COUNT(*) AS n FROM claims c
LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN homes h ON h.id = c.home
WHERE c.state <> 'released' AND (c.host <> :host OR (c.home IS NOT NULL AND c.home <> :home)
  OR (c.home IS NULL AND d.tmux_socket IS NOT NULL AND d.tmux_socket <> :socket))
GROUP BY c.host, c.home, d.tmux_socket, h.path, h.name ORDER BY c.host, c.home, d.tmux_socket;

-- name: step_facts
-- The facts that decide the next step of each of these tasks, with the ended dispatch that could be resumed. `projects` and
-- `slugs` are lists of names, each name padded with spaces to `width`.
-- returns: StepFacts*
-- takes: count int
-- takes: width int
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count)
SELECT t.project, t.slug, t.status, t.stage, t.paused, t.archived, t.not_before, t.open_blockers, t.fixes, t.assignee, t.work,
       t.merged, t.job, t.pull_request,
       EXISTS (SELECT 1 FROM dispatches a WHERE a.project = t.project AND a.slug = t.slug
               AND a.exec_state IN ('pending', 'in_flight')) AS attempted,
       EXISTS (SELECT 1 FROM bundles b WHERE b.project = t.project AND b.slug = t.slug) AS bundled,
       EXISTS (SELECT 1 FROM ids i WHERE i.id = t.assignee) AS is_agents,
       EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = t.assignee AND h.state = 'queued') AS is_handed,
       EXISTS (SELECT 1 FROM handoffs h WHERE h.dispatch = t.assignee AND h.parked_at IS NOT NULL) AS is_parked,
       (SELECT u.id FROM questions u WHERE u.dispatch = t.assignee AND u.closed_at IS NULL AND u.answered_at IS NULL
        ORDER BY u.asked_at, u.id LIMIT 1) AS question,
       d.kind AS left_kind, d.exec_state, d.report, d.asked_for, d.blocked_reason, d.launched_at, d.resumes,
       d.home, d.host, d.tmux_socket
FROM numbers CROSS JOIN tasks t LEFT JOIN dispatches d ON d.id = t.assignee AND d.project = t.project AND d.slug = t.slug
  AND t.status IN ('blocked', 'failed') AND t.archived = 0 AND t.paused = 0 AND t.job IS NULL
  AND d.exec_state IN ('blocked', 'failed') AND d.kind <> 'finisher'
WHERE t.project = RTRIM(SUBSTR(CAST(:projects AS TEXT), CAST(n * :width + 1 AS INTEGER), CAST(:width AS INTEGER)))
  AND t.slug = RTRIM(SUBSTR(CAST(:slugs AS TEXT), CAST(n * :width + 1 AS INTEGER), CAST(:width AS INTEGER)));

-- name: shown_tasks
-- All tasks that are not archived or were merged since a time, for the screen: by project, the most urgent first.
-- returns: ShownTask*
SELECT t.project, t.slug, t.title, t.status, t.stage, t.paused, t.not_before, t.open_blockers, t.assignee, t.reason, t.changed_at, t.merged,
       b.owner AS bundle FROM tasks t LEFT JOIN bundles b ON b.project = t.project AND b.slug = t.slug
WHERE (t.archived = 0 OR t.merged_at > :since) AND t.job IS NULL ORDER BY t.project, t.priority DESC, t.changed_at DESC, t.slug;

-- name: kept_things
-- Unreleased claims that nobody needs any more, each with its name; worker directories are left out. `bundle` is the dispatch
-- that had the bundle last, for a claim of a bundle.
-- returns: KeptThing*
SELECT c.kind, c.name, c.state, c.dispatch, COALESCE(d.project, c.project) AS project, COALESCE(d.slug, c.slug) AS slug,
       c.updated_at, b.owner AS bundle FROM claims c
LEFT JOIN dispatches d ON d.id = c.dispatch
LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug
LEFT JOIN bundles b ON b.project = t.project AND b.slug = t.slug
WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir'
ORDER BY c.kind, c.name;

-- name: launches_and_ends
-- The operations that launched and settled dispatches since a time, oldest first. For a coordinator that the daemon runs, the
-- operation that dispatched it counts as its launch.
-- returns: LaunchOrEnd*
SELECT at, why, project, slug, dispatch, what FROM operations
WHERE at >= :since AND (why LIKE 'launch %' OR why LIKE 'settle %' OR why LIKE 'dispatch % as a duty of the daemon') ORDER BY seq;
