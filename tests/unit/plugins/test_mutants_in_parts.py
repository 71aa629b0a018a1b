"""`make mutants` goes on where it was interrupted; CI tries a part that a seed repeats, and fails only for what the tests have shown."""

import subprocess
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import mutate
import pytest
from mutating import choice, part, report, trial, trials
from mutating.catalogue import Mutant
from mutating.ledger import Ledger
from mutating.memory import Memory
from mutating.part import Candidate
from mutating.rows import Test as Row
from mutating.trial import Seen, Verdict

from fleet.testing.postgres import PostgresUnavailable

MUTANT = Mutant(
    name="two",
    row="A-1",
    breaks="x is not 1.",
    file="src/x.py",
    before="1",
    after="2",
    stores=("sqlite", "postgres"),
    tests=("tests/unit/test_a.py::test_a",),
)
TESTS = {store: f"tests/unit/test_a.py::test_a[{store}]" for store in MUTANT.stores}
OTHER = "tests/unit/test_b.py::test_b[sqlite]"


def rows(*stores, seconds=0.5):
    return [Row(ident=TESTS[store], rows=("A-1",), store=store, seconds=seconds, passed=True) for store in stores]


@pytest.fixture
def memory(tmp_path):
    return Memory(tmp_path / "memory.json", "tree")


