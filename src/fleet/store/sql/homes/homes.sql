-- name: see_home
-- Record a home that uses this database, with its present path and machine, when it writes a dispatch or job.
INSERT INTO homes (id, host, machine, name, path, seen_at) VALUES (:id, :host, :machine, :name, :path, :at)
ON CONFLICT (id) DO UPDATE SET host = excluded.host, machine = excluded.machine, name = excluded.name,
                               path = excluded.path, seen_at = excluded.seen_at;

-- name: home_by_id
-- A home by its id.
-- returns: Home?
SELECT * FROM homes WHERE id = :id;

-- name: home_on_host
-- The home that was last seen on a host, to find the host's name. `host` is the id of the host or of its machine.
-- returns: Home?
SELECT * FROM homes WHERE host = :host OR machine = :host ORDER BY seen_at DESC, id LIMIT 1;

-- name: take_over_dispatch
-- Move a dispatch to this home from a home that no longer exists.
UPDATE dispatches SET home = :home, host = :host, tmux_socket = :socket, updated_at = :at WHERE id = :id;

-- name: clear_actor
-- Compare and set: clear the process of a claim, because a person says that it is gone.
UPDATE claims SET actor = '', updated_at = :at WHERE id = :id AND actor = :was;

-- name: claims_below
-- The unreleased claims of a home, also those recorded before homes had ids; for a home that was moved.
-- returns: Claim*
SELECT * FROM claims WHERE (home = :home OR (home IS NULL AND host = :host)) AND state <> 'released' ORDER BY created_at, id;

-- name: move_claim
-- Compare and set: change the name of a claim's resource, because its home was moved.
UPDATE claims SET name = :name, data = :data, updated_at = :at WHERE id = :id AND name = :was;

-- name: move_sockets
-- Change the tmux socket of a home's dispatches, because the home was moved.
UPDATE dispatches SET tmux_socket = :socket, updated_at = :at
WHERE tmux_socket = :was AND (home = :home OR (home IS NULL AND host = :host));

-- name: take_over_job
-- Move a job to this home from a home that no longer exists.
UPDATE jobs SET home = :home, changed_at = :at WHERE id = :id;

-- name: other_homes
-- The other homes that have used this database, the one seen last first.
-- returns: Home*
SELECT * FROM homes WHERE id <> :id ORDER BY seen_at DESC, id;
