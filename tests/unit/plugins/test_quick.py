"""The rules of `make quick`: what is left out, and that nobody starts tmux without saying so."""

import subprocess
from types import SimpleNamespace

import pytest
from plugins.quick import put_stand_in, why_left_out


def item(
    *fixtures: str,
    store: str = "",
    marker: pytest.MarkDecorator | None = None,
    nodeid: str = "tests/unit/test_a.py::test",
) -> SimpleNamespace:
    callspec = SimpleNamespace(params={"store_url_kind": store} if store else {})
    marks = {marker.name: marker} if marker else {}
    return SimpleNamespace(
        nodeid=nodeid,
        fixturenames=fixtures,
        callspec=callspec,
        get_closest_marker=marks.get,
    )


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (item("home"), ""),
        (item("store_url", store="sqlite"), ""),
        (item("store_url", store="postgres"), "PostgreSQL"),
        (item("postgres_url", "postgres_directory"), "PostgreSQL"),
        (item("scene", "tmux"), "tmux"),
        (item("world", marker=pytest.mark.tmux), "tmux"),
        (item(marker=pytest.mark.slow("a crowd")), "slow by nature"),
        (item(nodeid="tests/cli/daemon/test_a.py::test"), "a daemon"),
        (item(nodeid="tests/verbs/merge/test_a.py::test"), "merges with real git"),
    ],
)
def test_a_test_is_left_out_for_what_it_needs(test, why):
    assert why_left_out(test) == why


def test_a_quick_test_that_starts_tmux_is_written_down_and_gets_no_server(tmp_path, monkeypatch):
    put_stand_in(tmp_path / "bin" / "tmux", tmp_path / "record")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "some test")
    words = [tmp_path / "bin" / "tmux", "-S", tmp_path / "socket"]
    asked = subprocess.run([*words, "-N", "list-sessions"], capture_output=True, check=False)
    assert (asked.returncode, (tmp_path / "record").exists()) == (1, False)
    assert subprocess.run([*words, "start-server"], capture_output=True, check=False).returncode == 1
    assert (tmp_path / "record").read_text() == "some test\n"
    assert not (tmp_path / "socket").exists()
