"""Check the token with which a request to the daemon speaks for a dispatch."""

from __future__ import annotations

from hmac import compare_digest

from fleet import errors
from fleet.model.agents.token import hash_token
from fleet.model.dispatch.steps import is_in_flight
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows


def refuse_wrong_token(rows: Rows, dispatch: str, token: str | None, *, must: bool = True) -> None:
    """Raise WrongToken unless the token is the one that the launch of this unfinished dispatch made.

    `token` is None when the request has none. Without `must`, a dispatch that fleet has never launched needs no token,
    because a person started that agent; nor does one that an older fleet launched without a token.
    """
    kept = q.token_of(rows, dispatch=dispatch)
    if kept is not None and token and compare_digest(kept.hash, hash_token(token)):
        return
    if not must and kept is None and not _was_launched(rows, dispatch):
        return
    raise errors.WrongToken(dispatch=dispatch, why=_why_wrong(token, is_launched=kept is not None))


def _was_launched(rows: Rows, dispatch: str) -> bool:
    """Whether a dispatch without a stored token needs one: its id was given out, and it is not in flight.

    A dispatch that is in flight without a token was launched by an older fleet, which made none: it needs no token.
    """
    row = q.dispatch_by_id(rows, id=dispatch)
    return q.id_given(rows, id=dispatch) is not None and (row is None or not is_in_flight(row))


def _why_wrong(token: str | None, *, is_launched: bool) -> str:
    """Return why a token is refused, as a sentence about the agent.

    `is_launched`: fleet has launched the dispatch, and it has not ended.
    """
    if not token:
        return "it has no token"
    if not is_launched:
        return "that dispatch has ended, or was never launched"
    return "its token is not the one that this dispatch was launched with"
