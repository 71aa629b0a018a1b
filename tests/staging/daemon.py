"""A daemon of a test: the real program, started for one home and ended with the test."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from fleet.api.remote.door import Door, DoorClosed

FLEET = Path(sys.executable).parent / "fleet"
PATIENCE = 60.0


class RunningDaemon:
    """`fleet daemon run`, in front of one home."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self._env = env
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it greets."""
        around = {**os.environ, "FLEET_HOME": str(self.home), **self._env}
        self.process = subprocess.Popen(
            [str(FLEET), "daemon", "run", "--detached"],
            env=around,
            cwd="/",
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.connect().close()

    def connect(self, socket: str = "daemon.sock") -> Door:
        """Return a connection to it, as soon as it answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            door = Door(str(self.home / socket))
            try:
                door.open()
            except DoorClosed:
                assert self.process is None or self.process.poll() is None, "the daemon has ended"
                assert time.monotonic() < deadline, "the daemon does not answer"
                time.sleep(0.01)
            else:
                # A line that never comes fails the test, as a closed connection, instead of stopping it for good.
                door._socket.settimeout(PATIENCE)
                return door

    def call(self, method: str, args: dict[str, Any] | None = None, **how: Any) -> Any:
        """Return the result of one request."""
        door = self.connect()
        try:
            return door.call(method, args or {}, **how)["result"]
        finally:
            door.close()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """End it as `kill -9` does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        """End it by SIGTERM, if it runs."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
