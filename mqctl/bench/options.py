"""Options of `bench`, and what they say together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.times import parse_span_ms
from mqctl.errors import UsageError
from mqctl.model.numbers import decimal
from mqctl.text import sentence

DEFAULT_DURATION_MS = 10_000
_LONGEST_MS = 24 * 3_600_000
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MAX_BODY_BYTES = 4 * 1024 * 1024 - 4096

NameOption = Annotated[
    str,
    typer.Option("--name", metavar="NAME", help="Suffix of the bench's topic and group, after MQCTL_BENCH_."),
]
BenchTopicOption = Annotated[
    str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Another topic; needs --foreign-topic.")
]
ForeignTopicOption = Annotated[bool, typer.Option("--foreign-topic", help="Allow a topic that mqctl did not create.")]
DurationOption = Annotated[
    str | None, typer.Option("--duration", metavar="SPAN", help="How long. Default: 10s, or up to --count.")
]
CountOption = Annotated[int | None, typer.Option("--count", min=1, max=10**12, metavar="N", help="How many messages.")]
MaxBytesOption = Annotated[
    str, typer.Option("--max-bytes", metavar="SIZE", help="Quota of bodies: 500m, 10g; the run ends there.")
]
WarmUpOption = Annotated[
    int, typer.Option("--warm-up", min=0, max=3600, metavar="SECONDS", help="Not counted, at the start.")
]
QueueCountOption = Annotated[
    int, typer.Option("--queues", min=1, max=1024, metavar="N", help="Queues of the bench's topic on each broker.")
]
SizeOption = Annotated[
    str, typer.Option("--size", metavar="BYTES", help="Size of a body: 1024, 2k, or evenly spread: 100-4k.")
]
RateOption = Annotated[
    float | None,
    typer.Option(
        "--rate", min=0.1, max=1e8, metavar="N", help="Target rate in messages a second; slow answers do not lower it."
    ),
]
ProcessesOption = Annotated[int, typer.Option("--processes", min=1, max=64, metavar="N", help="Processes that send.")]

HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with the run's charts.")
]


def size_range(text: str) -> tuple[int, int]:
    """Reads `--size`. Raises UsageError."""
    low, dash, high = text.partition("-")
    smallest = size_bytes("--size", low)
    largest = size_bytes("--size", high) if dash else smallest
    if not smallest >= 1 or largest > MAX_BODY_BYTES:
        raise UsageError(
            sentence("cli-cannot-send-bodies", "cannot send bodies of {text!r}", text=text),
            reason=sentence("cli-bytes", "they have 1 to {max_body_bytes:byte}", max_body_bytes=MAX_BODY_BYTES),
        )
    return smallest, largest


def size_bytes(option: str, text: str) -> int:
    """Reads a number of bytes, perhaps with k, m, g or t (powers of 1024). Raises UsageError."""
    unit = _UNITS.get(text[-1:].lower(), 1)
    number = decimal(text[:-1] if unit > 1 else text)
    if number is None or number < 0:
        raise UsageError(
            sentence("cli-cannot-read", "cannot read {option} {text!r}", option=option, text=text),
            remedy=sentence("cli-write-bytes", "write bytes: 1024, 2k, 500m, 10g"),
        )
    return number * unit


def run_length_ms(duration: str | None, *, ends_itself: bool) -> int:
    """Returns the longest time of a run: as typed, else 10 s, or an hour when it ends by itself. Raises UsageError."""
    if duration is None:
        return 3_600_000 if ends_itself else DEFAULT_DURATION_MS
    length_ms = parse_span_ms(duration)
    if not 0 < length_ms <= _LONGEST_MS:
        raise UsageError(
            sentence("cli-cannot-run", "cannot run for {duration}", duration=duration),
            remedy=sentence("cli-say-how-long-up", "say how long, up to 24h: --duration 30s"),
        )
    return length_ms
