"""Details: the thread that fetches the lines of a tab, and how many lines each branch changes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.tui.feeds.loader import describe
from fleet.world.git import refs

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from fleet.model.results.agents import Question
    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.feeds.tabs import Tabs

# Seconds before the same tab is fetched again.
_AGAIN = {"live": 0.35, "diff": 3.0, "task": 2.0, "journal": 3.0, "operations": 2.0}
# Seconds before a home that could not be read is opened again.
_TRY_AGAIN = 1.0


class DetailsWish(NamedTuple):
    """What the person looks at: the selected row, the tab, and all visible rows."""

    row: RowView
    tab: str
    visible: tuple[RowView, ...] = ()


class Shown(NamedTuple):
    """The fetched lines of a tab, or why there are none; and the open question of the row, None when it has none."""

    wish: DetailsWish
    lines: list[Text]
    question: Question | None


class Details(threading.Thread):
    """The thread that fetches what the newest wish names, again and again until another wish comes."""

    def __init__(
        self,
        home: str,
        tabs: Tabs,
        *,
        shown: Callable[[Shown], None],
        changed: Callable[[dict[str, str]], None],
    ) -> None:
        super().__init__(name="fleet-details", daemon=True)
        self._home = home
        self._tabs = tabs
        self._shown = shown
        self._changed = changed
        self._wish: DetailsWish | None = None
        self._new = threading.Event()
        self._ended = False
        # By the key of a row: the commit of its branch, and how many lines the branch changes, such as "+12 −3".
        self._changes: dict[str, tuple[str, str]] = {}
        # The id of the question that was fetched last, and the question.
        self._question: tuple[str, Question | None] = ("", None)

    def want(self, wish: DetailsWish | None) -> None:
        """Fetch the lines for this wish from now on; None fetches nothing."""
        self._wish = wish
        self._new.set()

    def stop(self) -> None:
        """End the thread soon."""
        self._ended = True
        self._new.set()

    def run(self) -> None:
        """Fetch until `stop`. When the home cannot be read, show why in the tab and open it again."""
        while not self._ended:
            try:
                with Fleet.open(self._home, make=False) as fleet:
                    self._serve(fleet)
            except Exception as error:  # noqa: BLE001 - whatever it is, the tab says so and goes on
                wish = self._wish
                if wish is not None:
                    self._shown(Shown(wish, self._tabs.trouble(describe(error)), None))
                self._new.clear()
                self._new.wait(_TRY_AGAIN)

    def _serve(self, fleet: Fleet) -> None:
        """Fetch the tab of the newest wish, then count changes of branches, and wait; until `stop`."""
        while not self._ended:
            self._new.clear()
            wish = self._wish
            if wish is None:
                self._new.wait()
                continue
            question = self._question_of(fleet, wish.row)
            self._shown(Shown(wish, self._tabs.lines(fleet, wish.tab, wish.row), question))
            if not self._new.wait(0.05):
                self._count_changes(fleet, wish)
            self._new.wait(_AGAIN[wish.tab])

    def _question_of(self, fleet: Fleet, row: RowView) -> Question | None:
        """Return a row's open question, with the command or change that it asks about; None when the row has none.

        The question that was fetched last is not fetched again.
        """
        if row.question is None:
            return None
        if self._question[0] != row.question or self._question[1] is None:
            self._question = (row.question, fleet.messages.question(row.question))
        return self._question[1]

    def _count_changes(self, fleet: Fleet, wish: DetailsWish) -> None:
        """Count and report the changed lines of the branches of the visible rows, the selected row first.

        A branch without a new commit is not counted again. Stop when there is a new wish.
        """
        places = {name: project.path for name, project in fleet.request.projects().items()}
        for row in (wish.row, *wish.visible):
            if self._new.is_set() or not row.slug or not row.branch or row.project not in places:
                continue
            tip = _tip(places[row.project], row.branch)
            if not tip or self._changes.get(row.key, ("", ""))[0] == tip:
                continue
            self._changes[row.key] = (tip, _count(fleet, row))
            self._changed({key: text for key, (_tip_, text) in self._changes.items() if text})


def _tip(repository: str, branch: str) -> str:
    """Return the commit of a branch from git's files, without running git; "" when the files do not tell."""
    try:
        return (refs.branches(refs.git_dir(repository), (branch,)) or {}).get(branch, "")
    except (OSError, UnicodeDecodeError):
        return ""


def _count(fleet: Fleet, row: RowView) -> str:
    """Return the added and removed lines of a task's branch as "+12 −3"; "" when there are none or git fails."""
    try:
        stat = fleet.dispatches.diff(project=row.project, slug=row.slug or "", stat=True)
    except errors.FleetError:
        return ""
    numbers = {"insertion": 0, "deletion": 0}
    for part in stat.rstrip().rpartition("\n")[2].split(","):
        for word in numbers:
            if word in part:
                numbers[word] = int(part.split()[0])
    return f"+{numbers['insertion']} −{numbers['deletion']}" if any(numbers.values()) else ""
