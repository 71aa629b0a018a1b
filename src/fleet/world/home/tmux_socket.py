"""The path of the socket of a home's tmux server."""

from __future__ import annotations

import os

from fleet import errors
from fleet.world.files import folders
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

# How many bytes the path of a socket may have: the kernel takes few more.
_LONGEST_SOCKET = 100


def socket_of(home: str, funnel: Funnel) -> str:
    """Return the path of the tmux socket: in the home, or in a folder in /tmp if the path would be too long.

    The folder in /tmp is created if missing. Raise TmuxRefused when the folder in /tmp is not a private one of this
    user.
    """
    path = socket_path(home)
    folder = os.path.dirname(path)
    if folder == home:
        return path
    if not os.path.lexists(folder):
        funnel.through("make socket folder", lambda: folders.make_private_folder(folder, below="/"))
    status = os.lstat(folder)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise errors.TmuxRefused(what=f"use {folder} for its socket", why="it is not a private directory of this user")
    return path


def socket_path(home: str) -> str:
    """Return the path of the tmux socket without creating its folder."""
    path = f"{home}/{paths.TMUX_SOCKET}"
    if len(path.encode()) <= _LONGEST_SOCKET:
        return path
    from fleet.world.home.home_change import id_of_path

    return f"/tmp/fleet-{os.getuid()}/{id_of_path(home)}.sock"  # noqa: S108 - made private, and refused when it is not ours
