"""`make mutants`: an entry that is wrong is named, and the broken source is what runs, also in programs that a test starts."""

import os
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest
from mutant_tests import kind_of
from mutating import catalogue, choice
from mutating.catalogue import Mutant
from mutating.copies import Copy
from mutating.memory import Memory
from mutating.rows import Test as Row
from mutating.trial import need_served, rounds, unmarked_names

ENTRY = """
[[mutant]]
name = "{name}"
row = "{row}"
breaks = "x is not 1."
file = "src/fleet/numbers.py"
before = '''{before}'''
after = '''{after}'''
tests = [{tests}]
{more}
"""
MUTANT = Mutant(
    name="two",
    row="A-1",
    breaks="x is not 1.",
    file="src/fleet/numbers.py",
    before="1",
    after="2",
    stores=("any",),
    tests=("tests/unit/test_a.py::test_fast",),
)


@pytest.fixture
def root(tmp_path):
    """A repository with one module and one row."""
    root = tmp_path / "root"
    for name, text in {
        "src/fleet/__init__.py": "",
        "src/fleet/numbers.py": "def x():\n    return 1\n\n\nY = Z = 7\n",
        "scripts/fleet": "#!python\nfrom fleet import numbers\nprint(numbers.x())\n",
        "docs/reference/due.txt": "A-1 any\nB-2 both\n",
        "checks/mutants/some.toml": "",
        "tests/unit/test_a.py": "def test_fast():\n    pass\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def entries(root, *entries: dict[str, str]) -> tuple[list[Mutant], list[str]]:
    default = {"name": "two", "row": "A-1", "before": "1", "after": "2", "tests": f"'{MUTANT.tests[0]}'", "more": ""}
    text = "".join(ENTRY.format(**{**default, **entry}) for entry in entries)
    (root / "checks/mutants/some.toml").write_text(text)
    mutants, faults = catalogue.read(root)
    return mutants, faults + catalogue.faults_of(root, mutants)


def test_an_entry_takes_its_stores_from_its_row(root):
    mutants, faults = entries(root, {}, {"name": "eight", "row": "B-2", "before": "Y", "after": "X"})
    assert faults == []
    assert [mutant.stores for mutant in mutants] == [("any",), ("sqlite", "postgres")]


def test_other_stores_than_the_row_has_need_a_reason(root):
    """Each other entry would be read for both stores."""
    reason = 'why_one_store = "it is a value"'
    for more, fault in (
        (f'stores = ["any"]\n{reason}', ""),
        (f'stores = ["sqlite"]\n{reason}', ""),
        ('stores = ["any"]', "it needs both, or neither"),
        ('stores = ["any"]\nwhy_one_store = " "', "it needs both, or neither"),
        (reason, "it needs both, or neither"),
        (f'stores = ["postgres", "sqlite"]\n{reason}', "which need not be said"),
        (f'stores = ["mysql"]\n{reason}', "unknown store mysql"),
    ):
        _, faults = entries(root, {"row": "B-2", "more": more})
        assert [fault in each for each in faults] == ([True] if fault else []), (more, faults)


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"row": "A-9"}, "A-9 is not a row that is due"),
        ({"before": "nowhere"}, "is 0 times in src/fleet/numbers.py, not once"),
        ({"before": "7\n", "after": "7\n"}, "it changes nothing"),
        ({"before": " ", "after": ""}, "times in src/fleet/numbers.py, not once"),
        ({"before": "return 1", "after": "return ("}, "does not compile"),
        ({"before": ""}, "no before"),
        ({"tests": ""}, "no tests"),
        ({"tests": "'tests/unit/test_b.py::test_fast'"}, "no such test: tests/unit/test_b.py::test_fast"),
        ({"tests": "'tests/unit/test_a.py::test_renamed'"}, "no such test: tests/unit/test_a.py::test_renamed"),
    ],
)
def test_a_wrong_entry_is_named(root, entry, fault):
    _, faults = entries(root, entry)
    assert len(faults) == 1
    assert fault in faults[0]


def test_a_function_has_at_most_three_and_a_name_is_used_once(root):
    _, faults = entries(root, *({"name": f"to {number}", "after": str(number)} for number in range(2, 6)))
    assert faults == ["src/fleet/numbers.py x (line 1): 4 mutants, at most 3 a function"]
    _, faults = entries(root, {}, {"before": "Y", "after": "X"})
    assert faults == ["2 mutants are called 'two'"]


