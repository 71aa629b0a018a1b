"""The states of a claim, and the events that lead from one state to the next."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import ClaimState

# The classes of claims. `fleet.resources` says for each what happens to a claim when its dispatch ends.
CLASSES = ("exclusive", "adoptable", "delivery", "derived", "audit")
STATES = ("allocating", "live", "releasing", "releasing_blocked", "released", "failed_alloc")

# While a claim is in one of these states, no other claim can be made on the same resource.
HELD = frozenset({"allocating", "live", "releasing", "releasing_blocked"})

# made, not_made: the creation succeeded, or failed. retaken: another process continues a creation.
# found_absent: nothing is left of a creation that failed. found_gone: the resource no longer exists, but fleet did not
# remove it. let_go: the removal begins. gone: the removal succeeded. not_gone: it failed. stuck: it failed too often.
# taken_over: the resource stays, for the next owner. given_up: a person says that the resource no longer exists.
EVENTS = (
    "made", "not_made", "retaken", "found_absent", "found_gone", "let_go", "gone", "not_gone", "stuck", "taken_over", "given_up"
)  # fmt: skip

STEPS: dict[tuple[str, str], ClaimState] = {
    ("allocating", "made"): "live",
    ("allocating", "not_made"): "failed_alloc",
    ("allocating", "retaken"): "allocating",  # the process that was creating the resource died; another one continues
    ("failed_alloc", "made"): "live",  # tmux created the session after fleet had stopped waiting
    ("failed_alloc", "found_absent"): "released",
    ("live", "let_go"): "releasing",
    ("live", "found_gone"): "released",
    # The process that was removing the resource died or failed; another one tries again.
    ("releasing", "let_go"): "releasing",
    ("releasing", "gone"): "released",
    ("releasing", "not_gone"): "releasing",
    ("releasing", "stuck"): "releasing_blocked",
    ("releasing", "taken_over"): "live",
    ("releasing_blocked", "let_go"): "releasing",
    ("releasing_blocked", "gone"): "released",
    ("releasing_blocked", "taken_over"): "live",
    # Nothing outside the database is touched.
    ("allocating", "given_up"): "released",
    ("failed_alloc", "given_up"): "released",
    ("live", "given_up"): "released",
    ("releasing", "given_up"): "released",
    ("releasing_blocked", "given_up"): "released",
}
