"""The command `fleet task why`. It looks at processes too, so it imports more than the other read commands."""

from __future__ import annotations

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.tasks.explain import MOST

# Blockers that are deeper than this are indented no further.
_DEEPEST = 30


def explain_task(slug: str, *, project: str | None, json: bool) -> None:
    """Print why a task is not being worked on: one sentence for each blocker, down to the first cause."""
    with Fleet.open() as fleet:
        why = fleet.tasks.why(project=fleet.project_here(project), slug=slug)
    if json:
        terminal.say_json(why)
        return
    for sentence in why.sentences[: len(why.sentences) - len(why.chain)]:
        terminal.say(sentence)
    for blocker in why.chain:
        terminal.say(f"{'  ' * (min(blocker.depth, _DEEPEST) + 1)}{blocker.sentence}")
    step = why.next_step
    if step is not None and step.command and step.command not in why.sentences[0]:
        terminal.say(f"next: {step.command}  ({step.says})")
    if len(why.chain) == MOST:
        terminal.say(f"… only the nearest {MOST} are shown: `fleet task why {why.chain[-1].needs}` shows more")
