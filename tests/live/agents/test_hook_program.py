"""The hook by which tmux tells fleet of a death: wherever fleet is installed."""

from pathlib import Path

from fleet.testing.crash.scenarios import until
from fleet.world import world


def test_a_path_with_signs_that_tmux_or_the_shell_would_read_reaches_the_hook(scene, monkeypatch):
    folder, told = Path(scene.root, 'it\'s "my" $HOME; a\\b #S & (c) é'), Path(scene.root, "told")
    folder.mkdir()
    program = folder / "fleet"
    program.write_text(f'#!/bin/sh\necho "$@" >{told}.new; mv {told}.new {told}\n')
    program.chmod(0o700)
    monkeypatch.setattr(world, "fleet_program", lambda: str(program))
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        scene.tmux("set-option", "-g", "remain-on-exit", "on")
        scene.tmux("new-session", "-d", "-s", "by", "true")
        until(lambda: scene.told_again(fleet) and told.exists())
        scene.tmux("kill-session", "-t", "by")
    assert told.read_text() == "settle --hint fleet-\n"
