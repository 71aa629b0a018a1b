"""A NUL in a text is no reason to lose the rest of it."""

from contract.conftest import caller

from fleet.store import queries as q


def test_a_nul_in_a_text_does_not_stop_it_from_being_kept(fleet, store):
    fleet.tasks.add(project="p", title="T", slug="t")
    place = {"project": "p", "slug": "t", "at": 1, "actor": "tester"}

    def work(tx):
        q.add_log(tx, **place, seq=1, message="one\0two")
        tx.many(q.ADD_LOG, [{**place, "seq": 2, "message": "three\0four"}])
        return {}

    store.transact("say it", work, caller("k1"))
    said = [each.message.replace("\0", "") for each in fleet.tasks.show(project="p", slug="t").log]
    assert said == ["onetwo", "threefour"]
    assert store.read(lambda rows: q.project_by_name(rows, name="p\0p")) is None
