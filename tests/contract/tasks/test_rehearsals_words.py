"""What a verify command prints is kept in the task's log, whatever it prints."""

from fleet.model.results.merge import Tried
from fleet.verbs.merge import rehearse


def test_coloured_output_of_a_rehearsal_is_kept_with_its_control_characters_shown(fleet, monkeypatch):
    fleet.tasks.add(project="p", title="T", slug="t")
    tried = Tried(ok=False, says="verify failed: \x1b[31mred\x1b[0m\r\nline\n", commit=None)
    monkeypatch.setattr(rehearse, "rehearse", lambda *_given: tried)
    assert fleet.reviews.rehearse(project="p", slug="t") == tried
    (said,) = fleet.tasks.show(project="p", slug="t").log
    assert said.message == "tried before the review: verify failed: ␛[31mred␛[0m\nline"
