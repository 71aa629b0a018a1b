"""The lines of each tab at the right of the board, for the selected row. Each tab has a method of `Tabs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fleet import errors
from fleet.api.views.diffs import lines_of_diff
from fleet.api.views.sections import one_line, task_counts
from fleet.model.dispatch.seat_steps import OWN_LOOP
from fleet.model.states import assert_never
from fleet.model.text import escapes
from fleet.model.text.sizes import counted
from fleet.model.text.times import age, since_epoch, time_of_day, utc
from fleet.surfaces.tui.look import first_key
from fleet.verbs.views.operations import OperationFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.api.fleet import Fleet
    from fleet.api.views.diffs import LineKind
    from fleet.model.results.dispatches import Journal
    from fleet.model.results.tasks import TaskDetails
    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.look import ScreenLook

TABS = ("live", "diff", "task", "journal", "operations")
# How many operations the tab shows at most.
_OPERATIONS = 200
# The colours of changed lines in a diff.
_CHANGED = {"added": "green", "removed": "red"}
_NO_AGENT = "no agent has worked on it"


class Tabs:
    """Makes the lines of each tab of the board: live, diff, task, journal, operations.

    `keys` has the keys in force by the names of the acts.
    """

    def __init__(self, look: ScreenLook, keys: Mapping[str, tuple[str, ...]]) -> None:
        self._look = look
        self._keys = keys

    def lines(self, fleet: Fleet, tab: str, row: RowView) -> list[Text]:
        """Return the lines of a tab for a row. An error of fleet is returned as a line."""
        try:
            found: list[Text] = getattr(self, f"_{tab}")(fleet, row)
        except errors.FleetError as error:
            return [self._quiet(escapes.line(error.spoken))]
        return found or [self._quiet("nothing yet")]

    def trouble(self, text: str) -> list[Text]:
        """Return the lines that show an error."""
        return [self._tinted(escapes.line(text), "red")]

    # live -------------------------------------------------------------------------------------------------------------
    def _live(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the screen of the row's agent; when none works, the kept output of the last one.

        For a job, an obstacle, something that was not released, and a row that never had an agent: lines about the row.
        """
        ident = row.agent or row.attempt
        if row.kind in {"kept", "obstacle"}:
            return self._about(row)
        if row.kind == "job":
            return self._job(fleet, row)
        if ident is None:
            return [self._quiet(self._no_agent(row))]
        text = fleet.agents.mirror(ident) if row.agent else fleet.agents.output(ident)
        lines = _from_screen(text)
        for line in lines:  # fleet's own coordinator writes a log; the others draw a screen
            line.no_wrap = row.engine != OWN_LOOP
        return lines

    def _no_agent(self, row: RowView) -> str:
        """Return why nothing is shown for a row that never had an agent, and the key that changes it."""
        if row.kind == "project":
            return f"its coordinator, agents and tasks are below: {self._key('down')} goes there"
        if row.kind == "coordinator":
            return f"no coordinator: {self._key('coordinator')} starts it"
        if row.group == "ready":
            return f"{_NO_AGENT} yet: {self._key('dispatch')} starts one"
        waits = row.group in {"waiting", "parked"}
        return f"{_NO_AGENT} yet: the task tab says what it waits for" if waits else _NO_AGENT

    def _key(self, act: str) -> str:
        """Return the first key of an act, as the screen shows it."""
        return first_key(self._keys, act)

    def _about(self, row: RowView) -> list[Text]:
        """Return the lines about a row that stands for an obstacle, or for something that was not released."""
        words = {"kept": f"{self._key('sweep')} shows what a sweep would release, and why not.", "obstacle": ""}
        return [Text(row.text), Text(""), self._quiet(words.get(row.kind, ""))]

    def _job(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the lines about the row's job: its name and state, and the command that lists its items."""
        shown = fleet.jobs.show(row.agent or "")
        head = [Text(f"job {shown.id}  {shown.name}  {shown.state}", style="bold"), Text(row.text), Text("")]
        return [*head, self._quiet(f"fleet job show {shown.id} lists its items")]

    # diff -------------------------------------------------------------------------------------------------------------
    def _diff(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the diff of the row's task; for a row without a task, the commits of its project that wait to land."""
        if row.slug is None:
            landing = fleet.merge.land(project=row.project, dry=True)
            commits = counted(landing.commits, "commit")
            head = f"to land on {landing.target}: {commits} of {landing.integration}"
            titles = [Text(f"  {escapes.line(title)}") for title in landing.titles]
            return (
                [Text(head), *titles, Text(""), self._quiet(f"{self._key('land')} lands them")]
                if landing.commits
                else [self._quiet(f"nothing to land: {landing.target} has all of {landing.integration}")]
            )
        text = fleet.dispatches.diff(project=row.project, slug=row.slug)
        return diff_lines(text, self._look) or [
            self._quiet("the branch changes nothing: it is merged, or has no commits yet")
        ]

    # task -------------------------------------------------------------------------------------------------------------
    def _task(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the row's task: why it waits, its next step, fields, description, log and artifacts.

        For a row without a task, return the facts about its project.
        """
        if row.slug is None:
            return self._project(fleet, row)
        task = fleet.tasks.show(project=row.project, slug=row.slug)
        why = fleet.tasks.why(project=row.project, slug=row.slug)
        lines = [Text(escapes.line(task.title), style="bold"), self._quiet(f"{row.project}/{row.slug}  {task.says}")]
        said = f"{row.slug} {task.says}"  # the line above says so already
        lines += [self._tinted(escapes.line(sentence), "yellow") for sentence in why.sentences if sentence != said]
        lines += self._next(row, task)
        lines += self._fields(task)
        lines += self._part("Description", escapes.text(task.description).splitlines())
        lines += self._part(
            "Log", [f"{time_of_day(each.at)} {each.actor}: {one_line(each.message)}" for each in task.log]
        )
        return lines + self._part(
            "Artifacts", [f"{escapes.line(each.path)}  ({each.actor})" for each in task.artifacts]
        )

    def _next(self, row: RowView, task: TaskDetails) -> list[Text]:
        """Return the line with the next step of a task, or with what its agent needs from the person.

        Return [] when there is no next step.
        """
        if row.agent and row.group == "needs you":
            return [self._tinted(f"next: {row.agent} needs you — {one_line(row.text)}", "yellow")]
        step = task.next_step
        if step is None:
            return []
        command = f" — {step.command}" if step.command else ""
        return [self._tinted(f"next: {escapes.line(step.says)}{command}", "cyan")]

    def _fields(self, task: TaskDetails) -> list[Text]:
        """Return the fields of a task that have a value, one on each line."""
        pairs = {
            "status": f"{task.state}, stage {task.stage}, attempt {task.attempts}",
            "after": ", ".join(task.after),
            "before": ", ".join(task.dependents),
            "tags": ", ".join(task.tags),
            "verify": task.verify or "",
            "reason": one_line(task.reason or ""),
            "cost": f"${task.used.dollars:.2f}, {task.used.tokens:,} tokens" if task.used.tokens else "",
        }
        return self._pairs(pairs)

    def _project(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the facts about the row's project: repository, coordinator, counts, cost."""
        project, seat = fleet.projects.show(row.project), fleet.coord.show(row.project)
        pairs = {
            "repository": project.path,
            "coordinator": f"{seat.holder}{'' if seat.state == 'alive' else f' ({seat.state})'}, number {seat.epoch} in the seat"
            if seat.holder
            else f"none: {self._key('coordinator')} starts one",
            "tasks": ", ".join(f"{number} {word}" for word, number in task_counts(project).items()),
            "dispatches": f"{project.dispatches.active} active, {project.dispatches.blocked_reclaim} blocked-reclaim",
            "cost": f"${project.used.dollars:.2f}, {project.used.tokens:,} tokens" if project.used.tokens else "",
        }
        return [Text(project.name, style="bold"), *self._pairs(pairs)]

    # journal ----------------------------------------------------------------------------------------------------------
    def _journal(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the journal of the row's dispatch, with its claims as they are now.

        For a row without a dispatch, return a line that says so.
        """
        ident = row.agent or row.attempt
        if ident is None or row.kind == "job":
            return [self._quiet("no agent, so no journal")]
        journal = fleet.dispatches.show(ident)
        head = f"{journal.id}  {journal.kind} of {journal.owner}"
        lines = [
            Text(head, style="bold"),
            *self._pairs(_journal_fields(journal)),
            Text(""),
            Text("Claims, looked at now", style="bold"),
        ]
        for claim in journal.claims:
            look = f"  {claim.look}" if claim.look else ""
            name = escapes.line(str(claim.data.get("name", "")))
            tone = "red" if claim.look in {"foreign", "unknown"} else ""
            lines.append(
                self._tinted(f"  {claim.class_:<10} {claim.kind:<22} {claim.state:<12}{look:<10} {name}", tone)
            )
        return lines

    # operations -------------------------------------------------------------------------------------------------------
    def _operations(self, fleet: Fleet, row: RowView) -> list[Text]:
        """Return the newest operations of the row's task or project, newest first."""
        which = OperationFilter(project=row.project or None, slug=row.slug)
        found = list(fleet.operations.list(which, limit=_OPERATIONS))
        lines = []
        for each in reversed(found):
            line = Text()
            line.append(f"{each.seq:>6} {utc(each.at)[5:19]} ", style=self._look.style("dim"))
            line.append(f"{each.actor:<14} ", style=self._look.style("blue"))
            line.append(escapes.line(each.why), style="")
            lines.append(line)
        return lines

    # pieces -----------------------------------------------------------------------------------------------------------
    def _quiet(self, text: str) -> Text:
        return self._tinted(text, "dim")

    def _tinted(self, text: str, tone: str) -> Text:
        return Text(text, style=self._look.style(tone))

    def _pairs(self, pairs: dict[str, str]) -> list[Text]:
        """Return a line for each name and value; leave out empty values."""
        lines = []
        for name, value in pairs.items():
            if value:
                line = Text()
                line.append(f"{name:<12} ", style=self._look.style("dim"))
                line.append(escapes.line(value), style=self._look.style(""))
                lines.append(line)
        return lines

    def _part(self, title: str, lines: list[str]) -> list[Text]:
        """Return a section: an empty line, the title, and `lines` indented; [] when `lines` is empty."""
        return [Text(""), Text(title, style="bold"), *(Text(f"  {line}") for line in lines)] if lines else []


def _journal_fields(journal: Journal) -> dict[str, str]:
    """Return the fields of a journal as texts by name; fields without a value are empty."""
    took = ""
    if journal.launched_at and journal.ended_at:
        took = f", took {age(since_epoch(journal.ended_at) - since_epoch(journal.launched_at))}"
    return {
        "state": f"{journal.exec_state}, reclaim {journal.recl_state}",
        "engine": f"{journal.engine or 'fleet itself'}{f', {journal.model}' if journal.model else ''}, autonomy {journal.autonomy or 'none'}",
        "started": utc(journal.created_at),
        "ended": f"{utc(journal.ended_at)}{took}" if journal.ended_at else "",
        "report": f"{journal.report}{f': {one_line(journal.report_reason)}' if journal.report_reason else ''}"
        if journal.report
        else "",
        "commit": journal.reported_commit or journal.settled_commit or "",
        "reason": one_line(journal.blocked_reason or ""),
        "predecessor": journal.predecessor or "",
        "successor": journal.successor or "",
        "process": f"pid {journal.process.split('/')[2]}" if journal.process else "not launched yet",
    }


def _from_screen(text: str) -> list[Text]:
    """Return an agent's screen as lines with its colours, without other control sequences and trailing empty lines."""
    return [Text.from_ansi(escape_others(line)) for line in text.rstrip().split("\n")] if text.strip() else []


def escape_others(line: str) -> str:
    """Return a line in which all control sequences but those for colours are made visible."""
    parts = line.split("\x1b[")
    kept = [escapes.line(parts[0])]
    for part in parts[1:]:
        codes, end, rest = part.partition("m")
        is_colour = bool(end) and all(char in "0123456789;:" for char in codes)
        kept.append(f"\x1b[{codes}m{escapes.line(rest)}" if is_colour else escapes.line(part))
    return "".join(kept)


def diff_lines(text: str, look: ScreenLook) -> list[Text]:
    """Return the coloured lines of a diff, which are not to be wrapped."""
    lines = [diff_line(kind, line, look) for kind, line in lines_of_diff(text)]
    for line in lines:
        line.no_wrap = True
    return lines


def diff_line(kind: LineKind, line: str, look: ScreenLook) -> Text:
    """Return one line of a diff, with its first character, in the colour of its kind."""
    shown = escapes.line(line.replace("\t", "    "))
    match kind:
        case "head":
            return _head_line(line, look)
        case "hunk":
            return Text(shown, style=look.style("cyan"))
        case "added" | "removed":
            return Text(shown, style=look.style(_CHANGED[kind]) + look.diff_background(kind))
        case "same":
            return Text(shown)
        case _:
            return assert_never(kind)


def _head_line(line: str, look: ScreenLook) -> Text:
    """Return a line before the first hunk of a file; only those that name the file have a colour."""
    if not line.startswith(("+++ ", "--- ", "diff ", "index ")):
        return Text(escapes.line(line.replace("\t", "    ")))
    shown = escapes.line(line.rstrip("\t"))  # git ends a name that has spaces with a tab
    return Text(shown, style=look.style("dim", bold=line.startswith("diff ")))
