"""fleet.graph: methods for all tasks of a project at once. Each method imports one verb."""

from __future__ import annotations

from fleet.api.actor import Part
from fleet.api.tasks.tasks import new_task
from fleet.model.results.tasks import AddedMany
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Unpack

    from fleet.model.results import tasks as results
    from fleet.model.results.tasks import ArchivedMany, Imported, Node
    from fleet.model.tasks.markdown_list import Item
    from fleet.store.queries import SlugWithTitle
    from fleet.verbs.tasks.add import TaskFields


class Graph(Part):
    """The task graph of a project."""

    __slots__ = ()

    def show(self, *, project: str, archived: bool = False) -> results.Graph:
        """Return the tasks of a project and the dependencies between them; archived tasks only with `archived`."""
        from fleet.verbs.tasks import show

        return self._by.store.read(lambda rows: show.graph(rows, project, self._by.clock.now(), archived=archived))

    def slugs(self, *, project: str, prefix: str, limit: int = 100) -> list[SlugWithTitle]:
        """Return the slugs of a project's tasks that begin with a prefix, with their titles, at most `limit`."""
        beyond = f"{prefix}~"
        return self._by.store.read(
            lambda rows: q.slugs_like(rows, project=project, prefix=prefix, beyond=beyond, most=limit)
        )

    def add_list(
        self,
        items: list[Item],
        *,
        project: str,
        name: str,
        dry: bool = False,
        key: str | None = None,
        **fields: Unpack[TaskFields],
    ) -> AddedMany:
        """Add a task for every item of a list: all of them or, when one is refused, none.

        With `dry`, only return the tasks that would be added. `name` says where the list is from, such as its file.
        `fields` are those of `NewTask`, for every task.
        """
        from fleet.api.permits import refuse_command_or_engine
        from fleet.verbs.tasks import add_list

        refuse_command_or_engine(self._by.may("graph.add_list", project=project), "graph.add_list", fields)
        like = new_task(self._by, project, "", fields)
        if dry:
            planned = self._by.store.read(lambda rows: add_list.planned_tasks(rows, items, like))
            return AddedMany(project=project, tasks=planned, dry_run=True)
        return self._by.commit(add_list.add_list(items, like, name=name), key)

    def archive_ended(self, *, project: str, older_than: str | None = None, key: str | None = None) -> ArchivedMany:
        """Archive every task that ended at least `older_than` ago, an age like "7d". Tasks of jobs are left out.

        By default, the age is the setting task.archive_after.
        """
        from fleet.model.text.times import duration
        from fleet.verbs.tasks import reopen

        self._by.may("graph.archive_ended", project=project)
        age = duration(older_than or self._by.request.settings(project).task_archive_after)
        return self._by.commit(reopen.archive_ended(project=project, age=age), key)

    def ingest(
        self,
        *,
        project: str,
        lines: Iterable[bytes],
        name: str,
        progress: Callable[[int], None] = lambda _n: None,
        key: str | None = None,
    ) -> Imported:
        """Import a task graph from JSON Lines (of fleet, workgraph or beads), all or nothing.

        `name` says where the lines are from, such as their file. `progress` is called with the number of tasks read so
        far.
        """
        from fleet.verbs.tasks import ingest

        self._by.may("graph.ingest")
        return self._by.commit(ingest.ingest(project=project, lines=lines, name=name, progress=progress), key)

    def export(self, *, project: str, archived: bool = True) -> list[Node]:
        """Return every task of a project as `ingest` reads it; without `archived`, leave out archived tasks."""
        from fleet.verbs.tasks import export

        return export.nodes(self._by.store, project, archived=archived)

    def markdown(self, *, project: str) -> Iterator[str]:
        """Return the lines of a Markdown list, for people, of the project's tasks that are not archived."""
        from fleet.verbs.tasks import export

        return export.markdown(project, export.nodes(self._by.store, project, archived=False))
