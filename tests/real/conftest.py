"""The fixture `real`: a cluster of a named release, or the reason why this machine can have none."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from filelock import FileLock

from tests.cached import UnavailableError, cache, program
from tests.real.artifacts import jars
from tests.real.cluster import Plan, RealCluster, running

_TURN_S = 3_000


def require(release: str) -> None:
    """Skips, with the reason, where a release cannot be had or run; `MQCTL_TEST_ALL` makes that a failure."""
    try:
        program("java")
        jars(release)
    except UnavailableError as error:
        message = f"no real RocketMQ {release}: {error}"
        if os.environ.get("MQCTL_TEST_ALL"):
            pytest.fail(message)
        pytest.skip(message)


def turn() -> FileLock:
    """The right to run a real cluster, for the time of a `with`."""
    return FileLock(cache() / "one-at-a-time.lock", timeout=_TURN_S)


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """The cluster of a `Plan`, given by `parametrize("real", [...], indirect=True)`.

    Workers take turns: a machine of two cores runs one real cluster at a time.
    """
    plan: Plan = request.param
    require(plan.release)
    with turn(), running(plan, tmp_path_factory.mktemp("real")) as cluster:
        yield cluster
