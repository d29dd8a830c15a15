"""Properties whose values are secrets: hidden where they come in, so that nothing behind can show or keep them.

5.x brokers tell their own credentials to whoever may read their configuration: `innerClientAuthenticationCredentials`,
`initAuthenticationUser` (`AuthConfig` of 5.3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

HIDDEN = "***"
_PARTS = ("secret", "password", "credential", "authenticationuser", "privatekey")


@lru_cache(4096)  # all brokers of a cluster have the same names
def holds_secret(name: str) -> bool:
    """Tells whether a property of this name holds a secret."""
    plain = name.lower().replace("_", "").replace(".", "")
    return any(part in plain for part in _PARTS)


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings with their secrets hidden; empty ones stay, since they tell that nothing is set."""
    return {name: HIDDEN if value and holds_secret(name) else value for name, value in settings.items()}