def test_the_broken_source_runs_in_every_process_and_is_whole_again_afterwards(root, tmp_path):
    copy = Copy(root, tmp_path / "copy")
    copy.refresh()

    def said() -> str:
        program = str(copy.place / ".venv/bin/fleet")
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()

    assert said() == "1"
    for number in ("2", "3"):  # of the same size, within the same second
        with copy.broken_by(replace(MUTANT, after=number)):
            assert said() == number
        assert said() == "1"
    assert (root / MUTANT.file).read_text() == (copy.place / MUTANT.file).read_text()


def test_what_a_killed_run_left_broken_is_repaired_at_the_start(root, tmp_path):
    copy = Copy(root, tmp_path / "copy")
    copy.refresh()
    (copy.place / MUTANT.file).write_text("def x():\n    return 2\n")
    (copy.place / "src/fleet/left.py").write_text("")
    os.remove(root / "src/fleet/__init__.py")
    copy.refresh()
    assert (copy.place / MUTANT.file).read_text() == (root / MUTANT.file).read_text()
    assert sorted(path.name for path in (copy.place / "src/fleet").glob("*.py")) == ["numbers.py"]


def candidates() -> list[Row]:
    return [
        Row(ident=f"tests/{name}[{store}]", rows=("B-2",), store=store)
        for name in ("live/test_b.py::test_slow", "unit/test_a.py::test_fast")
        for store in ("sqlite", "postgres")
    ]


def test_a_test_that_chooses_its_store_counts_for_sqlite_and_not_for_postgresql():
    own = Row(ident="t", rows=(), store="any")
    assert need_served(own, ("sqlite", "postgres")) == "sqlite"
    assert need_served(own, ("postgres",)) is None
    assert need_served(replace(own, store="postgres"), ("any",)) == "any"


def test_named_tests_come_first_then_cheap_ones_and_each_store_is_needed(tmp_path):
    mutant = replace(MUTANT, row="B-2", stores=("sqlite", "postgres"))
    memory = Memory(tmp_path / "memory.json", "tree")
    assert [
        list(each) for each in rounds(replace(mutant, tests=("tests/live/test_b.py::test_slow",)), candidates(), memory)
    ] == [
        [f"tests/live/test_b.py::test_slow[{store}]" for store in ("sqlite", "postgres")],
        [f"tests/unit/test_a.py::test_fast[{store}]" for store in ("sqlite", "postgres")],
    ]
    _, others = rounds(replace(mutant, tests=()), candidates(), memory)
    assert [test.split("/")[1] for test in others] == ["unit", "unit", "live", "live"]
    assert sorted(others.values()) == ["postgres", "postgres", "sqlite", "sqlite"]


def test_a_named_test_has_to_bear_the_row():
    mutant = replace(MUTANT, row="A-1", tests=("tests/unit/test_a.py::test_fast",))
    assert unmarked_names(mutant, candidates()) == ["tests/unit/test_a.py::test_fast"]
    assert unmarked_names(replace(mutant, row="B-2"), candidates()) == []


@pytest.mark.parametrize(
    ("when", "error", "kind"),
    [
        ("call", AssertionError(), "noticed"),
        ("call", ValueError(), "noticed"),
        ("teardown", AssertionError(), "noticed"),
        ("teardown", OSError(), "error"),
        ("setup", AssertionError(), "error"),
        ("call", NameError(), "error"),
        ("call", ModuleNotFoundError(), "error"),
        ("call", pytest.fail.Exception("Timeout (>120.0s) from pytest-timeout."), "hang"),
    ],
)
def test_which_failure_counts(when, error, kind):
    assert kind_of(SimpleNamespace(failed=True, when=when), error) == kind


def test_a_word_like_a_row_is_the_whole_row():
    mutants = [replace(MUTANT, row=row) for row in ("A-1", "A-10")]
    assert choice.matching(mutants, "A-1 two") == mutants[:1]
    assert choice.matching(mutants, "numbers") == mutants
    assert choice.matching(mutants, "A-1 three") == []


def test_memory_forgets_which_tests_pass_when_the_source_changes(tmp_path):
    memory = Memory(tmp_path / "memory.json", "tree")
    memory.sound.add("t")
    memory.save()
    assert Memory(memory.path, "tree").sound == {"t"}
    assert Memory(memory.path, "another").sound == set()
