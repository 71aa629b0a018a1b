"""SEC-6: what SECURITY.md says can be tried, and is."""

import ast
import re
import stat
from pathlib import Path

import pytest
from staging.stage import FLEET

from fleet.model import names
from fleet.model.agents import roles
from fleet.model.agents.reads import READS
from fleet.model.settings.table import SETTINGS
from fleet.testing.crash.scenarios import until

TESTS = Path(__file__).parents[2]
ROOT = TESTS.parent
PAGE = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
# Each sentence that can be tried, and the test that tries it.
TRIED = {
    "directories are made with mode 0700, files with 0600": "live/homes/test_security_page.py::test_the_home_is_private",
    "a home that belongs to somebody else is refused": "cli/homes/test_bad_home.py::test_a_home_of_somebody_else_is_refused",
    "Until then no such command runs": "live/homes/test_trust.py::test_a_command_of_worktrees_does_not_run_and_nobody_is_started_before_it_is_trusted",
    "a freedom is what you trusted before": "live/homes/test_trust.py::test_a_raised_freedom_counts_as_it_was_before",
    "work whose `verify` is not trusted is parked": "live/homes/test_trust.py::test_an_untrusted_verify_parks_the_task_and_is_neither_run_nor_skipped",
    "`verify` is never skipped": "live/homes/test_trust.py::test_a_verify_that_a_commit_takes_away_is_not_skipped",
    '`trust = "always"` in `config.toml` switches this off': "live/homes/test_trust.py::test_the_operator_may_trust_every_repository",
    "It does not answer, approve or deny questions": "live/homes/test_who_may_do_what.py::test_a_worker_decides_nothing_and_touches_nobody_else",
    "but a reviewer its own task's": "live/homes/test_who_may_do_what.py::test_a_reviewer_judges_its_own_task_and_nothing_more",
    "or act as another dispatch": "live/homes/test_who_may_do_what.py::test_an_agent_does_not_become_a_person_or_another_by_changing_its_environment",
    "Nobody starts anything freer than itself": "live/homes/test_who_may_do_what.py::test_a_coordinator_that_is_an_agent_plans_and_starts_within_its_own_freedom",
    "It is never chosen silently": "unit/engines/test_readiness.py::test_autonomy_is_never_chosen_silently",
    "`full` is refused to root unless a sandbox is declared": "unit/engines/test_readiness.py::test_full_as_root_is_refused_unless_a_sandbox_is_declared",
    "nothing of the home but the daemon's socket for agents": "live/homes/test_sandbox.py::test_it_reads_and_writes_nothing_that_is_not_its_own",
    "the database, the settings, another's worktree or prompt, `~/.ssh`": "live/homes/test_sandbox.py::test_it_reads_and_writes_nothing_that_is_not_its_own",
    "git's configuration and hooks": "live/homes/test_sandbox.py::test_it_reads_and_writes_nothing_that_is_not_its_own",
    "**It asks the daemon for no more than its role needs**": "live/homes/test_reads_of_agents.py::test_a_worker_reads_nothing_but_the_tasks_of_its_project",
    "as coordinator the agents there": "live/homes/test_reads_of_agents.py::test_a_coordinator_reads_about_its_project_and_no_other",
    "opens no path that an agent names": "live/homes/test_reads_of_agents.py::test_no_path_that_an_agent_names_is_opened_for_it",
    "takes no word without a dispatch and the token of its launch": "live/homes/test_sandbox.py::test_it_speaks_for_nobody_else",
    "leads what the daemon does for it outside": "live/homes/test_sandbox.py::test_no_variable_of_an_agent_leads_what_the_daemon_does_for_it",
    "**It is asked to exit like any other**": "live/homes/test_sandbox.py::test_it_is_asked_to_exit_by_a_signal_that_reaches_it_and_its_status_is_known",
    "nothing that it started outlives it": "live/homes/test_sandbox.py::test_one_that_does_not_go_is_killed_with_all_that_it_left",
    "It is stored only as a hash": "verbs/test_who_decides.py::test_a_token_is_stored_as_a_hash_and_goes_with_its_dispatch",
    "commands that fleet runs for the agent do not get it": "verbs/test_who_decides.py::test_no_command_that_an_agent_lets_fleet_run_gets_its_token",
    "so that fleet takes it for you": "live/homes/test_security_page.py::test_a_process_that_means_to_hide_is_taken_for_the_person",
    "is shown in no message, error, log, operation or export": "live/homes/test_secrets.py::test_no_secret_is_kept_or_shown",
    "What is in them, they can read": "live/homes/test_security_page.py::test_agents_get_the_environment_of_whoever_asked_and_not_of_the_server",
    "What an agent prints is kept in `logs/` of the home": "live/homes/test_security_page.py::test_what_an_agent_prints_is_kept",
}


