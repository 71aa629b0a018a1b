"""The base of SettingValues, which `make hot` generates from the table of settings."""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.model.settings.table import SettingValue


class SettingsSnapshot:
    """The values of all settings as they are at one time: an attribute for each, named like the setting with `_` for its dots."""

    __slots__ = ("_project", "_untrusted")

    def __init__(self, settings: Mapping[str, SettingValue], project: str | None) -> None:
        self._project = project
        # The commands that no person has trusted yet: attribute → name of the setting.
        self._untrusted: dict[str, str] = {}
        for name, setting in settings.items():
            if setting.untrusted == "runs":
                self._untrusted[attribute_of(name)] = name
            else:
                setattr(self, attribute_of(name), setting.value)

    if not TYPE_CHECKING:

        def __getattr__(self, attribute: str) -> object:
            """Raise NotTrusted for a command that no person has trusted yet, AttributeError for any other name."""
            if attribute not in self._untrusted:
                raise AttributeError(attribute)
            raise errors.NotTrusted(project=self._project, settings=self._untrusted[attribute])


def attribute_of(name: str) -> str:
    """Return the attribute of SettingValues that has the value of the named setting."""
    return name.replace(".", "_")
