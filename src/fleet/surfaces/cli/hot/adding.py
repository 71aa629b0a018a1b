"""`fleet task add` without click: a title, and at most one of each common option. click parses all other forms."""

from __future__ import annotations

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.hot.table import COMMON, Option, read_words
from fleet.surfaces.cli.ui import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.tasks import Added
    from fleet.surfaces.cli.hot.table import Values

# The option is stored as `named`, not `slug`: `read_words` would split a `slug` at "/".
_OPTIONS = (
    Option("--slug", metavar="SLUG", into="named", help=""),
    Option("-d", "--description", metavar="TEXT", help=""),
    Option("-a", "--after", metavar="SLUG", help=""),
    Option("-t", "--tag", metavar="TAG", help=""),
    *COMMON,
)


def parse(words: list[str]) -> Values | None:
    """Return the options and the title of `fleet task add` by name; None when click has to parse the words."""
    values = read_words(_OPTIONS, ["title"], words)
    if values is None or values.get("description") == "-" or "/" in values.get("after", ""):
        return None
    return values


def perform(values: Values) -> None:
    """Add the task with these values and print it."""
    after, tag = values.get("after"), values.get("tag")
    with Fleet.open(actor=values.get("as")) as fleet:
        added = fleet.tasks.add(
            project=fleet.project_here(values.get("project")),
            title=values.get("title", ""),
            slug=values.get("named"),
            description=values.get("description", ""),
            after=() if after is None else (after,),
            tags=() if tag is None else (tag,),
            key=values.get("key"),
        )
    print_added(added, as_json="json" in values)


def print_added(added: Added, *, as_json: bool) -> None:
    """Print the added task and its dependencies, as a line or as JSON."""
    if as_json:
        terminal.say_json(added)
        return
    after = f", after {', '.join(added.after)}" if added.after else ""
    terminal.say(f"added {added.project}/{added.slug}{after}")
