"""A message that was not kept is not said to be sent."""

import pytest

from fleet.errors.families import Contested
from fleet.verbs.agents.messages import send


@pytest.mark.req("MSG-1")
def test_a_message_whose_id_was_given_out_before_is_not_said_to_be_sent(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        fleet.commit(send(ident, "0a1b2c3d", "one"))
        with pytest.raises(Contested, match="0a1b2c3d"):
            fleet.commit(send(ident, "0a1b2c3d", "two"))
        fleet.dispatches.kill(ident, "enough")
