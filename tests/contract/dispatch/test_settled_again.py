"""An attempt that changes while it is being settled is looked at again, not refused."""

from types import SimpleNamespace

from fleet.model.dispatch.remedies import Seen
from fleet.verbs.dispatch import apply_remedy, settle
from fleet.verbs.resume import resume

ROW = SimpleNamespace(id="0a1b2c3d", exec_state="in_flight", process=None)


def test_an_attempt_that_changed_meanwhile_is_looked_at_again(monkeypatch):
    context = SimpleNamespace(dispatch=lambda _ident: ROW)
    monkeypatch.setattr(settle, "facts_about_end", lambda *_given: Seen(condition="dead"))
    monkeypatch.setattr(apply_remedy, "gather_facts", lambda *_given: Seen(condition="dead"))
    monkeypatch.setattr(settle, "_end_dead", lambda *_given: None)
    monkeypatch.setattr(resume, "recorded_dispatch", lambda _context, _ident: SimpleNamespace(exec_state="failed"))
    assert resume.settle_if_dead(context, ROW).exec_state == "failed"
