"""Files of the fleet home: written atomically, synced to disk, readable only by their owner, never through a symlink."""

from __future__ import annotations

import os

from fleet import errors
from fleet.world.files import folders, unfinished
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.world.funnel import Funnel


# Folders in which fleet has no temporary files: worktrees, and the trash.
_NOT_OURS = frozenset({paths.WORKTREES, paths.MERGES, paths.TRASH})


class Files:
    """The files below a folder, usually the home. Their names are paths relative to it."""

    def __init__(self, root: str, funnel: Funnel) -> None:
        self.root = root
        self._funnel = funnel

    def publish(self, name: str, content: bytes) -> str:
        """Write a file atomically and durably, and return its path. A reader sees the old or the new content.

        Missing folders above the file are created, but not the root. Raise NotAFolder when a file is in the place of
        one of them, WriteFailed when writing fails otherwise.
        """
        path = f"{self.root}/{name}"
        self._funnel.through(f"publish {name}", lambda: _publish_file(path, content, self.root))
        return path

    def append(self, name: str, content: bytes) -> None:
        """Append to a log file, and create it if missing.

        It is not synced: after a crash of the machine the last lines may be lost. Raise WriteFailed when writing fails.
        """
        path = f"{self.root}/{name}"
        self._funnel.through(f"append {name}", lambda: _append_to_file(path, content, self.root))

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raise OSError when the file is missing or a symlink."""
        handle = os.open(f"{self.root}/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def unlink(self, name: str) -> None:
        """Remove a file; do nothing when it is missing."""
        self._funnel.through(f"unlink {name}", lambda: _unlink_file(f"{self.root}/{name}"))

    def move(self, name: str, to: str) -> None:
        """Rename a file durably, replacing a file at the new path; do nothing when it is missing.

        A missing file was moved before. `name` and `to` are relative to the root.
        """
        self._funnel.through(f"move {name}", lambda: _move_file(self.root, name, to))

    def make_folder(self, path: str) -> None:
        """Create a folder below the root and the missing folders above it, all private. `path` is its full path."""
        if not os.path.isdir(path):
            self._funnel.through(
                f"mkdir {os.path.basename(path)}", lambda: folders.make_private_folder(path, below=self.root)
            )

    def link(self, name: str, *, to: str) -> None:
        """Create or replace the symbolic link `name`, which leads to the path `to`.

        The caller holds a gate, so that nobody else replaces the link at the same time.
        """
        new = f"{self.root}/{paths.unfinished_link(os.path.basename(name))}"
        self._funnel.through(f"link {name}", lambda: _replace_symlink(f"{self.root}/{name}", to, new, self.root))

    def refuse_blocked(self, folder: str) -> None:
        """Raise NotAFolder when a file is in the place of a folder or of one above it. For use before writing there."""
        if blocked := folders.blocking_file(f"{self.root}/{folder}"):
            raise errors.NotAFolder(path=blocked)

    def abandoned(self) -> list[str]:
        """Return the full paths of temporary files whose writer is dead. Worktrees and the trash are not searched."""
        candidates = []
        for folder, inner, names in os.walk(self.root):
            inner[:] = [name for name in inner if name not in _NOT_OURS]
            candidates += [f"{folder}/{name}" for name in names if unfinished.is_temporary(name)]
        return unfinished.abandoned(candidates)

    def discard_abandoned(self, path: str) -> None:
        """Remove a temporary file if its writer is dead. `path` is its full path."""
        self._funnel.through(f"discard {os.path.basename(path)}", lambda: unfinished.discard_abandoned(path))

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder; [] when the folder is missing. Raise NotAFolder when a file is in its place."""
        try:
            return sorted(os.listdir(f"{self.root}/{folder}"))
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            raise errors.NotAFolder(path=folders.blocking_file(f"{self.root}/{folder}")) from None


def move_into_place(made: str, path: str) -> None:
    """Sync a finished file and rename it to its final path; the rename is durable on return."""
    handle = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(made, path)
    sync_folder(os.path.dirname(path))


def _unlink_file(path: str) -> None:
    _discard_file(path)
    if os.path.isdir(os.path.dirname(path)):
        sync_folder(os.path.dirname(path))


def _move_file(root: str, name: str, to: str) -> None:
    if not os.path.lexists(f"{root}/{name}"):
        return
    folder = os.path.dirname(f"{root}/{to}")
    folders.make_private_folder(folder, below=root)
    os.rename(f"{root}/{name}", f"{root}/{to}")
    sync_folder(folder)


def _replace_symlink(path: str, to: str, new: str, root: str) -> None:
    """Create or replace a symlink atomically: it is created in another folder and renamed."""
    folders.make_private_folder(os.path.dirname(path), below=root)
    _discard_file(new)
    os.symlink(to, new)
    os.replace(new, path)


def _publish_file(path: str, content: bytes, root: str) -> None:
    """Write a file atomically, and create missing folders above it; raise NotAFolder or WriteFailed when that fails."""
    try:
        folders.make_private_folder(os.path.dirname(path), below=root)
        _replace_file(path, content)
    except OSError as error:
        if blocked := folders.blocking_file(os.path.dirname(path)):
            raise errors.NotAFolder(path=blocked) from error
        raise errors.WriteFailed(path=path, why=str(error.strerror).lower()) from error


def _append_to_file(path: str, content: bytes, root: str) -> None:
    """Append to a file, and create it and its folders if missing; raise WriteFailed when that fails."""
    try:
        folders.make_private_folder(os.path.dirname(path), below=root)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(content)
    except OSError as error:
        raise errors.WriteFailed(path=path, why=str(error.strerror).lower()) from error


def _replace_file(path: str, content: bytes) -> None:
    """Write a temporary file beside the path and rename it; on failure remove the temporary file."""
    name, handle = unfinished.begin(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
            os.rename(name, path)  # still locked, so nobody discards the file as abandoned
        sync_folder(os.path.dirname(path))
    except BaseException:
        _discard_file(name)
        raise


def sync_folder(folder: str) -> None:
    """Sync a folder, so that a rename in it is durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _discard_file(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
