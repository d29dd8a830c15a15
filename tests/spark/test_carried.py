"""Errors that cross the JVM as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.model.command_line import command_line
from mqctl.spark.carried import CarriedError, carrying, delivered, delivered_error
from mqctl.store.mapping_guard import BadSpotError
from mqctl.text import argv_of, key_of, sentence, values_of, with_replaced
from tests.requires import need_extra


def test_error_arrives_with_its_kind_parts_and_host() -> None:
    with pytest.raises(CarriedError) as caught, carrying():
        raise BadInputError("read the store", reason="it is » none", remedy="name another")
    stack = f"org.apache.spark.SparkException: Job aborted\n  File x\nCarriedError: {caught.value}\n\n\tat java.lang"
    error = delivered_error(stack)
    assert type(error) is BadInputError
    assert (error.problem, error.remedy) == ("read the store", "name another")
    assert error.reason.startswith("it is » none (on ")


def test_texts_and_command_lines_arrive_as_such() -> None:
    error = BadInputError(
        sentence("could-not-read", "could not read {file}", file="/s/ü"),
        reason="No » such",
        remedy=command_line("mqctl store verify --store {}", "/s/a b"),
    )
    arrived = delivered_error(str(CarriedError(error, "worker-7")))
    assert (key_of(arrived.problem), values_of(arrived.problem)) == ("could-not-read", {"file": "/s/ü"})
    assert values_of(arrived.reason) == {"reason": "No » such", "host": "worker-7"}
    assert argv_of(arrived.remedy) == ["mqctl", "store", "verify", "--store", "/s/a b"]


def test_a_mirror_is_renamed_in_the_values_of_a_text() -> None:
    said = sentence("could-not-read", "could not read {file}", file="/tmp/m/config")
    renamed = with_replaced(said, "/tmp/m", "s3://bucket/store")
    assert (renamed, values_of(renamed)) == (
        "could not read s3://bucket/store/config",
        {"file": "s3://bucket/store/config"},
    )
    line = with_replaced(command_line("mqctl store verify --store {}", "/tmp/m"), "/tmp/m", "s3://b")
    assert argv_of(line) == ["mqctl", "store", "verify", "--store", "s3://b"]


def test_error_without_a_reason_tells_the_host() -> None:
    error = delivered_error(str(CarriedError(NotFoundError("open it"), "worker-7")))
    assert (type(error), error.reason) == (NotFoundError, "on worker-7")


def test_a_bad_spot_arrives_with_its_file() -> None:
    spot = BadSpotError(StorageError("could not read it", reason="Input/output error"), Path("/store/commitlog/0"))
    error = delivered_error(str(CarriedError(spot, "worker-7")))
    assert isinstance(error, BadSpotError)
    assert (error.path, error.reason) == (spot.path, "Input/output error (on worker-7)")


@pytest.mark.parametrize("text", ["Job aborted\n\n  Python worker died", "", "x mqctl-error:bm9uc2Vuc2U=: y"])
def test_anything_else_is_a_storage_error_in_sparks_words(text: str) -> None:
    error = delivered_error(text)
    assert type(error) is StorageError
    assert all(line.strip() in error.reason for line in text.splitlines())


def test_an_interruption_over_which_spark_stumbles_is_one() -> None:
    need_extra("spark", "py4j.protocol")
    from py4j.protocol import Py4JNetworkError

    def collect() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JNetworkError("Answer from Java side is empty")

    with pytest.raises(KeyboardInterrupt), delivered():
        collect()
    with pytest.raises(StorageError), delivered():
        raise Py4JNetworkError("Answer from Java side is empty")
