"""The crash scenario for tasks that are merged together, in a project with a warm tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet.model.branches import INTEGRATION
from fleet.testing.crash.scenarios import Scenario, add_bystander, until
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.testing.scene import Scene

_SLUGS = ("s", "u")
_SETTINGS = 'verify = "test -f made"\n[worktree]\nsetup = "touch made"\n'


def _leave_done_tasks(scene: Scene) -> None:
    """Prepare the scene: two tasks whose work waits to be merged, in a project with a setup command."""
    Path(scene.repository, ".git/info/exclude").write_text("fleet.toml\nmade\n", encoding="utf-8")
    Path(scene.repository, "fleet.toml").write_text(_SETTINGS, encoding="utf-8")
    add_bystander(scene)
    with scene.fleet() as fleet:
        for slug in _SLUGS:
            script = f"write {slug}.txt hello\ncommit Add {slug}\ndone\n"
            fleet.tasks.add(project=PROJECT, title=slug, slug=slug, description=script)
            fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="scripted"))
        until(lambda: _are_agents_settled(fleet))


def _are_agents_settled(fleet: Fleet) -> bool:
    """Settle the agents that have exited; return whether both tasks wait to be merged."""
    for agent in fleet.agents.list():
        if agent.state == "exited" and not fleet.world.processes.marked(agent.id):
            fleet.sessions.settle(agent.id)
    return len(fleet.merge.mergeable(project=PROJECT)) == len(_SLUGS)


def _merge_together(fleet: Fleet) -> None:
    """Do the act that this scenario kills: merge both tasks at once."""
    fleet.merge.together(project=PROJECT, slugs=list(_SLUGS))


def _check_merged(scene: Scene) -> list[str]:
    """Merge what is not merged yet; return faults unless each task is merged once, recorded and archived."""
    with scene.fleet() as fleet:
        left = [slug for slug in _SLUGS if not fleet.tasks.show(project=PROJECT, slug=slug).archived]
        refused = fleet.merge.together(project=PROJECT, slugs=left).refused if left else []
        faults = [f"{each.task} was not merged: {each.why}" for each in refused]
        recorded = sorted(each.task for each in fleet.merge.recorded(project=PROJECT))
    merges = scene.git("log", "--merges", "--format=%s", INTEGRATION).splitlines()
    if sorted(merges) != [f"Merge {slug}" for slug in _SLUGS]:
        faults.append(f"merges on the integration branch: {merges}")
    if recorded != list(_SLUGS):
        faults.append(f"recorded merges: {recorded}")
    if scene.git("status", "--porcelain") or scene.git("rev-parse", "--abbrev-ref", "HEAD") != "main":
        faults.append("the user's checkout was touched")
    return faults


MERGE_SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="merge-together", prepare=_leave_done_tasks, act=_merge_together, check=_check_merged),
    )
}
