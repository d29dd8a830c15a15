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
from mqctl.text import sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqctl.spark.selection import Selection
    from mqctl.spark.session.open import SessionSettings


def _directories(incomplete: str) -> list[str]:
    """Completes directories behind `NAME=`, too."""
    name, equals, start = incomplete.rpartition("=")
    parent, _, stem = start.rpartition("/")
    base = Path(parent or ("/" if start.startswith("/") else "."))
    shown = f"{name}{equals}{parent}/" if parent or start.startswith("/") else f"{name}{equals}"
    try:
        return sorted(f"{shown}{each.name}/" for each in base.iterdir() if each.is_dir() and each.name.startswith(stem))
    except OSError:
        return []


StoresOption = Annotated[
    list[str],
    typer.Option(
        "--store",
        metavar="[NAME=]DIR",
        help="A broker's store directory, or its URL (s3://, hdfs://, ...); NAME is the broker's. May be repeated.",
        autocompletion=_directories,
    ),
]
MasterOption = Annotated[str, typer.Option("--master", metavar="URL", help="Spark master.")]
OnSparkOption = Annotated[
    bool, typer.Option("--spark", help="Verify the commit log on Spark, on all cores of this machine.")
]
OptionalMasterOption = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Verify the commit log on this Spark master.")
]
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
    from mqctl.spark.session.open import SessionSettings

    return SessionSettings(
        environ=os.environ, master=master, conf=tuple(map(_setting, conf or ())), cache_dir=_cache_dir()
    )


def store_paths(stores: Sequence[str], settings: SessionSettings) -> tuple[str, ...]:
    """Returns the stores as the workers should open them: relative directories mean something on this machine only."""
    paths = [named_store(text)[1] for text in stores]
    return tuple(str(Path(each).absolute()) if settings.is_local and "://" not in each else each for each in paths)


def named_store(text: str) -> tuple[str, str]:
    """Takes `[NAME=]DIR` apart; the name is empty where there is none. A directory `a=b` is written `./a=b`.

    Raises:
        UsageError: nothing follows the name.
    """
    name, equals, location = text.partition("=")
    if not equals or "/" in name or ":" in name or not name:
        return "", text
    if not location:
        raise UsageError(
            sentence("cli-store-not-directory", "--store {text} is not a directory", text=text),
            remedy=sentence("cli-write-store-name-dir", "write --store NAME=DIR"),
        )
    return name, location


def told_brokers(stores: Sequence[str], names: Sequence[str] | None) -> tuple[str, ...]:
    """Returns the broker of each store as far as the command line tells it: by NAME=DIR, or by --broker-name."""
    own = [named_store(text)[0] for text in stores]
    return tuple(each or (names[number] if names and number < len(names) else "") for number, each in enumerate(own))


def wanted_of(
    paths: Sequence[str],
    *,
    groups: Sequence[str] | None,
    topics: Sequence[str] | None,
    since: str | None,
    until: str | None,
    system: bool = False,
    brokers: Sequence[str] = (),
) -> Selection:
    """Builds what is asked for; times are echoed to stderr.

    Raises:
        UsageError: a time cannot be read, or nothing lies between the two.
    """
    from mqctl.model.spans import FAR
    from mqctl.spark.selection import Bounds, Selection

    low, high = _instant_ms(since, "since"), _instant_ms(until, "until")
    if low is not None and high is not None and low >= high:
        raise UsageError(
            sentence("since-not-before-until", "--since is not before --until"),
            remedy=sentence("cli-swap-give-other-times", "swap them, or give other times"),
        )
    bounds = Bounds(-FAR if low is None else low, FAR if high is None else high)
    names = (tuple(paths), tuple(groups or ()), tuple(topics or ()))
    return Selection(*names, system=system, store_time_ms=bounds, brokers=tuple(brokers))


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
    from mqctl.spark.session.open import open_session

    if sys.stderr.isatty():
        tell(sentence("cli-starting-spark", "mqctl: starting Spark"))
    with open_session(settings) as spark:
        yield spark


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise UsageError(
            sentence("cli-conf-not-spark-setting", "--conf {text} is not a Spark setting", text=text),
            remedy=sentence("cli-write-conf-spark-some", "write --conf spark.some.key=value"),
        )
    return key, value


def _cache_dir() -> Path | None:
    """Where class data archives live; None where there is no home for them."""
    base = os.environ.get("XDG_CACHE_HOME") or (f"{os.environ['HOME']}/.cache" if os.environ.get("HOME") else None)
    return Path(base) / "mqctl" / "spark" if base else None
