"""Real daemons for tests: started, killed and started again on the home of a stage."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from staging.stage import FLEET, Stage

from fleet.model.identity import Identity
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    import subprocess

OWN_LOOP = Wanted(project="p", slug=None, kind="coord", engine="fleet")
# Engines of a test: one that works until it is killed, one that commits, reports and exits.
_ENGINE = 'summary = "a test\'s"\nprogram = "sh"\nstart = ["sh", "-c", {script!r}]\ninteractive = false\n'
ENGINES = {
    "sleeps": _ENGINE.format(script="exec sleep 1000"),
    "works": _ENGINE.format(script="echo hi >$FLEET_TASK.txt && git add . && git commit -qm work && fleet done"),
}


def add_engines(stage: Stage) -> None:
    folder = Path(stage.home, "engines")
    folder.mkdir()
    for name, text in ENGINES.items():
        Path(folder, f"{name}.toml").write_text(text)


class Daemon:
    """A daemon of a stage's home, as a process of its own."""

    def __init__(self, stage: Stage) -> None:
        self._child: subprocess.Popen[str] = stage.start(FLEET, "daemon", "run")
        with stage.fleet() as fleet:
            until(lambda: (fleet.world.daemon_process() or _NOBODY).pid == self._child.pid)
            until(Path(stage.home, "daemon.sock").exists)

    @property
    def pid(self) -> int:
        return self._child.pid

    def lives(self) -> bool:
        return self._child.poll() is None

    def kill(self) -> None:
        """End it as a crash would."""
        os.kill(self.pid, signal.SIGKILL)
        self._child.wait(30)

    def stop(self) -> None:
        """End it as a service manager would: it finishes what it has begun."""
        os.kill(self.pid, signal.SIGTERM)
        assert self._child.wait(30) == 0


_NOBODY = Identity(host="", boot="", pid=0, start="")
