"""The values of the settings as attributes: with the types that are written of them, and without commands that nobody has trusted."""

import typing
from types import NoneType, UnionType

import pytest
from setting_values import type_of_setting

from fleet.errors.refused import NotTrusted
from fleet.model.settings.snapshot import attribute_of
from fleet.model.settings.table import SETTINGS, SettingValue, merged
from fleet.model.settings.values import SettingValues

# Values of every type, with the words and texts that some settings expect.
PLAIN = [
    None,
    True,
    0,
    1,
    2_000,
    1.5,
    "",
    "x",
    "10s",
    "1h",
    "5GB",
    "22:00-07:00",
    "sqlite",
    "/a",
    "npm test",
    "ntfy://a",
    {},
    [],
]
POOL = PLAIN + [[each] for each in PLAIN] + [{"kill": "X"}]


def defaults(**changed: SettingValue) -> SettingValues:
    return SettingValues(merged(changed), "p")


def is_of(value: object, wanted: object) -> bool:
    """Return whether a value is of a type as values.py writes it."""
    origin, args = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in {typing.Union, UnionType}:
        return any(is_of(value, each) for each in args)
    if origin is typing.Literal:
        return value in args
    if origin is list:
        return isinstance(value, list) and all(is_of(each, args[0]) for each in value)
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {None: NoneType}.get(wanted, origin or wanted))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_what_a_setting_accepts_and_its_default_are_of_its_type(setting):
    wanted = eval(type_of_setting(setting), {"Literal": typing.Literal})
    words = setting.kind.schema.get("enum") or setting.kind.schema.get("items", {}).get("enum", [])
    tried = [*POOL, *words, words, setting.default]
    accepted = [value for value in tried if setting.kind.accepts(value)]
    assert all(is_of(value, wanted) for value in accepted)
    assert any(value is not None for value in accepted), "the pool has no value for it: add one"
    assert is_of(getattr(defaults(), attribute_of(setting.name)), wanted)


def test_each_setting_has_an_attribute_of_its_own():
    assert len({attribute_of(each.name) for each in SETTINGS}) == len(SETTINGS)


@pytest.mark.req("SEC-1")
def test_a_command_that_nobody_has_trusted_cannot_be_read():
    values = defaults(verify=SettingValue(name="verify", value=None, source="fleet.toml:1", help="", untrusted="runs"))
    with pytest.raises(NotTrusted, match=r"p: fleet\.toml sets verify"):
        _ = values.verify
    assert values.worktree_setup is None


def test_a_permission_that_nobody_has_trusted_keeps_its_trusted_value():
    given = SettingValue(
        name="review", value="person", source="fleet.toml:1", help="", untrusted="frees", written="none"
    )
    assert defaults(review=given).review == "person"


def test_there_is_no_attribute_without_a_setting():
    with pytest.raises(AttributeError):
        _ = defaults().integration_branch
