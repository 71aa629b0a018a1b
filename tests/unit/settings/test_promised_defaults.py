"""The defaults that requirements name, each with its row."""

import pytest

from fleet.model.settings.table import SETTINGS

DEFAULTS = [
    ("exit_grace", "10s", "REP-9"),
    ("handoff.ask_percent", 40, "HAND-7"),
    ("handoff.ask_tokens", 200_000, "HAND-7"),
    ("handoff.force_percent", 50, "HAND-7"),
    ("handoff.force_tokens", 300_000, "HAND-7"),
    ("limits.quota_percent", 90, "LIMIT-1"),
    ("integration", "fleet/main", "MERGE-3"),
    ("autonomy", None, "ENG-5"),
    ("review", None, "PIPE-1"),
]


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param(name, value, marks=pytest.mark.req(row), id=name) for name, value, row in DEFAULTS]
)
def test_a_setting_that_nobody_sets_has_the_value_that_its_row_promises(name, value):
    [setting] = [each for each in SETTINGS if each.name == name]
    assert setting.default == value
