"""Fleet's modules come from one file, and the file never decides what fleet does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleet import bundle_writing

pytestmark = pytest.mark.slow("compiles all modules again")

REPOSITORY = Path(__file__).parents[3]
IGNORED = shutil.ignore_patterns("__pycache__")
SAY_LOADER = "from fleet.model import names; print(type(names.__loader__).__name__, getattr(names, 'ADDED', ''))"
RENEW = "from fleet.bundle_writing import renew; renew()"
USE = f"from fleet import bundle; bundle.use(); {SAY_LOADER}"

KEPT = 1_000_000
GROUP = """
import sys
from fleet import bundle
bundle.use()
bundle.BUNDLE.load("base")
print("there" if "fleet.model.names" in sys.modules else "missing")
"""
IMPORT = """
import sys
from fleet import bundle, bundle_groups
for name in bundle_groups.GROUPS["first"] + bundle_groups.GROUPS["base"]:
    __import__(name)
"""
SAY_MODULES = """
from fleet.bundle_groups import GROUPS
for name in GROUPS["base"]:
    module, spec = sys.modules[name], sys.modules[name].__spec__
    package, _, own = name.rpartition(".")
    said = [spec.name, spec.parent, spec.origin, spec.cached, spec.has_location, spec.submodule_search_locations]
    said += [getattr(module, each, None) for each in ("__file__", "__cached__", "__package__", "__path__")]
    names = sorted(set(vars(module)) - {"annotations", "__annotations__"})
    print(said, module.__loader__ is spec.loader, getattr(sys.modules[package], own) is module, names)
"""
SAY_TRACEBACK = """
import traceback
from fleet.model import names
from fleet.api.actor import Actor
try:
    names.slug("A B")
except Exception:
    print(traceback.format_exc().partition("names.py")[2])
print("docstring" if names.slug.__doc__ else "none", sorted(Actor.project_here.__annotations__))
"""
SAY_ENGINES = """
import sys
from fleet.engines.reader import all_engines
engines = all_engines(sys.argv[1])
print("tomllib" in sys.modules, engines)
"""
DAMAGE = """
from pathlib import Path
from fleet import bundle
bundle.use()
file, whole = bundle.BUNDLE, bytearray(Path(bundle.BUNDLE.path).read_bytes())
file.find_spec("fleet.model.names")
places = [file._index["fleet.model.names"][:2]]
places += [(whole.index(each), len(each)) for each in file._read(bundle.ENGINES, {}).values()]
for at, length in places:
    whole[at : at + length] = bytes(length)
