"""fleet.views: status, recap, doctor and what a screen draws.

Each method imports one verb, because people call them often.
"""

from __future__ import annotations

from fleet import errors
from fleet.api.actor import Part
from fleet.verbs.context import StorelessContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.api.views.changes import Changes
    from fleet.model.results.home import DaemonFigures, Finding
    from fleet.model.results.views import Overview, Recap, Snapshot, Span
    from fleet.verbs.context import Context
    from fleet.verbs.views.overview import ProjectsOverview


class Views(Part):
    """Views over all projects of a home."""

    __slots__ = ()

    def overview(self) -> ProjectsOverview:
        """Return all projects with counts of their tasks, and lines about claims that should have been released."""
        from fleet.verbs.views import overview

        return self._by.store.read(lambda rows: overview.overview(rows, self._by.clock.now()))

    def status(self, project: str | None = None, *, most: int = 200) -> Overview:
        """Return the status page of all projects or of one: running work, and everything that waits for a person.

        Lists of tasks have at most `most` entries; `left_out` says how many more there are.
        """
        from fleet.verbs.views import status

        if project is not None:
            self._by.request.project(project)
        return status.status(self._by.view, project, most=most)

    def metrics(self, daemon: DaemonFigures | None = None) -> str:
        """Return the figures of the home as OpenMetrics text, with those of the daemon when they are given.

        The home's own are left out while the store cannot be read; `fleet_store_up` is 0 then.
        """
        from fleet.model import VERSION
        from fleet.model.text import open_metrics
        from fleet.verbs.homes import metrics

        is_up = daemon is None or daemon.is_store_up
        found = metrics.snapshot_or_none(lambda: self._by.view) if is_up else None
        return open_metrics.text(metrics.families(found, version=VERSION, daemon=daemon))

    def snapshot(self) -> Snapshot:
        """Return what the TUI draws: the status page, the agents, and a row for each task, problems first."""
        from fleet.api.views.snapshot import take_snapshot

        return take_snapshot(self._by.view)

    def changes(self) -> Changes:
        """Return an object that waits for the next committed operation, after which a screen takes a new snapshot.

        A running daemon pushes the changes. Without one, the store is polled a few times a second.
        """
        from fleet.api.views.changes import PolledChanges

        polled = PolledChanges(self._by.store, self._by.clock)
        if self._by.door is None:
            return polled
        from fleet.api.remote.following import PushedChanges
        from fleet.verbs.views import operations

        return PushedChanges(self._by.home, polled, lambda: self._by.store.read(operations.newest))

    def timeline(self, *, since: int) -> list[Span]:
        """Return when each agent worked since the time `since` (in milliseconds), and how its dispatch ended."""
        from fleet.api.views.timeline import timeline

        return self._by.store.read(lambda rows: timeline(rows, since))

    def recap(self, *, since: int, project: str | None = None) -> Recap:
        """Return what happened since the time `since` (in milliseconds), in all projects or in one."""
        from fleet.verbs.views import recap

        now = self._by.clock.now()
        if project is not None:
            self._by.request.project(project)
        return self._by.store.read(lambda rows: recap.recap(rows, since=since, now=now, project=project))

    def nearest(self, missing: errors.Absent) -> str:
        """Return the existing task, project or agent with the name most similar to the missing one; "" when none is similar."""
        from fleet.model.text import nearest
        from fleet.verbs.views import known_names

        wrong, known = self._by.store.read(lambda rows: known_names.known_names(rows, missing))
        return nearest.nearest(wrong, known)

    def doctor(self) -> list[Finding]:
        """Check tools, permissions, disk space, the store and the projects. Returns the findings."""
        from fleet.verbs.views import doctor

        return list(doctor.examine(self._view_of_doctor()))

    def _view_of_doctor(self) -> Context:
        """Return a request for reading; one without a store when the store cannot be read, which the doctor reports."""
        try:
            return self._by.view
        except errors.StoreError:
            return StorelessContext(home=self._by.home, by=self._by.committer, world=self._by.world)