@pytest.fixture
def root(tmp_path):
    for name in ("src/x.py", "tests/unit/test_a.py", "tests/unit/test_b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    return tmp_path


def ledger(root, shared="shared"):
    return Ledger(root / "verdicts.jsonl", root, shared)


CAUGHT = Verdict(mutant=MUTANT, kind="caught", by=TESTS, seconds=1.5, sound=True)


def test_a_mutant_that_was_caught_is_not_tried_again(root):
    ledger(root).add(CAUGHT)
    assert ledger(root).verdict_on(MUTANT) == CAUGHT
    assert ledger(root).verdict_on(replace(MUTANT, name="three")) is None


@pytest.mark.parametrize("kind", ["survived", "misnamed", "hang", "unrun", "unsound"])
def test_one_that_was_not_caught_is_tried_again(root, kind):
    ledger(root).add(CAUGHT)
    ledger(root).add(replace(CAUGHT, kind=kind))
    assert ledger(root).verdict_on(MUTANT) is None
    assert ledger(root).has(MUTANT)


def test_one_whose_source_entry_or_tests_changed_is_tried_again(root):
    ledger(root).add(CAUGHT)
    assert ledger(root, "other plugins").verdict_on(MUTANT) is None
    assert ledger(root).verdict_on(replace(MUTANT, after="3")) is None
    (root / "tests/unit/test_b.py").write_text("2\n")
    assert ledger(root).verdict_on(MUTANT) == CAUGHT
    for name in ("src/x.py", "tests/unit/test_a.py"):
        (root / name).write_text("2\n")
        assert ledger(root).verdict_on(MUTANT) is None
        assert not ledger(root).has(MUTANT)
        (root / name).write_text("1\n")


def test_a_line_that_a_killed_run_has_half_written_is_passed_over(root):
    ledger(root).add(CAUGHT)
    with (root / "verdicts.jsonl").open("a") as out:
        out.write('{"mutant": "thr')
    assert ledger(root).verdict_on(MUTANT) == CAUGHT


class Played:
    """Stands for the runs of pytest: what each is to see, in turn."""

    def __init__(self, monkeypatch, *runs, ended=True):
        self.runs, self.ended, self.asked = list(runs), ended, []
        monkeypatch.setattr(trial, "run_tests", self.run)

    def run(self, _copy, needs, _end, **_how):
        self.asked.append(list(needs))
        seen = self.runs.pop(0)
        return self.ended, [
            Seen(test=test, need=need, kind=seen[test], seconds=0.1, words="")
            for test, need in needs.items()
            if test in seen
        ]


UNBROKEN = SimpleNamespace(broken_by=lambda _mutant: nullcontext())
SQLITE, POSTGRES = TESTS["sqlite"], TESTS["postgres"]


@pytest.mark.parametrize(
    ("named", "others", "kind"),
    [
        ({SQLITE: "noticed", POSTGRES: "noticed"}, None, "caught"),
        ({SQLITE: "passed", POSTGRES: "noticed"}, {OTHER: "noticed"}, "misnamed"),
        ({SQLITE: "passed", POSTGRES: "noticed"}, {OTHER: "passed"}, "survived"),
        ({SQLITE: "passed", POSTGRES: "noticed"}, {OTHER: "skipped"}, "unrun"),
        ({SQLITE: "passed", POSTGRES: "noticed"}, {OTHER: "error"}, "unrun"),
        ({SQLITE: "passed", POSTGRES: "noticed"}, {OTHER: "hang"}, "hang"),
        ({}, {}, "unrun"),
    ],
)
def test_a_mutant_survives_only_tests_that_ran_to_their_end_and_passed(monkeypatch, memory, named, others, kind):
    played = Played(monkeypatch, named, *([others] if others is not None else []))
    tests = [*rows("sqlite", "postgres"), Row(ident=OTHER, rows=("A-1",), store="sqlite")]
    assert trial.try_mutant(UNBROKEN, MUTANT, tests, memory, 0).kind == kind
    assert played.asked[0] == [SQLITE, POSTGRES]


def test_a_run_that_does_not_end_is_unfinished_and_not_survived(monkeypatch, memory):
    Played(monkeypatch, {SQLITE: "passed", POSTGRES: "passed"}, ended=False)
    assert trial.try_mutant(UNBROKEN, MUTANT, rows("sqlite", "postgres"), memory, 0).kind == "unfinished"


def test_the_part_counts_a_mutant_as_uncaught_when_its_tests_pass_twice(monkeypatch, memory):
    for second, kind in (("passed", "survived"), ("noticed", "caught")):
        Played(monkeypatch, dict.fromkeys(TESTS.values(), "passed"), dict.fromkeys(TESTS.values(), second))
        (candidate,) = part.candidates_of([MUTANT], rows("sqlite", "postgres"), memory)
        (verdict,) = trials.Part([UNBROKEN], memory, float("inf")).run([candidate])
        assert verdict.kind == kind


@pytest.mark.parametrize("is_left_out", [False, True])
def test_the_part_counts_no_mutant_as_uncaught_while_not_all_its_tests_can_run(monkeypatch, memory, is_left_out):
    """One failed in the run before, or the run left it out on PostgreSQL, where it takes a third of some tests."""
    passed = [*rows("sqlite", "postgres"), replace(rows("sqlite")[0], ident=f"{MUTANT.tests[0]}[sqlite-two]")]
    left = replace(passed[-1], ident=f"{MUTANT.tests[0]}[postgres-two]", store="postgres", passed=False)
    (candidate,) = part.candidates_of([MUTANT], passed if is_left_out else [*passed, left], memory)
    run = dict.fromkeys((test.ident for test in passed), "passed")
    Played(monkeypatch, run, run)
    (verdict,) = trials.Part([UNBROKEN], memory, float("inf")).run([candidate])
    assert (verdict.kind, set(candidate.needs)) == ("unrun", set(run))
    assert verdict.words.endswith(f"not seen to pass in the run before: {left.ident}")


def test_the_mutants_that_fail_the_part_are_said_last(capsys):
    report.print_uncaught([Verdict(mutant=MUTANT, kind="survived", words="not noticed on sqlite")])
    said = capsys.readouterr().out
    assert said.startswith("mutants: not caught: ")
    assert all(words in said for words in ("A-1", "two", "not noticed on sqlite"))


@pytest.mark.parametrize(
    ("kinds", "code"),
    [([], 1), (["unrun"], 1), (["unrun", "caught"], 0), (["unfinished"], 0), (["caught", "survived"], 1)],
    ids=["nothing", "nothing could run", "one could run", "one was slow", "one survived"],
)  # fmt: skip
def test_a_part_in_which_nothing_could_be_tried_fails_and_a_slow_mutant_does_not(kinds, code):
    assert mutate.code_of_part([Verdict(mutant=MUTANT, kind=kind) for kind in kinds]) == code


@pytest.mark.parametrize("why", [OSError("no room"), PostgresUnavailable("no server")])
def test_a_part_whose_environment_is_broken_fails(monkeypatch, tmp_path, why, capsys):
    def broken(*_given):
        raise why

    monkeypatch.setattr(mutate, "BUILD", tmp_path)
    monkeypatch.setattr(mutate, "try_part", broken)
    monkeypatch.setattr(mutate.catalogue, "read", lambda _root: ([], []))
    monkeypatch.setattr(mutate, "check", lambda *_given: 0)
    monkeypatch.setattr(mutate.sys, "argv", ["mutate.py", "--part", "60"])
    assert mutate.main() == 1
    assert "the environment is broken" in capsys.readouterr().out


def test_the_part_starts_nothing_for_which_there_is_no_time(memory):
    (candidate,) = part.candidates_of([MUTANT], rows("sqlite", "postgres"), memory)
    assert trials.Part([UNBROKEN], memory, 0).run([candidate]) == []


def test_a_candidate_is_tried_on_the_stores_where_its_tests_have_run(memory):
    memory.seconds |= dict.fromkeys(TESTS.values(), 0.5)
    both, one = (part.candidates_of([MUTANT], rows(*stores), memory)[0] for stores in (MUTANT.stores, ["sqlite"]))
    assert (both.mutant.stores, both.seconds) == (("sqlite", "postgres"), part.START + 1.0)
    assert (one.mutant.stores, one.needs) == (("sqlite",), {SQLITE: "sqlite"})
    assert part.candidates_of([MUTANT], [], memory) == []


def candidates(number, seconds=5.0, *, slow=False):
    mutants = [replace(MUTANT, name=f"slow {each}" if slow else str(each), slow=slow) for each in range(number)]
    return [Candidate(mutant=mutant, needs={}, seconds=seconds) for mutant in mutants]


def names(chosen):
    return [each.mutant.name for each in chosen]


def test_what_changed_comes_first_and_the_seed_repeats_the_order():
    chosen = names(part.choose(candidates(40), {"7", "9"}, "abc", 60))
    assert set(chosen[:2]) == {"7", "9"}
    assert len(chosen) == 12
    assert chosen == names(part.choose(candidates(40), {"7", "9"}, "abc", 60))
    assert chosen != names(part.choose(candidates(40), {"7", "9"}, "abd", 60))


def test_a_great_change_leaves_a_third_of_the_time_to_the_others():
    changed = {str(each) for each in range(30)}
    chosen = names(part.choose(candidates(40), changed, "abc", 60))
    assert [name in changed for name in chosen] == [True] * 8 + [False] * 4


def test_what_takes_long_is_left_out_sooner_when_it_did_not_change():
    assert names(part.choose(candidates(1, part.MOST + 1), set(), "abc", 60)) == []
    assert names(part.choose(candidates(1, part.MOST + 1), {"0"}, "abc", 60)) == ["0"]
    assert names(part.choose(candidates(1, part.MOST_CHANGED + 1), {"0"}, "abc", 60)) == []


def test_a_slow_mutant_is_tried_when_it_changed_after_the_others_that_changed(memory):
    (slow,) = part.candidates_of([replace(MUTANT, slow=True)], rows("sqlite"), memory)
    assert (slow.mutant.slow, slow.seconds) == (True, part.MOST_CHANGED)
    assert part.choose([slow], set(), "abc", 60) == []
    assert part.choose([slow], {"two"}, "abc", 60) == [slow]
    both = candidates(3, part.MOST_CHANGED, slow=True) + candidates(3)
    changed = {each.mutant.name for each in both}
    chosen = names(part.choose(both, changed, "abc", 60))
    assert (set(chosen[:3]), len(chosen)) == ({"0", "1", "2"}, 4)
    assert chosen[3].startswith("slow")


def test_a_slow_mutant_takes_its_time_and_no_more(monkeypatch, memory):
    ends = []

    def played(_copy, mutant, _plan, _memory, end):
        ends.append(end)
        return Verdict(mutant=mutant, kind="unfinished")

    monkeypatch.setattr(trials, "play", played)
    monkeypatch.setattr(trials.time, "monotonic", lambda: 100.0)
    for mutant, stop in ((MUTANT, 1000.0), (replace(MUTANT, slow=True), 1000.0), (replace(MUTANT, slow=True), 120.0)):
        trials.Part([UNBROKEN], memory, stop).run(part.candidates_of([mutant], rows("sqlite"), memory))
    assert ends == [1000.0, 100.0 + part.MOST_SLOW, 120.0]


def test_what_changed_and_has_no_verdict_is_named_with_the_reason(memory, capsys):
    mutants = [replace(MUTANT, name=name, slow=name == "slow") for name in ("tried", "slow", "late", "long", "alone")]
    known = [
        Candidate(mutant=mutant, needs={}, seconds=part.MOST_CHANGED + (mutant.name == "long"))
        for mutant in mutants
        if mutant.name != "alone"
    ]
    verdicts = [Verdict(mutant=mutants[0], kind="survived"), Verdict(mutant=mutants[1], kind="unfinished")]
    left = part.left_over(mutants, known, verdicts)
    assert left == [
        "A-1 slow: its tests did not end in time",
        "A-1 late: there was no time",
        "A-1 long: its tests take 16 s",
        "A-1 alone: none of its tests has passed in the run before",
    ]
    mutate.print_left(left)
    assert capsys.readouterr().out.startswith("mutants: 4 that changed are left to `make mutants`:\n  A-1 slow: ")
    mutate.print_left([])
    assert capsys.readouterr().out == ""
    mutate.print_left(left * 10)
    assert capsys.readouterr().out.endswith("  and 20 more\n")


def test_touched_are_those_whose_source_entry_or_tests_changed():
    mutants = [replace(MUTANT, name=str(each), file=f"src/{each}.py", area=f"area{each}") for each in range(9)]
    assert choice.touched(mutants, [], {"src/7.py", "checks/mutants/area3.toml"}) == [mutants[3], mutants[7]]
    assert choice.touched(mutants, rows("sqlite"), {"tests/unit/test_a.py"}) == mutants
    assert choice.touched(mutants, rows("sqlite"), {"tests/unit/test_b.py"}) == []


class Repository:
    """A repository whose commits have the hours that are given."""

    def __init__(self, path):
        self.path = path
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words, **variables):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_GLOBAL": "/dev/null", **variables}
        command = ["git", *identity, *words]
        return subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    def commit(self, name, hour):
        (self.path / name).write_text(str(hour))
        self.git("add", ".")
        when = f"{1_700_000_000 + hour * 3600} +0000"
        self.git("commit", "--quiet", "--message", name, GIT_COMMITTER_DATE=when, GIT_AUTHOR_DATE=when)
        return self.git("rev-parse", "HEAD")


