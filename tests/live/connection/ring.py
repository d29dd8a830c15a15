"""A keyring for tests: one secret, from a file that only the test knows. Named by PYTHON_KEYRING_BACKEND."""

from __future__ import annotations

import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class FileRing(KeyringBackend):
    """Keeps `service/name=secret` lines in the file that TEST_RING names; locked when there is none."""

    priority = 1.0

    def get_password(self, service: str, username: str) -> str | None:
        file = Path(os.environ["TEST_RING"])
        if not file.exists():
            raise KeyringLocked("the ring is locked")
        secrets = dict(line.split("=", 1) for line in file.read_text().splitlines())
        return secrets.get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError
