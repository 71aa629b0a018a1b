"""The closed sets of words in columns and results, one Literal each. `make sql` compares them with the CHECKs of the schema."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Never, NoReturn

    TaskStatus = Literal["open", "in_progress", "blocked", "done", "failed", "abandoned"]
    # What people see: an open task is ready or waiting.
    ShownStatus = Literal["ready", "waiting", "open", "in_progress", "blocked", "done", "failed", "abandoned"]
    ReviewVerdict = Literal["accept", "send back"]
    # Not in a column: the states that `fleet merges` and the forge of a pull request report.
    MergeState = Literal["contained", "missing", "acknowledged"]
    PullRequestState = Literal["open", "merged", "closed", "unknown"]

    # Not in a column: who holds a seat, where an agent's state is known from, what a duty of the daemon does.
    SeatState = Literal["none", "starting", "alive", "dead", "dead before it started", "unknown", "ended"]
    # The last four are only for a silent agent: they name its last sign of life.
    StateSource = Literal[
        "store",
        "process",
        "daemon",
        "report",
        "hook",
        "session file",
        "screen",
        "start",
        "command",
        "conversation",
        "commit",
    ]
    DutyState = Literal["running", "waiting", "failing"]
    # A question that is only on the agent's screen has no kind of its own.
    ShownQuestionKind = Literal["permission", "question", "screen"]
    InputSource = Literal["list", "file", "command", "glob"]
    PromptResult = Literal[
        "acquired",
        "already_acquired",
        "released",
        "already_released",
        "rewritten",
        "already_rewritten",
        "inspected",
        "disowned",
    ]

    # Not in a column: how screens and pages draw.
    Tone = Literal["", "red", "yellow", "green", "cyan", "blue", "magenta", "dim", "bold"]
    SpanOutcome = Literal["working", "done", "failed", "blocked"]
    RowKind = Literal["project", "coordinator", "task", "obstacle", "kept", "job"]

    DispatchKind = Literal["worker", "reviewer", "finisher", "fix", "rebase", "coord"]
    ExecState = Literal["pending", "in_flight", "done", "blocked", "failed"]
    ReclState = Literal["pending", "complete", "partial", "blocked"]
    ReportState = Literal["done", "failed", "blocked"]
    AskedFor = Literal["report", "stop", "kill", "superseded", "handoff", "replaced"]
    Resumes = Literal["conversation", "again"]

    ClaimState = Literal["allocating", "live", "releasing", "releasing_blocked", "released", "failed_alloc"]

    RemoteControl = Literal["up", "down"]
    MessageKind = Literal["message", "resume", "reminder"]
    QuestionKind = Literal["permission", "question"]
    HandoffState = Literal["queued", "done", "dropped"]
    BudgetScope = Literal["task", "project", "day"]
    HoldKind = Literal["limit", "login"]
    TrialVerdict = Literal["proven", "asks", "broken", "refused", "unproven"]

    NoticeKind = Literal["needs you", "failed", "review", "blocked"]
    NoticeState = Literal["due", "sending", "told", "unsure", "failed", "lapsed"]
    # Not in a column: how a notice reaches a person, and whether it did.
    NoticeChannel = Literal["desktop", "terminal", "command", "urls"]
    ChannelOutcome = Literal["told", "absent", "failed"]

    JobState = Literal["running", "paused", "failed", "done", "cancelled"]
    JobPhase = Literal["setup", "map", "reduce", "over"]
    JobPart = Literal["setup", "map", "reduce"]
    ItemState = Literal["waiting", "running", "merging", "done", "dead", "skipped", "parked"]
    ItemVerdict = Literal["passed", "failed"]


def assert_never(word: Never) -> NoReturn:
    """End a `match` over a Literal, so that mypy reports a word without a case; raise AssertionError if one comes here.

    Where the cases return something, write `return assert_never(…)`. `typing` has the same function, but is slow to import.
    """
    raise AssertionError(f"no case for {word!r}")
