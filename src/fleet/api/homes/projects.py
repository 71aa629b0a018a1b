"""fleet.projects: the repositories that fleet works in."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.agents.coord import ENGINE, Coord
from fleet.engines import reader
from fleet.model import names
from fleet.model.branches import job_branch, task_branch
from fleet.model.results.projects import Begun, Registration
from fleet.model.results.value import Value
from fleet.model.settings.engine_choices import engine_choices, setting_of
from fleet.model.tasks.slugs import slug_from
from fleet.store import queries as q
from fleet.verbs.coord import restart, wake
from fleet.verbs.dispatch.journal import recorded_dispatch
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.homes import environment
from fleet.verbs.merge import branches
from fleet.verbs.projects import clear, configure, down, register, remote_control, trust
from fleet.verbs.resume import resume
from fleet.verbs.sweep import warm_trees
from fleet.verbs.tasks import export
from fleet.verbs.views import obstacles, overview
from fleet.verbs.views import operations as log
from fleet.world.git.checkout import main_checkout
from fleet.world.home import paths
from fleet.world.home.settings import settings_of

if TYPE_CHECKING:
    from fleet.api.actor import Words
    from fleet.model.results.projects import (
        Chosen,
        Cleared,
        Down,
        InTheWay,
        ProjectView,
        RemoteControlView,
        Removed,
        TargetChoice,
    )
    from fleet.model.states import RemoteControl
    from fleet.store.transaction import Rows

    # `list` is a method of the class below.
    ProjectViews = list[ProjectView]


class Projects(Part):
    """The registered projects."""

    __slots__ = ()

    def list(self) -> ProjectViews:
        """Return all projects, with counts of their tasks."""
        return self._by.store.read(lambda rows: overview.overview(rows, self._by.clock.now())).projects

    def show(self, name: str) -> ProjectView:
        """Return one project by its name. Raise NoSuchProject when there is none."""
        names.project(name)
        for project in self.list():
            if project.name == name:
                return project
        raise errors.NoSuchProject(project=name)

    def register(self, path: str, name: str | None = None, *, key: str | None = None) -> Registration:
        """Register a repository as a project. Without a name, the project gets the name of the directory.

        Registering it again under the same name changes nothing. Raise ProjectTaken when the name or the repository
        belongs to another project, BranchBlocked when git could not create fleet's branches there.
        """
        self._by.may("projects.register")
        top = main_checkout(self._by.world.programs, path)
        self._refuse_blocked(top)
        chosen = name if name is not None else slug_from(os.path.basename(top))[: names.PROJECT_LENGTH].strip("-")
        return self._by.commit(register.register(name=chosen, path=top), key)

    def ensure(self, path: str, name: str | None = None) -> Registration:
        """Return the project of a repository; register the repository when it has none.

        Without a name, a new project gets the name of the directory. Raise BareRepository for a repository without a
        checkout, ProjectTaken when it is registered under another name, and the errors of `register`.
        """
        self._by.may("projects.ensure")
        top = main_checkout(self._by.world.programs, path)
        if not os.path.lexists(f"{top}/.git"):
            raise errors.BareRepository(path=top)
        known = self._by.store.read(lambda rows: q.project_by_path(rows, path=top))
        if known is not None and name in {None, known.name}:
            self._refuse_blocked(top)
            return Registration(name=known.name, path=top, new=False)
        return self.register(path, name)

    def _refuse_blocked(self, repository: str) -> None:
        """Raise BranchBlocked when an existing branch keeps git from creating fleet's branches in the repository."""
        try:
            integration = str(settings_of(self._by.home, repository)["integration"].value)
        except errors.BadSetting:  # the verb that needs the setting reports it
            integration = ""
        for branch in filter(None, (integration, task_branch("x"), job_branch("x"))):
            why = self._by.world.git.why_not_made(repository, branch)
            if why:
                raise errors.BranchBlocked(branch=branch, path=repository, why=why)

    def remove(self, name: str, *, with_tasks: bool = False, key: str | None = None) -> Removed:
        """Remove a project from fleet.

        With `with_tasks`, export its tasks into a file of the home and remove them too. Raise ProjectInUse while
        something still uses the project.
        """
        self._by.may("projects.remove")
        names.project(name)
        self._release_trees(name)
        seen = self._newest_operation_if_idle(name, key) if with_tasks else None
        if self._is_removable(name, key, with_tasks=with_tasks):
            clear.remove_files(self._by.context, name)
        kept = self._export_tasks(name) if seen is not None else None
        return self._by.commit(register.remove(name=name, with_tasks=with_tasks, kept=kept, seen=seen), key)

    def _is_removable(self, name: str, key: str | None, *, with_tasks: bool) -> bool:
        """Whether nothing keeps the project from being removed. `key` is the request's idempotency key.

        False also when a request with this key has already removed it.
        """

        def look(rows: Rows) -> bool:
            repeated = key is not None and q.operation_by_key(rows, key=key) is not None
            return not repeated and register.is_removable(rows, name, with_tasks=with_tasks)

        return self._by.store.read(look)

    def down(self, project: str) -> Down:
        """End the coordinator of a project and stop its agents. Their work is kept and can be resumed."""
        self._by.may("projects.down")
        self._by.context.project(project)
        return down.down(self._by.context, project)

    def in_the_way(self, name: str) -> InTheWay:
        """Return the coordinator, agents, tasks and jobs that keep a project from being removed."""
        names.project(name)
        return clear.in_the_way(self._by.context, name)

    def clear(self, name: str) -> Cleared:
        """Stop a project's coordinator and agents, and release what its tasks hold, so that it can be removed.

        Tasks that are at work or hold a worktree are archived; those that have not ended are abandoned first.
        Uncommitted work is committed to refs. Raise ProjectInUse when something could not be released.
        """
        self._by.may("projects.clear")
        names.project(name)
        cleared = clear.clear(self._by.context, name)
        clear.refuse_left(cleared)
        return cleared

    def _release_trees(self, name: str) -> None:
        """Remove the worktree that is kept for the project's next merge.

        Raise ProjectInUse when it cannot be removed now.
        """
        if not self._by.store.read(lambda rows: q.claims_of_project(rows, project=name)):
            return
        outcome = warm_trees.release_tree(self._by.context, name)
        if outcome.failure or outcome.left:
            why = outcome.failure or "; ".join(outcome.left)
            raise errors.ProjectInUse(project=name, tasks=f"its merge tree: {why}", advice="try again when it is free")

    def _newest_operation_if_idle(self, name: str, key: str | None) -> int | None:
        """Return the number of the newest operation.

        None when the project is in use, or a request with this key has removed it.
        """

        def look(rows: Rows) -> int | None:
            if key is not None and q.operation_by_key(rows, key=key) is not None:
                return None
            return log.newest(rows)

        seen = self._by.store.read(look)
        return seen if seen is not None and self._is_idle(name) else None

    def _is_idle(self, name: str) -> bool:
        """Whether the project has no task in progress and no dispatch that is not archived, so that it can be removed."""
        busy = self.show(name).tasks.in_progress
        return busy == 0 and not self._by.store.read(lambda rows: q.listed_dispatches(rows, project=name, ended=1))

    def _export_tasks(self, name: str) -> str | None:
        """Write the project's tasks as JSON Lines into a file of the home.

        Returns the path; None when the project has no tasks.
        """
        lines = [
            json.dumps(node, ensure_ascii=False, default=Value.as_json) + "\n"
            for node in export.nodes(self._by.store, name)
        ]
        if not lines:
            return None
        return self._by.files.publish(paths.removed(name, self._by.clock.now()), "".join(lines).encode())

    def targets(self, project: str) -> TargetChoice:
        """Return the target branch that finished work lands on, if one was chosen, and the branches that can be chosen."""
        return branches.target_choice(self._by.context, project)

    def keep_environment(self) -> None:
        """Store the environment variables that engines need, for agents that fleet starts by itself, outside a person's shell."""
        self._by.may("projects.keep_environment")
        environment.keep_environment(self._by.context)

    def begin(self, project: str, chosen: Chosen) -> Begun:
        """Write the chosen settings into fleet.toml and trust them, and start or resume a coordinator unless one lives.

        Also store the target branch and the environment variables for agents, and start fleet's own coordinators of
        other projects again where they have died.
        """
        self._by.may("projects.begin")
        engines = engine_choices(chosen.engine)
        for name in engines:
            reader.engine(self._by.home, name)
        context = self._by.context
        settings = {"engine": setting_of(chosen.engine), "autonomy": chosen.autonomy, "review": chosen.review}
        written = configure.configure(context, project, settings)
        trust.trust_written(context, project, settings)
        context.forget()
        target = branches.keep_target(context, project, chosen.target)
        self.keep_environment()
        agent = Wanted(project=project, slug="", engine=engines[0], autonomy=chosen.autonomy)
        waiting = [change.name for change in trust.untrusted_settings(context, project).changes]
        warnings = [errors.NotTrusted(project=project, settings=", ".join(waiting)).spoken] if waiting else []
        warnings += [refusal.spoken for refusal in obstacles.start_refusals(context, agent)]
        ident, started, more = self._seat_coordinator(project)
        restart.restart_dead_loops(context, except_project=project)
        return Begun(
            project=project,
            path=context.project(project).path,
            settings=chosen,
            target=target,
            written=written,
            coordinator=ident,
            started=started,
            resumed=[],
            left=[],
            remote_control=remote_control.is_on(context, project),
            warnings=list(dict.fromkeys(warnings + more)),
        )

    def _seat_coordinator(self, project: str) -> tuple[str, bool, Words]:
        """Start a coordinator for the project unless one lives.

        Returns the coordinator's id, whether it was started or resumed now, and warnings.
        """
        coord = Coord(self._by)
        now = coord.show(project)
        if now.holder is not None and now.state in {"alive", "starting", "unknown"}:
            wake.start_watch(self._by.context, project)
            return now.holder, False, []
        back = self._resume_agent_in_seat(now.holder)
        if back is not None:
            return back, True, []
        try:
            seated = coord.start(Wanted(project=project, slug=None, kind="coord", engine=ENGINE))
        except errors.CoordinatorLives as error:  # another process was faster
            return str(error.facts["dispatch"]), False, []
        return seated.id, True, seated.warnings

    def _resume_agent_in_seat(self, holder: str | None) -> str | None:
        """Resume the dead coordinator `holder` if it is an interactive agent, and return the new dispatch's id.

        None when `holder` is None, is not such an agent, or cannot be resumed.
        """
        if holder is None:
            return None
        context = self._by.context
        try:
            row = recorded_dispatch(context, holder)
            if not reader.engine(self._by.home, row.engine or "").interactive:
                return None
            return resume.resume(context, holder).id
        except (errors.NotResumable, errors.Absent):  # it was ended on purpose, or nothing is known of it any more
            return None

    def remote_control(
        self, project: str, to: RemoteControl | None = None, *, key: str | None = None
    ) -> RemoteControlView:
        """Return whether the project's coordinator may be controlled remotely. With `to`, change that first.

        A change takes effect at the coordinator's next start.
        """
        off = remote_control.is_off_for_all(self._by.request) or None
        if to is None:
            known = self._by.store.read(lambda rows: remote_control.remote_control_of(rows, project))
            return known.replaced(off_for_all=off)
        self._by.may("projects.remote_control")
        changed = self._by.commit(remote_control.set_remote_control(project=project, to=to), key)
        return changed.replaced(off_for_all=off)
