"""Fleet's modules come from one file, and the file never decides what fleet does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
IGNORED = shutil.ignore_patterns("__pycache__")
SAY_LOADER = "from fleet.model import names; print(type(names.__loader__).__name__, getattr(names, 'ADDED', ''))"
USE = f"from fleet import bundle; bundle.use(); {SAY_LOADER}"


@pytest.fixture
def copy(tmp_path):
    """A copy of fleet with its bytecode, of which a test may change the source."""
    shutil.copytree(REPOSITORY / "src/fleet", tmp_path / "src/fleet", ignore=IGNORED)
    shutil.copy(REPOSITORY / "scripts/fleet", tmp_path / "fleet")
    run(tmp_path, "-m", "compileall", "-q", str(tmp_path / "src/fleet"))
    return tmp_path


def run(copy, *words, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(copy / "src"), "FLEET_HOME": str(copy / "home"), **variables}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def bundles(copy):
    return list((copy / "src/fleet/__pycache__").glob("*.bundle*"))


def test_a_command_writes_the_bundle_and_the_next_one_takes_its_modules_from_it(copy):
    assert run(copy, "-c", USE) == "SourceFileLoader"
    run(copy, str(copy / "fleet"), "--help")
    assert len(bundles(copy)) == 1
    assert run(copy, "-c", USE) == "_Loader"
    assert "Usage: fleet" in run(copy, str(copy / "fleet"), "--help")


def test_a_changed_source_is_what_counts(copy):
    run(copy, str(copy / "fleet"), "--help")
    with (copy / "src/fleet/model/names.py").open("a") as source:
        source.write("\nADDED = 'new'\n")
    assert run(copy, "-c", f"{USE}; bundle.renew()") == "SourceFileLoader new"
    assert run(copy, "-c", USE) == "_Loader new"


@pytest.mark.parametrize("keep", [0, 3, 12, 1000, 400_000])
def test_a_damaged_bundle_costs_time_and_nothing_else(copy, keep):
    run(copy, str(copy / "fleet"), "--help")
    (bundle,) = bundles(copy)
    os.truncate(bundle, keep)
    assert run(copy, "-c", USE).endswith("Loader")
    assert "Usage: fleet" in run(copy, str(copy / "fleet"), "--help")


def test_nothing_is_written_where_python_may_not_write_bytecode(copy):
    run(copy, str(copy / "fleet"), "--help", PYTHONDONTWRITEBYTECODE="1")
    assert bundles(copy) == []


def test_code_has_the_whole_path_of_its_source_also_when_it_was_compiled_below_a_relative_one(copy):
    words = [sys.executable, "-m", "compileall", "-q", "-f", "src/fleet"]
    subprocess.run(words, cwd=copy, check=True)
    run(copy, str(copy / "fleet"), "--help")
    say_path = (
        "from fleet import bundle; bundle.use(); from fleet.model import names; print(names.slug.__code__.co_filename)"
    )
    assert run(copy, "-c", say_path) == str(copy / "src/fleet/model/names.py")
