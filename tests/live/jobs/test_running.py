"""Jobs from begin to end: items in worktrees and in place, merged, retried, given up."""

import json
from functools import partial
from pathlib import Path

import pytest
from live.jobs.stage import states
from staging.stage import raw

from fleet.errors.absent import NoSuchJob
from fleet.errors.families import BadInput, Refused
from fleet.errors.given import BadWorkflow
from fleet.errors.refused import EngineMissing
from fleet.model.jobs.items import item_id
from fleet.testing.crash.scenarios import until
from fleet.verbs.views.operations import OperationFilter

IN_PLACE = """
name: list
map:
  isolation: none
  max_parallel: 3
  breaker: 0
  input: [{items}]
  steps:
    - shell: {shell}
  retry: {{attempts: {attempts}, backoff: 0s}}
"""


def in_place(items: str, shell: str, attempts: int = 1) -> str:
    return IN_PLACE.format(items=items, shell=json.dumps(shell), attempts=attempts)


@pytest.mark.req("JOB-1", "JOB-2", "JOB-4")
def test_setup_items_and_reduce_work_on_one_branch_and_nothing_else_is_touched(either):
    done, events = either.run(
        """
name: whole
env: {LEVEL: low}
setup:
  - shell: 'echo "noise" >&2; echo v1'
    name: version
  - shell: 'echo ''{"files": [{"path": "a", "n": 1}, {"path": "b", "n": 9}, {"path": "c", "n": 9}]}'' > found.json'
map:
  input: {file: found.json, select: "files[?n > `5`]"}
  max_parallel: 2
  engine: scripted
  steps:
    - agent: |
        ```script
        write {item.path}.txt {setup.version} {env.LEVEL}
        commit Add {item.path}
        ```
      commit_required: true
    - shell: grep -q high {item.path}.txt
reduce:
  - shell: 'cp {map.results} all.json; git add .; git commit -qm Summarise'
""",
        variables={"LEVEL": "high"},
    )
    assert (done.state, done.items.done, done.items.total) == ("done", 2, 2)
    branch = done.branch
    assert either.git("show", f"{branch}:b.txt") == "v1 high"
    results = json.loads(either.git("show", f"{branch}:all.json"))
    assert [each["item"]["path"] for each in results] == ["b", "c"]
    assert all(each["commit"] and each["attempts"] == 1 for each in results)
    assert (either.git("status", "--porcelain"), either.git("rev-parse", "--abbrev-ref", "HEAD")) == ("", "main")
    assert either.git("branch", "--list", "worker/*") == ""
    assert [each.state for each in events if each.event == "item" and each.label == "b"] == [
        "running",
        "merging",
        "done",
    ]
    with either.jobs() as fleet:
        found = fleet.jobs.item(done.id, next(fleet.jobs.items(done.id)).id)
        assert [(step.number, step.status, len(step.commits)) for step in found.steps] == [
            (1, 0, 1),
            (2, 0, 0),
        ]
        assert list(fleet.tasks.list(project="p")) == []
        assert fleet.tasks.ready(project="p") == []


@pytest.mark.req("JOB-1")
def test_items_in_place_need_neither_worktree_nor_session_each(either):
    done, _events = either.run(in_place("one, two, three", 'echo "{item}" >> seen'))
    assert (done.state, done.items.done) == ("done", 3)
    with either.jobs() as fleet:
        assert done.left == []
        journals = partial(fleet.files.names, "dispatches/archive")
        until(lambda: len(journals()) == 1)  # that of the one checkout, archived by whoever was last
        ident = next(fleet.jobs.items(done.id)).id
        assert [step.status for step in fleet.jobs.item(done.id, ident).steps] == [0]


