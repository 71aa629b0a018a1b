"""The list prices of models: fleet's own list, overridden by a person's `prices.toml` in the fleet home."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text.documents.kinds import Key, ValueKind, is_number
from fleet.model.text.documents.nodes import UnreadableDocument
from fleet.model.text.documents.tables import Table, TableOf
from fleet.model.text.documents.toml_tree import parse
from fleet.records import record
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.kept.tokens import Tokens

BUILT_IN = f"{os.path.dirname(__file__)}/prices.toml"
# Suffixes that do not make a model another one: a date, a cloud's version, a context size.
_SUFFIX = re.compile(r"(?:-\d{8}|-\d{4}-\d\d-\d\d|@\d{8}|\[1m\]|-latest|-preview)*", re.ASCII)
_DOLLARS = ValueKind("dollars for a million tokens", lambda value: is_number(value) and value >= 0)
_RATES = {name: Key(_DOLLARS, required=True) for name in ("input", "output", "cache_read", "cache_write")}
_LONG = Table("[MODEL.long]", _RATES)
_COUNT = ValueKind("a whole number of tokens", lambda value: isinstance(value, int) and value > 0)
_MODEL = Table("[MODEL]", {**_RATES, "over": Key(_COUNT), "long": Key(_LONG)})
TABLE = TableOf(_MODEL)


@record(frozen=True, slots=True, kw_only=True)
class Rates:
    """Prices by sort of token: dollars for a million tokens, which is also millionths of a dollar for one token."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost(self, tokens: Tokens) -> int:
        """Return what these tokens cost, in millionths of a dollar."""
        rates = (self.input, self.output, self.cache_read, self.cache_write)
        return round(sum(rate * number for rate, number in zip(rates, tokens, strict=True)))


@record(frozen=True, slots=True, kw_only=True)
class Price:
    """The rates of a model; for a request whose prompt has more than `over` tokens, the rates `long`.

    When `over` or `long` is None, `rates` holds for every request.
    """

    rates: Rates
    over: int | None = None
    long: Rates | None = None

    def cost(self, tokens: Tokens) -> int:
        """Return what one request with these tokens cost, in millionths of a dollar."""
        is_long = self.over is not None and self.long is not None and tokens.prompt > self.over
        return (self.long if is_long and self.long else self.rates).cost(tokens)


class Prices:
    """The prices of models in a fleet home."""

    def __init__(self, known: dict[str, Price]) -> None:
        self._known = known

    def of(self, model: str) -> Price | None:
        """Return the price of a model, None when it is not known.

        `model` may begin with a provider and a slash, and end with a date or version.
        """
        name = model.rpartition("/")[2]
        exact = self._known.get(model) or self._known.get(name)
        fits = (key for key in self._known if name.startswith(key) and _SUFFIX.fullmatch(name[len(key) :]))
        best = max(fits, key=len, default=None)
        return exact or (self._known[best] if best else None)


def prices(home: str) -> Prices:
    """Return the prices of models in a home; raise BadSetting when the person's file is broken."""
    own = f"{home}/{paths.PRICES}"
    return Prices(_read(BUILT_IN, _content(BUILT_IN)) | (_read(own, _content(own)) if os.path.exists(own) else {}))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@lru_cache(maxsize=4)
def _read(path: str, raw: bytes) -> dict[str, Price]:
    """Return the prices in a file, by model; raise BadSetting when it is broken."""
    try:
        root = parse(raw.decode())
    except UnreadableDocument as error:
        raise _broken_price_file(path, error.fault.line, error.fault.why) from None
    except UnicodeDecodeError:
        raise _broken_price_file(path, 1, "it is not UTF-8") from None
    fault = next(iter(TABLE.faults(root, "the file")), None)
    if fault is not None:
        raise _broken_price_file(path, fault.line, fault.why)
    return {name: _parse_price(given) for name, given in root.plain.items()}


def _parse_price(given: dict[str, object]) -> Price:
    """Return the price of a model from its checked table."""
    long = given.get("long")
    over = given.get("over")
    return Price(
        rates=_parse_rates(given),
        over=over if isinstance(over, int) else None,
        long=_parse_rates(long) if isinstance(long, dict) else None,
    )


def _parse_rates(given: dict[str, object]) -> Rates:
    dollars = {name: value for name in _RATES if isinstance(value := given.get(name), int | float)}
    return Rates(**{name: float(value) for name, value in dollars.items()})


def _broken_price_file(path: str, line: int, why: str) -> errors.BadSetting:
    advice = "write a table for each model: input, output, cache_read and cache_write, in dollars for a million tokens"
    return errors.BadSetting(file=path, line=line, why=why, advice=advice)
