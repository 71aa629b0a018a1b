"""No test leaves the process of the run elsewhere: in another control group, or in another folder.

A test that launches an agent in this process would join the agent's control group, and every later test would act as if an agent ran it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

BEFORE = pytest.StashKey[tuple[str, str]]()


def place() -> tuple[str, str]:
    """The control groups and the folder of this process."""
    groups = Path("/proc/self/cgroup")
    return groups.read_text() if groups.exists() else "", os.getcwd()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEFORE] = place()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield
    assert place() == item.stash[BEFORE], "the process of the run was moved while this test ran"
