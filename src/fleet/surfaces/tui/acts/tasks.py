"""The keys that act on tasks and projects: add, run, dispatch, retry, review, merge, land, sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.tasks.pipeline import KIND_AT
from fleet.model.tasks.prompts import split_prompt
from fleet.model.text.sizes import counted
from fleet.surfaces.tui.acts.doing import Doing, always, in_project
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.dialogs.writing import Write
from fleet.surfaces.tui.pages.review import ReviewPage
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home.location import directory_of_asker

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.dispatches import Dispatched
    from fleet.model.results.home import Swept
    from fleet.model.results.merge import Landing, Merged
    from fleet.model.results.tasks import Added, Reopened
    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.board import Board


# adding ---------------------------------------------------------------------------------------------------------------
def _new(board: Board) -> None:
    """Ask the person for a title and description, and add a task to the selected project."""
    project = board.project or ""

    def add(fleet: Fleet, text: str) -> Added:
        """Add a task with this title and description."""
        title, description = split_prompt(text)
        return fleet.tasks.add(project=project, title=title, description=description)

    def said(added: Added) -> None:
        """Show which task was added, and select it."""
        board.say(f"added {added.project}/{added.slug}")
        board.select_soon(f"{added.project}/{added.slug}")

    dialog = Write(f"New task in {project}", hint="the first line is the title, the rest the description")
    board.texts.ask(dialog, f"add a task to {project}", f"adding to {project}", add, said)


def _run(board: Board) -> None:
    """Ask the person for a prompt, add it as a task to the selected project, and start an agent on it."""
    project = board.project or ""

    def start(fleet: Fleet, text: str) -> Dispatched | errors.OnlyAdded:
        """Add the task and start an agent on it.

        When only the task was added, return the error instead of raising it: the text must not be asked for again.
        """
        title, description = split_prompt(text)
        try:
            return fleet.dispatches.start_new(Wanted(project=project, slug=""), title=title, description=description)
        except errors.OnlyAdded as error:
            return error

    def said(made: Dispatched | errors.OnlyAdded) -> None:
        """Show which agent works, and select its task; or show why none works."""
        if isinstance(made, errors.OnlyAdded):
            board.warn(made.spoken)
            return
        board.say(f"{made.id} works on {made.project}/{made.task} ({made.engine})")
        board.select_soon(f"{made.project}/{made.task}")

    dialog = Write(f"Prompt for a new agent in {project}", hint="a task is added and an agent starts")
    board.texts.ask(dialog, f"run a prompt in {project}", f"adding to {project} and starting an agent", start, said)


# working --------------------------------------------------------------------------------------------------------------
def _is_task(board: Board, *groups: str) -> bool:
    """Whether the selected row is a task without an agent, in one of these groups."""
    row = board.row
    return row is not None and row.kind == "task" and bool(row.slug) and not row.agent and row.group in groups


def _may_dispatch(board: Board) -> bool:
    """Whether an agent can be started on the selected task: it is ready, or waits for a fix or a rebase."""
    row = board.row
    mends = row is not None and row.stage in {"fix", "rebase"} and _is_task(board, "parked", "failed")
    return _is_task(board, "ready") or mends


def _dispatch(board: Board) -> None:
    """Start an agent on the selected task, of the kind that its stage needs."""
    row = _row(board)
    wanted = Wanted(project=row.project, slug=row.slug, kind=KIND_AT.get(row.stage, "worker"))

    def said(made: Dispatched) -> None:
        board.say(f"{made.id} works on {made.project}/{made.task} ({made.engine})")

    board.act(
        f"dispatch {row.key}", f"starting an agent on {row.key}", lambda fleet: fleet.dispatches.start(wanted), said
    )


def _retry(board: Board) -> None:
    """Open the selected task again."""
    row = _row(board)

    def said(opened: Reopened) -> None:
        board.say(f"{row.key} is open again (it was {opened.was})")

    board.act(
        f"retry {row.key}",
        f"opening {row.key} again",
        lambda fleet: fleet.tasks.retry(project=row.project, slug=row.slug or ""),
        said,
    )


# finishing ------------------------------------------------------------------------------------------------------------
def _review(board: Board) -> None:
    row = _row(board)
    board.app.push_screen(ReviewPage(board, row.project, row.slug or ""))


def _merge(board: Board) -> None:
    """Ask the person, then merge the selected task into the integration branch."""
    row = _row(board)
    way = Way(
        "y",
        "merge",
        "into the integration branch, after its verify command, if it has one, has passed; its worktree is removed then, uncommitted work is kept",
    )

    def chosen(answer: str | None) -> None:
        """Merge the task, unless the person left the dialog."""
        if answer:
            board.act(
                f"merge {row.key}",
                f"merging {row.key}",
                lambda fleet: fleet.merge.task(project=row.project, slug=row.slug or ""),
                said,
            )

    def said(merged: Merged) -> None:
        """Show the merged commit, whether it was merged before, and what was not released."""
        left = f"; left: {'; '.join(merged.left)}" if merged.left else ""
        board.say(f"{row.key} is merged{'' if merged.changed else ' (it was already)'}: {merged.commit[:12]}{left}")

    board.ask(Ask(f"Merge {row.key}?", [way]), chosen)


def _may_land(board: Board) -> bool:
    """Whether the selected project has merged commits that wait to land."""
    return board.snapshot is not None and any(each.project == board.project for each in board.snapshot.page.to_land)


def _land(board: Board) -> None:
    """Show which commits would land on the target branch, ask the person, then land them."""
    project = board.project or ""

    def shown(landing: Landing) -> None:
        """Show the commits of a landing that was only planned, and ask the person whether to land them.

        When there are none, only say so.
        """
        if not landing.commits:
            board.say(f"nothing to land: {landing.target} has all of {landing.integration}")
            return
        way = Way(
            "y", "land", f"{landing.target} moves to {landing.integration}; nothing else of your checkout changes"
        )
        lines = [f"  {title}" for title in landing.titles]
        board.ask(Ask(f"Land {counted(landing.commits, 'commit')} on {landing.target}?", [way], lines=lines), chosen)

    def chosen(answer: str | None) -> None:
        """Land the commits, unless the person left the dialog."""
        if answer:
            where = directory_of_asker()
            board.act(
                f"land {project}",
                f"landing {project}",
                lambda fleet: fleet.merge.land(project=project, here=where),
                said,
            )

    def said(landing: Landing) -> None:
        """Show that the target branch has moved, that it has all commits by now, or what the person has to run."""
        if landing.moved:
            board.say(f"{landing.target} is now at {landing.integration} ({counted(landing.commits, 'commit')})")
        elif not landing.run:
            board.say(f"{landing.target} has all of {landing.integration} by now")
        else:
            board.warn(f"{landing.why}, so it was not touched; to land, run: {landing.run}")

    board.act(
        f"land {project}",
        "looking at what would land",
        lambda fleet: fleet.merge.land(project=project, dry=True),
        shown,
    )


def _sweep(board: Board) -> None:
    """Show what a sweep would release, ask the person, then release it."""

    def shown(found: list[Swept]) -> None:
        """Show what a sweep would release, and ask the person whether to release it.

        When it would release nothing, only say so, with up to five things that stay.
        """
        acts = [each for each in found if not each.standing]
        kept = [each for each in found if each.standing]
        lines = [*map(_swept_line, acts), *(["", "What stays:", *map(_swept_line, kept)] if kept else [])]
        if not acts:
            board.say("nothing to release" if not found else "\n".join(["nothing can be released now", *lines[:5]]))
            return
        way = Way(
            "y",
            "release them",
            "only what this home made and whose dispatch has ended; uncommitted work is never deleted",
        )
        board.ask(Ask(f"A sweep found {counted(len(acts), 'thing')}", [way], lines=lines, danger=True), chosen)

    def chosen(answer: str | None) -> None:
        """Release what the sweep found, unless the person left the dialog."""
        if answer:
            board.act("sweep", "sweeping", lambda fleet: fleet.sweep.run(kill=True), said)

    def said(found: list[Swept]) -> None:
        """Show how many things were released, and up to five that were not."""
        done = [each for each in found if each.done]
        left = [each for each in found if not each.done]
        board.say(f"{len(done)} released" + "".join(f"\nleft: {each.what}: {each.why}" for each in left[:5]))

    board.act("sweep", "looking for what was left behind", lambda fleet: fleet.sweep.run(kill=False), shown)


def _swept_line(each: Swept) -> str:
    """Return the line for one finding of a sweep that only looked, with what a real sweep would do about it."""
    return f"{each.what}: {each.why} ({each.proof}) → {each.action.removeprefix('would ')}"


def _row(board: Board) -> RowView:
    """Return the selected row. Only acts that apply to a selected row may call this."""
    assert board.row is not None  # noqa: S101 - the act applies only then
    return board.row


ON_TASKS = {
    "new": Doing(in_project, _new),
    "run": Doing(in_project, _run),
    "dispatch": Doing(_may_dispatch, _dispatch),
    "retry": Doing(lambda board: _is_task(board, "failed", "parked", "abandoned"), _retry),
    "review": Doing(lambda board: _is_task(board, "to review"), _review),
    "merge": Doing(lambda board: _is_task(board, "to merge"), _merge),
    "land": Doing(_may_land, _land),
    "sweep": Doing(always, _sweep),
}
