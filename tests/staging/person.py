"""A person at a real terminal: what is shown is read until it says what was waited for."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from fcntl import ioctl

from staging.stage import FLEET

PATIENCE = 60
_SIGNS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


class Person:
    """One command on one terminal."""

    def __init__(self, stage, *words: str, columns: int = 100, **env: str) -> None:
        self._hands, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        around = stage.around(TERM="xterm-256color", PAGER="cat", **env)
        self.child = subprocess.Popen(
            [FLEET, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=around,
            cwd=stage.repository,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def sees(self, text: str) -> str:
        """What was shown up to this text, without colours; it is forgotten then."""
        while text not in self.shown:
            assert self._more(), f"{text!r} never came: {self.shown}"
        seen, _, self.shown = self.shown.partition(text)
        return seen + text

    def says(self, text: str) -> None:
        os.write(self._hands, f"{text}\n".encode())

    def ends(self) -> str:
        """All that is left to see; the exit code has to be 0."""
        while self._more():
            pass
        code = self.child.wait(timeout=PATIENCE)
        os.close(self._hands)
        assert code == 0, (code, self.shown)
        return self.shown

    def _more(self) -> bool:
        ready, _, _ = select.select([self._hands], [], [], PATIENCE)
        try:
            found = os.read(self._hands, 65536) if ready else b""
        except OSError:  # the other end is closed
            found = b""
        if not found and self.child.poll() is None and not ready:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.shown += _SIGNS.sub("", found.decode("utf-8", "replace")).replace("\r", "")
        return bool(found)
