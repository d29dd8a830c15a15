"""A cluster and the command line of `mqctl bench` on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import Outcome

Bench = Callable[..., Outcome]


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=1, name_servers=1, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: EmbeddedCluster) -> EmbeddedCluster:
    shared.reset()
    return shared


@pytest.fixture
def bench(mqctl: Bench, cluster: EmbeddedCluster, tmp_path: Path) -> Bench:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl("bench", *words, env={**places, "MQCTL_NAMESRV": cluster.namesrv, **(env or {})})

    return run
