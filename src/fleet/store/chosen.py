"""The store that config.toml names."""

from __future__ import annotations

from fleet.model.settings import merged
from fleet.world.configuration import home_settings


def chosen_store(home: str) -> tuple[str, float]:
    """Its address, and how long to wait for it."""
    values = merged(home_settings(home))
    return values["store"].value, float(values["store_wait"].value)
