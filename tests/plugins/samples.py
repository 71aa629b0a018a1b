"""A test that tries a part of what it could try says which part; `make conformance` prints it."""

import pytest

RUNNING: list[pytest.Item] = []


def sampled(what: str, *, ran: int, of: int | None) -> None:
    """Say that the test that runs now tried a part. `of` is None where nobody knows how many there are."""
    for item in RUNNING:
        item.user_properties.append(("sample", {"what": what, "ran": ran, "of": of}))