@pytest.mark.req("JOB-1")
@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ('{glob: "**/*.md"}', ["docs/a.md", "docs/b.md"]),
        ("{command: 'printf \"x\\ny z\\n\"'}", ["x", "y z"]),
        ("{command: 'echo ''{\"name\": \"n1\"}''; echo ''{\"name\": \"n2\"}'''}", ["n1", "n2"]),
        ("{file: items.txt}", ["from beside the job"]),
        ("[1, two, {name: three}]", ["1", "two", "three"]),
    ],
)
def test_items_come_from_a_glob_a_command_a_file_or_a_list(scene, given, labels):
    Path(scene.repository, "docs").mkdir()
    for name in ("a.md", "b.md"):
        Path(scene.repository, "docs", name).write_text("text\n")
    scene.git("add", ".")
    scene.git("commit", "--quiet", "--message=docs")
    Path(scene.root, "items.txt").write_text("from beside the job\n")
    done, _events = scene.run(f"name: n\nmap:\n  isolation: none\n  input: {given}\n  steps: [{{shell: 'true'}}]\n")
    assert done.state == "done", done
    assert sorted(scene.items(done.id)) == sorted(labels)


@pytest.mark.req("JOB-1")
def test_a_long_output_of_setup_that_is_no_text_is_cut_so_that_the_commands_can_take_it(scene):
    setup = r"head -c 60000 /dev/zero | tr '\0' '\377'; echo end"
    done, _events = scene.run(
        f"""
name: n
setup: [{{shell: {json.dumps(setup)}}}]
map:
  isolation: none
  input: {{command: 'printf %s {{setup.output}} | tail -c 3'}}
  steps: [{{shell: 'printf %s {{setup.output}} | grep -q "{{item}}"'}}]
"""
    )
    assert (done.state, list(scene.items(done.id))) == ("done", ["end"]), done


@pytest.mark.req("JOB-1", "JOB-6")
def test_a_job_whose_input_command_cannot_take_a_value_has_failed_with_the_reason(scene):
    text = "name: n\nmap:\n  input: {command: 'echo {env.LONG}'}\n  steps: [{shell: 'true'}]\n"
    done, _events = scene.run(text, variables={"LONG": "x" * 100_001})
    assert done.state == "failed"
    assert "{env.LONG}: it is longer than the 100000 bytes" in done.reason
    with scene.jobs() as fleet:
        assert fleet.jobs.show(done.id).state == "failed"


@pytest.mark.req("JOB-2")
def test_the_same_content_has_the_same_id_and_twice_the_same_is_two_items(scene):
    done, _events = scene.run(in_place("{b: 1, a: 2}, {a: 2, b: 1}", "true"))
    again, _events = scene.run(in_place("{a: 2, b: 1}", "true"))
    with scene.jobs() as fleet:
        first, second = (each.id for each in fleet.jobs.items(done.id))
        assert second == f"{first}-2"
        assert [each.id for each in fleet.jobs.items(again.id)] == [first]


@pytest.mark.req("JOB-3")
def test_a_failure_is_tried_again_and_then_goes_into_the_queue_with_its_history(either):
    flag = f"{either.root}/mended"
    done, events = either.run(
        in_place("good, bad", f'test {{item}} = good || test -e {flag} || {{ echo "no such {{item}}"; exit 3; }}', 3)
    )
    assert done.state == "done"
    assert states(either.items(done.id)) == {"good": "done", "bad": "dead"}
    told = [each.state for each in events if each.event == "item" and each.label == "bad"]
    assert told == ["running", "waiting", "running", "waiting", "running", "dead"]
    with either.jobs() as fleet:
        queued = fleet.jobs.dead_items(done.id)
        assert [each.label for each in queued] == ["bad"]
        history = fleet.jobs.item(done.id, queued[0].id).history
        assert [each.attempt for each in history] == [1, 2, 3]
        assert {each.reason for each in history} == {"map step 1: exit status 3\nno such bad"}
        assert {each.signature for each in history} == {"map step 1: no such ITEM"}
        with pytest.raises(Refused):
            fleet.jobs.retry(done.id, ())
        Path(flag).write_text("")
        assert fleet.jobs.retry(done.id, (queued[0].id[:6],)).state == "paused"
    assert either.resume(done.id).state == "done"
    assert states(either.items(done.id)) == {"good": "done", "bad": "done"}


