"""The program in docs/how-to/use-from-python.md, as a reader would run it."""

import re
import subprocess
import sys
from pathlib import Path

import fleet

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-from-python.md"


def test_the_program_of_the_page_dispatches_follows_and_merges(scene, tmp_path):
    program = tmp_path / "shop.py"
    program.write_text(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
    with scene.fleet() as f:
        f.projects.remove("p")
    words = [sys.executable, str(program), scene.home, scene.repository]
    said = subprocess.run(words, env=scene.around(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, ""), said
    assert [line.split(":")[0] for line in said.stdout.splitlines() if ": merged as " in line] == ["schema", "queries"]
    assert "  launch " in said.stdout
    assert scene.git("show", "main:users.sql") == "SELECT name FROM users;"


def test_what_the_methods_take_is_named_by_the_package():
    for name in fleet.__all__:
        assert getattr(fleet, name) is not None
