"""The setting `engine`: one engine, or several in the order in which they are used."""

from __future__ import annotations


def engine_choices(value: object) -> tuple[str, ...]:
    """Return the engines that the setting names, the first choice first; empty when it is not set.

    A text may name several, separated by commas, as on a command line.
    """
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else ()


def setting_of(text: str) -> str | list[str]:
    """Return the value to write into a settings file for engines named in a text."""
    names = engine_choices(text)
    return list(names) if len(names) > 1 else text


def model_for(engine: str, first: str, model: str | None) -> str | None:
    """Return the model of an agent: a model belongs to the first choice, and another engine uses its own model."""
    return model if engine == first else None
