"""fleet.views: what is going on, over all projects. Each method imports only its own verb, because people call some of them all day."""

from __future__ import annotations

from fleet.api.actor import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.home import Finding
    from fleet.model.results.views import Overview, Recap
    from fleet.verbs.views.overview import ProjectsOverview


class Views(Part):
    """Looks at everything."""

    __slots__ = ()

    def overview(self) -> ProjectsOverview:
        """All projects with the counts of their tasks."""
        from fleet.verbs.views import overview

        return self._by.store.read(lambda rows: overview.overview(rows, self._by.clock.now()))

    def status(self) -> Overview:
        """What is going on, and what waits for a person."""
        from fleet.verbs.views import status

        return status.status(self._by.view)

    def recap(self, *, since: int, project: str | None = None) -> Recap:
        """What happened since a time, everywhere or in one project."""
        from fleet.verbs.views import recap

        now = self._by.clock.now()
        if project is not None:
            self._by.request.project(project)
        return self._by.store.read(lambda rows: recap.recap(rows, since=since, now=now, project=project))

    def doctor(self) -> list[Finding]:
        """Is everything as it should be?"""
        from fleet.verbs.views import doctor

        return list(doctor.examine(self._by.view))