@pytest.mark.req("JOB-3")
def test_an_item_that_is_dropped_is_gone_with_its_worktree_but_not_its_work(either):
    text = (
        "name: n\nmap:\n  input: [x]\n  steps:\n    - shell: 'echo half > half.txt; exit 1'\n  retry: {attempts: 1}\n"
    )
    done, _events = either.run(text)
    tree = either.tree(f"job-{done.id}-{either.items(done.id)['x'].id}")
    assert (tree / "half.txt").exists()
    with either.jobs() as fleet:
        assert fleet.jobs.drop(done.id, (), everything=True).left == []
        assert fleet.jobs.dead_items(done.id) == []
    assert not tree.exists()
    kept = either.git("for-each-ref", "--format=%(refname)", f"refs/fleet/kept/{tree.name}")
    assert either.git("show", f"{kept}:half.txt") == "half"


@pytest.mark.req("JOB-3")
def test_each_attempt_begins_afresh_and_what_the_last_one_left_is_kept(scene):
    shell = "test ! -e left.txt && date +%N > left.txt && git add . && git commit -qm half && test -e {env.GO} || { touch {env.GO}; exit 1; }"
    text = f"name: n\nmap:\n  input: [x]\n  steps:\n    - shell: {json.dumps(shell)}\n  retry: {{attempts: 2, backoff: 0s}}\n"
    done, _events = scene.run(text, variables={"GO": f"{scene.root}/go"})
    found = scene.items(done.id)["x"]
    assert (found.state, found.attempts) == ("done", 2), found
    kept = scene.git("for-each-ref", "--format=%(refname)", "refs/fleet/kept")
    assert scene.git("show", f"{kept}:left.txt") != scene.git("show", f"{done.branch}:left.txt")


@pytest.mark.req("JOB-4")
def test_items_that_clash_are_merged_one_at_a_time_and_the_second_is_parked(either):
    text = """
name: clash
map:
  input: [one, two]
  steps:
    - shell: 'echo {item} > same.txt; git add .; git commit -qm {item}'
"""
    done, _events = either.run(text)
    found = either.items(done.id)
    assert sorted(states(found).values()) == ["done", "parked"]
    parked = next(each for each in found.values() if each.state == "parked")
    assert "conflict" in parked.reason
    assert "same.txt" in parked.reason
    first = next(each for each in found.values() if each.state == "done")
    assert either.git("show", f"{done.branch}:same.txt") == first.item
    assert either.git("status", "--porcelain") == ""
    with either.jobs() as fleet:  # tried again, it begins where the branch is now
        fleet.jobs.retry(done.id, (parked.id,))
    assert either.resume(done.id).state == "done"
    assert either.git("show", f"{done.branch}:same.txt") == parked.item


@pytest.mark.req("JOB-4")
def test_items_that_do_not_clash_are_all_on_the_branch(scene):
    text = "name: n\nmap:\n  input: [a, b, c]\n  steps:\n    - shell: 'echo {item} > {item}.txt; git add .; git commit -qm {item}'\n"
    done, _events = scene.run(text)
    assert scene.git("ls-tree", "--name-only", done.branch).split() == ["README", "a.txt", "b.txt", "c.txt"]
    assert {each.state for each in scene.items(done.id).values()} == {"done"}


@pytest.mark.req("JOB-2", "JOB-4")
def test_the_next_item_begins_when_the_one_before_is_merged_and_before_its_worktree_is_released(scene):
    step = "test ! -e a.txt || grep a a.txt; echo {item} > {item}.txt; git add .; git commit -qm {item}"
    done, _events = scene.run(f"name: n\nmap:\n  max_parallel: 1\n  input: [a, b]\n  steps:\n    - shell: '{step}'\n")
    with scene.jobs() as fleet:
        said = [each.why for each in fleet.operations.list(OperationFilter(), limit=500)]
    first, second = (item_id(item) for item in "ab")
    merged = next(number for number, why in enumerate(said) if f"{first} is done" in why)
    begun = next(number for number, why in enumerate(said) if why.startswith("dispatch ") and second in why)
    released = next(number for number, why in enumerate(said) if f"{first} is released" in why)
    assert merged < begun < released
    assert scene.git("log", "--format=%s", done.branch).split()[:2] == ["b", "a"], "no merge: b began where a had ended"