Path(file.path).write_bytes(whole)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Fleet with its bytecode."""
    place = tmp_path_factory.mktemp("compiled")
    shutil.copytree(REPOSITORY / "src/fleet", place / "src/fleet", ignore=IGNORED)
    shutil.copy(REPOSITORY / "scripts/fleet", place / "fleet")
    run(place, "-m", "compileall", "-q", str(place / "src/fleet"))
    return place


@pytest.fixture
def copy(compiled, tmp_path):
    """A copy of it, made of links; `append` changes a source."""
    return Path(shutil.copytree(compiled, tmp_path / "copy", copy_function=os.link))


def append(source, text):
    whole = source.read_text() + text
    source.unlink()
    source.write_text(whole)


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
    append(copy / "src/fleet/model/names.py", "\nADDED = 'new'\n")
    assert run(copy, "-c", f"{USE}; {RENEW}") == "SourceFileLoader new"
    assert run(copy, "-c", USE) == "_Loader new"


@pytest.mark.parametrize("keep", [0, 3, 12, 1100, 100_000, 3_000_000])
def test_a_damaged_bundle_costs_time_and_nothing_else(copy, keep):
    run(copy, str(copy / "fleet"), "--help")
    (bundle,) = bundles(copy)
    os.truncate(bundle, keep)
    assert run(copy, "-c", USE).endswith("Loader")
    assert run(copy, "-c", GROUP).startswith("missing" if keep < KEPT else "there")
    assert "Usage: fleet" in run(copy, str(copy / "fleet"), "--help")


def test_a_module_or_an_engine_that_is_damaged_in_it_comes_from_its_own_file(copy):
    run(copy, str(copy / "fleet"), "--help")
    use = "from fleet import bundle; bundle.use()"
    before = run(copy, "-c", use + SAY_ENGINES, str(copy)).partition(" ")[2]
    run(copy, "-c", DAMAGE)
    assert run(copy, "-c", f"{USE}; print(names.slug('a'))") == "_Loader \na"
    assert run(copy, "-c", use + SAY_ENGINES, str(copy)) == f"True {before}"


def test_a_module_whose_source_is_gone_is_not_taken_from_it(copy):
    run(copy, str(copy / "fleet"), "--help")
    (copy / "src/fleet/model/names.py").unlink()
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(copy, "-c", USE)
    assert "ImportError: cannot import name 'names'" in failed.value.stderr


def test_nothing_is_written_where_python_may_not_write_bytecode(copy):
    run(copy, str(copy / "fleet"), "--help", PYTHONDONTWRITEBYTECODE="1")
    assert bundles(copy) == []


def test_a_bundle_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    path = tmp_path / "modules.bundle"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        bundle_writing._replace(str(path), b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_by_the_next_one_with_its_pid(tmp_path):
    path = tmp_path / "modules.bundle"
    (tmp_path / f"modules.bundle.{os.getpid()}").write_bytes(b"ha")
    with pytest.raises(FileExistsError):
        bundle_writing._replace(str(path), b"half")
    bundle_writing._replace(str(path), b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_code_has_the_whole_path_of_its_source_also_when_it_was_compiled_below_a_relative_one(copy):
    words = [sys.executable, "-m", "compileall", "-q", "-f", "src/fleet"]
    subprocess.run(words, cwd=copy, check=True)
    run(copy, str(copy / "fleet"), "--help")
    say_path = (
        "from fleet import bundle; bundle.use(); from fleet.model import names; print(names.slug.__code__.co_filename)"
    )
    assert run(copy, "-c", say_path) == str(copy / "src/fleet/model/names.py")


def test_the_modules_of_a_group_are_what_an_import_makes_of_them(copy):
    run(copy, str(copy / "fleet"), "--help")
    by_group, by_import = run(copy, "-c", GROUP + SAY_MODULES), run(copy, "-c", IMPORT + SAY_MODULES)
    assert by_group.splitlines() == ["there", *by_import.splitlines()]


def test_a_module_of_a_group_whose_source_has_changed_is_not_loaded_with_it(copy):
    run(copy, str(copy / "fleet"), "--help")
    append(copy / "src/fleet/model/names.py", "\nADDED = 'new'\n")
    assert run(copy, "-c", f"{GROUP}\nfrom fleet.model import names; print(names.ADDED)") == "there\nnew"


def test_a_module_that_cannot_be_imported_is_no_better_in_a_group(copy):
    source = copy / "src/fleet/model/names.py"
    append(source, "\nassert 'GONE' not in __import__('os').environ\n")
    run(copy, "-m", "compileall", "-q", str(source))
    run(copy, str(copy / "fleet"), "--help")
    fails = f"try:\n    exec({GROUP!r})\nexcept AssertionError:\n    print('fleet.model.names' in sys.modules)"
    assert run(copy, "-c", f"import sys\n{fails}", GONE="1") == "False"


def test_a_group_has_no_docstrings_but_the_lines_of_tracebacks_and_the_annotations_of_requests(copy):
    run(copy, str(copy / "fleet"), "--help")
    group = GROUP.replace('"base"', '"base"); bundle.BUNDLE.load("fleet"')
    by_import = run(copy, "-c", SAY_TRACEBACK)
    assert run(copy, "-c", group + SAY_TRACEBACK) == "there\n" + by_import.replace("docstring [", "none [")
    assert by_import.endswith("docstring ['named', 'return']")


@pytest.mark.skipif(
    "coverage" in sys.modules, reason="while coverage is measured, Python imports the reader before fleet begins"
)
def test_the_built_in_engines_are_in_it_as_their_files_say_and_the_reader_of_toml_is_not_imported(copy):
    run(copy, str(copy / "fleet"), "--help")
    use = "from fleet import bundle; bundle.use()"
    engines = run(copy, "-c", SAY_ENGINES, str(copy)).removeprefix("True ")
    assert run(copy, "-c", use + SAY_ENGINES, str(copy)) == f"False {engines}"
    (copy / "engines").mkdir()
    own = copy / "engines" / "shell.toml"
    own.write_text((copy / "src/fleet/engines/data/shell.toml").read_text().replace("any command", "my command"))
    assert "my command" in run(copy, "-c", use + SAY_ENGINES, str(copy)).removeprefix("True ")
    append(copy / "src/fleet/engines/data/shell.toml", "\nstart = 3\n")
    own.unlink()
    with pytest.raises(subprocess.CalledProcessError):
        run(copy, "-c", use + SAY_ENGINES, str(copy))
