"""fleet.views: status, recap and doctor, over all projects. Each method imports one verb: people call them often."""

from __future__ import annotations

from fleet.api.actor import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet import errors
    from fleet.model.results.home import Finding
    from fleet.model.results.views import Overview, Recap
    from fleet.verbs.views.overview import ProjectsOverview


class Views(Part):
    """Views of everything that fleet knows."""

    __slots__ = ()

    def overview(self) -> ProjectsOverview:
        """Return all projects with counts of their tasks."""
        from fleet.verbs.views import overview

        return self._by.store.read(lambda rows: overview.overview(rows, self._by.clock.now()))

    def status(self, project: str | None = None, *, most: int = 200) -> Overview:
        """Return the status page: running work, and everything that waits for a person, of all projects or of one.

        Lists of tasks have `most` entries at most; `left_out` says how many more there are.
        """
        from fleet.verbs.views import status

        if project is not None:
            self._by.request.project(project)
        return status.status(self._by.view, project, most=most)

    def recap(self, *, since: int, project: str | None = None) -> Recap:
        """Return what happened since a time, in all projects or in one."""
        from fleet.verbs.views import recap

        now = self._by.clock.now()
        if project is not None:
            self._by.request.project(project)
        return self._by.store.read(lambda rows: recap.recap(rows, since=since, now=now, project=project))

    def nearest(self, missing: errors.Absent) -> str:
        """Return the name of a task, project or agent that is most similar to the missing one; empty for none."""
        from fleet.model.text import nearest
        from fleet.verbs.views import known_names

        wrong, known = self._by.store.read(lambda rows: known_names.known_names(rows, missing))
        return nearest.nearest(wrong, known)

    def doctor(self) -> list[Finding]:
        """Check tools, permissions, disk space, the store and the projects. Returns the findings."""
        from fleet.verbs.views import doctor

        return list(doctor.examine(self._by.view))
