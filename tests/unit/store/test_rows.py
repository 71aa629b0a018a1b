"""A row is a value: its columns are attributes, and it has one way into JSON."""

import pytest

from fleet.model.text import jsontext
from fleet.store.queries.claims import Seat

SEAT = Seat("p", "0a1b2c3d", 3, None, None)


def test_columns_are_attributes():
    assert (SEAT.project, SEAT.holder, SEAT.epoch) == ("p", "0a1b2c3d", 3)
    with pytest.raises(AttributeError):
        SEAT.colour = "red"


def test_rows_are_equal_by_their_values():
    assert Seat("p", "0a1b2c3d", 3, None, None) == SEAT
    assert SEAT.replaced(epoch=4) != SEAT
    assert SEAT.replaced(epoch=4) == Seat("p", "0a1b2c3d", 4, None, None)


def test_a_row_shows_its_columns():
    assert repr(SEAT) == "Seat(project='p', holder='0a1b2c3d', epoch=3, candidate=None, deadline=None)"


def test_a_row_is_written_as_json_within_other_values():
    assert jsontext.dumps([SEAT]) == (
        '[{"project": "p", "holder": "0a1b2c3d", "epoch": 3, "candidate": null, "deadline": null}]'
    )


def test_a_row_comes_back_from_json():
    assert Seat.from_json(jsontext.loads(jsontext.dumps(SEAT))) == SEAT


def test_a_row_is_no_dict():
    with pytest.raises(TypeError):
        SEAT["epoch"]
