"""A store of each kind, and fleets that share it."""

from collections.abc import Callable, Iterator

import pytest
from contract.bench import Bench

from fleet.api.fleet import Fleet
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.store.transaction import Store

NOW = 1_700_000_000_000


@pytest.fixture
def open_fleet(home, store_url) -> Iterator[Callable[..., Fleet]]:
    """Open the same home as often as wanted."""
    home.mkdir(mode=0o700, exist_ok=True)
    if store_url != "sqlite":
        (home / "config.toml").write_text(f'store = "{store_url}"\n')
    opened: list[Fleet] = []

    def open_as(actor: str = "tester") -> Fleet:
        opened.append(Fleet.open(str(home), actor=actor))
        return opened[-1]

    yield open_as
    for each in opened:
        each.close()


@pytest.fixture
def fleet(open_fleet) -> Fleet:
    """A fleet with an empty project p."""
    one = open_fleet()
    add_project(one, "p")
    return one


@pytest.fixture
def table(fleet) -> Bench:
    """A task with a dispatch, and ways to set and to read a state and to try a change: the bench on which tables of steps are walked."""
    fleet.tasks.add(project="p", title="A", slug="a")
    return Bench(fleet)


@pytest.fixture
def store(fleet) -> Store:
    return fleet.store


def add_project(fleet: Fleet, name: str) -> None:
    fleet.store.transact(
        f"register {name}",
        lambda tx: {"n": q.add_project(tx, name=name, path=f"/nowhere/{name}", at=NOW)},
        caller(f"register-{name}"),
    )


def caller(key: str, actor: str = "tester") -> Caller:
    return Caller(actor=actor, at=NOW, key=key)
