"""The life of a claim: the written duty to release one thing outside the database."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import ClaimState

CLASSES = ("exclusive", "adoptable", "delivery", "derived", "audit")
STATES = ("allocating", "live", "releasing", "releasing_blocked", "released", "failed_alloc")

# While a claim is in one of these nobody else can claim the same thing.
HELD = frozenset({"allocating", "live", "releasing", "releasing_blocked"})

EVENTS = (
    "made", "not_made", "retaken", "found_absent", "found_gone", "let_go", "gone", "not_gone", "stuck", "taken_over", "given_up"
)  # fmt: skip

STEPS: dict[tuple[str, str], ClaimState] = {
    ("allocating", "made"): "live",
    ("allocating", "not_made"): "failed_alloc",
    ("allocating", "retaken"): "allocating",  # whoever was making it is dead; another one goes on
    ("failed_alloc", "made"): "live",  # a session that tmux made later than it was waited for
    ("failed_alloc", "found_absent"): "released",
    ("live", "let_go"): "releasing",
    ("live", "found_gone"): "released",
    ("releasing", "let_go"): "releasing",  # whoever was releasing it is dead, or failed; tried again
    ("releasing", "gone"): "released",
    ("releasing", "not_gone"): "releasing",
    ("releasing", "stuck"): "releasing_blocked",
    ("releasing", "taken_over"): "live",
    ("releasing_blocked", "let_go"): "releasing",
    ("releasing_blocked", "gone"): "released",
    ("releasing_blocked", "taken_over"): "live",
    # A person says that it is no more; nothing outside is touched.
    ("allocating", "given_up"): "released",
    ("failed_alloc", "given_up"): "released",
    ("live", "given_up"): "released",
    ("releasing", "given_up"): "released",
    ("releasing_blocked", "given_up"): "released",
}
