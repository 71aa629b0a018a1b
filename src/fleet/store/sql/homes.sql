-- name: see_home
-- A home that uses this database, as it was when it last wrote a dispatch or job.
INSERT INTO homes (id, host, machine, name, path, seen_at) VALUES (:id, :host, :machine, :name, :path, :at)
ON CONFLICT (id) DO UPDATE SET host = excluded.host, machine = excluded.machine, name = excluded.name,
                               path = excluded.path, seen_at = excluded.seen_at;

-- name: home_by_id
-- returns: Home?
SELECT * FROM homes WHERE id = :id;

-- name: home_on_host
-- A home of a host, by the host's id or by that of its machine: its row has the host's name.
-- returns: Home?
SELECT * FROM homes WHERE host = :host OR machine = :host ORDER BY seen_at DESC, id LIMIT 1;

-- name: take_over_dispatch
-- A home takes over the journal of one that is no more.
UPDATE dispatches SET home = :home, host = :host, tmux_socket = :socket, updated_at = :at WHERE id = :id;

-- name: clear_actor
-- A person says that whoever was at a claim is no more.
UPDATE claims SET actor = '', updated_at = :at WHERE id = :id AND actor = :was;

-- name: claims_below
-- Claims of a home, those from before homes were recorded too, for a home that was moved.
-- returns: Claim*
SELECT * FROM claims WHERE (home = :home OR (home IS NULL AND host = :host)) AND state <> 'released' ORDER BY created_at, id;

-- name: move_claim
-- A home was moved, and what it holds with it.
UPDATE claims SET name = :name, data = :data, updated_at = :at WHERE id = :id AND name = :was;

-- name: move_sockets
-- A home was moved, and its tmux socket with it.
UPDATE dispatches SET tmux_socket = :socket, updated_at = :at
WHERE tmux_socket = :was AND (home = :home OR (home IS NULL AND host = :host));

-- name: take_over_job
-- A home takes over the job of one that is no more.
UPDATE jobs SET home = :home, changed_at = :at WHERE id = :id;

-- name: other_homes
-- The other homes that have used this database, the one seen last first.
-- returns: Home*
SELECT * FROM homes WHERE id <> :id ORDER BY seen_at DESC, id;
