"""Trust in a repository's settings: guarded ones apply only after a person has accepted them."""

from __future__ import annotations

from fleet.model.settings.table import PROJECT_FILE, SETTINGS, SettingValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.settings.table import Setting

GUARDED = tuple(each for each in SETTINGS if each.guard)
# From the least freedom to the most. A step down counts at once.
_FREEDOM: dict[str, tuple[str | None, ...]] = {
    "autonomy": (None, "ask", "edits", "allowlist", "full"),
    "review": ("person", "agent", "none", None),
}
# Without them nothing runs, and nobody is started.
_SAFE_TO_UNSET = frozenset({"worktree.setup", "worktree.teardown", "engine", "task.engine"})


class Difference:
    """A setting that waits for a person: the accepted value and the one in the file; None where it is not set."""

    __slots__ = ("guard", "name", "now", "was")

    def __init__(self, *, name: str, was: Any, now: Any, guard: str) -> None:  # noqa: ANN401
        self.name = name
        self.was = was
        self.now = now
        self.guard = guard


def guarded_values(values: dict[str, SettingValue]) -> dict[str, Any]:
    """Return the guarded settings that a repository's file sets."""
    return {each.name: values[each.name].value for each in GUARDED if values[each.name].source != "default"}


def differences(now: dict[str, Any], trusted: dict[str, Any]) -> list[Difference]:
    """Return the settings that wait for a person, in the order of the table."""
    found = ((each, trusted.get(each.name), now.get(each.name)) for each in GUARDED)
    return [
        Difference(name=each.name, was=was, now=new, guard=each.guard)
        for each, was, new in found
        if was != new and not _is_harmless(each, was, new)
    ]


def settings_in_force(values: dict[str, SettingValue], trusted: dict[str, Any]) -> dict[str, SettingValue]:
    """Return the settings as they apply: one that waits for a person has its accepted value, or is not set."""
    waiting = differences(guarded_values(values), trusted)
    return values | {each.name: _accepted_value(each, values[each.name]) for each in waiting}


def fingerprint(values: dict[str, Any]) -> str:
    """A short text that two different contents do not share."""
    import hashlib
    import json

    return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:16]


def _accepted_value(waiting: Difference, value: SettingValue) -> SettingValue:
    default = next(each.default for each in GUARDED if each.name == waiting.name)
    before = default if waiting.was is None else waiting.was
    source = "default" if waiting.was is None else f"{PROJECT_FILE}, as it was trusted"
    how = {"untrusted": waiting.guard, "written": waiting.now}
    return SettingValue(name=value.name, value=before, source=source, help=value.help, **how)


def _is_harmless(setting: Setting, was: Any, new: Any) -> bool:  # noqa: ANN401
    """Whether a change needs nobody's trust: it takes a freedom away, or lets something not run."""
    if new is None and setting.name in _SAFE_TO_UNSET:
        return True
    order = _FREEDOM.get(setting.name)
    return order is not None and order.index(new) < order.index(was)
