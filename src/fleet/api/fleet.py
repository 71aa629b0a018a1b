"""class Fleet: the one interface of all surfaces.

All surfaces (commands, the keys of the screen, the daemon) call the same method of a part for the same act. A part is
imported when it is first used, so that a command loads only what it needs.
"""

from __future__ import annotations

from fleet.api.actor import Actor, Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.api.agents.agents import Agents
    from fleet.api.agents.claims import Claims
    from fleet.api.agents.coord import Coord
    from fleet.api.agents.dispatches import Dispatches
    from fleet.api.agents.engines import Engines
    from fleet.api.agents.hooks import Hooks
    from fleet.api.agents.jobs import Jobs
    from fleet.api.agents.messages import Messages
    from fleet.api.agents.sessions import Sessions
    from fleet.api.homes.homes import Homes
    from fleet.api.homes.notices import Notices
    from fleet.api.homes.operations import Operations
    from fleet.api.homes.projects import Projects
    from fleet.api.homes.settings import Settings
    from fleet.api.homes.sweep import Sweep
    from fleet.api.homes.views import Views
    from fleet.api.tasks.graph import Graph
    from fleet.api.tasks.merge import Merge
    from fleet.api.tasks.reviews import Reviews
    from fleet.api.tasks.tasks import Tasks

# Each part: its folder, and its topic.
PARTS = {
    "tasks": ("tasks", "One task: plan it, claim it, report on it, look at it."),
    "graph": ("tasks", "The tasks of a project together: lists, import, export."),
    "projects": ("homes", "The repositories that fleet works in."),
    "settings": ("homes", "The effective settings, and trust in the settings of a repository."),
    "dispatches": ("agents", "Start, resume and end agents; show their journals."),
    "sessions": ("agents", "Launch an agent in its session, and settle its dispatch after the exit."),
    "agents": ("agents", "The running agents, their screens and their output."),
    "messages": ("agents", "Messages to agents, and questions of agents."),
    "hooks": ("agents", "The hooks of an agent that reaches fleet by its daemon."),
    "engines": ("agents", "The programs that agents run in, their limits and hooks."),
    "reviews": ("tasks", "Accept a task's work, or send it back."),
    "merge": ("tasks", "Merge work, land it, open pull requests."),
    "coord": ("agents", "The coordinator of a project."),
    "jobs": ("agents", "Jobs over many items."),
    "claims": ("agents", "Claims: what dispatches hold."),
    "sweep": ("homes", "Find and release what was left behind."),
    "homes": ("homes", "The home itself: show it, repair it, give up what gone homes held."),
    "notices": ("homes", "Tell a person what needs them, once, by the channels of the settings."),
    "operations": ("homes", "The log of everything that was committed."),
    "views": ("homes", "Status, recap and doctor."),
}


class Fleet(Actor):
    """All methods of fleet for one actor, grouped into parts such as `fleet.tasks` and `fleet.agents`."""

    tasks: Tasks
    graph: Graph
    projects: Projects
    settings: Settings
    dispatches: Dispatches
    sessions: Sessions
    agents: Agents
    messages: Messages
    hooks: Hooks
    engines: Engines
    reviews: Reviews
    merge: Merge
    coord: Coord
    jobs: Jobs
    claims: Claims
    sweep: Sweep
    homes: Homes
    notices: Notices
    operations: Operations
    views: Views

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Import and create the part of `Fleet` with this name when it is first used."""
            if name not in PARTS:
                raise AttributeError(name)
            part: object = part_class(name)(self)
            if self.door is not None:
                from fleet.api.remote.parts import RemotePart

                part = RemotePart(name, part, self)
            self.__dict__[name] = part
            return part

    def use_daemon(self) -> None:
        """Connect to the daemon of the home, if one answers; it then makes all further changes.

        Parts such as `fleet.tasks` that were created before are created again, so that they use the daemon too.
        """
        super().use_daemon()
        for name in PARTS:
            self.__dict__.pop(name, None)


def part_class(name: str) -> type[Part]:
    """Import and return the class of the part of `Fleet` with this name."""
    module = __import__(f"fleet.api.{PARTS[name][0]}.{name}", fromlist=[name])
    part: type[Part] = getattr(module, name.capitalize())
    return part
