"""Says with the report of each test how many deaths it played."""

from collections.abc import Iterator

import pytest
from crash import deaths


@pytest.fixture(autouse=True)
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    deaths.COUNTED.clear()
    yield
    request.node.user_properties += [(deaths.PROPERTY, each) for each in deaths.COUNTED]
