"""The audit of effects: what fleet does outside of the funnel is reported, in this process and in those that tests start."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.auditing import effect_audit

from fleet.testing.crash.catalogue import SCENARIOS
from fleet.testing.crash.harness import act_out, recorded
from fleet.world.funnel import Funnel

OFFENDER = f"{effect_audit.SOURCE}verbs/offender.py"
CODE = "import os, subprocess, sys\ndef offend(path): os.mkdir(path); open(path + '/a', 'w').close(); subprocess.run(['true'])"
REPORTED = ["os.mkdir", "open", "subprocess.Popen"]


def offender():
    """A function that looks as if it were a part of fleet."""
    found: dict[str, object] = {}
    exec(compile(CODE, OFFENDER, "exec"), found)
    return found["offend"]


def take_reports(path: Path) -> list[str]:
    """The events that were reported; they are forgotten, so that this test does not fail for them."""
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    assert all(line.endswith(" offend") and "verbs/offender.py:2" in line for line in lines)
    return [line.split()[0] for line in lines]


def test_an_effect_outside_of_the_funnel_is_reported(tmp_path, no_unfunnelled_effects):
    offender()(str(tmp_path / "made"))
    assert take_reports(no_unfunnelled_effects) == REPORTED


@pytest.mark.parametrize(
    ("act", "event"),
    [
        ("os.fork() or os._exit(0); os.wait()", "os.fork"),
        ("signal.pidfd_send_signal(os.pidfd_open(os.getpid()), signal.SIGCHLD)", "signal.pidfd_send_signal"),
        ("sqlite3.connect(path).close()", "sqlite3.connect"),
    ],
)
def test_what_has_no_file_and_no_program_is_reported_too(act, event, tmp_path, no_unfunnelled_effects):
    found: dict[str, object] = {}
    exec(compile(f"import os, signal, sqlite3\ndef offend(path): {act}", OFFENDER, "exec"), found)
    found["offend"](str(tmp_path / "made"))
    assert take_reports(no_unfunnelled_effects) == [event]


def test_an_effect_within_the_funnel_is_not_reported(tmp_path, no_unfunnelled_effects):
    Funnel().through("make it", lambda: offender()(str(tmp_path / "made")))
    assert take_reports(no_unfunnelled_effects) == []


def test_a_program_that_a_test_starts_is_audited_too(tmp_path, no_unfunnelled_effects):
    program = f"exec(compile({CODE!r}, {OFFENDER!r}, 'exec'))\noffend(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "made")], check=True)
    assert take_reports(no_unfunnelled_effects) == REPORTED


@pytest.mark.parametrize("each", effect_audit.EXEMPT)
def test_every_exemption_names_something_that_is_there(each):
    file, _, name = each.partition(":")
    source = Path(effect_audit.SOURCE, file).read_text()
    assert all(re.search(rf"(class|def) {part}\b", source) for part in name.split("."))


@pytest.mark.parametrize("path", effect_audit.PLAYED)
def test_what_is_left_out_of_the_audit_is_there(path):
    assert os.path.exists(path)


def test_copies_into_a_worktree_and_the_link_in_bin_are_effects(tmux):
    scenario = SCENARIOS["launch"]
    with scenario.scene("sqlite") as scene:
        scenario.prepare(scene)
        for name, text in ((".gitignore", ".env\n"), (".worktreeinclude", ".env\n"), (".env", "A=1\n")):
            Path(scene.repository, name).write_text(text)
        found = recorded(scene, lambda: act_out(scenario, scene)).effects
    assert {"copy into worktree", "link bin/fleet"} <= set(found)


def test_what_a_step_of_a_job_does_is_an_effect(tmux):
    scenario = SCENARIOS["job-in-place"]
    with scenario.scene("sqlite") as scene:
        scenario.prepare(scene)
        found = recorded(scene, lambda: act_out(scenario, scene)).effects
    assert {"job step shell", "SIGKILL to job step"} <= set(found)
    assert any(re.fullmatch(r"unlink jobs/.*\.log", each) for each in found)
