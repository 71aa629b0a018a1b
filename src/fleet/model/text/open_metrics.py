"""Write figures in the OpenMetrics text format, which Prometheus and others read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from fleet.model.states import assert_never
from fleet.model.text import escapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FamilyKind = Literal["gauge", "counter", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One figure, with the labels that distinguish it within its family."""

    value: float
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All figures of one name. A counter only grows; an info always has the value 1 and only its labels matter."""

    name: str
    kind: FamilyKind
    help: str
    samples: tuple[Sample, ...]


def text(families: Iterable[Family]) -> str:
    """Return all families as OpenMetrics text. A family without samples is left out."""
    lines = [line for family in families if family.samples for line in _family_lines(family)]
    return "\n".join([*lines, "# EOF\n"])


def _family_lines(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    yield f"# HELP {family.name} {_escaped(family.help)}"
    for sample in family.samples:
        yield f"{family.name}{_name_suffix(family.kind)}{_label_text(sample.labels)} {_number_text(sample.value)}"


def _name_suffix(kind: FamilyKind) -> str:
    """Return the suffix that OpenMetrics puts after the name of a sample of this kind."""
    match kind:
        case "gauge":
            return ""
        case "counter":
            return "_total"
        case "info":
            return "_info"
        case _:
            return assert_never(kind)


def _label_text(labels: dict[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    """Return a text escaped as OpenMetrics requires; other control characters are made visible."""
    return escapes.text(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number_text(value: float) -> str:
    """Return a number as text, a whole number without a decimal point: 12, 0.5."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
