"""Carrying mqctl's errors from Spark's Python workers to the driver, where Spark hands over nothing but a text."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqctl import errors
from mqctl.errors import MqctlError, StorageError
from mqctl.store.mapping_guard import BadSpotError
from mqctl.text import carried, sentence
from mqctl.text import delivered as text_delivered

_MARK = re.compile(r"mqctl-error:([A-Za-z0-9+/=]+):")


class CarriedError(Exception):
    """An `MqctlError` on its way through the JVM; its text ends in the error's parts."""

    def __init__(self, error: MqctlError, host: str) -> None:
        reason = (
            sentence("spark-reason", "{reason} (on {host})", reason=error.reason, host=host)
            if error.reason
            else sentence("spark-host", "on {host}", host=host)
        )
        path = str(error.path) if isinstance(error, BadSpotError) else ""
        said = map(carried, (error.problem, reason, error.remedy))
        parts = json.dumps([type(error).__name__, *said, path])
        super().__init__(f"{error} mqctl-error:{base64.b64encode(parts.encode()).decode()}:")


@contextmanager
def carrying() -> Iterator[None]:
    """Makes errors of the block survive the way to the driver; they tell on which host they happened."""
    import socket

    try:
        yield
    except MqctlError as error:
        raise CarriedError(error, socket.gethostname()) from error


@contextmanager
def delivered() -> Iterator[None]:
    """Turns what Spark raises in the block back into the error that a worker had, or into a StorageError with its text.

    Raises:
        KeyboardInterrupt: the job was interrupted, and Spark's tidying up failed over it.
        MqctlError: as the worker raised it, its reason naming the host.
        StorageError: the job failed for another reason.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as failure:
        if _was_interrupted(failure):
            raise KeyboardInterrupt from failure
        raise delivered_error(str(failure)) from failure


@contextmanager
def planning() -> Iterator[None]:
    """Makes errors of work that the driver does itself name their host, as those of workers do."""
    try:
        with carrying():
            yield
    except CarriedError as failure:
        raise delivered_error(str(failure)) from failure


def _was_interrupted(failure: BaseException | None) -> bool:
    """Whether a failure came up while an interruption was on its way.

    PySpark then asks the JVM over the connection from which an answer was being read, and what it reads is no answer.
    """
    while failure is not None and not isinstance(failure, KeyboardInterrupt):
        failure = failure.__context__
    return failure is not None


def delivered_error(text: str) -> MqctlError:
    """Returns the error that `text`, Spark's account of a failure, carries."""
    match = _MARK.search(text)
    if match:
        try:
            name, *said, path = json.loads(base64.b64decode(match.group(1)))
            problem, reason, remedy = map(text_delivered, said)
        except (binascii.Error, ValueError, LookupError, TypeError):
            pass  # Spark has cut the text
        else:
            kind: type[MqctlError] = getattr(errors, name, StorageError)
            error = kind(problem, reason=reason, remedy=remedy)
            return BadSpotError(error, Path(path)) if path else error
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return StorageError(
        sentence("run-report-spark", "run the report on Spark"),
        reason=" / ".join(lines[:1] + lines[-1:]),
        remedy=sentence("spark-see-executors-logs", "see the executors' logs"),
    )
