"""class Fleet: the one interface of all surfaces. A command, a key and a tool for the same act call the same method."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fleet.api.homes import Homes
from fleet.errors.given import BadSetting
from fleet.errors.refused import BranchBlocked
from fleet.model import names
from fleet.model.branches import job_branch, task_branch
from fleet.model.tasks.slugs import slug_from
from fleet.model.text.times import duration
from fleet.store import queries as q
from fleet.verbs.homes import rotate
from fleet.verbs.merge import recorded
from fleet.verbs.projects import register
from fleet.verbs.tasks import export, ingest
from fleet.verbs.views import doctor as examine
from fleet.verbs.views import operations
from fleet.world.git.checkout import main_checkout
from fleet.world.home import paths
from fleet.world.home.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fleet.verbs.views.operations import Which
    from fleet.world.files.files import Files
    from fleet.world.files.gates import Gate

Document = dict[str, Any]


class Fleet(Homes):
    """Everything that can be asked of fleet."""

    @property
    def files(self) -> Files:
        """The files of the home."""
        return self.world.files

    def gate(self, name: str) -> Gate:
        """A named exclusive lock of this home."""
        return self.world.gate(names.slug(name))

    # projects -------------------------------------------------------------------------------------------------------
    def register(self, path: str, name: str | None = None, *, key: str | None = None) -> Document:
        """Register a repository; its name is that of its directory unless another is given."""
        self.may("register")
        top = main_checkout(self.world.programs, path)
        self._refuse_blocked(top)
        chosen = name if name is not None else slug_from(os.path.basename(top))[: names.PROJECT_LENGTH].strip("-")
        return self.commit(register.register(name=chosen, path=top), key)

    def registered(self, path: str, name: str | None = None) -> Document:
        """The project of a repository: the one it is, or a new one."""
        self.may("registered")
        top = main_checkout(self.world.programs, path)
        known = self.store.read(lambda rows: rows.one(q.PROJECT_BY_PATH, path=top))
        if known is not None and name in {None, known["name"]}:
            self._refuse_blocked(top)
            return {"name": known["name"], "path": top, "new": False}
        return self.register(path, name)

    def _refuse_blocked(self, repository: str) -> None:
        """Refuse a repository in which git could not make fleet's branches, before anything is written."""
        try:
            integration = str(settings_of(self.home, repository)["integration"].value)
        except BadSetting:  # whoever needs a setting says so
            integration = ""
        for branch in filter(None, (integration, task_branch("x"), job_branch("x"))):
            why = self.world.git.why_not_made(repository, branch)
            if why:
                raise BranchBlocked(branch=branch, path=repository, why=why)

    def remove_project(self, name: str, *, with_tasks: bool = False, key: str | None = None) -> Document:
        """Forget a project; its tasks are exported into the home first."""
        self.may("remove_project")
        names.project(name)
        done_before = (
            key is not None and self.store.read(lambda rows: rows.one(q.OPERATION_BY_KEY, key=key)) is not None
        )
        seen = self.newest() if with_tasks and not done_before and self._is_idle(name) else None
        kept = self._keep_export(name) if seen is not None else None
        return self.commit(register.remove(name=name, with_tasks=with_tasks, kept=kept, seen=seen), key)

    def _is_idle(self, name: str) -> bool:
        """Whether the removal would go through, so that no copy is made for nothing."""
        return self.project(name)["tasks"]["in_progress"] == 0 and not self.dispatches(name)

    def _keep_export(self, name: str) -> str | None:
        lines = [json.dumps(node, ensure_ascii=False) + "\n" for node in export.nodes(self.store, name)]
        if not lines:
            return None
        return self.files.publish(paths.removed(name, self.clock.now()), "".join(lines).encode())

    def ingest(
        self,
        *,
        project: str,
        lines: Iterable[bytes],
        name: str,
        progress: Callable[[int], None] = lambda _n: None,
        key: str | None = None,
    ) -> Document:
        """Take in a graph, all or nothing."""
        self.may("ingest")
        return self.commit(ingest.ingest(project=project, lines=lines, name=name, progress=progress), key)

    def export(self, *, project: str, archived: bool = True) -> list[Document]:
        """Every task as `ingest` reads it."""
        return export.nodes(self.store, project, archived=archived)

    def markdown(self, *, project: str) -> Iterator[str]:
        """The lines of a readable tasks.md."""
        return export.markdown(project, export.nodes(self.store, project, archived=False))

    # operations -----------------------------------------------------------------------------------------------------
    def all_operations(self, which: Which, *, limit: int) -> Iterator[Document]:
        """Those in the archive too."""
        old = [operations.document(row) for row in rotate.archived(self.files) if which.wants(row)]
        yield from [*old, *self.operations(which, limit=limit)][-limit:]

    def rotate_operations(self, *, older_than: str | None = None) -> Document:
        """Move old operations into the archive."""
        self.may("rotate_operations")
        age = duration(older_than or self.settings()["keep_operations"].value)
        with self.gate("rotate-operations"):
            return rotate.rotate(self.store, self.files, before=self.clock.now() - age, commit=self.commit)

    def examine(self) -> list[Document]:
        """Is everything as it should be?"""
        found = [asdict(found) for found in examine.examine(self.store, self.world.machine, self.home)]
        return found + [asdict(each) for each in recorded.examine(self.view)]
