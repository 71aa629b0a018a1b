"""Slugs from titles of any alphabet, and the nearest name to a mistyped one."""

import pytest

from fleet.model import names
from fleet.model.tasks.slugs import slug_from
from fleet.model.text.nearest import nearest

TITLES = {
    "Fix the Login-Page!": "fix-the-login-page",
    "Größe ändern": "groesse-aendern",
    "GRÖSSE": "groesse",
    "Café au lait": "cafe-au-lait",
    "Łódź, Øresund, Þór": "lodz-oresund-thor",
    "Исправить вход": "ispravit-vkhod",
    "Їжак": "yizhak",
    "Διόρθωση σύνδεσης": "diorthosi-syndesis",
    "ログイン": "roguin",
    "한국어": "hangugeo",
    "हिन्दी": "hanada",
    "שלום": "slvm",
    "ﬁnal": "final",
    "修复 login": "login",
    "!!!": "task",
}


@pytest.mark.parametrize(("title", "slug"), TITLES.items(), ids=TITLES.values())
def test_a_title_of_any_alphabet_gets_a_readable_slug(title, slug):
    assert slug_from(title) == slug


def test_letters_that_cannot_be_written_in_latin_get_a_slug_that_stays_the_same():
    one, other = slug_from("修复登录"), slug_from("修复注销")
    assert (one.startswith("task-"), one == slug_from("修复登录"), one == other) == (True, True, False)


@pytest.mark.parametrize("title", ["修" * 300, "ä" * 300, "か" * 300, "\U0001f600", "a\u0301\u0323", "١٢٣", "ß" * 100])
def test_every_slug_is_a_valid_name(title):
    assert names.slug(slug_from(title))


def test_the_nearest_name_is_suggested_only_when_it_is_similar():
    assert nearest("pasrer", ["lexer", "parser", "docs"]) == "parser"
    assert nearest("xyzzy", ["lexer", "parser"]) == ""
    assert nearest("parser", []) == ""
