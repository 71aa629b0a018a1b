"""fleet runs many coding agents on one machine and loses nothing.

    import fleet

    with fleet.open() as f:
        f.add(project="web", title="Fix the login page")
        f.ready(project="web")

Importing the package imports next to nothing: the hot commands pay for every module.
"""

from fleet.model.version import VERSION

__version__ = VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.api.fleet import Fleet

__all__ = ["Fleet", "__version__", "open"]


def __getattr__(name: str) -> object:
    """Load `Fleet` when somebody asks for it."""
    if name != "Fleet":
        raise AttributeError(name)
    from fleet.api.fleet import Fleet

    return Fleet


def open(home: "str | None" = None, *, actor: "str | None" = None) -> "Fleet":  # noqa: A001
    """Open the fleet home (default: $FLEET_HOME or ~/.fleet), as the given actor."""
    from fleet.api.fleet import Fleet

    return Fleet.open(home=home, actor=actor)
