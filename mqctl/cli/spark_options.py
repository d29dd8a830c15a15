"""Options and start of commands that run on Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.emit import tell
from mqctl.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqctl.spark.session import SessionSettings
    from mqctl.spark.wanted import Wanted

StoresOption = Annotated[
    list[Path], typer.Option("--store", metavar="DIR", help="A broker's store directory; may be repeated.")
]
MasterOption = Annotated[str, typer.Option("--master", metavar="URL", help="Spark master.")]
ConfOption = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="Spark setting; may be repeated.")
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only messages stored at or after this time (forms as in --until)."),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Only messages stored before this time: ISO, epoch milliseconds, `-2h`, `yesterday 10:00`.",
    ),
]
LOCAL = "local[*]"


def session_settings(master: str, conf: Sequence[str] | None) -> SessionSettings:
    """Builds the settings of a session from the command line and the environment.

    Raises:
        UsageError: a `--conf` is no Spark setting.
    """
    from mqctl.spark.session import SessionSettings

    return SessionSettings(
        environ=os.environ, master=master, conf=tuple(map(_setting, conf or ())), cache_dir=_cache_dir()
    )


def store_paths(stores: Sequence[Path], settings: SessionSettings) -> tuple[str, ...]:
    """Returns the directories as the workers should open them: relative ones mean something on this machine only."""
    return tuple(str(path.absolute()) for path in stores) if settings.is_local else tuple(map(str, stores))


def wanted_of(
    paths: Sequence[str],
    *,
    groups: Sequence[str] | None,
    topics: Sequence[str] | None,
    since: str | None,
    until: str | None,
    system: bool = False,
) -> Wanted:
    """Builds what is asked for; times are echoed to stderr.

    Raises:
        UsageError: a time cannot be read, or nothing lies between the two.
    """
    from mqctl.spark.wanted import FAR, Bounds, Wanted

    low, high = _instant_ms(since, "since"), _instant_ms(until, "until")
    if low is not None and high is not None and low >= high:
        raise UsageError("--since is not before --until", remedy="swap them, or give other times")
    bounds = Bounds(-FAR if low is None else low, FAR if high is None else high)
    return Wanted(tuple(paths), tuple(groups or ()), tuple(topics or ()), system=system, store_time_ms=bounds)


def _instant_ms(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    from mqctl.cli.times import parse_instant

    moment = parse_instant(text, datetime.now().astimezone())
    tell(f"mqctl: {name} {moment.text}")
    return moment.epoch_ms


@contextmanager
def started(settings: SessionSettings) -> Iterator[SparkSession]:
    """Opens a session, and says so on a terminal: it takes seconds."""
    from mqctl.spark.session import open_session

    if sys.stderr.isatty():
        tell("mqctl: starting Spark")
    with open_session(settings) as spark:
        yield spark


def _setting(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found or not key.startswith("spark."):
        raise UsageError(f"--conf {text} is no Spark setting", remedy="write --conf spark.some.key=value")
    return key, value


def _cache_dir() -> Path | None:
    """Where class data archives live; None where there is no home for them."""
    base = os.environ.get("XDG_CACHE_HOME") or (f"{os.environ['HOME']}/.cache" if os.environ.get("HOME") else None)
    return Path(base) / "mqctl" / "spark" if base else None
