-- name: add_claim
-- Record the intent to create a resource; add no row when another claim holds the resource.
INSERT INTO claims (id, dispatch, project, slug, job, host, home, kind, name, actor, effect_lock, data, created_at, updated_at)
VALUES (:id, :dispatch, :project, :slug, :job, :host, :home, :kind, :name, :actor, :effect_lock, :data, :at, :at)
ON CONFLICT DO NOTHING;

-- name: step_claim
-- Compare and set: change a claim's state.
UPDATE claims SET state = :after, updated_at = :at WHERE id = :id AND state = :before;

-- name: let_go_claim
-- Compare and set: record the intent to remove a resource and the process that does it, unless the claim got a new owner
-- meanwhile. `owner` is the dispatch that owns the claim, '' for none.
UPDATE claims SET state = :after, actor = :actor, updated_at = :at
WHERE id = :id AND state = :before AND actor = :was AND COALESCE(dispatch, '') = :owner;

-- name: retake_claim
-- Compare and set: let another process finish what a dead one began to create, or create it anew.
UPDATE claims SET state = :after, actor = :actor, data = :data, updated_at = :at
WHERE id = :id AND state = :before AND actor = :was;

-- name: fail_release
-- Count a failed release of a claim; no process works on it any more.
UPDATE claims SET failures = failures + 1, failed_at = :at, state = :after, actor = '', updated_at = :at
WHERE id = :id AND state = :before;

-- name: note_made
-- Mark the claims of a dispatch and of the bundle that it owns as live: its session, which is made last, runs, so everything
-- before it exists.
UPDATE claims SET state = :after, updated_at = :at
WHERE (state = 'allocating' AND (dispatch = :dispatch OR (dispatch IS NULL AND project = :project AND slug = :slug
    AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = :project AND b.slug = :slug AND b.owner = :dispatch))))
   OR (state = 'failed_alloc' AND dispatch = :dispatch AND kind = 'tmux_session');

-- name: fail_making
-- Record that a resource could not be created; no process works on its claim any more.
UPDATE claims SET state = :after, actor = '', updated_at = :at WHERE id = :id AND state = :before;

-- name: free_ports
-- Free the blocks of ports whose worktrees are released.
DELETE FROM ports WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = ports.claim AND c.state <> 'released');

-- name: taken_ports
-- The blocks of ports that worktrees on a host have been given.
-- returns: PortBlock*
SELECT base, size FROM ports WHERE host = :host ORDER BY base;

-- name: add_ports
-- Give a block of ports to the claim of a worktree.
INSERT INTO ports (claim, host, base, size) VALUES (:claim, :host, :base, :size) ON CONFLICT DO NOTHING;

-- name: ports_of_bundle
-- The block of ports of a task's worktree.
-- returns: PortBlock?
SELECT p.base, p.size FROM ports p JOIN claims c ON c.id = p.claim
WHERE c.project = :project AND c.slug = :slug AND c.state <> 'released' AND c.dispatch IS NULL AND c.kind = 'worktree';

-- name: held_claim
-- The claim that holds a resource, if one does.
-- returns: Claim?
SELECT * FROM claims WHERE host = :host AND kind = :kind AND name = :name
  AND state IN ('allocating', 'live', 'releasing', 'releasing_blocked');

-- name: claims_of_dispatch
-- All claims of a dispatch, released ones too.
-- returns: Claim*
SELECT * FROM claims WHERE dispatch = :dispatch ORDER BY created_at, id;

-- name: claims_of_bundle
-- The unreleased claims of a task's bundle.
-- returns: Claim*
SELECT * FROM claims WHERE project = :project AND slug = :slug AND state <> 'released' AND dispatch IS NULL
ORDER BY created_at, id;

-- name: open_claims_of_job
-- The unreleased claims on processes that runners of a job started themselves.
-- returns: Claim*
SELECT * FROM claims WHERE job = :job AND state <> 'released' ORDER BY created_at, id;

-- name: open_claims_of_jobs
-- The unreleased claims on processes that runners of any job started themselves.
-- returns: Claim*
SELECT * FROM claims WHERE job IS NOT NULL AND state <> 'released' ORDER BY created_at, id;

-- name: forget_released_of_job
-- Delete the released claims of a job.
DELETE FROM claims WHERE job = :job AND state = 'released';

-- name: open_claims
-- Every claim that is not released, oldest first.
-- returns: Claim*
SELECT * FROM claims WHERE state <> 'released' ORDER BY created_at, id;

-- name: forget_released_of_bundle
-- Delete the released claims of a task's bundle.
DELETE FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'released';

-- name: bundle_of
-- A task's bundle.
-- returns: Bundle?
SELECT * FROM bundles WHERE project = :project AND slug = :slug;

