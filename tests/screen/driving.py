"""A person at the screen: headless through Textual's pilot, or in a real terminal under a tmux of their own."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from staging.stage import FLEET, Stage

from fleet.model.settings.keys import keys_in_force
from fleet.surfaces.tui.app import FleetApp
from fleet.surfaces.tui.look import palette_for

PATIENCE = 45.0
_LOOK_AGAIN = 0.02


class Sitting:
    """The screen of a home, without a terminal."""

    def __init__(self, app: FleetApp, pilot) -> None:
        self.app = app
        self._pilot = pilot

    @property
    def text(self) -> str:
        """Everything that the topmost screen draws."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    @property
    def told(self) -> str:
        """The messages that are shown now."""
        return "\n".join(each.message for each in self.app._notifications)

    async def until(self, true: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f"never: {what}\n{self.text}\n{self.told}"
            await self._pilot.pause(_LOOK_AGAIN)

    async def sees(self, *texts: str) -> None:
        for text in texts:
            await self.until(lambda: text in self.text, text)  # noqa: B023

    async def is_told(self, text: str) -> None:
        await self.until(lambda: text in self.told, text)

    async def presses(self, *keys: str) -> None:
        for key in keys:
            await self._pilot.press(key)

    async def writes(self, text: str) -> None:
        for char in text:
            await self._pilot.press({" ": "space", "\n": "ctrl+j"}.get(char, char))

    async def goes_to(self, key: str) -> None:
        """Select a row as soon as it is there."""
        await self.until(lambda: self.app.board.rows.go_to(key), key)

    async def resizes(self, columns: int, rows: int) -> None:
        await self._pilot.resize_terminal(columns, rows)


def sit_down(
    home: str,
    act: Callable[[Sitting], Awaitable[None]],
    *,
    size=(120, 40),
    theme="dark",
    keys=None,
    made_by: Callable[..., FleetApp] = FleetApp,
    **more,
) -> None:
    """Open the screen of a home, let the person act, and close it."""
    app = made_by(home, keys=keys_in_force(keys or {}), palette=palette_for(theme), **more)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await act(Sitting(app, pilot))

    asyncio.run(run())
    for thread in (app._loader, app._details):
        thread.join(PATIENCE)
        assert not thread.is_alive()


class Terminal:
    """A real terminal: a window of the person's own tmux server, in which a shell runs."""

    def __init__(self, stage: Stage, *, columns: int = 120, rows: int = 36) -> None:
        self._folder = tempfile.mkdtemp(prefix="fleet-terminal-", dir="/tmp")
        plain = {"PATH": os.environ["PATH"], "HOME": self._folder, "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        self._tmux("-f", "/dev/null", "start-server", ";", "set-option", "-g", "history-limit", "5000", ";",
                   "new-session", "-d", "-s", "own", "-x", str(columns), "-y", str(rows), "-c", stage.repository,
                   "-e", f"FLEET_HOME={stage.home}", "-e", "USER=ann", "-e", "PS1=own-shell> ",
                   "env", "-u", "LINES", "-u", "COLUMNS", f"PATH={os.path.dirname(FLEET)}:{plain['PATH']}", "sh", env=plain)  # fmt: skip
        self._tmux("set-option", "-g", "status", "off")
        self.sees("own-shell>")

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        words = ("tmux", "-S", f"{self._folder}/own", *words)
        return subprocess.run(words, env=env, check=True, capture_output=True, text=True).stdout

    @property
    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "own")

    def shows_option(self, name: str) -> str:
        return self._tmux("show-options", "-gv", name).strip()

    def shows(self, form: str) -> str:
        """What tmux says of the window, such as whether a program has hidden the cursor."""
        return self._tmux("display-message", "-p", "-t", "own", form).strip()

    def program(self) -> int:
        """The process id of the program that runs in the foreground of the shell."""
        shell = self.shows("#{pane_pid}")
        (child,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(child)

    def until(self, true: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f"never: {what}\n{self.text}"
            time.sleep(0.05)

    def sees(self, *texts: str) -> str:
        for text in texts:
            self.until(lambda: text in self.text, text)  # noqa: B023
        return self.text

    def misses(self, text: str) -> None:
        self.until(lambda: text not in self.text, f"no more {text}")

    def presses(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "own", *keys)

    def types(self, text: str) -> None:
        self._tmux("send-keys", "-l", "-t", "own", text)

    def runs(self, command: str) -> None:
        self.types(command)
        self.presses("Enter")

    def pastes(self, text: str) -> None:
        self._tmux("set-buffer", text, ";", "paste-buffer", "-p", "-t", "own")

    def resizes(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "own", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)
