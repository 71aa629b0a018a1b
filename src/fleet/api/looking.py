"""What can be looked at: reads only, with few imports, because people wait for listings too."""

from __future__ import annotations

from fleet.api.acts import Acts
from fleet.errors.absent import NoSuchProject
from fleet.model import names
from fleet.store import queries as q
from fleet.verbs.tasks import explain, show
from fleet.verbs.views import operations as follow
from fleet.verbs.views import overview

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fleet.verbs.tasks.show import Filters
    from fleet.verbs.views.operations import Which

    Document = dict[str, Any]


class Looking(Acts):
    """Looks at projects, tasks and operations."""

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

    def task(self, *, project: str, slug: str) -> Document:
        """Everything about a task."""
        return self.store.read(lambda rows: show.show(rows, project, slug, self.clock.now()))

    def tasks(self, *, project: str, filters: Filters | None = None) -> Iterator[Document]:
        """Tasks that fit the filters."""
        return show.listed(self.store, project, self.clock.now(), filters or show.Filters())

    def ready(self, *, project: str, limit: int | None = None) -> list[Document]:
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

    def overview(self) -> Document:
        """What is going on."""
        return self.store.read(lambda rows: overview.overview(rows, self.clock.now()))

    def operations(self, which: Which, *, limit: int) -> Iterator[Document]:
        """The newest operations that fit, oldest first."""
        yield from self.store.read(lambda rows: follow.recent(rows, which, limit))

    def newest(self) -> int:
        """The newest sequence number."""
        return self.store.read(follow.newest)

    def follow(self, which: Which, *, after: int, wanted: Callable[[], bool] = lambda: True) -> Iterator[Document]:
        """Operations as they are committed, for as long as they are wanted."""
        return follow.follow(self.store, self.clock, which, after, wanted)
