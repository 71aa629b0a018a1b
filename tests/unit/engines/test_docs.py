"""The page on engines names every key that their files may have."""

import re
from pathlib import Path

import pytest

from fleet.engines import reader

PAGE = Path(__file__).parents[3] / "docs/reference/engines.md"


@pytest.mark.req("ENG-1")
def test_every_key_of_an_engines_file_is_described():
    named = set(re.findall(r"`\[*([a-z_]+)\]*`", PAGE.read_text()))
    assert set(reader.TABLE.keys) - named == set()


@pytest.mark.req("ENG-1")
def test_the_page_shows_an_engine_that_can_be_used(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "mine.toml").write_text(example)
    engine = reader.read(tmp_path / "mine.toml")
    assert (engine.name, engine.program, sorted(engine.autonomy)) == ("mine", "mine", ["ask", "full"])