@pytest.mark.req("JOB-3")
def test_when_most_items_fail_alike_the_job_pauses_and_names_what_they_share(either):
    text = in_place(", ".join(f"i{n}" for n in range(20)), 'echo "server 10.0.0.{item} is down" >&2; exit 1').replace(
        "breaker: 0", "breaker: 4"
    )
    done, _events = either.run(text)
    assert done.state == "paused"
    assert "items failed alike: map step 1: server N.N.N.ITEM is down" in done.reason
    assert done.items.waiting > 0
    again = either.resume(done.id)
    assert again.items.dead > done.items.dead  # a new runner counts anew


@pytest.mark.req("JOB-3")
@pytest.mark.parametrize(("choice", "state", "item"), [("skip", "done", "skipped"), ("stop", "failed", "dead")])
def test_a_job_says_what_becomes_of_what_fails(scene, choice, state, item):
    text = in_place("bad", "exit 1").replace("map:", f"map:\n  on_failure: {choice}", 1)
    done, _events = scene.run(text)
    assert (done.state, scene.items(done.id)["bad"].state) == (state, item)


@pytest.mark.req("JOB-1")
def test_a_step_that_takes_too_long_or_owes_a_commit_has_failed(scene):
    done, _events = scene.run(
        in_place("x", "exec sleep 1000").replace('    - shell: "exec', '    - timeout: 1s\n      shell: "exec')
    )
    assert "took longer than 1 s" in scene.items(done.id)["x"].reason
    done, _events = scene.run(
        in_place("x", "true").replace('    - shell: "true"', '    - shell: "true"\n      commit_required: true')
    )
    assert scene.items(done.id)["x"].reason == "map step 1: it made no commit"


@pytest.mark.req("JOB-1")
def test_no_value_is_ever_seen_by_a_shell(either):
    evil = "$(touch ran); `touch ran`; ' \" \\\\ \n; touch ran; # & | > ran"
    shell = 'printf %s {item.v} > plain; printf %s "{item.v}" > double; printf %s \'{item.v}\' > single; test "$(cat plain)" = "$(cat double)"; cat plain double single > {env.OUT}; test ! -e ran'
    done, _events = either.run(in_place(f"{{v: {json.dumps(evil)}}}", shell), variables={"OUT": f"{either.root}/out"})
    assert done.items.done == 1, either.items(done["id"])
    assert Path(either.root, "out").read_text() == evil * 3


@pytest.mark.req("JOB-1")
def test_what_could_not_run_is_refused_before_anything_is_made(scene):
    agent = "name: n\nmap:\n  input: [x]\n  steps:\n    - agent: do it\n"
    with scene.jobs() as fleet:
        for text, error in (
            ("name: n\n", BadWorkflow),
            (agent, BadInput),  # no engine
            (agent.replace("map:", "map:\n  engine: shell", 1), EngineMissing),
            (in_place("x", "echo {env.NOWHERE}"), BadInput),
        ):
            with pytest.raises(error):
                fleet.jobs.run(scene.asked(text), lambda _event: None)
        with pytest.raises(BadInput, match="no such variable"):
            fleet.jobs.run(scene.asked(in_place("x", "true"), variables={"A": "b"}), lambda _event: None)
        with pytest.raises(NoSuchJob):
            fleet.jobs.find("ffffffff")
        assert fleet.jobs.list() == []
    assert scene.git("branch", "--list", "fleet/*") == ""


@pytest.mark.req("JOB-1")
def test_a_job_whose_setup_fails_has_failed_and_tries_it_again_when_resumed(either):
    flag = f"{either.root}/flag"
    text = f"name: n\nsetup:\n  - shell: 'test -e {flag} || {{ echo missing; exit 7; }}'\nmap:\n  isolation: none\n  input: [x]\n  steps: [{{shell: 'true'}}]\n"
    done, _events = either.run(text)
    assert (done.state, done.phase, done.items.total) == ("failed", "setup", 0)
    assert "setup step 1: exit status 7" in done.reason
    Path(flag).write_text("")
    assert either.resume(done.id).items.done == 1


