"""What verbs rely on of the outside, held against the real world and the simulated one."""

import re
import signal
from collections.abc import Iterator

import pytest
from contract.stands import SLEEP, Real, Simulated, Stand

from fleet.errors.store import EffectInTransaction
from fleet.errors.tools import TmuxRefused
from fleet.model.identity import Identity

OTHER = "0000000b"


@pytest.fixture(params=[pytest.param(Real, marks=pytest.mark.tmux), Simulated])
def stand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    made = request.param(monkeypatch)
    yield made
    made.close()


@pytest.fixture
def processes(stand):
    return stand.world.processes


@pytest.fixture
def sessions(stand):
    return stand.world.tmux


def changed(who: Identity, **parts: str) -> Identity:
    return Identity(**({"host": who.host, "boot": who.boot, "pid": who.pid, "start": who.start} | parts))


# the parts ------------------------------------------------------------------------------------------------------------
def test_the_simulated_world_has_every_part_of_the_real_one(monkeypatch):
    real, simulated = Real(monkeypatch), Simulated(monkeypatch)
    try:
        assert set(vars(real.world)) <= set(vars(simulated.world))
        for name, part in vars(real.world).items():
            assert isinstance(vars(simulated.world)[name], type(part)), name
    finally:
        real.close()
        simulated.close()


