"""fleet.settings: the effective settings, and a person's trust in the settings of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.actor import Part
from fleet.verbs.projects import allow, trust

if TYPE_CHECKING:
    from fleet.model.agents.allow import Allowed
    from fleet.model.results.projects import Trusted
    from fleet.model.settings.table import SettingValue


class Settings(Part):
    """The settings of a home and its projects."""

    __slots__ = ()

    def read(self, project: str | None = None) -> dict[str, SettingValue]:
        """Return every effective setting with its source. With a project, include the project's own settings."""
        return self._by.request.settings_with_sources(project)

    def approved(self, project: str) -> Allowed:
        """Return the commands that a person has permanently allowed in a project. They are kept in the home."""
        return allow.approved_commands(self._by.view, project)

    def allowed(self, project: str) -> Allowed:
        """Return the commands that agents of a project run without asking.

        They are those of the setting `allow` and those that a person has permanently allowed.
        """
        return allow.allowed_in_project(self._by.view, project)

    def untrusted(self, project: str) -> trust.Untrusted:
        """Return the settings in the project's fleet.toml that need a person's trust and do not have it."""
        return trust.untrusted_settings(self._by.context, project)

    def trust(self, project: str, values: dict[str, Any]) -> Trusted:
        """Record that a person trusts these values of the project's settings, as `untrusted` returned them."""
        self._by.may("settings.trust")
        return trust.trust(self._by.context, project, values)
