"""The life of a claim: the written duty to release one thing outside the database."""

from __future__ import annotations

CLASSES = ("exclusive", "adoptable", "delivery", "derived", "audit")
STATES = ("allocating", "live", "releasing", "releasing_blocked", "released", "failed_alloc")

# While a claim is in one of these nobody else can claim the same thing.
HELD = frozenset({"allocating", "live", "releasing", "releasing_blocked"})

EVENTS = ("made", "not_made", "found_absent", "found_gone", "let_go", "gone", "stuck", "try_again", "taken_over")

STEPS = {
    ("allocating", "made"): "live",
    ("allocating", "not_made"): "failed_alloc",
    ("failed_alloc", "found_absent"): "released",
    ("live", "let_go"): "releasing",
    ("live", "found_gone"): "released",
    ("releasing", "gone"): "released",
    ("releasing", "stuck"): "releasing_blocked",
    ("releasing", "taken_over"): "live",
    ("releasing_blocked", "try_again"): "releasing",
    ("releasing_blocked", "taken_over"): "live",
}
