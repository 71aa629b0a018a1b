"""Sentences that were untrue: times without a zone, nobody's name, times that have passed, states that contradict."""

import ast
import re
from pathlib import Path

import pytest

import fleet
from fleet import errors
from fleet.api.views.sections import held_in_words
from fleet.errors.families import FleetError
from fleet.model.text.times import HOUR, clock, iso, utc
from fleet.store import queries as q
from fleet.store.transaction import Change

PLACE = {"project": "p", "slug": "t"}
SURFACES = Path(fleet.__file__).parent / "surfaces"


def test_a_time_for_people_has_one_form_with_its_zone():
    assert clock(0) == utc(iso(0)) == "1970-01-01 00:00:00 UTC"


def test_no_surface_cuts_a_time_by_itself():
    """A time that is cut out of the ISO form loses its zone: `utc` is the one place."""
    cut = re.compile(r"""\[(:16|:19|11:16|11:19)\]|astimezone|strftime""")
    found = {path.name: cut.findall(path.read_text()) for path in SURFACES.rglob("*.py")}
    assert {name: cuts for name, cuts in found.items() if cuts} == {}


def test_a_hold_whose_time_has_passed_is_not_held_back_until_then():
    assert held_in_words(iso(HOUR), HOUR - 1) == "is held back until 1970-01-01 01:00:00 UTC"
    assert held_in_words(iso(HOUR), HOUR) == "is tried by the next agent, after its limit"
    assert held_in_words(None, HOUR) == "is held back until somebody logs in"


def test_an_error_never_speaks_of_none():
    assert str(errors.TaskHeld(project="p", slug="t", holder=None, since="noon")).endswith("held by nobody, since noon")
    assert "None" not in errors.NotSeated(project="p", dispatch=None, holder=None).spoken
    assert FleetError(what=None).args == ("unknown",)


@pytest.mark.req("OBS-3")
def test_a_blocked_task_is_not_parked_until_a_time_that_has_passed(scene):
    scene.fleet.tasks.add(project="p", title="t", slug="t", not_before=scene.clock.now() + HOUR)
    assert scene.fleet.views.status().parked[0].not_before is not None
    scene.clock.wait(2 * 3600)
    scene.fleet.tasks.block(**PLACE, reason="no access")
    [parked] = scene.fleet.views.status().parked
    assert (parked.reason, parked.not_before) == ("no access", None)


def test_merged_work_does_not_wait_to_be_merged(scene):
    ident = scene.work("t")
    scene.commit("t")
    scene.report(ident, "t")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    merged = Change(
        "merge", lambda tx: q.merge_task(tx, **PLACE, commit="c", at=tx.at, before="in_progress", after="done")
    )
    scene.fleet.commit(merged)
    with pytest.raises(errors.IllegalStep) as refused:
        scene.dispatch("t")
    assert "to be merged" not in refused.value.spoken
    assert scene.fleet.tasks.show(**PLACE).says == "is done"


@pytest.mark.req("OBS-3")
def test_task_show_says_what_task_why_and_status_say(scene):
    scene.fleet.tasks.add(project="p", title="t", slug="t")
    assert scene.fleet.tasks.show(**PLACE).says == "is ready"
    ident = scene.work("t")
    assert scene.fleet.tasks.show(**PLACE).says == f"is being worked on by {ident}"
    scene.exit(ident)
    assert scene.fleet.tasks.show(**PLACE).says.startswith(f"was worked on by {ident}, which has exited")
    [ended] = [attempt for attempt in scene.fleet.views.status().working if attempt.slug == "t"]
    assert ended.state == "exited"


def test_work_that_waits_for_a_verdict_says_so_everywhere(scene):
    Path(scene.repository, "fleet.toml").write_text('review = "person"\n')
    ident = scene.work("t")
    scene.commit("t")
    scene.report(ident, "t")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    says = scene.fleet.tasks.show(**PLACE).says
    assert says.startswith("waits for a review: ")
    assert scene.fleet.tasks.why(**PLACE).sentences[0] == f"t {says}"
    assert [each.slug for each in scene.fleet.views.status().review] == ["t"]


@pytest.mark.slow("reads the whole source")
def test_nobody_is_written_into_a_sentence_by_a_name_that_may_be_missing():
    """`by {x.assignee}` prints `by None`: a sentence that names a person first asks whether there is one."""
    source = Path(fleet.__file__).parent
    risky = re.compile(r"by \{[a-z_.]*(assignee|successor|actor_text)\}")
    for path in source.rglob("*.py"):
        tree = ast.parse(path.read_text())
        guarded = {id(part) for node in ast.walk(tree) if isinstance(node, ast.IfExp) for part in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and id(node) not in guarded:
                assert not risky.search(ast.unparse(node)) or path.name == "sweep.py", (path, ast.unparse(node))
