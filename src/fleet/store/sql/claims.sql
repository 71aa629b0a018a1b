-- name: add_claim
-- An intent: the thing is about to be made.
INSERT INTO claims (id, dispatch, project, slug, job, host, home, kind, name, actor, effect_lock, data, created_at, updated_at)
VALUES (:id, :dispatch, :project, :slug, :job, :host, :home, :kind, :name, :actor, :effect_lock, :data, :at, :at)
ON CONFLICT DO NOTHING;

-- name: step_claim
-- Compare and set of a claim's state.
UPDATE claims SET state = :after, updated_at = :at WHERE id = :id AND state = :before;

-- name: let_go_claim
-- The intent to remove a thing, with who does it; not when it was handed over meanwhile.
UPDATE claims SET state = :after, actor = :actor, updated_at = :at
WHERE id = :id AND state = :before AND actor = :was AND COALESCE(dispatch, '') = :owner;

-- name: retake_claim
-- A successor finishes what a dead creator began, or makes the thing anew.
UPDATE claims SET state = :after, actor = :actor, data = :data, updated_at = :at
WHERE id = :id AND state = :before AND actor = :was;

-- name: fail_release
-- A release did not work: count it. Nobody is at it any more.
UPDATE claims SET failures = failures + 1, failed_at = :at, state = :after, actor = '', updated_at = :at
WHERE id = :id AND state = :before;

-- name: note_made
-- A session that runs was made last: all that its dispatch needs is there.
UPDATE claims SET state = :after, updated_at = :at
WHERE (state = 'allocating' AND (dispatch = :dispatch OR (dispatch IS NULL AND project = :project AND slug = :slug
    AND EXISTS (SELECT 1 FROM bundles b WHERE b.project = :project AND b.slug = :slug AND b.owner = :dispatch))))
   OR (state = 'failed_alloc' AND dispatch = :dispatch AND kind = 'tmux_session');

-- name: fail_making
-- A thing could not be made. Nobody is at it any more.
UPDATE claims SET state = :after, actor = '', updated_at = :at WHERE id = :id AND state = :before;

-- name: free_ports
-- Free the blocks of ports whose worktrees are released.
DELETE FROM ports WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = ports.claim AND c.state <> 'released');

-- name: taken_ports
-- The blocks of ports that worktrees on a host have.
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
-- Whoever holds a thing.
-- returns: Claim?
SELECT * FROM claims WHERE host = :host AND kind = :kind AND name = :name
  AND state IN ('allocating', 'live', 'releasing', 'releasing_blocked');

-- name: claims_of_dispatch
-- What a dispatch holds or held.
-- returns: Claim*
SELECT * FROM claims WHERE dispatch = :dispatch ORDER BY created_at, id;

-- name: claims_of_bundle
-- What a task's bundle holds.
-- returns: Claim*
SELECT * FROM claims WHERE project = :project AND slug = :slug AND state <> 'released' AND dispatch IS NULL
ORDER BY created_at, id;

-- name: open_claims_of_job
-- What runners of a job started themselves and is not released.
-- returns: Claim*
SELECT * FROM claims WHERE job = :job AND state <> 'released' ORDER BY created_at, id;

-- name: open_claims_of_jobs
-- The same, of every job.
-- returns: Claim*
SELECT * FROM claims WHERE job IS NOT NULL AND state <> 'released' ORDER BY created_at, id;

-- name: forget_released_of_job
DELETE FROM claims WHERE job = :job AND state = 'released';

-- name: open_claims
-- Every claim that is not released, oldest first.
-- returns: Claim*
SELECT * FROM claims WHERE state <> 'released' ORDER BY created_at, id;

-- name: forget_released_of_bundle
DELETE FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'released';

-- name: bundle_of
-- A task's bundle.
-- returns: Bundle?
SELECT * FROM bundles WHERE project = :project AND slug = :slug;

-- name: add_bundle
INSERT INTO bundles (project, slug, host, owner, generation) VALUES (:project, :slug, :host, :owner, 1) ON CONFLICT DO NOTHING;

