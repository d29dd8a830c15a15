"""One Spark session for the whole run: tests that use it belong to one xdist group, so one worker starts a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from mqctl.spark.engines import Engine, PlainEngine
from mqctl.spark.session.open import SessionSettings, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    with open_session(SessionSettings(environ=os.environ, master="local[2]")) as session:
        yield session


@pytest.fixture(params=["plain", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "plain":
        return PlainEngine()
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    from mqctl.spark.reports.combining import SparkEngine

    session: SparkSession = request.getfixturevalue("spark")
    return SparkEngine(session)
