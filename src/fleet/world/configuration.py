"""The files that hold settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import BadSetting
from fleet.model import settings

if TYPE_CHECKING:
    from fleet.model.settings import Value


def home_settings(home: str) -> dict[str, Value]:
    """What config.toml says."""
    return _read(f"{home}/{settings.HOME_FILE}", settings.HOME_FILE)


def project_settings(repository: str) -> dict[str, Value]:
    """What fleet.toml says."""
    return _read(f"{repository}/{settings.PROJECT_FILE}", settings.PROJECT_FILE)


def _read(path: str, file: str) -> dict[str, Value]:
    try:
        with open(path, encoding="utf-8") as opened:
            text = opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError:
        raise BadSetting(file=path, line=1, why="it is not UTF-8", advice="save it as UTF-8") from None
    except OSError as error:
        raise BadSetting(file=path, line=1, why=str(error.strerror).lower(), advice="mend its permissions") from None
    return settings.read(path, text, file)
