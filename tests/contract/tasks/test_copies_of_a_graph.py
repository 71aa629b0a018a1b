"""What is copied out of a graph is all of one moment, and nothing is removed that is in no copy."""

from pathlib import Path

import pytest
from contract.conftest import add_project, caller

from fleet.errors.families import Contested
from fleet.model.text import jsontext
from fleet.store import queries as q
from fleet.verbs.projects import register
from fleet.verbs.tasks import export


@pytest.fixture
def pages_of_one(monkeypatch):
    monkeypatch.setattr(export, "PAGE", 1)


def lines_of(fleet) -> list[bytes]:
    return [jsontext.dumps(node).encode() for node in fleet.graph.export(project="p")]


def before_the_second_page(monkeypatch, act) -> None:
    page, looks = export._page_of_nodes, []

    def looked(rows, project, last, **how):
        looks.append(last)
        if len(looks) == 2:
            act()
        return page(rows, project, last, **how)

    monkeypatch.setattr(export, "_page_of_nodes", looked)


@pytest.mark.req("GRAPH-11")
def test_a_task_that_comes_while_others_are_exported_is_waited_for_by_none_of_them(
    fleet, open_fleet, monkeypatch, pages_of_one
):
    other = open_fleet("other")
    for slug in ("m", "z"):
        fleet.tasks.add(project="p", title=slug, slug=slug)

    def act() -> None:
        other.tasks.add(project="p", title="a", slug="a")
        other.tasks.add(project="p", title="n", slug="n", after=("a",))

    before_the_second_page(monkeypatch, act)
    copied = lines_of(fleet)
    add_project(fleet, "copy")
    assert [(node["slug"], node.get("after", [])) for node in (jsontext.loads(line.decode()) for line in copied)] == [
        ("m", []),
        ("z", []),
    ]
    assert fleet.graph.ingest(project="copy", lines=copied, name="copy").tasks == 2


@pytest.mark.req("GRAPH-11")
def test_a_task_that_waits_for_one_of_a_job_can_be_taken_in_without_it(fleet, store):
    job = {
        "project": "p",
        "name": "n",
        "source": "",
        "folder": "/",
        "parameters": "{}",
        "actor": "tester",
        "home": None,
        "at": 1,
    }
    task = {"project": "p", "slug": "job-0000000a-1", "job": "0000000a", "title": "T", "description": "", "at": 1}

    def work(tx):
        q.reserve_id(tx, id="0000000a", at=1)
        q.add_job(tx, id="0000000a", **job)
        return {"n": q.add_job_task(tx, **task)}

    store.transact("a job", work, caller("job"))
    fleet.tasks.add(project="p", title="T", slug="t", after=("job-0000000a-1",))
    add_project(fleet, "copy")
    assert fleet.graph.ingest(project="copy", lines=lines_of(fleet), name="copy").tasks == 1
    removed = fleet.projects.remove("p", with_tasks=True)
    assert (removed.tasks, Path(str(removed.kept)).read_text().count("\n")) == (1, 1), (
        "items of jobs are not in the copy"
    )


def test_a_project_that_is_changed_after_its_tasks_were_copied_is_not_removed(fleet, open_fleet, monkeypatch):
    other = open_fleet("other")
    fleet.tasks.add(project="p", title="A", slug="a")
    publish = fleet.files.publish

    def publish_then_one_more(name: str, content: bytes) -> str:
        path = publish(name, content)
        other.tasks.add(project="p", title="B", slug="b")
        return path

    with monkeypatch.context() as patch:
        patch.setattr(fleet.files, "publish", publish_then_one_more)
        with pytest.raises(Contested, match="nothing was removed"):
            fleet.projects.remove("p", with_tasks=True)
    assert [task.slug for task in fleet.tasks.list(project="p")] == ["a", "b"]
    assert fleet.projects.remove("p", with_tasks=True).tasks == 2


def test_tasks_that_were_not_copied_are_not_removed(fleet):
    fleet.tasks.add(project="p", title="A", slug="a")
    with pytest.raises(Contested):
        fleet.commit(register.remove(name="p", with_tasks=True))