def test_on_main_the_last_day_has_changed_and_on_a_branch_what_is_its_own(tmp_path):
    repository = Repository(tmp_path)
    first = repository.commit("a", 0)
    assert choice.base_of(tmp_path, "") == ""
    assert choice.changed_files(tmp_path, "") == set()
    second = repository.commit("b", 1)
    assert choice.base_of(tmp_path, "") == first
    repository.commit("c", 20)
    fourth = repository.commit("d", 30)
    assert choice.base_of(tmp_path, "") == second
    assert choice.changed_files(tmp_path, second) == {"c", "d"}
    assert choice.base_of(tmp_path, "HEAD~3") == first
    repository.git("switch", "--quiet", "--create", "topic")
    repository.commit("e", 99)
    assert choice.base_of(tmp_path, "") == fourth
    assert choice.head_of(tmp_path) == repository.git("rev-parse", "--short=12", "HEAD")


def test_a_part_of_the_whole_sees_something_of_each_area_and_comes_to_what_was_not_caught_last(root):
    mutants = [replace(MUTANT, name=f"{area}{number}", area=area) for area in "ab" for number in (1, 2)]
    ledger(root).add(Verdict(mutant=mutants[0], kind="survived"))
    assert [each.name for each in trials.in_turn(mutants, ledger(root))] == ["b1", "a2", "b2", "a1"]
