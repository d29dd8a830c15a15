"""Runs that were kept as JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mqctl.errors import BadInputError
from mqctl.model.bench import BENCH_SCHEMA, BenchRun
from mqctl.model.remark import of_decoder
from mqctl.store.plain_files import read_whole
from mqctl.text import sentence


def read_run(file: Path) -> BenchRun:
    """Reads a run that `-o json` wrote.

    Raises:
        BadInputError: the file holds no run.
    """
    problem = sentence("bench-file-no-run", "{file} is not a run of mqctl bench", file=file)
    try:
        document = msgspec.json.decode(read_whole(file))
        schema = document.pop("schema", None) if isinstance(document, dict) else None
        if schema != BENCH_SCHEMA:
            raise BadInputError(
                problem,
                reason=sentence("bench-schema", "its schema is {schema}", schema=schema),
                remedy=sentence("bench-write-json-file", "write one with -o json > FILE"),
            )
        return msgspec.convert(document, BenchRun)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInputError(
            problem, reason=of_decoder(error), remedy=sentence("bench-write-json-file", "write one with -o json > FILE")
        ) from error
