"""One Spark session for the whole run: tests that use it belong to one xdist group, so one worker starts a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from mqctl.spark.engines import Engine, PlainEngine
from mqctl.spark.session.open import SessionSettings, open_session
from tests.requires import need_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    need_extra("spark", "pyspark")
    with open_session(SessionSettings(environ=os.environ, master="local[2]")) as session:
        yield session


@pytest.fixture(params=["plain", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "plain":
        return PlainEngine()
    need_extra("spark", "pyspark")
    from mqctl.spark.reports.combining import SparkEngine

    session: SparkSession = request.getfixturevalue("spark")
    return SparkEngine(session)


@pytest.fixture
def numba() -> None:
    """For tests of compiled functions."""
    need_extra("spark", "numba")
