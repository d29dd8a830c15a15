"""Where mqctl keeps its own files: settings, state and caches, each movable by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

from mqctl.errors import ConfigurationError
from mqctl.text import sentence


def config_dir() -> Path:
    """Directory of profiles (`MQCTL_CONFIG_DIR`)."""
    return _place("MQCTL_CONFIG_DIR", "user_config_path")


def state_dir() -> Path:
    """Directory of local clusters and journals (`MQCTL_STATE_DIR`)."""
    return _place("MQCTL_STATE_DIR", "user_state_path")


def cache_dir() -> Path:
    """Directory of what can be asked again (`MQCTL_CACHE_DIR`)."""
    return _place("MQCTL_CACHE_DIR", "user_cache_path")


def _place(variable: str, usual: str) -> Path:
    named = os.environ.get(variable)
    if named:
        return Path(named)
    import platformdirs

    try:
        path: Path = getattr(platformdirs, usual)("mqctl", appauthor=False)
    except (KeyError, RuntimeError) as error:
        reason = sentence("cli-no-home-directory", "neither HOME nor the user's entry names a home directory")
        problem = sentence("cli-no-place-for-files", "there is no place for mqctl's own files")
        raise ConfigurationError(
            problem, reason=reason, remedy=sentence("cli-set", "set {variable}", variable=variable)
        ) from error
    return path