@pytest.mark.req("SEC-6")
@pytest.mark.parametrize("sentence", TRIED)
def test_each_sentence_that_can_be_tried_has_a_test(sentence):
    assert sentence in PAGE
    file, _, name = TRIED[sentence].partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.req("SEC-6")
def test_the_page_names_the_guarded_settings_and_the_autonomies():
    trust = PAGE.partition("Not a repository's settings")[2].partition("counts once")[0]
    assert set(re.findall(r"`([a-z._]+)`", trust)) - {"fleet.toml"} == {each.name for each in SETTINGS if each.guard}
    assert all(f"| `{each}` |" in PAGE for each in names.AUTONOMIES)
    assert "a hole" in PAGE


@pytest.mark.req("SEC-6", "SEC-1")
def test_the_page_of_roles_is_the_table():
    page = (ROOT / "docs" / "reference" / "roles.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    columns = ("worker", "reviewer", "coordinator", "job step")
    written = {
        row[0].strip("`"): (row[1], [role for role, cell in zip(columns, row[2:], strict=True) if cell]) for row in rows
    }
    every = roles.ACTS | roles.DAEMON_ACTS | READS
    table = {name: (act.what, [role for role in columns if role in act.roles]) for name, act in every.items()}
    assert written == table


@pytest.mark.req("SEC-6")
def test_the_home_is_private(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        scene.launched(fleet, ident)
        fleet.settings.trust("p", {"verify": "true"})
        modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in Path(scene.home).rglob("*") if _is_fleets(path)}
    assert stat.S_IMODE(Path(scene.home).stat().st_mode) == 0o700
    assert {path: mode for path, mode in modes.items() if mode & 0o077} == {}


def _is_fleets(path: Path) -> bool:
    """Neither what git makes in a worktree, nor links and sockets, nor what the test wrote."""
    plain = not path.is_symlink() and (path.is_file() or path.is_dir())
    return plain and "worktrees" not in path.parts and path.name != "config.toml"


@pytest.mark.req("SEC-6")
def test_a_process_that_means_to_hide_is_taken_for_the_person(scene):
    """What the page admits: another environment and another parent are enough. The day it is not, the page has to say so."""
    out = Path(scene.root, "said")
    hide = f"(setsid env -i HOME=/tmp PATH=$PATH FLEET_HOME=$FLEET_HOME USER=ann sh -c '{FLEET} task add Hidden --slug hidden -p p >{out} 2>&1' &)"
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", "sh", "-c", f"{hide}; exec sleep 1000")
        until(lambda: out.exists() and out.read_text().strip())
        assert "hidden" in out.read_text()
        until(lambda: fleet.graph.slugs(project="p", prefix="hidden"))


@pytest.mark.req("SEC-6")
def test_agents_get_the_environment_of_whoever_asked_and_not_of_the_server(scene):
    says = ("--engine", "shell", "--", "sh", "-c", "echo is $SOME_TOKEN, not $OTHER_TOKEN.; sleep 1000")
    first = scene.program("run", "x", "--slug", "s", *says, env=scene.around(SOME_TOKEN="old", OTHER_TOKEN="old"))
    second = scene.program("run", "x", "--slug", "t", *says, env=scene.around(SOME_TOKEN="exported later"))
    assert (first.code, second.code) == (0, 0)
    with scene.fleet() as fleet:
        scene.shows(fleet, fleet.dispatches.find("s"), "is old, not old.")
        scene.shows(fleet, fleet.dispatches.find("t"), "is exported later, not .")
    assert not list(Path(scene.home, "environments").iterdir())


@pytest.mark.req("SEC-6")
def test_what_an_agent_prints_is_kept(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sh", "-c", "echo a secret; sleep 1000")
        scene.shows(fleet, ident, "a secret")
        fleet.dispatches.kill(ident, "enough")
        assert "a secret" in Path(scene.home, "logs", f"{ident}.log").read_text()
