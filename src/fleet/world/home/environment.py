"""Environment variables in files that only their owner can read.

They are those that `fleet up` kept of a person's shell, those for an agent that is to be launched, and those in the
file of the setting `environment.file`.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from fleet import errors
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.world.files.files import Files

_MOST = 1_000_000


def write_variables(files: Files, name: str, variables: Mapping[str, str]) -> None:
    """Write variables into a file of the home. Values that are not valid text are kept exactly."""
    files.publish(name, json.dumps(dict(variables)).encode("ascii"))


def read_variables(files: Files, name: str) -> dict[str, str] | None:
    """Return the variables in a file of the home; None when it is missing; raise BadSetting when it cannot be read."""
    try:
        held = json.loads(files.read(name))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        held = None
    if not isinstance(held, dict):
        raise _bad_file(name, 1, "the variables for agents cannot be read", "`fleet up` writes what ticks pass on anew")
    return {str(key): str(value) for key, value in held.items()}


def kept_environment(files: Files) -> dict[str, str] | None:
    """Return the variables that the last `fleet up` kept from the environment of the person who ran it.

    None when it kept none yet; raise BadSetting when they cannot be read.
    """
    return read_variables(files, paths.KEPT_ENVIRONMENT)


def variables_in_person_file(path: str) -> dict[str, str]:
    """Return the variables in the file of the setting `environment.file`: one NAME=VALUE a line.

    Empty lines and lines that begin with "#" are skipped; "export" before a name and one pair of quotes around a value
    are left out. Raise BadSetting when the file cannot be opened, when others may read it, when it belongs to somebody
    else, or when a line is not a variable. No message contains a value.
    """
    where = os.path.expanduser(path)
    variables: dict[str, str] = {}
    for number, line in enumerate(_private_text(where).splitlines(), 1):
        words = line.strip().removeprefix("export ").strip()
        if not words or words.startswith("#"):
            continue
        name, equals, value = words.partition("=")
        if not equals or not name.isidentifier():
            raise _bad_file(where, number, "this line is no variable", "write NAME=VALUE, one a line")
        variables[name] = _unquoted(value)
    return variables


def _private_text(path: str) -> str:
    """Return the text of a regular file of this user that nobody else may read; raise BadSetting for any other file.

    At most the first 1 MB is read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _bad_file(path, 1, str(error.strerror).lower(), "write it, or unset environment.file") from None
    with open(handle, "rb") as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.geteuid() or seen.st_mode & 0o077:
            raise _bad_file(path, 1, "others may read it, or it is not your file", f"chmod 600 {path}")
        return file.read(_MOST).decode("utf-8", "surrogateescape")


def _unquoted(value: str) -> str:
    """Return a value without blanks and one pair of quotes around it."""
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


def _bad_file(path: str, line: int, why: str, advice: str) -> errors.BadSetting:
    return errors.BadSetting(file=path, line=line, why=why, advice=advice)