-- name: adopt_bundle
-- Compare and set of the owner; the generation only grows.
UPDATE bundles SET owner = :owner, host = :host, generation = generation + 1
WHERE project = :project AND slug = :slug AND owner = :was AND generation = :generation;

-- name: add_adoption
INSERT INTO adoptions (project, slug, generation, dispatch, kind, adopted_at)
VALUES (:project, :slug, :generation, :dispatch, :kind, :at);

-- name: end_adoption
UPDATE adoptions SET released_at = :at WHERE project = :project AND slug = :slug AND dispatch = :dispatch AND released_at IS NULL;

-- name: adoptions_of
-- Who had a task's bundle, oldest first.
-- returns: Adoption*
SELECT dispatch, kind, generation, adopted_at, released_at FROM adoptions WHERE project = :project AND slug = :slug
ORDER BY generation;

-- name: seat_of
-- A project's coordinator.
-- returns: Seat?
SELECT * FROM seats WHERE project = :project;

-- name: all_seats
-- returns: Seat*
SELECT * FROM seats ORDER BY project;

-- name: add_seat
INSERT INTO seats (project) VALUES (:project) ON CONFLICT DO NOTHING;

-- name: take_seat
-- Compare and set of the holder.
UPDATE seats SET holder = :holder, epoch = epoch + 1
WHERE project = :project AND COALESCE(holder, '') = COALESCE(CAST(:was AS TEXT), '');

-- name: set_claim_data
-- What was learnt of a thing since its intent.
UPDATE claims SET data = :data, updated_at = :at WHERE id = :id;

-- name: lone_claims
-- Claims of bundles whose task is archived, and so to be released.
-- returns: Claim*
SELECT c.* FROM claims c JOIN tasks t ON t.project = c.project AND t.slug = c.slug
WHERE c.dispatch IS NULL AND c.state <> 'released' AND t.archived = 1 ORDER BY c.created_at DESC, c.id;

-- name: claims_on_task
-- How many things of a bundle are not released.
-- returns: Count!
SELECT COUNT(*) AS n FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state <> 'released';

-- name: give_claim
-- Compare and set of a claim's owner, with what its new owner is to find.
UPDATE claims SET dispatch = :dispatch, data = :data, updated_at = :at WHERE id = :id AND dispatch = :was AND state = 'live';

-- name: unfinished_rewrites
-- Inboxes that were handed over, and whose file may not say so yet.
-- returns: Claim*
SELECT * FROM claims WHERE kind = 'coord_prompt_inbox' AND state = 'live' AND data LIKE '%"rewrite": %' ORDER BY created_at, id;

-- name: all_bundles
-- returns: Bundle*
SELECT * FROM bundles;

-- name: unmade_of_bundle
-- Things of a bundle whose making failed.
-- returns: Claim*
SELECT * FROM claims WHERE project = :project AND slug = :slug AND dispatch IS NULL AND state = 'failed_alloc'
ORDER BY created_at DESC, id;

-- name: late_inboxes
-- Prompts that are still held though their dispatch ended before a time.
-- returns: Claim*
SELECT c.* FROM claims c JOIN dispatches d ON d.id = c.dispatch
WHERE c.kind = 'coord_prompt_inbox' AND c.state <> 'released' AND d.exec_state IN ('done', 'blocked', 'failed')
  AND d.ended_at <= :before ORDER BY c.created_at, c.id;

-- name: claim_by_id
-- One claim.
-- returns: Claim?
SELECT * FROM claims WHERE id = :id;

-- name: claims_of_project
-- What a project itself holds: neither a dispatch, nor a task, nor a job.
-- returns: Claim*
SELECT * FROM claims WHERE project = :project AND dispatch IS NULL AND slug IS NULL AND job IS NULL
  AND state <> 'released' ORDER BY created_at, id;

-- name: claims_of_projects
-- The same, of every project, also of one that was removed.
-- returns: Claim*
SELECT * FROM claims WHERE dispatch IS NULL AND slug IS NULL AND job IS NULL AND state <> 'released'
ORDER BY created_at, id;

-- name: forget_released_of_project
DELETE FROM claims WHERE project = :project AND dispatch IS NULL AND slug IS NULL AND job IS NULL AND state = 'released';
