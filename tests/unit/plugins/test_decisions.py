"""The count of reads of states outside the decisions, and the record that may only fall."""

import ast
import subprocess

import decisions
import pytest
from deciding.known_types import Types
from deciding.reads import count_reads
from deciding.updates import states_set

CLASSES = """
class Claim:
    state: ClaimState
class Task:
    status: TaskStatus
class Pane:
    status: int | None
class LivingAgent:
    state: str
    report: ReportState | None
def claims_of(rows) -> list[Claim]: ...
def agent_of(rows) -> LivingAgent | None: ...
"""


def reads(text: str) -> dict[str, int]:
    types = Types()
    for each in (CLASSES, text):
        types.add(ast.parse(each))
    return +count_reads(ast.parse(text), types)


@pytest.mark.parametrize(
    "text",
    [
        "x = row.exec_state == 'done'",
        "if row.exec_state: pass",
        "x = row.exec_state",
        "x = {'done': 1}.get(row.exec_state)",
        "x = {'done': 1}[row.exec_state]",
        "x = row.exec_state.startswith('d')",
        "x = getattr(row, 'exec_state') == 'done'",
        "x = row['exec_state'] == 'done'",
        "x = 'done' in (row.exec_state, None)",
        "x = bool(row.exec_state)",
        "x = any([row.exec_state])",
        "x = f'{row.exec_state}' == 'done'",
        "x = [each for each in rows if not each.exec_state]",
        "match row.exec_state:\n    case 'done': pass",
        "match row:\n    case Dispatch(exec_state='done'): pass",
        "def f(row):\n    return row.exec_state",
    ],
)
def test_every_form_in_which_a_state_is_asked_for_is_counted(text):
    assert reads(text) == {"exec_state": 1}


def test_who_asks_whether_a_process_lives_is_counted():
    assert reads("if context.world.processes.life(process) != 'dead': pass") == {"life": 1}
    assert reads("life = processes.life(process)") == {"life": 1}


@pytest.mark.parametrize(
    "text",
    [
        "decide(row.exec_state)",
        "Ended(exec_state=row.exec_state)",
        "raise Refused(what=f'it has ended: {row.exec_state}')",
        "row.exec_state = 'done'",
        "gate.holder()",
        "def f(pane: Pane) -> bool:\n    return pane.status == 0",
        "step(STEPS, was.status, 'retry')",
    ],
)
def test_a_state_that_is_handed_on_or_told_is_not_counted(text):
    assert reads(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "def f(each: Claim) -> bool:\n    return each.state == 'live'",
        "def f(rows):\n    held = claims_of(rows)\n    return [each for each in held if each.state == 'live']",
        "def f(rows):\n    for held in rows.read(lambda r: claims_of(r)):\n        assert held.state == 'live'",
        "def f(rows):\n    group = next((each for each in claims_of(rows)), None)\n    return group.state == 'live'",
        "def f(rows):\n    return [held.state == 'live' for held in map(Claim.of, rows)]",
        "def f(anything):\n    return anything.state == 'live'",
    ],
)
def test_the_state_of_a_claim_is_known_by_annotation_and_query_and_counted_when_the_type_is_unknown(text):
    assert reads(text) == {"state": 1}


def test_the_status_of_a_task_is_counted_by_its_annotation_and_when_the_type_is_unknown():
    assert reads("def f(task: Task) -> bool:\n    return task.status == 'done'") == {"status": 1}
    assert reads("match task.status:\n    case 'done': pass") == {"status": 1}


