"""The setting `engine`: one engine, or several in the order of preference."""

from __future__ import annotations


def engine_choices(value: object) -> tuple[str, ...]:
    """Return the engines that the setting `engine` names, in the order of preference; empty when it is not set.

    A text may name several, separated by commas, as on a command line.
    """
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else ()


def setting_of(text: str) -> str | list[str]:
    """Return the value to write for the setting `engine`: the text itself for one name, a list for several names with commas."""
    names = engine_choices(text)
    return list(names) if len(names) > 1 else text


def model_for(engine: str, first: str, model: str | None) -> str | None:
    """Return the model for an agent on this engine: `model` if it is the engine of first choice, else None.

    None means the model that the engine uses by itself.
    """
    return model if engine == first else None