def test_a_cancelled_job_lets_everything_go_and_cannot_be_resumed(either):
    text = in_place("x", "exit 1").replace("map:", "map:\n  on_failure: stop", 1).replace("  isolation: none\n", "")
    done, _events = either.run(text)
    assert done.state == "failed"
    with either.jobs() as fleet:
        assert fleet.jobs.cancel(done.id, "a test").left == []
        assert fleet.jobs.show(done.id).state == "cancelled"
        with pytest.raises(Refused, match="cancelled"):
            fleet.jobs.resume(done.id, lambda _event: None)
    assert either.leftovers() == []


def test_while_an_engine_is_held_back_nothing_of_its_is_started(scene):
    text = "name: n\nmap:\n  engine: scripted\n  input: [x]\n  steps:\n    - agent: |\n        ```script\n        say hello\n        ```\n"
    told: list[str] = []
    with scene.jobs() as fleet:
        raw(fleet, "INSERT INTO holds (engine, kind, reason, since) VALUES ('scripted', 'login', 'who are you?', 1)")

        def wanted() -> bool:
            """Lifted after a few rounds."""
            told.append("round")
            if told.count("round") == 4:
                raw(fleet, "DELETE FROM holds")
            return True

        done = fleet.jobs.run(scene.asked(text), lambda event: told.append(event.event), wanted)
    assert done.items.done == 1
    assert told.index("item") > [place for place, each in enumerate(told) if each == "round"][3]


def test_a_step_cannot_report_for_its_item(scene):
    """Its first word would count, and the session would be ended while later steps are at work."""
    text = "name: n\nmap:\n  input: [x]\n  steps:\n    - shell: '! fleet done'\n    - shell: 'test -z \"$FLEET_TASK\" && test \"$FLEET_ITEM\" = {env.ITEM} && echo $FLEET_JOB'\n"
    ident = item_id("x")
    done, _events = scene.run(text, variables={"ITEM": ident})
    assert done.items.done == 1, scene.items(done["id"])
    with scene.jobs() as fleet:
        said = {each.step: each.text for each in fleet.jobs.logs(done.id, ident)}
    assert "FLEET_TASK is not set" in said[f"{ident}.1.1"]
    assert said[f"{ident}.1.2"] == f"{done.id}\n"


@pytest.mark.req("JOB-3", "JOB-5")
def test_items_are_not_tried_again_while_the_job_sums_up_but_when_it_is_over(either):
    text = in_place("bad, good", "test {item} = good || test -e {env.OUT}/go")
    text += "reduce:\n  - shell: 'echo summed up >> {env.OUT}/sums'\n"
    told: list[str] = []
    with either.jobs() as fleet, either.jobs("ann") as ann:

        def wanted() -> bool:
            """Asked before each round of the runner."""
            [job] = ann.jobs.list()
            if job.phase == "reduce" and not told:
                before = (job, list(ann.jobs.items(job.id)))
                with pytest.raises(Refused) as caught:
                    ann.jobs.retry(job.id, (), everything=True)
                told.append(str(caught.value))
                assert (ann.jobs.list()[0], list(ann.jobs.items(job.id))) == before
                spoken = [each for each in ann.operations.list(OperationFilter(), limit=10_000) if each.actor == "ann"]
                assert spoken == [], "others, tmux's hint among them, may commit meanwhile"
            return True

        done = fleet.jobs.run(either.asked(text, variables={"OUT": either.root}), lambda _event: None, wanted)
        assert told, "it summed up"
        assert (done.state, states(either.items(done.id))) == ("done", {"bad": "dead", "good": "done"})
        Path(either.root, "go").touch()
        again = ann.jobs.retry(done.id, (), everything=True)
        assert (len(again.items), again.state) == (1, "paused")
    assert either.resume(done.id).items.done == 2
    assert Path(either.root, "sums").read_text().splitlines() == ["summed up"] * 2
