"""The states of a notice, from the first sight of its condition until it was sent or lapsed, and the steps between them."""

from __future__ import annotations

from fleet.model import tables
from fleet.model.agents.notices.kinds import TOLD_AGAIN
from fleet.model.text.times import MINUTE, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import NoticeKind, NoticeState

TAKE, TOLD, REFUSED, GIVE_UP, LAPSE, LOSE, DOUBT = (
    *("take", "told", "refused", "give up", "lapse", "lose the sender", "lose the sender of what is told once"),
)
# due: not sent yet. sending: a process is sending it. told: a channel took it. unsure: its sender died meanwhile.
# failed: no channel took it. lapsed: its condition ended before it was sent, or was too old when first seen.
STEPS: dict[tuple[str, str], NoticeState] = {
    ("due", TAKE): "sending",
    ("due", LAPSE): "lapsed",
    ("sending", TOLD): "told",
    ("sending", REFUSED): "due",
    ("sending", GIVE_UP): "failed",
    ("sending", LOSE): "due",
    ("sending", DOUBT): "unsure",
}
MOST_ATTEMPTS = 5
_FIRST_WAIT, LONGEST_WAIT = 30 * SECOND, 10 * MINUTE


def after_lost_sender(kind: NoticeKind) -> NoticeState:
    """Return the new state of a notice whose sender died while sending it.

    It is due again; a notice of a kind that is sent only once is unsure.
    """
    return tables.step(STEPS, "sending", LOSE if kind in TOLD_AGAIN else DOUBT)


def after_refusal(attempts: int) -> NoticeState:
    """Return the new state of a notice that no channel could send: due again, or failed after five attempts."""
    return tables.step(STEPS, "sending", REFUSED if attempts < MOST_ATTEMPTS else GIVE_UP)


def wait_after(attempts: int) -> int:
    """Return how many milliseconds to wait after this many attempts to send a notice.

    It is half a minute after the first attempt and doubles with each further one, up to ten minutes.
    """
    return min(_FIRST_WAIT << max(attempts - 1, 0), LONGEST_WAIT)
