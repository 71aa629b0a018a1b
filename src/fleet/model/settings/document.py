"""Parse and check the text of a settings file. Each error names its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.settings.table import SETTINGS, SettingValue
from fleet.model.text.documents.nodes import DocumentNode, UnreadableDocument
from fleet.model.text.documents.tables import Table
from fleet.model.text.documents.toml_tree import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.text.documents.nodes import DocumentFault


def read(path: str, text: str, file: str) -> dict[str, SettingValue]:
    """Return the settings in the text of a settings file; raise BadSetting for its first error.

    `path` is shown in messages; `file` is the name of the settings file: config.toml or fleet.toml. A fault inside a
    value that leaves the rest usable is no error: the attribute `wrong` of that SettingValue says it.
    """
    try:
        given = dict(_flatten(parse(text)))
    except UnreadableDocument as error:
        raise _bad_setting(path, error.fault) from None
    fault = next(_faults(given, file), None)
    if fault is not None:
        raise _bad_setting(path, fault)
    known = {setting.name: setting for setting in SETTINGS}
    return {
        name: SettingValue(
            name=name,
            value=node.plain,
            source=f"{path}:{node.line}",
            help=known[name].help,
            wrong="\n".join(str(_bad_setting(path, each)) for each in known[name].kind.remarks(node, name)),
        )
        for name, node in given.items()
    }


def _bad_setting(path: str, fault: DocumentFault) -> errors.BadSetting:
    return errors.BadSetting(file=path, line=fault.line, why=fault.why, advice=fault.advice)


def _faults(given: dict[str, DocumentNode], file: str) -> Iterator[DocumentFault]:
    """Yield the faults in the settings of one settings file, given by their dotted names.

    First the settings that belong in the other settings file, then unknown names and wrong values. `file` says which of
    the two files it is.
    """
    elsewhere = {setting.name: setting.file for setting in SETTINGS if setting.file != file}
    for name in [name for name in given if name in elsewhere]:
        yield given[name].fault(f"unknown setting {name!r} in this file", f"it belongs in {elsewhere[name]}")
    keys = {setting.name: setting for setting in SETTINGS if setting.file == file}
    table = Table("this file", keys, noun="setting", listing="`fleet config show` lists all settings")
    yield from table.faults(DocumentNode(given, 1, keys={name: (node.line, 1) for name, node in given.items()}), file)


def _flatten(table: DocumentNode, prefix: str = "") -> Iterator[tuple[str, DocumentNode]]:
    """Yield each setting under its dotted name: `engine` in the table `[task]` becomes `task.engine`."""
    for key, node in table.value.items():
        name = f"{prefix}{key}"
        whole = any(item.name == name for item in SETTINGS)  # a setting that is a table itself
        if (
            not whole
            and isinstance(node.value, dict)
            and (node.value or any(item.name.startswith(f"{name}.") for item in SETTINGS))
        ):
            yield from _flatten(node, f"{name}.")
        else:
            yield name, node
