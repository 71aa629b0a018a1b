"""Scopes: transient units of the user's systemd manager, which creates a control group for the processes in a scope."""

from __future__ import annotations

import os
import pwd

from fleet.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fleet.world.clock import Clock
    from fleet.world.process.programs import Programs

# The slice of the user's manager that the scopes are in.
SLICE = "app.slice"
_MANAGER = "org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager"
_CALL = ("busctl", "--user", "call", *_MANAGER.split(), "StartTransientUnit", "ssa(sv)a(sa(sv))")
# In seconds: the limit of the call, and again of the wait for the move; and how often to look.
_LIMIT = 3.0
_LOOK_AGAIN = 0.02
# The script waits at most this many times 0.05 s, less than the start of a tmux server may take.
_LOOKS = 30
_CALL_LIMIT = 2
# Moves this shell into a scope of its own, and then runs the program. $0: the group to leave; $1: the unit's name
# without its end; $2: the user's runtime directory; $3: the file that names the group of this shell; $4: "must" if the
# program must not run inside the group $0; the rest: the program and its arguments.
_LEAVE = f"""
unit=$1-$$.scope runtime=$2 own=$3 must=$4; shift 4
if XDG_RUNTIME_DIR=${{XDG_RUNTIME_DIR:-$runtime}} timeout {_CALL_LIMIT} {" ".join(f"'{word}'" for word in _CALL)} "$unit" fail \
    3 PIDs au 1 $$ Slice s {SLICE} CollectMode s inactive-or-failed 0 </dev/null >/dev/null 2>&1; then
  looks={_LOOKS}
  while [ $looks -gt 0 ] && grep -qF "$0" "$own"; do sleep 0.05; looks=$((looks - 1)); done
fi
if [ "$must" = must ] && grep -qF "$0" "$own"; then echo "cannot leave the control group $0" >&2; exit 1; fi
exec "$@"
"""


@record(frozen=True, slots=True, kw_only=True)
class Places:
    """The paths at which the system describes processes, systemd and its users."""

    proc: str = "/proc"
    systemd: str = "/run/systemd/system"
    linger: str = "/var/lib/systemd/linger"
    runtime: str = f"/run/user/{os.getuid()}"
    # The control group of the user's manager.
    manager: str = f"/user.slice/user-{os.getuid()}.slice/user@{os.getuid()}.service"


class Scopes:
    """The scopes that the user's systemd manager creates for a home."""

    def __init__(self, programs: Programs, clock: Clock, places: Places) -> None:
        self._programs = programs
        self._clock = clock
        self._places = places

    def are_kept(self) -> bool:
        """Return whether systemd runs and keeps the user's manager after a logout.

        Otherwise a logout would end the scopes and the agents in them.
        """
        try:
            user = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return False
        return os.path.isdir(self._places.systemd) and os.path.exists(f"{self._places.linger}/{user}")

    def enter(self, unit: str, is_inside: Callable[[], bool]) -> None:
        """Ask systemd to create a scope and to move this process into it; wait for that, but only a few seconds.

        `unit` is the name of the scope; `is_inside` tells whether this process is in it now. A failure is ignored.
        """
        pid = str(os.getpid())
        scope = ["PIDs", "au", "1", pid, "Slice", "s", SLICE, "Delegate", "b", "true"]
        collected = ["CollectMode", "s", "inactive-or-failed"]
        env = {**os.environ, "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR") or self._places.runtime}
        words = [*_CALL, unit, "fail", "4", *scope, *collected, "0"]
        done = self._programs.run("join scope", words, limit=_LIMIT, env=env)
        until = self._clock.ticks() + _LIMIT
        while done.ok and not is_inside() and self._clock.ticks() < until:  # the call returns when the job is queued
            self._clock.wait(_LOOK_AGAIN)

    def outside(self, words: Sequence[str], *, group: str, unit: str, must: bool) -> list[str]:
        """Return the command that starts a program in a new scope, outside the agent's group.

        `group` is the agent's group, `unit` the name of the new scope. With `must`, the program is not started when it
        cannot leave the group.
        """
        own = f"{self._places.proc}/self/cgroup"
        runtime = self._places.runtime
        return ["/bin/sh", "-c", _LEAVE, group, unit, runtime, own, "must" if must else "", *words]
