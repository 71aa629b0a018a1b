"""The store that config.toml names."""

from __future__ import annotations

from fleet.world.home.settings import settings_of


def chosen_store(home: str) -> tuple[str, float]:
    """Its address, and how long to wait for it."""
    values = settings_of(home, None)
    return values["store"].value, float(values["store_wait"].value)
