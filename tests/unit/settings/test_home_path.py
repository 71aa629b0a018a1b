"""One home has one name."""

from fleet.world.home.location import home_path


def test_a_home_reached_through_a_link_is_the_home_itself(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to("home")
    monkeypatch.setenv("FLEET_HOME", str(tmp_path / "link"))
    assert home_path() == str((tmp_path / "home").resolve())
