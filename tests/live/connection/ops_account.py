"""A cluster that wants keys, its one account, and commands against it: no output shows the secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import Outcome
from tests.embedded_broker.access import write_list
from tests.live.conftest import Run

SECRET = "TheSecret-4711-qxz"
LIST = f"accounts:\n  - accessKey: ops-account\n    secretKey: {SECRET}\n    admin: true\n"
KEYS = {"MQCTL_ACCESS_KEY": "ops-account", "MQCTL_SECRET_KEY": SECRET}
OURS = "ours"
"""Below the test's directory: where commands keep what is theirs."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(acl_file=write_list(tmp_path_factory.mktemp("conf"), LIST)) as cluster:
        yield cluster


@pytest.fixture
def asked(mqctl: Run, guarded: EmbeddedCluster, tmp_path: Path) -> Run:
    """Runs mqctl against the cluster, without keys unless they are given."""
    names = ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")
    places = {name: str(tmp_path / OURS / name.lower()) for name in names}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        outcome = mqctl(*words, env={**places, "MQCTL_NAMESRV": guarded.namesrv, **(env or {})})
        assert SECRET not in outcome.stdout + outcome.stderr
        return outcome

    return run


def key_file_of(directory: Path, content: bytes | str) -> Path:
    """Writes a key file that its owner alone may read."""
    file = directory / "keys.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    file.chmod(0o600)
    return file
