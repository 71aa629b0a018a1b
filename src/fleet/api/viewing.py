"""What people look at all day that needs more than the store: agents and status, with as few imports as can be."""

from __future__ import annotations

from fleet.api.outside import Outside
from fleet.verbs.views.status import agents_at_work, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Document = dict[str, Any]


class Viewing(Outside):
    """Looks at agents, and at everything."""

    def agents(self, project: str | None = None) -> list[Document]:
        """Who works on what."""
        if project is not None:
            self.view.project(project)
        return agents_at_work(self.view, project)

    def status(self) -> Document:
        """What is going on."""
        return status(self.view)
