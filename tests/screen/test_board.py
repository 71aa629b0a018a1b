"""The board: problems first, each state with its source and age, the keys that apply, one key for each act."""

from pathlib import Path

import pytest
from screen.driving import sit_down
from staging.daemon import RunningDaemon
from staging.stage import raw

from fleet.api.fleet import Fleet
from fleet.api.views.rows import GROUPS
from fleet.model.settings.keys import ACTS
from fleet.surfaces.tui.acts.offers import DOINGS
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.views.operations import OperationFilter

WORKS = "say hello there\nhang"


def prepared(scene, fleet) -> None:
    """A task of every sort, and three agents."""
    scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
    scene.dispatch(fleet, "asks", engine="scripted", script="ask rm -rf build\nhang")
    failed = scene.dispatch(fleet, "breaks", engine="scripted", script="fail it does not compile")
    until(fleet.messages.questions)
    # Neither a coordinator nor a daemon is there: when tmux loses a death, or gives its hint too early, nobody else settles it.
    scene.exited(fleet, failed)
    until(lambda: fleet.sessions.settle(failed).settled)
    fleet.tasks.add(project="p", title="Ready work", slug="ready")
    fleet.tasks.add(project="p", title="Later work", slug="later", after=("ready",))


@pytest.mark.req("TUI-1")
def test_problems_come_first_each_with_its_state_source_and_age(scene):
    with scene.fleet() as fleet:
        prepared(scene, fleet)

    async def look(person):
        await person.sees("asks", "needs you 1", "failed 1", "working 1", "ready 1", "waiting 1")
        lines = person.text.splitlines()
        order = [
            next(n for n, line in enumerate(lines) if f" {group} 1" in line[:40] and n)
            for group in ("needs you", "failed", "working", "ready", "waiting")
        ]
        assert order == sorted(order)
        await person.until(lambda: any("◐ asks" in line and "hook" in line for line in person.text.splitlines()))
        await person.until(lambda: any("● works" in line and "screen" in line for line in person.text.splitlines()))
        assert any("✕ breaks" in line and "failed" in line for line in person.text.splitlines())
        assert person.app.board.row.slug == "asks", "the first that needs the person is selected"

    sit_down(scene.home, look)


@pytest.mark.req("TUI-1")
def test_the_keys_that_apply_are_shown_and_only_those(scene):
    with scene.fleet() as fleet:
        prepared(scene, fleet)

    async def look(person):
        await person.goes_to("p/asks")
        await person.sees("y approve", "! deny", "attach")
        await person.goes_to("p/ready")
        await person.sees("d dispatch")
        assert "approve" not in person.text.splitlines()[-1]
        assert "attach" not in person.text.splitlines()[-1]
        await person.presses("y")
        await person.is_told("approve does not apply here")
        await person.goes_to("p/breaks")
        await person.sees("u retry")
        assert "resume" not in person.text.splitlines()[-1], "it has reported: there is nothing to continue"

    sit_down(scene.home, look)


@pytest.mark.req("TUI-2")
def test_every_act_of_the_table_is_done_by_the_board_or_the_review(scene):
    board = {act.name for act in ACTS if act.place == "board"}
    assert board == set(DOINGS)

    async def look(person):
        from fleet.surfaces.tui.pages.review import ReviewPage  # noqa: PLC0415 - needs the screen

        await person.sees("coordinator")
        page = ReviewPage(person.app.board, "p", "x")
        await person.app.push_screen(page)
        assert {act.name for act in ACTS if act.place == "review"} == {*page._acts, "close"}
        await person.presses("escape")

    sit_down(scene.home, look)


