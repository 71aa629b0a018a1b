"""A program that is killed at any effect of its `fleet claims` command says it again, and it comes to the same end."""

import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from cli.commandline import CommandLine

from fleet.api.fleet import Fleet
from fleet.model.results.dispatches import PromptOutcome
from fleet.verbs.agents.prompts import WantedPrompt

COORD = WantedPrompt(owner="coord/web")
INBOX = "coord_prompt_inbox"
Act = Callable[[Fleet, str], PromptOutcome]


class DieBefore:
    """Kills its own process before the n-th effect, which is also after the one before it."""

    def __init__(self, nth: int) -> None:
        self._left = nth

    def before(self, _effect: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def during(self, _effect: str, _pid: int) -> None:
        pass

    def after(self, _effect: str) -> None:
        pass


def open_home(line: CommandLine) -> Fleet:
    return Fleet.open(str(line.home), actor="tester")


def is_killed(line: CommandLine, act: Act, ident: str, nth: int) -> bool:
    """Run an act in a process of its own that dies at this effect. Says whether it has so many effects."""
    child = os.fork()
    if child == 0:
        with open_home(line) as doomed:
            doomed.funnel.watcher = DieBefore(nth)
            act(doomed, ident)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, -signal.SIGKILL}
    return status != 0


def acquire(fleet: Fleet, ident: str) -> PromptOutcome:
    return fleet.claims.acquire_prompt(ident, "new\n", COORD)


def release(fleet: Fleet, ident: str) -> PromptOutcome:
    return fleet.claims.release_prompt(ident, INBOX)


def rewrite(fleet: Fleet, ident: str) -> PromptOutcome:
    return fleet.claims.rewrite_prompt(ident, f"b{ident[1:]}", "new\n")


def prepare(fleet: Fleet, act: Act, ident: str) -> None:
    """What there is before the act: the prompt that is released, or the one that is rewritten and its new owner."""
    if act is not acquire:
        fleet.claims.acquire_prompt(f"{'b' if act is rewrite else 'a'}{ident[1:]}", "old\n", COORD)
    if act is rewrite:
        fleet.claims.acquire_prompt(ident, "mine\n", COORD)


@pytest.mark.req("DEL-1", "DEL-3", "DEL-5", "CLAIMS-4", "EXC-6", "STORE-7")
@pytest.mark.parametrize(
    ("act", "done", "content"),
    [
        (acquire, {"acquired", "already_acquired"}, ("", "new\n")),
        (rewrite, {"rewritten", "already_rewritten"}, ("old\n", "new\n")),
        (release, {"released", "already_released"}, ("old\n", "")),
    ],
    ids=["acquire", "rewrite", "release"],
)
def test_a_kill_at_any_effect_leaves_a_whole_prompt_and_the_same_end(either, act, done, content):
    deaths = 0
    for nth in count(1):
        ident = f"a{nth:07x}"
        with open_home(either) as fleet:
            prepare(fleet, act, ident)
        died = is_killed(either, act, ident, nth)
        inbox = Path(either.home, "inbox", f"{'b' if act is rewrite else 'a'}{ident[1:]}.md")
        assert (inbox.read_text() if inbox.exists() else "") in content, "old or new, whole"
        with open_home(either) as fleet:
            assert act(fleet, ident).outcome in done
        assert (inbox.read_text() if inbox.exists() else "") == content[1]
        if not died:
            break
        deaths += 1
    assert deaths >= 1, "the act has effects"