def test_what_an_agent_does_is_no_state_of_a_table_and_its_report_is():
    assert reads("def f(agent: LivingAgent) -> bool:\n    return agent.state == 'asks'") == {}
    assert reads("def f(rows):\n    known = agent_of(rows)\n    return known.state == 'asks'") == {}
    assert reads("def f(agent: LivingAgent) -> bool:\n    return bool(agent.report)") == {"report": 1}


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE tasks SET status = 'open' WHERE slug = :slug;",
        "UPDATE tasks AS t SET reason = NULL, status = 'open';",
        "UPDATE tasks t\n  SET t.status = 'open'",
        "WITH x AS (SELECT 1)\n    UPDATE jobs SET phase = 'map' WHERE id = :id;",
        "UPDATE items SET state = CASE WHEN :n = 1 THEN 'dead' ELSE 'waiting' END, at = :at;",
        "UPDATE claims SET state = (SELECT s FROM x WHERE y = 1), at = :at WHERE id = :id",
        "UPDATE handoffs SET state = 'dropped' WHERE id = :id",
        "UPDATE notices SET state = 'told' RETURNING id",
        "UPDATE seats SET candidate = NULL WHERE project = :project",
        "UPDATE dispatches SET (exec_state, reason) = ('done', :reason)",
        "UPDATE dispatches SET recl_state = COALESCE(:after, recl_state) WHERE id = :id",
        "INSERT INTO jobs (id) VALUES (:id)\n ON CONFLICT (id) DO UPDATE SET state = 'running';",
    ],
)
def test_a_state_that_sql_sets_by_itself_is_found(text):
    assert len(states_set(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE tasks SET status = :after, reason = 'open' WHERE status = 'blocked';",
        "UPDATE seats SET candidate = :candidate, deadline = NULL WHERE candidate IS NULL",
        "UPDATE items SET state = :after, ended_at = CASE WHEN :after = 'waiting' THEN NULL ELSE :at END WHERE state = 'x'",
        "UPDATE messages SET state = 'read'",
        "-- UPDATE tasks SET status = 'open'\nSELECT 1;",
        "UPDATE jobs SET state = CAST(:after AS TEXT); SELECT id FROM items WHERE state = 'dead'",
    ],
)
def test_a_state_that_is_a_parameter_or_a_condition_is_none(text):
    assert states_set(text) == []


@pytest.fixture
def project(monkeypatch, tmp_path):
    """A small source with one read, and its record in a repository."""
    source, record = tmp_path / "src", tmp_path / "decisions.txt"
    (source / "verbs").mkdir(parents=True)
    monkeypatch.setattr(decisions, "SOURCE", source)
    monkeypatch.setattr(decisions, "RECORD", record)
    monkeypatch.setattr("sys.argv", ["decisions.py"])
    module = source / "verbs" / "add.py"
    module.write_text("x = row.exec_state\ny = row.asked_for\n")
    record.write_text("# head\nverbs/add.py 2  why\ntotal 2  of all\n")
    return module, record


def git(record, *words: str) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    subprocess.run(["git", *name, *words], cwd=record.parent, check=True, capture_output=True)


def test_a_count_has_to_be_its_record(project, capsys, monkeypatch):
    module, record = project
    assert decisions.main() == 0
    module.write_text("x = row.exec_state\n" * 3)
    assert decisions.main() == 1
    assert "verbs/add.py has exec_state 3 times; 2 are allowed" in capsys.readouterr().out
    module.write_text("x = row.exec_state\n")
    assert decisions.main() == 1
    assert "verbs/add.py has 1 of 2: record that" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["decisions.py", "--record"])
    assert decisions.main() == 0
    assert decisions.read_entries(record.read_text()) == {
        "verbs/add.py": (1, "why"),
        "total": (1, "of all files; it may only fall, too"),
        "total:status": (0, "of all files; it may only fall, too"),
    }


def test_a_number_never_rises_above_the_lowest_in_gits_history(project, capsys):
    module, record = project
    git(record, "init", "--quiet")
    for number in (2, 1):
        module.write_text("x = row.exec_state\n" * number)
        record.write_text(f"verbs/add.py {number}  why\ntotal {number}  of all\n")
        git(record, "add", ".")
        git(record, "commit", "--quiet", "--message", f"{number}")
    assert decisions.main() == 0
    module.write_text("x = row.exec_state\n" * 2)
    record.write_text("verbs/add.py 2  why\ntotal 2  of all\n")
    assert decisions.main() == 1
    assert "verbs/add.py is recorded with 2, and had 1 once: the number may only fall" in capsys.readouterr().out
    module.rename(module.with_name("other.py"))
    record.write_text("verbs/other.py 2  why\ntotal 2  of all\n")
    assert decisions.main() == 1
    assert "total is recorded with 2, and had 1 once" in capsys.readouterr().out
    module.with_name("other.py").write_text("x = row.exec_state\n")
    record.write_text("verbs/other.py 1  why\ntotal 1  of all\n")
    assert decisions.main() == 0, "a new file takes over what another one had"


def test_the_record_has_a_reason_and_a_true_total_and_names_files_that_exist(project, capsys):
    _module, record = project
    record.write_text("verbs/add.py 2\nverbs/gone.py 1  why\ntotal 9  of all\n")
    assert decisions.main() == 1
    said = capsys.readouterr().out
    assert "verbs/add.py is recorded without a reason" in said
    assert "verbs/gone.py is recorded and does not exist" in said
    assert "the total is 3, and 9 is recorded" in said
