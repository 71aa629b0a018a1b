"""fleet runs many coding agents on one machine and loses nothing.

    import fleet

    with fleet.open() as f:
        f.tasks.add(project="web", title="Fix the login page")
        f.tasks.ready(project="web")

Importing the package imports next to nothing: the hot commands pay for every module.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model import VERSION as __version__  # noqa: N811
    from fleet.verbs.dispatch.plan import Wanted
    from fleet.verbs.tasks.edit import Edit
    from fleet.verbs.tasks.show import Filters
    from fleet.verbs.views.operations import OperationFilter

__all__ = ["Edit", "Filters", "Fleet", "OperationFilter", "Wanted", "__version__", "open"]

# Fleet and the classes of its methods' arguments, and the module of each.
_TAKEN = {
    "Edit": "fleet.verbs.tasks.edit",
    "Filters": "fleet.verbs.tasks.show",
    "Fleet": "fleet.api.fleet",
    "Wanted": "fleet.verbs.dispatch.plan",
    "OperationFilter": "fleet.verbs.views.operations",
}


def __getattr__(name: str) -> object:
    """Return the version, or a class of `_TAKEN`, which is imported only now; raise AttributeError for other names."""
    if name == "__version__":
        from fleet.model import VERSION

        return VERSION
    if name not in _TAKEN:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(_TAKEN[name]), name)


def open(home: "str | None" = None, *, actor: "str | None" = None) -> "Fleet":  # noqa: A001
    """Open a fleet home (default: $FLEET_HOME or ~/.fleet) as the given actor, and return its Fleet.

    `actor` None: the agent or person of the environment. A missing home is created for a person; for an agent, raise
    HomeUnusable. Where FLEET_DOOR is set and `home` is None, the Fleet reaches the home only by the daemon's socket.
    """
    from fleet.api.fleet import Fleet

    return Fleet.open(home=home, actor=actor)
