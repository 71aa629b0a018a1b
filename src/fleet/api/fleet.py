"""class Fleet: the one interface of all surfaces. A command, a key and a tool for the same act call the same method."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fleet.api.acts import Acts
from fleet.errors import NoSuchProject
from fleet.model import names, settings
from fleet.model.moments import duration
from fleet.model.slugs import slug_from
from fleet.store import queries as q
from fleet.verbs import (
    add,
    claim,
    edit,
    examine,
    explain,
    export,
    follow,
    ingest,
    overview,
    register,
    reopen,
    report,
    rotate,
    show,
)
from fleet.world.configuration import home_settings, project_settings
from fleet.world.files import Files
from fleet.world.gates import Gate
from fleet.world.git import Git
from fleet.world.host import Host
from fleet.world.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fleet.model.settings import Value
    from fleet.verbs.edit import Edit
    from fleet.verbs.follow import Which
    from fleet.verbs.show import Filters

Document = dict[str, Any]


class Fleet(Acts):
    """Everything that can be asked of fleet."""

    @property
    def files(self) -> Files:
        """The files of the home."""
        return Files(self.home, self.funnel)

    def gate(self, name: str) -> Gate:
        """A named exclusive lock of this home."""
        return Gate(f"{self.home}/locks/{names.slug(name)}.lock", clock=self.clock, host=Host())

    # projects -------------------------------------------------------------------------------------------------------
    def register(self, path: str, name: str | None = None, *, key: str | None = None) -> Document:
        """Register a repository; its name is that of its directory unless another is given."""
        top = Git(self.funnel).main_checkout(path)
        chosen = name or slug_from(os.path.basename(top))[: names.PROJECT_LENGTH].strip("-")
        return self.commit(register.register(name=chosen, path=top), key)

    def projects(self) -> list[Document]:
        """All projects, with the counts of their tasks."""
        found: list[Document] = self.overview()["projects"]
        return found

    def project(self, name: str) -> Document:
        """One project."""
        names.project(name)
        for found in self.projects():
            if found["name"] == name:
                return found
        raise NoSuchProject(project=name)

    def remove_project(self, name: str, *, with_tasks: bool = False, key: str | None = None) -> Document:
        """Forget a project; its tasks are exported into the home first."""
        change = register.remove(name=names.project(name), with_tasks=with_tasks)
        kept = self._keep_export(name) if with_tasks else None
        return self.commit(change, key) | {"kept": kept}

    def _keep_export(self, name: str) -> str | None:
        lines = [json.dumps(node, ensure_ascii=False) + "\n" for node in export.nodes(self.store, name)]
        if not lines:
            return None
        return self.files.publish(f"removed/{name}-{self.clock.now()}.jsonl", "".join(lines).encode())

    # tasks ----------------------------------------------------------------------------------------------------------
    def add(self, *, project: str, title: str, key: str | None = None, **fields: Any) -> Document:  # noqa: ANN401 - the fields of NewTask
        """Add a task. What is not said comes from the project's fleet.toml."""
        told = self.settings(project)
        for name in ("verify", "engine", "priority"):
            if fields.get(name) is None:
                fields[name] = told[f"task.{name}"].value
        return self.commit(add.add(add.NewTask(project=project, title=title, **fields)), key)

    def edit(self, wanted: Edit, *, key: str | None = None) -> Document:
        """Change a task."""
        self._people_only(wanted.override)
        return self.commit(edit.edit(wanted), key)

    def unclaim(self, *, project: str, slug: str, override: bool = False, key: str | None = None) -> Document:
        """Give a task back."""
        self._people_only(override)
        return self.commit(claim.unclaim(project=project, slug=slug, override=override), key)

    def abandon(
        self, *, project: str, slug: str, reason: str | None = None, override: bool = False, key: str | None = None
    ) -> Document:
        """The task is not wanted any more."""
        self._people_only(override)
        return self.commit(report.abandon(project=project, slug=slug, reason=reason, override=override), key)

    def retry(self, *, project: str, slug: str, key: str | None = None) -> Document:
        """Open a blocked or ended task again."""
        return self.commit(reopen.retry(project=project, slug=slug), key)

    def pause(self, *, project: str, slug: str, paused: bool = True, key: str | None = None) -> Document:
        """Hold a task back, or let it go on."""
        return self.commit(reopen.pause(project=project, slug=slug, paused=paused), key)

    def archive(self, *, project: str, slug: str, key: str | None = None) -> Document:
        """Put an ended task out of sight."""
        return self.commit(reopen.archive(project=project, slug=slug), key)

    def archive_ended(self, *, project: str, older_than: str | None = None, key: str | None = None) -> Document:
        """Put every task that ended long enough ago out of sight."""
        age = duration(older_than or self.settings(project)["task.archive_after"].value)
        return self.commit(reopen.archive_ended(project=project, before=self.clock.now() - age), key)

    def task(self, *, project: str, slug: str) -> Document:
        """Everything about a task."""
        return self.store.read(lambda rows: show.show(rows, project, slug, self.clock.now()))

    def tasks(self, *, project: str, filters: Filters | None = None) -> Iterator[Document]:
        """Tasks that fit the filters."""
        return show.listed(self.store, project, self.clock.now(), filters or show.Filters())

    def ready(self, *, project: str, limit: int = show.EVERYTHING) -> list[Document]:
        """What could be started now."""
        return self.store.read(lambda rows: show.ready(rows, project, self.clock.now(), limit))

    def why(self, *, project: str, slug: str) -> Document:
        """Why a task is not being worked on."""
        return self.store.read(lambda rows: explain.why(rows, project, slug, self.clock.now()))

    def graph(self, *, project: str, archived: bool = False) -> Document:
        """All nodes and edges."""
        return self.store.read(lambda rows: show.graph(rows, project, self.clock.now(), archived=archived))

    def slugs(self, *, project: str, prefix: str, limit: int = 100) -> list[Document]:
        """Slugs that begin with a text."""
        span = {"prefix": prefix, "beyond": f"{prefix}~", "most": limit}
        return self.store.read(lambda rows: rows.all(q.SLUGS_LIKE, project=project, **span))

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
        return self.commit(ingest.ingest(project=project, lines=lines, name=name, progress=progress), key)

    def export(self, *, project: str, archived: bool = True) -> Iterator[Document]:
        """Every task as `ingest` reads it."""
        return export.nodes(self.store, project, archived=archived)

    def markdown(self, *, project: str) -> Iterator[str]:
        """The lines of a readable tasks.md."""
        return export.markdown(project, list(export.nodes(self.store, project, archived=False)))

    # looking --------------------------------------------------------------------------------------------------------
    def overview(self) -> Document:
        """What is going on."""
        return self.store.read(lambda rows: overview.overview(rows, self.clock.now()))

    def operations(self, which: Which, *, limit: int, archived: bool = False) -> Iterator[Document]:
        """The newest operations that fit, oldest first; those in the archive too if wanted."""
        if archived:
            yield from (follow.document(row) for row in rotate.archived(self.files) if which.wants(row))
        yield from self.store.read(lambda rows: follow.recent(rows, which, limit))

    def newest(self) -> int:
        """The newest sequence number."""
        return self.store.read(follow.newest)

    def follow(self, which: Which, *, after: int) -> Iterator[Document]:
        """Operations as they are committed."""
        return follow.follow(self.store, self.clock, which, after)

    def rotate_operations(self, *, older_than: str | None = None) -> Document:
        """Move old operations into the archive."""
        age = duration(older_than or self.settings()["keep_operations"].value)
        with self.gate("rotate-operations"):
            return rotate.rotate(self.store, self.files, before=self.clock.now() - age, commit=self.commit)

    def examine(self) -> list[Document]:
        """Is everything as it should be?"""
        return [asdict(found) for found in examine.examine(self.store, Machine(self.funnel), self.home)]

    def settings(self, project: str | None = None) -> dict[str, Value]:
        """Every setting and where it comes from; a project's own too if one is named."""
        given = [home_settings(self.home)]
        if project is not None:
            row = self.store.read(lambda rows: rows.one(q.PROJECT_BY_NAME, name=names.project(project)))
            if row is None:
                raise NoSuchProject(project=project)
            given.append(project_settings(row["path"]))
        return settings.merged(*given)
