"""fleet.settings: the settings as they count, and a person's trust in those of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.actor import Part
from fleet.verbs.projects import trust

if TYPE_CHECKING:
    from fleet.model.results.projects import Trusted
    from fleet.model.settings.table import SettingValue


class Settings(Part):
    """The settings of a home and its projects."""

    __slots__ = ()

    def read(self, project: str | None = None) -> dict[str, SettingValue]:
        """Every setting as it counts and where it comes from; a project's own too if one is named."""
        return self._by.request.settings(project)

    def untrusted(self, project: str) -> trust.Untrusted:
        """What of the project's fleet.toml waits for a person's trust."""
        return trust.untrusted_settings(self._by.context, project)

    def trust(self, project: str, values: dict[str, Any]) -> Trusted:
        """Trust these values of the project's settings, as `untrusted` showed them."""
        self._by.may("settings.trust")
        return trust.trust(self._by.context, project, values)
