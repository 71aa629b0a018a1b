"""Choose the environment variables that an agent inherits from the person or process that asked for it.

An engine's file names them (`pass`, names or patterns); a file without `pass` takes all. The environment of the tmux
server does not matter: only variables that describe the agent's own terminal come from its pane.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.engines.reader import Engine

EVERYTHING = "*"
# Variables that every agent inherits: the person, locale, PATH, proxies, certificates.
BASE = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "XDG_*", "MANPATH"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "EDITOR", "VISUAL", "PAGER", "LS_COLORS", "COLORTERM"),
)
# Variables that describe the pane: taken from the pane, never from the person who asked.
_OF_PANE = ("TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "FLEET_*")
# Variables of the terminal, shell or git command of the person who asked. Passed on only when named in full.
_NOT_PASSED = (*_OF_PANE, "GIT_*", "STY", "WINDOW", "COLUMNS", "LINES", "PWD", "OLDPWD", "SHLVL", "_")


def patterns(engine: Engine, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names and patterns of the variables that an agent of the engine inherits.

    `more` has the names and patterns in the person's settings.
    """
    sandbox = (engine.root_sandbox,) if engine.root_sandbox else ()
    return (*BASE, *(engine.passes if engine.passes is not None else (EVERYTHING,)), *engine.require, *sandbox, *more)


def lacking(given: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return those of `names` whose variables are missing or empty in the environment `given`; patterns are skipped."""
    return [name for name in dict.fromkeys(names) if not _is_pattern(name) and not given.get(name)]


def inherited(given: Mapping[str, str], named: Iterable[str]) -> dict[str, str]:
    """Return the variables of an environment that are named in `named` or match a pattern there, as `is_named` decides.

    TERM, GIT_* and some others are returned only when they are named in full.
    """
    kept = tuple(named)
    return {name: value for name, value in given.items() if is_named(name, kept)}


def unattended(kept: Mapping[str, str], own: Mapping[str, str], known: Iterable[str]) -> dict[str, str]:
    """Return the environment from which agents inherit when fleet starts them by itself, without a person who asks.

    It has the variables `kept`, which were stored from a person's shell. From this process's own environment (`own`) it
    has only those that match no name or pattern in `known`; the pattern `*` in `known` is ignored.
    """
    names = tuple(name for name in known if name != EVERYTHING)
    return {name: value for name, value in own.items() if not is_named(name, names)} | dict(kept)


def at_launch(pane: Mapping[str, str], passed: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which an agent is launched.

    It has the variables `passed`, and from the environment of its pane those that describe the terminal, and FLEET_*.
    """
    return {**passed, **{name: value for name, value in pane.items() if _matches_pattern(name, _OF_PANE)}}


def is_named(name: str, named: tuple[str, ...]) -> bool:
    """Return whether a variable is one of the names in `named`, or matches one of the patterns there.

    Some variables, such as TERM and those that begin with GIT_, have to be named in full; no pattern matches them.
    """
    return name in named or (_matches_pattern(name, named) and not _matches_pattern(name, _NOT_PASSED))


def _matches_pattern(name: str, named: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in named)


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")
