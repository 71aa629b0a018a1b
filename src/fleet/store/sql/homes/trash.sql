-- name: add_trash
-- Record the intent to move ignored files of a worktree into the trash.
INSERT INTO trash (id, project, slug, claim, home, name, path, why, files, bytes, at, until)
VALUES (:id, :project, :slug, :claim, :home, :name, :path, :why, :files, :bytes, :at, :until) ON CONFLICT DO NOTHING;

-- name: note_trash_moved
-- Record that all files are in the trash, and their number and size as found there.
UPDATE trash SET moved_at = :at, files = :files, bytes = :bytes WHERE id = :id AND moved_at IS NULL AND gone_at IS NULL;

-- name: count_trash
-- Record how many files are left in the trash after some were moved back.
UPDATE trash SET files = :files, bytes = :bytes WHERE id = :id AND gone_at IS NULL;

-- name: end_trash
-- Record that an entry of the trash was deleted or moved back.
UPDATE trash SET gone_at = :at WHERE id = :id AND gone_at IS NULL;

-- name: kept_trash
-- The entries of a home's trash that are not deleted, the first to expire first; `held`: the worktree's claim is not
-- released.
-- returns: KeptTrash*
SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.id = t.claim AND c.state <> 'released') THEN 1 ELSE 0 END AS held
FROM trash t WHERE t.home = :home AND t.gone_at IS NULL ORDER BY t.until, t.id;

-- name: trash_of_claim
-- The entries of the trash that came from one worktree.
-- returns: Trash*
SELECT * FROM trash WHERE claim = :claim AND home = :home AND gone_at IS NULL ORDER BY at, id;

-- name: trash_of_task
-- The entries of the trash that came from a task's worktrees.
-- returns: Trash*
SELECT * FROM trash WHERE project = :project AND slug = :slug AND home = :home AND gone_at IS NULL ORDER BY at, id;

-- name: trash_size
-- How many bytes are in the trash of a home.
-- returns: Count!
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS n FROM trash WHERE home = :home AND gone_at IS NULL;
