"""Trust: a person says that what a repository's settings run and free is as they want it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.model.results.projects import TrustChange, Trusted
from fleet.model.results.value import Value
from fleet.model.settings import trust as rules
from fleet.model.settings.table import PROJECT_FILE
from fleet.model.text.times import iso
from fleet.store.transaction import Change
from fleet.world.home import paths
from fleet.world.home.settings import settings_of
from fleet.world.home.trust import trusted_values

if TYPE_CHECKING:
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


class Untrusted(Value):
    """What of a project's settings waits for a person's trust."""

    file: str
    changes: list[TrustChange]
    # Of every setting that needs trust, as the file has them. `trust` takes them: what was seen is what is trusted.
    values: dict[str, Any]


def untrusted_settings(context: Context, project: str) -> Untrusted:
    """What waits for a person's trust."""
    path = context.project(project).path
    written = settings_of(context.world.home, path)
    values = rules.guarded_values(written)
    known = values if written["trust"].value == "always" else trusted_values(context.world.home, project, path)
    return Untrusted(file=f"{path}/{PROJECT_FILE}", changes=_changes(values, known), values=values)


def _changes(values: dict[str, Any], known: dict[str, Any]) -> list[TrustChange]:
    waiting = rules.differences(values, known)
    return [TrustChange(name=each.name, was=each.was, now=each.now, runs=each.guard == "runs") for each in waiting]


def trust(context: Context, project: str, values: dict[str, Any]) -> Trusted:
    """Write down that these values are trusted. The operation names the settings and the hash, not the values."""
    path = context.project(project).path
    before, fingerprint = trusted_values(context.world.home, project, path), rules.fingerprint(values)
    if before != values:
        kept = {"repository": path, "hash": fingerprint, "at": iso(context.world.clock.now()), "values": values}
        context.world.files.publish(paths.trust(project), json.dumps(kept, indent=1).encode())
        names = sorted(name for name in {*before, *values} if before.get(name) != values.get(name))
        context.commit(_record_trust(project, fingerprint, names))
    changes, file = _changes(values, before), f"{path}/{PROJECT_FILE}"
    return Trusted(project=project, file=file, hash=fingerprint, changed=before != values, changes=changes)


def trust_written(context: Context, project: str, wanted: dict[str, str]) -> None:
    """Trust what a person has just chosen, beside what was trusted before."""
    path = context.project(project).path
    trust(context, project, trusted_values(context.world.home, project, path) | wanted)


def _record_trust(project: str, fingerprint: str, names: list[str]) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.about(project)
        tx.note(trusted=names, hash=fingerprint)

    return Change(f"trust {', '.join(names)} of {project}", work, fingerprint)