def test_ids_are_well_formed_and_never_the_same(stand):
    ids = stand.world.ids
    for make, form in (
        (ids.dispatch, "[0-9a-f]{8}"),
        (ids.key, "[0-9a-f]{24}"),
        (ids.conversation, "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    ):
        made = {make() for _ in range(500)}
        assert len(made) == 500
        assert all(re.fullmatch(form, each) for each in made)
    assert 0 <= ids.random_fraction() < 1


def test_to_wait_moves_both_clocks(stand):
    clock = stand.world.clock
    now, ticks = clock.now(), clock.ticks()
    clock.wait(0.02)
    assert clock.now() >= now + 19
    assert clock.ticks() >= ticks + 0.019


# processes ------------------------------------------------------------------------------------------------------------
def test_whoever_asks_is_alive(processes):
    assert processes.life(processes.me()) == "alive"
    assert processes.identify(processes.me().pid) == processes.me()


def test_a_process_lives_until_it_is_killed(stand, processes):
    who = stand.start()
    assert processes.life(who) == "alive"
    assert processes.signal(who, signal.SIGKILL)
    stand.becomes(lambda: processes.life(who) == "dead")
    assert not processes.signal(who, signal.SIGTERM)


def test_a_pid_that_another_process_has_now_is_not_the_same_identity(stand, processes):
    who = stand.start()
    before = changed(who, start="7")
    assert processes.life(before) == "dead"
    assert not processes.signal(before, signal.SIGKILL)
    assert processes.life(who) == "alive"


def test_of_another_machine_or_an_untold_boot_nothing_is_known(stand, processes):
    who = stand.start()
    for other in (None, changed(who, host="elsewhere"), changed(who, boot="")):
        assert processes.life(other) == "unknown"
    assert processes.life(changed(who, boot="another", start="7")) == "dead"


def test_the_same_pid_and_start_in_another_boot_contradict_each_other(stand, processes):
    who = stand.start()
    assert processes.life(changed(who, boot="another")) == "unknown"
    assert processes.may_live(changed(who, boot="another"))


def test_a_process_that_cannot_be_read_is_unknown_and_gets_no_signal(stand, processes):
    who = stand.start()
    stand.hide(who)
    assert processes.life(who) == "unknown"
    assert not processes.signal(who, signal.SIGKILL)
    assert processes.identify(who.pid) is None
    assert processes.may_live(who)


def test_a_signal_that_is_ignored_ends_nobody_and_sigkill_does(stand, processes):
    who = stand.start(ignores=signal.SIGTERM)
    assert processes.signal(who, signal.SIGTERM)
    assert processes.gone_within([who], 0.05) == [who]
    processes.kill_all([who])
    assert processes.gone_within([who], 5) == []


def test_a_family_is_listed_deepest_first_and_without_strangers(stand, processes):
    root, stranger = stand.start(children=2), stand.start()
    found = processes.families([root])
    assert found[-1] == root
    assert len(found) == 3
    assert stranger not in found
    assert processes.families([changed(root, start="7")]) == [], "another process has its pid now"


def test_a_mark_counts_with_its_home_alone(stand, processes):
    ours = stand.start({"FLEET_HOME": stand.home, "FLEET_DISPATCH_ID": OTHER})
    foreign = stand.start({"FLEET_HOME": "/elsewhere", "FLEET_DISPATCH_ID": OTHER})
    assert processes.marked(OTHER) == [ours]
    assert processes.marks() == {OTHER: [ours]}
    assert set(processes.of_dispatch(OTHER)) == {ours, foreign}
    assert processes.of_home("/elsewhere") == [foreign]
    assert processes.variable(foreign, "FLEET_HOME") == "/elsewhere"


def test_a_census_knows_sessions_descendants_and_ages(stand, processes):
    leader = stand.start(children=1)
    census = processes.census()
    assert census.has(leader)
    assert not census.has(changed(leader, start="7"))
    assert len(census.in_session(leader)) == 2
    assert census.with_descendants([leader.pid])[-1] == leader.pid
    assert 0 <= census.age(leader.pid) < 60
    stand.kill(leader)
    assert census.has(leader)  # of a moment that is over
    assert not processes.census().has(leader)
    assert len(processes.census().in_session(leader)) == 1


def test_a_census_knows_who_is_stopped_and_who_came_last(stand, processes):
    leader = stand.start(children=1)
    (child,) = set(processes.census().with_descendants([leader.pid])) - {leader.pid}
    assert (processes.census().stopped_in(leader), processes.census().newest_below(leader)) == ([], child)
    assert processes.census().newest_below(stand.identity(child)) is None
    stand.stop(stand.identity(child))
    stand.becomes(lambda: processes.census().stopped_in(leader) == [child])
    assert processes.census().stopped_in(changed(leader, start="7")) == []


def test_a_stopped_process_gets_a_signal_when_it_continues(stand, processes):
    leader = stand.start(children=2)
    ended, killed = (
        stand.identity(pid) for pid in set(processes.census().with_descendants([leader.pid])) - {leader.pid}
    )
    for who in (ended, killed):
        stand.stop(who)
    stand.becomes(lambda: set(processes.census().stopped_in(leader)) == {ended.pid, killed.pid})
    assert processes.signal(ended, signal.SIGTERM)
    assert processes.signal(killed, signal.SIGKILL)
    stand.becomes(lambda: processes.life(killed) == "dead")
    assert processes.life(ended) == "alive"
    assert processes.signal(ended, signal.SIGCONT)
    stand.becomes(lambda: processes.life(ended) == "dead")


# tmux -----------------------------------------------------------------------------------------------------------------
def test_without_a_server_the_listing_says_why_and_nothing_else(sessions):
    said = sessions.listing()
    assert (said.server, said.panes) == (None, ())
    assert said.why
    with pytest.raises(TmuxRefused):
        sessions.create("s", dispatch=OTHER, about="", cwd="/", env={}, words=SLEEP, lock=-1)


def test_there_is_one_server_and_it_waits_for_its_first_session(sessions, processes):
    server = sessions.ensure_server()
    assert sessions.ensure_server() == server
    assert (sessions.listing().server, sessions.listing().panes) == (server, ())
    assert sessions.stop_empty_server()
    assert processes.gone_within([server], 5) == []


def test_a_session_is_listed_with_its_stamp_and_its_process(stand, sessions, processes):
    pane = stand.session()
    assert (pane.session, pane.dispatch, pane.home, pane.stamped) == (
        "fleet-0000000a",
        "0000000a",
        sessions.home_id,
        True,
    )
    assert (pane.dead, pane.status, pane.attached) == (False, None, False)
    assert stand.world.clock.now() - 60_000 < pane.active_at <= stand.world.clock.now()
    assert processes.life(stand.identity(pane.pid)) == "alive"
    stand.becomes(lambda: processes.marked("0000000a") == [stand.identity(pane.pid)])
    assert sessions.listing().pane("fleet-0000000a") == pane
    assert sessions.listing().pane_of(OTHER) is None
    assert not sessions.stop_empty_server()


def test_two_sessions_of_one_name_are_refused(stand, sessions):
    stand.session()
    with pytest.raises(TmuxRefused, match="duplicate"):
        stand.session(OTHER, name="fleet-0000000a")
    assert len(sessions.listing().panes) == 1


def test_a_killed_pane_is_gone_its_process_is_dead_and_the_others_stay(stand, sessions, processes):
    pane, other = stand.session(), stand.session(OTHER)
    who = stand.identity(pane.pid)
    assert sessions.kill(pane)
    assert processes.gone_within([who], 5) == []
    assert [each.dispatch for each in sessions.listing().panes] == [OTHER]
    assert processes.life(stand.identity(other.pid)) == "alive"
    assert not sessions.kill(pane)


def test_a_server_goes_with_its_last_session(stand, sessions, processes):
    pane = stand.session()
    server = sessions.ensure_server()
    assert sessions.kill(pane)
    assert processes.gone_within([server], 5) == []
    assert sessions.listing().server is None


def test_a_pane_that_became_anothers_is_not_killed(stand, sessions):
    pane, other = stand.session(), stand.session(OTHER)
    assert sessions.kill(pane)
    values = {name: getattr(pane, name) for name in ("session", "dispatch", "home", "stamped")}
    taken = type(other)(**{name: getattr(other, name) for name in other.__slots__} | values)
    assert not sessions.kill(taken)
    assert sessions.listing().panes == (other,)


def test_a_program_that_ignores_the_hangup_outlives_its_pane(stand, sessions, processes):
    stand.session(OTHER)
    pane = stand.session(words=stand.deaf_words())
    stand.becomes(lambda: stand.is_deaf("0000000a"))
    who = stand.identity(pane.pid)
    assert sessions.kill(stand.pane())
    assert processes.gone_within([who], 0.1) == [who]
    assert sessions.listing().pane_of("0000000a") is None
    processes.kill_all([who])
    assert processes.gone_within([who], 5) == []


def test_an_agents_pane_stays_with_the_exit_status_and_a_persons_goes(stand, sessions):
    stand.session(words=stand.exit_words(3))
    stand.ran("0000000a")
    assert (stand.pane().dead, stand.pane().status) == (True, 3)
    stand.persons_session("mine")
    mine = sessions.listing().pane("mine")
    assert (mine.stamped, mine.dispatch) == (False, "")
    stand.kill(stand.identity(mine.pid))
    stand.becomes(lambda: sessions.listing().pane("mine") is None)


def test_a_pane_whose_process_was_killed_says_by_which_signal(stand, sessions, processes):
    pane = stand.session()
    server = sessions.ensure_server()
    stand.kill(stand.identity(pane.pid))
    # A pane is dead when its terminal is closed; how its process ended tmux knows a moment later.
    stand.becomes(lambda: processes.signal(server, signal.SIGCHLD) and stand.pane().status is not None)
    assert stand.pane().dead
    assert stand.pane().status == 128 + signal.SIGKILL


def test_a_lost_socket_is_made_again_by_the_server_that_is_told_to(stand, sessions):
    stand.session()
    server = sessions.ensure_server()
    stand.lose_socket()
    assert sessions.listing().server is None
    assert sessions.recall_server(server) == server
    assert stand.pane().dispatch == "0000000a"


def test_a_server_that_takes_over_the_socket_is_another_one_and_knows_no_sessions(stand, sessions, processes):
    stand.session()
    first = sessions.ensure_server()
    stand.lose_socket()
    second = sessions.ensure_server()
    assert second != first
    assert processes.life(first) == "alive"
    assert (sessions.listing().server, sessions.listing().panes) == (second, ())


def test_a_killed_server_takes_its_terminals_with_it_and_says_nothing_more(stand, sessions, processes):
    pane = stand.session()
    who, server = stand.identity(pane.pid), sessions.ensure_server()
    stand.kill(server)
    assert processes.gone_within([who], 5) == []
    assert sessions.listing().server is None
    assert sessions.capture(pane, history=True) is None
    assert not sessions.paste(pane, "hello")
    assert sessions.ensure_server() != server


def test_a_stopped_server_says_nothing_and_is_not_dead(stand, sessions, processes):
    pane = stand.session()
    server = sessions.ensure_server()
    stand.stop(server)
    assert sessions.listing().server is None
    assert "no answer" in sessions.listing().why
    assert not sessions.kill(pane)
    assert processes.life(server) == "alive"


def test_what_is_typed_is_on_the_screen(stand, sessions):
    pane = stand.session(words=("cat",))
    assert sessions.paste(pane, "two\nlines")
    stand.becomes(lambda: "two\nlines" in (sessions.capture(pane, history=True) or ""))


@pytest.mark.req("OBS-8")
def test_many_screens_are_read_in_one_call_and_a_pane_that_is_gone_has_none(stand, sessions):
    shown, gone, other = (stand.session(dispatch=f"0000000{sign}", words=("cat",)) for sign in "abc")
    assert sessions.paste(shown, "screen of the first")
    assert sessions.paste(other, "screen of the last")
    stand.becomes(lambda: "last" in (sessions.capture(other, history=False) or ""))
    assert sessions.kill(gone)
    found = sessions.screens([shown, gone, other])
    assert list(found) == [shown.number, other.number]
    assert found == {pane.number: sessions.capture(pane, history=False) for pane in (shown, other)}
    assert sessions.screens([]) == {}


# effects --------------------------------------------------------------------------------------------------------------
def test_nothing_outside_is_touched_while_a_transaction_is_open(stand, sessions, processes):
    pane, who = stand.session(), stand.start()
    stand.funnel.shut("a test")
    for act in (
        lambda: sessions.kill(pane),
        lambda: sessions.paste(pane, "x"),
        sessions.listing,
        lambda: processes.signal(who, signal.SIGKILL),
        lambda: stand.world.start_fleet("settle"),
    ):
        with pytest.raises(EffectInTransaction):
            act()
    stand.funnel.reopen()
    assert processes.life(who) == "alive"
    assert sessions.listing().panes == (pane,)
