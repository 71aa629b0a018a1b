"""`fleet claims` for programs: one JSON object whatever happens, and an exit code for each outcome, pinned by a golden file."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commandline import CommandLine

from fleet.api.fleet import Fleet
from fleet.model.dispatch.claim import Claim
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change, Tx
from fleet.surfaces.cli.commands.dispatch.claims import ForPrograms, claims
from fleet.surfaces.cli.hot.table import FOR_PROGRAMS
from fleet.verbs.agents import prompts
from fleet.world.files.locks import FileLock

GOLDEN = Path(__file__).parents[2] / "data" / "claims.json"
PROJECT = "web"
OWNER = ("--owner", f"project/{PROJECT}/slug/t")
INBOX = "coord_prompt_inbox"
A, B, C, D, E, F = "aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee", "ffffffff"
G, H = "0a0a0a0a", "0b0b0b0b"
OUTCOMES = {
    "acquire-prompt": {
        "acquired",
        "already_acquired",
        "not_owned",
        "absent",
        "contested",
        "superseded",
        "refused",
        "error",
    },
    "release": {"released", "already_released", "not_owned", "absent", "contested", "refused", "error"},
    "rewrite-prompt": {
        "rewritten",
        "already_rewritten",
        "not_owned",
        "absent",
        "contested",
        "superseded",
        "refused",
        "error",
    },
    "inspect": {"inspected", "absent", "error"},
}
# What the steps hold: a lock that another process has, and the claim that a slow one has read.
LOCKS: list[FileLock] = []
REMEMBERED: list[Claim] = []
CODES = {"not_owned": 10, "absent": 11, "contested": 12, "superseded": 13, "refused": 14, "usage": 2, "error": 1}


def change(line: CommandLine, work: Callable[[Tx], object]) -> None:
    with Fleet.open(str(line.home), actor="tester") as fleet:
        fleet.context.commit(Change("a test", lambda tx: (work(tx), None)[1]))


def use_up_id(line: CommandLine) -> None:
    change(line, lambda tx: q.reserve_id(tx, id=E, at=tx.at))


def seat_coordinator(line: CommandLine) -> None:
    change(line, lambda tx: seats.take_seat(tx, PROJECT, B, None, None))


def seat_another(line: CommandLine) -> None:
    change(line, lambda tx: q.take_seat(tx, project=PROJECT, holder=F, was=B))


def empty_seat(line: CommandLine) -> None:
    change(line, lambda tx: seats.vacate_seat(tx, PROJECT, F))


def record_agent(line: CommandLine) -> None:
    change(line, lambda tx: q.add_agent(tx, id=A, engine="shell", session="s", conversation=None, at=tx.at))


def archive_agent(line: CommandLine) -> None:
    change(line, lambda tx: q.archive_agent(tx, id=A, at=tx.at))


def end_coordinator(line: CommandLine) -> None:
    ended = {"before": "pending", "after": "failed", "exit_status": None, "reason": "a test", "work": None}
    change(line, lambda tx: q.end_dispatch(tx, id=B, **ended, at=tx.at, report=None, asked_for=None))


def block(line: CommandLine, folder: str) -> None:
    """A file is where a folder belongs."""
    (line.home / folder).mkdir(parents=True, exist_ok=True)
    (line.home / folder).rename(line.home / "aside")
    (line.home / folder).write_text("in the way")


def unblock(line: CommandLine, folder: str) -> None:
    (line.home / folder).unlink()
    (line.home / "aside").rename(line.home / folder)


def block_inbox(line: CommandLine) -> None:
    block(line, "inbox")


def unblock_inbox(line: CommandLine) -> None:
    unblock(line, "inbox")


def put_foreign(line: CommandLine) -> None:
    (line.home / "inbox" / f"{C}.md").unlink()
    (line.home / "inbox" / f"{C}.md").mkdir()


def put_back(line: CommandLine) -> None:
    (line.home / "inbox" / f"{C}.md").rmdir()


def another_releases(line: CommandLine) -> None:
    change(line, lambda tx: set_state(tx, "releasing", actor=str(os.getppid())))


def nobody_releases(line: CommandLine) -> None:
    change(line, lambda tx: set_state(tx, "live", actor=""))


def block_archive(line: CommandLine) -> None:
    block(line, "inbox/archive")


def unblock_archive(line: CommandLine) -> None:
    unblock(line, "inbox/archive")


def block_journals(line: CommandLine) -> None:
    block(line, "dispatches/archive")


def unblock_journals(line: CommandLine) -> None:
    unblock(line, "dispatches/archive")


def belong_elsewhere(line: CommandLine) -> None:
    change(line, lambda tx: tx._db.execute(f"UPDATE dispatches SET home = 'elsewhere' WHERE id = '{H}'"))


def belong_here(line: CommandLine) -> None:
    with Fleet.open(str(line.home), actor="tester") as fleet:
        home = fleet.world.record.id
    change(line, lambda tx: tx._db.execute(f"UPDATE dispatches SET home = '{home}' WHERE id = '{H}'"))


def work_on_inbox(line: CommandLine) -> None:
    """Another process works on the inbox of G, and a slow one has just looked at it."""
    with Fleet.open(str(line.home), actor="tester") as fleet:
        REMEMBERED[:] = [prompts._inbox_of(fleet.context, G)]
        LOCKS[:] = [fleet.world.effect_lock(REMEMBERED[0].id)]
    LOCKS[0].take()


def leave_inbox(line: CommandLine) -> None:
    LOCKS.pop().give()


def look_too_early(line: CommandLine) -> None:
    line._patch.setattr(prompts, "_inbox_of", lambda *_of: REMEMBERED[0])


def set_state(tx: Tx, state: str, *, actor: str) -> None:
    (claim,) = [row for row in q.claims_of_dispatch(tx, dispatch=C) if row.state != "released"]
    life = f"{claim.actor.rsplit('/', 2)[0]}/{actor}/" + (_start_of(int(actor)) if actor else "")
    tx._db.execute(f"UPDATE claims SET state = '{state}', actor = '{life if actor else ''}' WHERE id = '{claim.id}'")


def _start_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]


# Each (command, outcome) pair, in an order in which each comes up. A function changes the scene.
STEPS: tuple[tuple[str, ...] | Callable[[CommandLine], None], ...] = (
    ("acquire-prompt", A, *OWNER),
    ("acquire-prompt", A, *OWNER),
    ("acquire-prompt", A, "--owner", "t"),
    ("acquire-prompt", A, "--owner", "t", "-p", PROJECT),
    ("acquire-prompt", A, "--owner", "t", "--project", PROJECT),
    ("acquire-prompt", A, *OWNER, "--project", PROJECT),
    ("acquire-prompt", A, *OWNER, "--host-id", "$HOSTNAME"),
    ("acquire-prompt", A, *OWNER, "--host-id", "$HOSTID", "--tmux-socket", "$SOCKET"),
    ("acquire-prompt", A, "--owner", f"coord/{PROJECT}"),
    ("acquire-prompt", "nonsense", *OWNER),
    ("acquire-prompt", C, "--owner", "nonsense/"),
    ("acquire-prompt", C, *OWNER, "--project", "other"),
    ("acquire-prompt", C, "--owner", f"coord/{PROJECT}", "--project", "other"),
    ("acquire-prompt", C, *OWNER, "--kind", "coord"),
    ("acquire-prompt", C, *OWNER, "--kind", "wrkr"),
    ("acquire-prompt", A, *OWNER, "--kind", "fix"),
    ("acquire-prompt", A, *OWNER, "--kind", "worker"),
    ("acquire-prompt", A, *OWNER, "--host-id", ""),
    ("acquire-prompt", A, *OWNER, "--tmux-socket", ""),
    ("acquire-prompt", A, "--owner", "\udcff"),
    ("release", A, "--kind", "\udcff"),
    ("acquire-prompt", C),
    ("acquire-prompt", "--nonsense", C, *OWNER),
    ("acquire-prompt",),
    ("acquire-prompt", C, "--owner", "nowhere"),
    ("acquire-prompt", C, "--owner", "t", "--project", "nowhere"),
    ("acquire-prompt", C, *OWNER, "--host-id", "elsewhere"),
    ("acquire-prompt", C, *OWNER, "--tmux-socket", "/elsewhere"),
    ("acquire-prompt", C, *OWNER),
    use_up_id,
    ("acquire-prompt", E, "--owner", "u"),
    block_inbox,
    ("acquire-prompt", C, "--owner", "u"),
    unblock_inbox,
    ("inspect", A),
    record_agent,
    ("inspect", A),
    ("release", A, "--kind", "agent_record"),
    archive_agent,
    ("inspect", A),
    ("release", A, "--kind", "agent_record"),
    ("inspect", D),
    ("inspect", "nonsense"),
    ("inspect",),
    ("acquire-prompt", B, "--owner", f"coord/{PROJECT}", "--preserve"),
    ("inspect", B),
    ("release", B, "--kind", "coord_spawn_marker"),
    seat_coordinator,
    ("inspect", B),
    ("release", B, "--kind", "coord_spawn_marker"),
    seat_another,
    ("inspect", B),
    ("release", B, "--kind", "coord_spawn_marker"),
    empty_seat,
    ("release", B, "--kind", "coord_spawn_marker"),
    block_inbox,
    ("rewrite-prompt", B, "--target-old-id", A),
    unblock_inbox,
    ("rewrite-prompt", B, "--target-old-id", A),
    ("rewrite-prompt", B, "--target-old-id", A),
    ("rewrite-prompt", D, "--target-old-id", B),
    ("rewrite-prompt", B, "--target-old-id", D),
    ("rewrite-prompt", B, "--target-old-id", "nonsense"),
    ("rewrite-prompt", B),
    ("release", A, "--kind", INBOX),
    ("release", D, "--kind", INBOX),
    ("release", B, "--kind", "nonsense"),
    ("release", B, "--kind", "worktree"),
    ("release", B, "--kind", "supervisor_entry"),
    ("release", B),
    ("release", B, "--kind"),
    ("release", B, "--kind", "handoff_resume_inbox"),
    ("rewrite-prompt", B, "--target-old-id", A),
    ("release", B, "--kind", INBOX),
    ("release", B, "--kind", INBOX),
    ("acquire-prompt", C, "--owner", "u", "--kind", "fix"),
    end_coordinator,
    ("rewrite-prompt", B, "--target-old-id", C),
    ("acquire-prompt", B, "--owner", f"coord/{PROJECT}"),
    another_releases,
    ("release", C, "--kind", INBOX),
    nobody_releases,
    put_foreign,
    ("release", C, "--kind", INBOX),
    put_back,
    ("release", C, "--kind", INBOX),
    ("release", "nonsense", "--kind", INBOX),
    ("rewrite-prompt", "nonsense", "--target-old-id", A),
    block_journals,
    ("inspect", D),
    unblock_journals,
    ("acquire-prompt", G, "--owner", f"coord/{PROJECT}", "--preserve"),
    ("acquire-prompt", H, "--owner", f"coord/{PROJECT}"),
    belong_elsewhere,
    ("rewrite-prompt", H, "--target-old-id", G),
    belong_here,
    work_on_inbox,
    ("rewrite-prompt", H, "--target-old-id", G),
    leave_inbox,
    ("rewrite-prompt", H, "--target-old-id", G),
    block_archive,
    ("release", H, "--kind", INBOX),
    unblock_archive,
    ("release", H, "--kind", INBOX),
    look_too_early,
    ("rewrite-prompt", C, "--target-old-id", G),
)


def ask(line: CommandLine, *words: str, stdin: bytes = b"the prompt\n") -> tuple[int, dict]:
    with Fleet.open(str(line.home), actor="tester") as fleet:
        host, socket = fleet.world.host, fleet.world.tmux.socket
    here = {"$HOSTNAME": host.name, "$HOSTID": host.id, "$SOCKET": socket}
    said = line("claims", *(here.get(word, word) for word in words), stdin=stdin)
    assert (len(said.out.splitlines()), said.err) == (1, ""), said
    (answer,) = said.objects
    return said.code, json.loads(json.dumps(answer).replace(str(line.home), "$HOME"))


def pinned(answer: dict) -> dict:
    """Without what differs between runs."""
    kept = {name: value for name, value in answer.items() if name not in {"message", "hint"}}
    for claim in kept.get("claims", ()):
        claim["data"].pop("actor", None)
        for time in ("age", "created_at"):
            if time in claim:
                claim[time] = f"${time.upper()}"
    return kept


@pytest.fixture
def line(either: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setattr("fleet.verbs.dispatch.acquire._PATIENCE", 0.0)
    monkeypatch.setattr(prompts, "_PATIENCE", 0.0)
    either.add("t")
    either.add("u")
    return either


@pytest.mark.alone("a step lets this process look too early")
@pytest.mark.req(
    "CLAIMS-1", "CLAIMS-2", "CLAIMS-3", "CLAIMS-4", "CLAIMS-5", "DEL-3", "EXC-3", "EXC-4", "EXC-5", "EXC-6"
)
def test_each_command_and_outcome_is_what_the_golden_file_says(line):
    said = []
    for step in STEPS:
        if callable(step):
            step(line)
            continue
        code, answer = ask(line, *step)
        said.append({"command": " ".join(step), "code": code, "answer": pinned(answer)})
    assert said == json.loads(GOLDEN.read_text())


@pytest.mark.req("CLAIMS-3", "DER-1")
def test_the_refusal_to_release_what_is_computed_says_that_a_sweep_writes_it(line):
    ask(line, "acquire-prompt", A, *OWNER)
    said = ask(line, "release", A, "--kind", "supervisor_entry")[1]["message"]
    assert said == "a supervisor_entry is computed from the store; a sweep writes it anew, and nobody releases it"


@pytest.mark.req("CLAIMS-4", "CLAIMS-5")
def test_the_golden_file_has_every_outcome_of_every_command_with_its_exit_code():
    pairs = {
        (each["command"].split()[0], each["answer"]["outcome"]): each["code"] for each in json.loads(GOLDEN.read_text())
    }
    wanted = {(command, outcome) for command, outcomes in OUTCOMES.items() for outcome in {*outcomes, "usage"}}
    assert wanted - set(pairs) == set()
    assert {pair: CODES.get(pair[1], 0) for pair in pairs} == pairs


@pytest.mark.req("CLAIMS-3", "EXC-10")
def test_a_refusal_names_both_hosts_and_both_sockets_by_name(line):
    with Fleet.open(str(line.home), actor="tester") as fleet:
        host, socket = fleet.world.host, fleet.world.tmux.socket
    answer = ask(line, "acquire-prompt", C, *OWNER, "--host-id", "elsewhere")[1]
    assert (
        answer["message"] == f"the prompt of {C} is meant for host elsewhere, and this is {host.name} (host {host.id})"
    )
    assert "disown" not in answer["hint"], "there is no such dispatch"
    seen = {"id": "h2", "host": "0123", "machine": "0123", "name": "big-iron", "path": "/home/ann/.fleet"}
    change(line, lambda tx: q.see_home(tx, **seen, at=tx.at))
    answer = ask(line, "acquire-prompt", C, *OWNER, "--host-id", "0123")[1]
    assert answer["message"].startswith(
        f"the prompt of {C} is meant for big-iron (host 0123), and this is {host.name} "
    )
    message = ask(line, "acquire-prompt", C, *OWNER, "--tmux-socket", "/elsewhere")[1]["message"]
    assert "is meant for tmux socket /elsewhere" in message
    assert socket.replace(str(line.home), "$HOME") in message
    assert host.name in message


@pytest.mark.req("CLAIMS-3", "CLAIMS-4")
def test_a_usage_error_names_what_is_wrong_and_the_help(line):
    answer = ask(line, "acquire-prompt", C)[1]
    assert answer["message"] == "Missing option '--owner'"
    assert answer["hint"] == "`fleet claims acquire-prompt --help` shows the usage"
    contradicts = ask(line, "acquire-prompt", C, *OWNER, "--project", "other")[1]["message"]
    assert contradicts == f"--project other contradicts --owner {OWNER[1]}"


@pytest.mark.req("CLAIMS-1")
def test_the_slug_of_a_task_needs_a_project_that_is_named_or_here(line, tmp_path):
    line.where = tmp_path
    code, answer = ask(line, "acquire-prompt", C, "--owner", "t")
    assert (code, answer["outcome"], "no project" in answer["message"]) == (2, "usage", True)
    assert ask(line, "acquire-prompt", C, "--owner", "t", "--project", PROJECT)[1]["outcome"] == "acquired"
    with Fleet.open(str(line.home), actor="tester") as fleet:
        assert [(each.id, each.owner) for each in fleet.dispatches.list()] == [(C, OWNER[1])]


@pytest.mark.req("CLAIMS-3", "STORE-10", "DEL-1")
def test_a_file_where_the_inbox_belongs_is_one_line_and_nothing_is_half_written(line):
    (line.home / "inbox").write_text("in the way")
    with Fleet.open(str(line.home), actor="tester") as fleet:
        before = fleet.operations.newest()
        code, answer = ask(line, "acquire-prompt", C, *OWNER)
        said = "nothing was changed: $HOME/inbox is not a folder, and fleet needs one there"
        assert (code, answer["outcome"], answer["message"]) == (1, "error", said)
        assert line("dispatch", "t", "--engine", "shell", "--json", "--", "true").error["name"] == "NotAFolder"
        line("dispatch", "t", "--engine", "shell", "--", "true").refused(1, "is not a folder", "move it away")
        assert (fleet.operations.newest(), fleet.claims.list(), fleet.dispatches.list()) == (before, [], [])
    assert (line.home / "inbox").read_text() == "in the way"


@pytest.mark.req("CLAIMS-4", "EXC-5", "EXC-9")
@pytest.mark.parametrize("state", ["allocating", "live", "releasing", "releasing_blocked", "failed_alloc"])
def test_a_foreign_thing_is_not_owned_whatever_the_state_of_its_claim(line, state):
    ask(line, "acquire-prompt", C, "--owner", "u")
    put_foreign(line)
    change(line, lambda tx: set_state(tx, state, actor=""))
    code, answer = ask(line, "release", C, "--kind", INBOX)
    assert (code, answer["outcome"], answer["dispatch_id"], answer["kind"]) == (10, "not_owned", C, INBOX)
    assert answer["message"] == f"not released: {INBOX} inbox/{C}.md: foreign, left alone"
    with Fleet.open(str(line.home), actor="tester") as fleet:
        assert [claim.state for claim in fleet.claims.list("delivery")] == [state], "nothing was changed"
    assert (line.home / "inbox" / f"{C}.md").is_dir()


@pytest.mark.req("OBS-2")
def test_only_a_record_that_is_there_and_a_seat_that_is_held_are_listed_with_their_own_host(line):
    ask(line, "acquire-prompt", A, *OWNER)
    ask(line, "acquire-prompt", B, "--owner", f"coord/{PROJECT}")
    with Fleet.open(str(line.home), actor="tester") as fleet:
        assert fleet.claims.list("exclusive") == []
        record_agent(line)
        seat_coordinator(line)
        change(line, lambda tx: tx._db.execute(f"UPDATE dispatches SET host = 'elsewhere' WHERE id = '{A}'"))
        listed = {
            each.kind: (each.name, each.dispatch, each.host, each.state) for each in fleet.claims.list("exclusive")
        }
        assert listed == {
            "agent_record": (A, A, "elsewhere", "live"),
            "coord_spawn_marker": (PROJECT, B, fleet.world.host.id, "live"),
        }
        archive_agent(line)
        assert [each.kind for each in fleet.claims.list("exclusive")] == ["coord_spawn_marker"]


@pytest.mark.req("CLAIMS-1")
def test_each_hidden_command_answers_words_that_are_no_text_with_json():
    hidden = {name for name, command in claims.commands.items() if isinstance(command, ForPrograms)}
    assert hidden == set(FOR_PROGRAMS)


@pytest.mark.req("CLAIMS-1")
def test_an_inspection_in_a_moved_home_says_nothing_on_standard_error(line):
    ask(line, "acquire-prompt", A, *OWNER)
    moved = line.home.rename(line.home.with_name("moved"))
    said = line("claims", "inspect", A, env={"FLEET_HOME": str(moved)})
    assert (said.code, said.err, said.json["outcome"]) == (0, "", "inspected"), said
