-- name: add_trash
-- The intent to put ignored files of a worktree aside.
INSERT INTO trash (id, project, slug, claim, home, name, path, why, files, bytes, at, until)
VALUES (:id, :project, :slug, :claim, :home, :name, :path, :why, :files, :bytes, :at, :until) ON CONFLICT DO NOTHING;

-- name: note_trash_moved
-- All its files are there: so many as are found there.
UPDATE trash SET moved_at = :at, files = :files, bytes = :bytes WHERE id = :id AND moved_at IS NULL AND gone_at IS NULL;

-- name: count_trash
-- Some of its files went back: so many are left.
UPDATE trash SET files = :files, bytes = :bytes WHERE id = :id AND gone_at IS NULL;

-- name: end_trash
-- It was deleted, or its files went back.
UPDATE trash SET gone_at = :at WHERE id = :id AND gone_at IS NULL;

-- name: kept_trash
-- What a home has put aside and not deleted yet, first to expire first; whether its worktree's claim is still open.
-- returns: KeptTrash*
SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.id = t.claim AND c.state <> 'released') THEN 1 ELSE 0 END AS held
FROM trash t WHERE t.home = :home AND t.gone_at IS NULL ORDER BY t.until, t.id;

-- name: trash_of_claim
-- What was put aside of one worktree that is not gone yet.
-- returns: Trash*
SELECT * FROM trash WHERE claim = :claim AND home = :home AND gone_at IS NULL ORDER BY at, id;

-- name: trash_of_task
-- What was put aside of a task's worktrees.
-- returns: Trash*
SELECT * FROM trash WHERE project = :project AND slug = :slug AND home = :home AND gone_at IS NULL ORDER BY at, id;

-- name: trash_size
-- How much a home has put aside.
-- returns: Count!
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS n FROM trash WHERE home = :home AND gone_at IS NULL;
