"""fleet rc: a project's word on remote control, in a transaction of its own."""

import pytest


@pytest.mark.req("HAND-8")
def test_remote_control_is_said_once_and_kept_with_the_project(either):
    assert either.ask("rc", "status", "web") == {"project": "web", "remote_control": None}
    assert either.ask("rc", "up", "web") == {"project": "web", "remote_control": "up", "changed": True}
    assert either.ask("rc", "up", "web")["changed"] is False
    assert either.ask("rc", "down", "web")["changed"] is True
    assert "remote control of web: down" in either("rc", "status", "web").ok().out
    said = [each["why"] for each in either("ops", "--json", "-p", "web").ok().objects]
    assert said[-3:] == ["remote control of web: up", "remote control of web: up", "remote control of web: down"]


def test_a_project_that_is_not_there_is_told(fleet):
    for verb in ("up", "down", "status"):
        fleet("rc", verb, "nowhere").refused(11, "nowhere")
