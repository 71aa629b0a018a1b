"""Trust in a repository's settings: a guarded setting takes effect only after a person has accepted its value."""

from __future__ import annotations

from fleet.model.names import AUTONOMIES
from fleet.model.settings.table import PROJECT_FILE, SETTINGS, SettingValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.settings.table import Setting

GUARDED = tuple(setting for setting in SETTINGS if setting.guard)
# Values from the least permission to the most. A change to less permission applies at once.
_FREEDOM: dict[str, tuple[str | None, ...]] = {
    "autonomy": (None, *AUTONOMIES),
    "review": ("person", "agent", "none", None),
}
# Unsetting one of these needs no trust: fleet then runs no command, or starts no agent.
_SAFE_TO_UNSET = frozenset({"worktree.setup", "worktree.teardown", "engine", "task.engine", "allow"})
# Lists of permissions: a shorter list needs no trust.
_PERMISSIONS = frozenset({"allow"})


class SettingDifference:
    """A guarded setting whose new value a person has to accept: the accepted value (`was`) and the new one; None means not set."""

    __slots__ = ("guard", "name", "now", "was")

    def __init__(self, *, name: str, was: Any, now: Any, guard: str) -> None:  # noqa: ANN401
        self.name = name
        self.was = was
        self.now = now
        self.guard = guard


def guarded_values(values: dict[str, SettingValue]) -> dict[str, Any]:
    """Return the values, by name, of the guarded settings that a file sets; a person has to trust a guarded setting."""
    given = [values[setting.name] for setting in GUARDED]
    return {setting.name: setting.value for setting in given if setting.source != "default"}


def differences(now: dict[str, Any], trusted: dict[str, Any]) -> list[SettingDifference]:
    """Return the guarded settings whose change a person has to accept, in the order of the table of settings.

    `now` has the values that the files set, `trusted` the values that a person has accepted; both by name.
    """
    pairs = ((setting, trusted.get(setting.name), now.get(setting.name)) for setting in GUARDED)
    return [
        SettingDifference(name=setting.name, was=was, now=new, guard=setting.guard)
        for setting, was, new in pairs
        if was != new and not _is_harmless(setting, was, new)
    ]


def settings_in_force(values: dict[str, SettingValue], trusted: dict[str, Any]) -> dict[str, SettingValue]:
    """Return the settings as they take effect.

    A guarded setting whose new value no person has accepted keeps its accepted value (in `trusted`), or else its
    default.
    """
    waiting = differences(guarded_values(values), trusted)
    return values | {item.name: _accepted_value(item, values[item.name]) for item in waiting}


def fingerprint(values: dict[str, Any]) -> str:
    """Return a short hash of setting values, to tell whether two sets of values are equal."""
    import hashlib
    import json

    return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:16]


def _accepted_value(waiting: SettingDifference, value: SettingValue) -> SettingValue:
    """Return the setting `value`, which waits for trust, with its accepted value or else its default.

    The value in the file becomes its `written`.
    """
    default = next(setting.default for setting in GUARDED if setting.name == waiting.name)
    before = default if waiting.was is None else waiting.was
    source = "default" if waiting.was is None else f"{PROJECT_FILE}, as it was trusted"
    how = {"untrusted": waiting.guard, "written": waiting.now}
    return SettingValue(name=value.name, value=before, source=source, help=value.help, **how)


def _is_harmless(setting: Setting, was: Any, new: Any) -> bool:  # noqa: ANN401
    """Return whether a project may change a setting that needs the person's trust without asking for that trust.

    It may take a permission away, choose a stricter value of an ordered setting, and unset a command or an engine.
    """
    if new is None and setting.name in _SAFE_TO_UNSET:
        return True
    if setting.name in _PERMISSIONS:
        return set(new or ()) <= set(was or ())
    order = _FREEDOM.get(setting.name)
    if order is None:
        return False
    # How much another version's word permits is not known: only the strictest value needs no trust after it.
    return order.index(new) < (order.index(was) if was in order else 1)