-- name: add_bundle
-- Record a task's bundle with its first owner.
INSERT INTO bundles (project, slug, host, owner, generation) VALUES (:project, :slug, :host, :owner, 1) ON CONFLICT DO NOTHING;

-- name: adopt_bundle
-- Compare and set: give a bundle to another owner; the generation only grows.
UPDATE bundles SET owner = :owner, host = :host, generation = generation + 1
WHERE project = :project AND slug = :slug AND owner = :was AND generation = :generation;

-- name: add_adoption
-- Record that a dispatch has become the owner of a task's bundle.
INSERT INTO adoptions (project, slug, generation, dispatch, kind, adopted_at)
VALUES (:project, :slug, :generation, :dispatch, :kind, :at);

-- name: end_adoption
-- Record that a dispatch no longer owns a task's bundle.
UPDATE adoptions SET released_at = :at WHERE project = :project AND slug = :slug AND dispatch = :dispatch AND released_at IS NULL;

-- name: adoptions_of
-- The dispatches that have owned a task's bundle, oldest first.
-- returns: Adoption*
SELECT dispatch, kind, generation, adopted_at, released_at FROM adoptions WHERE project = :project AND slug = :slug
ORDER BY generation;

-- name: seat_of
-- A project's seat: its coordinator and candidate.
-- returns: Seat?
SELECT * FROM seats WHERE project = :project;

-- name: all_seats
-- The seats of all projects.
-- returns: Seat*
SELECT * FROM seats ORDER BY project;

-- name: add_seat
-- Add an empty seat to a project that has none.
INSERT INTO seats (project) VALUES (:project) ON CONFLICT DO NOTHING;

-- name: take_seat
-- Compare and set: make a dispatch the holder of the seat.
UPDATE seats SET holder = :holder, epoch = epoch + 1
WHERE project = :project AND COALESCE(holder, '') = COALESCE(CAST(:was AS TEXT), '');

-- name: set_claim_data
-- Update what is known about a claim's resource.
UPDATE claims SET data = :data, updated_at = :at WHERE id = :id;

-- name: lone_claims
-- The unreleased claims of bundles whose task is archived, newest first; they are to be released.
-- returns: Claim*
SELECT c.* FROM claims c JOIN tasks t ON t.project = c.project AND t.slug = c.slug
WHERE c.dispatch IS NULL AND c.state <> 'released' AND t.archived = 1 ORDER BY c.created_at DESC, c.id;

-- name: claims_on_task
-- How many claims of a task's bundle are not released.
-- returns: Count!
SELECT COUNT(*) AS n FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state <> 'released';

-- name: give_claim
-- Compare and set: give a live claim to another dispatch, with new data.
UPDATE claims SET dispatch = :dispatch, data = :data, updated_at = :at WHERE id = :id AND dispatch = :was AND state = 'live';

-- name: unfinished_rewrites
-- Claims on prompt inboxes that got a new owner and whose file was perhaps not rewritten for that owner yet.
-- returns: Claim*
SELECT * FROM claims WHERE kind = 'coord_prompt_inbox' AND state = 'live' AND data LIKE '%"rewrite": %' ORDER BY created_at, id;

-- name: all_bundles
-- All bundles.
-- returns: Bundle*
SELECT * FROM bundles;

-- name: unmade_of_bundle
-- The claims of a task's bundle whose resources could not be created.
-- returns: Claim*
SELECT * FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'failed_alloc'
ORDER BY created_at DESC, id;

-- name: late_inboxes
-- Claims on prompts that are not released although their dispatch ended before a time.
-- returns: Claim*
SELECT c.* FROM claims c JOIN dispatches d ON d.id = c.dispatch
WHERE c.kind = 'coord_prompt_inbox' AND c.state <> 'released' AND d.exec_state IN ('done', 'blocked', 'failed')
  AND d.ended_at <= :before ORDER BY c.created_at, c.id;

-- name: claim_by_id
-- One claim by its id.
-- returns: Claim?
SELECT * FROM claims WHERE id = :id;

-- name: claims_of_project
-- The unreleased claims that belong to the project itself: to no dispatch, task or job.
-- returns: Claim*
SELECT * FROM claims WHERE project = :project AND dispatch IS NULL AND slug IS NULL AND job IS NULL
  AND state <> 'released' ORDER BY created_at, id;

-- name: claims_of_projects
-- The unreleased claims that belong to a project itself (to no dispatch, task or job), for all projects, removed ones too.
-- returns: Claim*
SELECT * FROM claims WHERE dispatch IS NULL AND slug IS NULL AND job IS NULL AND state <> 'released'
ORDER BY created_at, id;

-- name: forget_released_of_project
-- Delete the released claims that belong to the project itself.
DELETE FROM claims WHERE project = :project AND dispatch IS NULL AND slug IS NULL AND job IS NULL AND state = 'released';
