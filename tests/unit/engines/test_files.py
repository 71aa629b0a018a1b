"""An engine's file that cannot be read is named."""

import pytest

from fleet.engines.reader import engine
from fleet.errors.given import BadSetting


@pytest.mark.req("ENG-1")
def test_a_directory_in_the_place_of_an_engines_file_is_a_broken_one(tmp_path):
    path = tmp_path / "engines" / "x.toml"
    path.mkdir(parents=True)
    with pytest.raises(BadSetting, match="cannot be read") as caught:
        engine(str(tmp_path), "x")
    assert str(path) in str(caught.value)