@pytest.mark.req("TUI-2")
def test_a_task_is_added_and_dispatched_by_one_key_each(scene):
    Path(scene.repository, "fleet.toml").write_text('engine = "scripted"\nautonomy = "edits"\nreview = "none"\n')

    async def act(person):
        await person.sees("coordinator")
        await person.presses("n")
        await person.sees("New task in p")
        await person.writes("# Mend the door\nsay hello\nhang")
        await person.presses("enter")
        await person.sees("mend-the-door")
        await person.goes_to("p/mend-the-door")
        with scene.fleet() as fleet:
            assert fleet.tasks.show(project="p", slug="mend-the-door").description == "# Mend the door\nsay hello\nhang"
        await person.sees("d dispatch")
        await person.presses("d")
        await person.is_told("works on p/mend-the-door (scripted)")
        await person.sees("working 1", "hello")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_ending_an_agent_asks_and_names_what_becomes_of_the_work(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
        scene.launched(fleet, ident)

        async def act(person):
            await person.goes_to("p/works")
            await person.sees("x end")
            await person.presses("x")
            await person.sees(
                f"End {ident}",
                "its task is failed; its worktree and commits are kept",
                "keeps its worktree and commits",
            )
            await person.presses("escape")
            assert fleet.context.dispatch(ident).exec_state == "in_flight", "nothing happens before the answer"
            await person.sees("x end")
            await person.presses("x", "x")
            await person.sees("Kill: why?")
            await person.writes("in circles")
            await person.presses("enter")
            await person.sees("failed 1")

        sit_down(scene.home, act)
        task = fleet.tasks.show(project="p", slug="works")
        assert (task.status, task.reason) == ("failed", "killed: in circles")
        why = [each.why for each in fleet.operations.list(OperationFilter(project="p"), limit=100)]
        assert any(each.startswith(f"kill {ident}") or "ask" in each for each in why)


@pytest.mark.req("TUI-2")
def test_a_sweep_shows_what_it_would_do_before_it_acts(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "gone", "true")
        scene.exited(fleet, ident)

        async def act(person):
            await person.goes_to("p/gone")
            await person.presses("s")
            await person.sees("A sweep found", "release them")
            assert fleet.context.dispatch(ident).exec_state == "in_flight"
            await person.presses("y")
            await person.is_told("released")

        sit_down(scene.home, act)
        assert fleet.tasks.show(project="p", slug="gone").status == "blocked"


@pytest.mark.req("TUI-2")
def test_a_sweep_that_finds_nothing_asks_nothing(scene):
    async def act(person):
        await person.sees("coordinator")
        await person.presses("s")
        await person.is_told("nothing to release")
        assert person.app.screen is person.app.board

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_a_second_press_while_the_coordinator_starts_says_so(led):
    async def act(person):
        await person.sees("coordinator")
        for _ in range(2):  # before anything of the first press is done
            person.app.board.perform("coordinator")
        await person.is_told("the coordinator of p is being started")
        await person.is_told("coordinates p")

    sit_down(led.home, act)
    with led.fleet() as fleet:
        assert len([each for each in fleet.dispatches.list(ended=False) if each.kind == "coord"]) == 1


@pytest.mark.req("TUI-3", "OBS-3")
def test_a_banner_names_what_could_not_be_released_until_it_is(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "kept", engine="scripted", script="write a.txt dirty\nfail no luck")
        scene.launched(fleet, ident)
        scene.ended(fleet)
        fleet.tasks.archive(project="p", slug="kept")
        fleet.sweep.run(kill=True)

        async def act(person):
            await person.sees("⚠ 1 worktree kept: uncommitted work, or not swept yet: p/kept")
            await person.sees("not released 1")
            await person.goes_to(f"p~worktree{scene.tree('kept')}")
            person.app.board.show_tab("journal")
            await person.sees(f"{ident}  worker of", "Claims, looked at now", "ours")
            red, green, blue = person.app.board.query_one("#banner").styles.background.rgb
            assert red > green > blue + 50, "yellow"
            fleet.sweep.keep(project="p", slug="kept")
            await person.until(lambda: "worktree kept" not in person.text, "no banner")

        sit_down(scene.home, act)


@pytest.mark.req("OBS-3")
def test_claims_of_another_home_are_warned_of_in_the_banner(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
        scene.launched(fleet, ident)
        raw(fleet, f"UPDATE claims SET host = 'elsewhere' WHERE dispatch = '{ident}' AND kind = 'coord_prompt_inbox'")

        async def act(person):
            await person.sees("1 claim of another h")

        sit_down(scene.home, act, size=(160, 40))
        raw(fleet, f"UPDATE claims SET host = '{fleet.world.host.id}' WHERE dispatch = '{ident}'")


def test_space_goes_from_one_that_needs_the_person_to_the_next(scene):
    with scene.fleet() as fleet:
        prepared(scene, fleet)

    async def act(person):
        await person.sees("needs you 1", "failed 1")
        await person.goes_to("p/asks")
        seen = []
        for _ in range(2):
            seen.append(person.app.board.row.slug)
            await person.presses("space")
        assert seen == ["asks", "breaks"]
        assert person.app.board.row.slug == "asks", "around the corner"

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_wrong_keys_are_said_by_an_open_screen_which_leaves_them_out(scene):
    settings = Path(scene.home, "config.toml")
    before = settings.read_text() if settings.exists() else ""

    def spoil() -> None:
        settings.write_text(f'{before}\n[keys]\nkill = "y"\n')

    async def act(person):
        await person.sees("coordinator")
        spoil()
        await person.sees("the screen leaves out wrong keys", "'y' is both approve and kill")
        await person.presses("n")
        await person.sees("New task in p")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_a_folded_group_is_found_and_unfolded_by_the_keys_again(scene):
    with scene.fleet() as fleet:
        prepared(scene, fleet)

    async def act(person):
        await person.goes_to("p/works")
        await person.presses("left")
        await person.sees("▸ working 1")
        await person.presses("home")
        await person.until(lambda: person.app.board.rows.selected is not None, "away from the heading")
        for _ in range(8):
            await person.presses("j")
            if person.app.board.rows.selected is None:
                break
        await person.until(lambda: any("▌▸ working 1" in line for line in person.text.splitlines()), "the cursor there")
        await person.presses("right")
        await person.sees("● works")

    sit_down(scene.home, act)


def test_the_filter_shows_only_what_fits_and_escape_shows_all(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Paint the door", slug="door")
        fleet.tasks.add(project="p", title="Mend the roof", slug="roof")

    async def act(person):
        await person.sees("door", "roof")
        await person.presses("/")
        await person.writes("paint")
        await person.until(lambda: "roof" not in person.text)
        assert "door" in person.text
        await person.presses("escape")
        await person.sees("roof")

    sit_down(scene.home, act)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("theme", ["dark", "light", "terminal"])
def test_it_fits_every_terminal_in_every_theme(scene, size, theme):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="日本語のタスク " * 20, slug="wide")
        fleet.tasks.add(project="p", title="x" * 500, slug="long")

    async def act(person):
        await person.sees("wide", "long", "? help", "q quit")
        lines = person.text.splitlines()
        assert len(lines) <= size[1]
        await person.resizes(60, 20)
        await person.sees("wide", "q quit")

    sit_down(scene.home, act, size=size, theme=theme)


def test_groups_have_the_words_of_the_status_page():
    assert GROUPS[0] == "needs you"
    assert len(set(GROUPS)) == len(GROUPS)


@pytest.mark.req("TUI-2", "TUI-4")
def test_an_agent_gets_a_message_of_several_lines(scene):
    with scene.fleet() as fleet:
        work = "write door.py red = 1\ncommit Paint it\nwait-message\nsay went on\nhang"
        ident = scene.dispatch(fleet, "works", engine="scripted", script=work)
        scene.shows(fleet, ident, "working: wait-message")

        async def act(person):
            await person.goes_to("p/works")
            await person.sees("m message", "c comment")
            await person.presses("c")
            await person.sees("+red = 1", "q back")
            await person.presses("c")
            await person.sees("Comment on door.py:1")
            await person.writes("make it blue")
            await person.presses("enter")
            await person.is_told("1 comment kept: q, then m sends it to the agent")
            await person.presses("ctrl+c")
            await person.sees("m message")
            await person.presses("m")
            await person.sees(f"Message to {ident}", "door.py:1 make it blue")
            await person.writes("use the door\nnot the window")
            await person.presses("enter")
            await person.is_told(f"message to {ident}: ")
            assert not person.app.board.drafts, "a comment is sent once"

        sit_down(scene.home, act)
        scene.shows(fleet, ident, "make it blue")
        scene.shows(fleet, ident, "not the window")


@pytest.mark.req("TUI-2")
def test_an_agent_is_stopped_and_resumed_and_a_failed_task_opened_again(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
        scene.launched(fleet, ident)

        async def act(person):
            await person.goes_to("p/works")
            await person.presses("x", "s")
            await person.is_told(f"{ident} is ended (blocked)")
            await person.sees("parked 1", "r resume")
            await person.presses("r")
            await person.is_told(f"continues after {ident}")
            await person.sees("working 1")
            again = fleet.agents.list()[0].id
            fleet.dispatches.kill(again, "a test")
            await person.sees("failed 1", "u retry")
            await person.presses("u")
            await person.is_told("p/works is open again (it was failed)")

        sit_down(scene.home, act)
        assert fleet.tasks.show(project="p", slug="works").status == "open"


@pytest.mark.req("TUI-2")
def test_a_handoff_says_that_nothing_of_the_work_is_lost_and_names_the_successor(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=f"{WORKS}\n```script successor\nhang\n```")
        scene.launched(fleet, ident)

        async def act(person):
            await person.goes_to("p/works")
            await person.presses("h")
            await person.sees("Hand off", "Nothing of the work is lost.")
            await person.presses("enter")
            await person.is_told(f"{ident} is handed off: ")
            await person.until(lambda: person.app.board.row.agent not in {None, ident}, "the successor")

        sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_every_hint_names_the_key_that_the_person_gave_to_the_act(scene):
    async def act(person):
        await person.sees("nothing is going on: f2 adds a task")
        await person.presses("X")
        await person.sees("no coordinator: B starts it")
        with scene.fleet() as fleet:
            fleet.tasks.add(project="p", title="Ready work", slug="ready")
        await person.goes_to("p/ready")
        await person.sees("no agent has worked on it yet: D starts one")

    sit_down(scene.home, act, keys={"new": "f2", "down": "X", "coordinator": "B", "dispatch": "D"})


@pytest.mark.req("TUI-2")
def test_a_coordinator_that_the_daemon_plays_has_a_log_instead_of_a_terminal(scene):
    with RunningDaemon(Path(scene.home)), scene.fleet() as fleet:
        fleet.coord.start(Wanted(project="p", slug=None, kind="coord", engine="fleet"))
        fleet.tasks.add(project="p", title="Ready work", slug="ready")

        async def act(person):
            await person.goes_to("p/ready")
            await person.presses("tab", "a")
            await person.is_told("the daemon coordinates p, without a terminal: the live tab shows its log")
            assert person.app.board.row.kind == "coordinator"
            await person.sees("⏎ log", "[fleet]")
            await person.presses("tab", "enter")
            await person.until(lambda: person.app.board._tab == "live", "the log again")
            assert "no terminal" not in person.told

        sit_down(scene.home, act)
        fleet.coord.stop("p", "the test is over")


def test_rows_and_tabs_are_chosen_with_the_mouse(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Ready work", slug="ready")

    async def act(person):
        await person.sees("ready")
        lines = person.text.splitlines()
        place = next(number for number, line in enumerate(lines) if "○ ready" in line)
        await person._pilot.click(offset=(5, place))
        await person.until(lambda: person.app.board.row and person.app.board.row.slug == "ready")
        assert person.text.count("▌") == 1, "the row that was selected is drawn again, too"
        await person.sees("tab", "task  journal")
        tabs = next(number for number, line in enumerate(person.text.splitlines()) if "task  journal" in line)
        column = person.text.splitlines()[tabs].index("task  journal")
        await person._pilot.click(offset=(column + 1, tabs))
        await person.sees("status       ready")

    sit_down(scene.home, act)


def test_a_home_without_projects_says_how_to_begin(home):
    async def act(person):
        await person.sees("no projects yet: run `fleet up` in a repository")
        await person.presses("n", "d", "g", "enter", "tab")
        await person.sees("q quit")

    Fleet.open(str(home)).close()
    sit_down(str(home), act)


@pytest.mark.req("TUI-2")
def test_the_palette_does_what_it_finds_and_a_changed_key_works(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Ready work", slug="ready")

    async def act(person):
        await person.sees("ready")
        await person.presses(":")
        await person.sees("What do you want to do?", "Enter picks")
        await person.resizes(80, 24)
        await person.sees("g  graph", "Enter picks")
        await person.writes("graph")
        await person.presses("enter")
        await person.sees("Graph of p", "○ ready")
        await person.presses("q")
        await person.sees("q quit")
        await person.presses("H")
        await person.sees("Keys", "On the board")

    sit_down(scene.home, act, keys={"help": "H"})
