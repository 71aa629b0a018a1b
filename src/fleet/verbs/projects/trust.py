"""Trust a repository's settings: a person accepts the commands that they run and the permissions that they give."""

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
    from collections.abc import Mapping

    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


class Untrusted(Value):
    """The settings of a project that wait for a person's trust (`changes`), and the file that they are in."""

    file: str
    changes: list[TrustChange]
    # The value of every setting in the file that needs trust, by name. `trust` is given these, so that a person trusts
    # what was shown.
    values: dict[str, Any]


def untrusted_settings(context: Context, project: str) -> Untrusted:
    """Return the settings of a project's fleet.toml that wait for a person's trust. Its `changes` are empty when none wait."""
    path = context.project(project).path
    written = settings_of(context.world.home, path)
    values = rules.guarded_values(written)
    trusted = values if written["trust"].value == "always" else trusted_values(context.world.home, project, path)
    return Untrusted(file=f"{path}/{PROJECT_FILE}", changes=_changes(values, trusted), values=values)


def _changes(values: dict[str, Any], trusted: dict[str, Any]) -> list[TrustChange]:
    """Return the differences between the values in the file and the trusted values, as commands print them."""
    waiting = rules.differences(values, trusted)
    return [TrustChange(name=item.name, was=item.was, now=item.now, runs=item.guard == "runs") for item in waiting]


def trust(context: Context, project: str, values: dict[str, Any]) -> Trusted:
    """Record these values, by the setting's name, as trusted in place of those before. Returns what was changed.

    The operation log gets the names of the settings and a hash, not the values. The operation is committed before the
    file with the values is written: if the process dies in between, nothing is trusted yet, and the next call writes
    both.
    """
    path = context.project(project).path
    before, fingerprint = trusted_values(context.world.home, project, path), rules.fingerprint(values)
    if before != values:
        record = {"repository": path, "hash": fingerprint, "at": iso(context.world.clock.now()), "values": values}
        names = sorted(name for name in {*before, *values} if before.get(name) != values.get(name))
        context.commit(_record_trust(project, fingerprint, names))
        context.world.files.publish(paths.trust(project), json.dumps(record, indent=1).encode())
    changes, file = _changes(values, before), f"{path}/{PROJECT_FILE}"
    return Trusted(project=project, file=file, hash=fingerprint, changed=before != values, changes=changes)


def trust_written(context: Context, project: str, wanted: Mapping[str, str | list[str]]) -> None:
    """Record as trusted the settings that a person has just chosen, and keep those that were trusted before."""
    path = context.project(project).path
    trust(context, project, trusted_values(context.world.home, project, path) | dict(wanted))


def _record_trust(project: str, fingerprint: str, names: list[str]) -> Change[None]:
    """Return the change that logs which settings were trusted, and the hash of all trusted values."""

    def work(tx: Tx) -> None:
        tx.about(project)
        tx.note(trusted=names, hash=fingerprint)

    return Change(f"trust {', '.join(names)} of {project}", work, fingerprint)
