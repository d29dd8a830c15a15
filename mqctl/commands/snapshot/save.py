"""`mqctl snapshot save`: gather a snapshot into one file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import tell
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.options.common import (
    AtOption,
    BrokerNameOption,
    LevelsOption,
    OptionalStoreOption,
    QuickOption,
    StacksOption,
)
from mqctl.cli.sources.brokers import gaps_of
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.client.admin.cluster import none_registered
from mqctl.errors import ExitCode
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.snapshot.archive import refuse_existing, save_snapshot
from mqctl.text import sentence

EXAMPLES = (
    "mqctl snapshot save incident.snap --window 60s",
    "mqctl snapshot save --store /backup/store ticket-4711.snap",
    "mqctl snapshot save ticket-4711.snap --redact",
    "mqctl doctor --snapshot ticket-4711.snap",
)

_OF_MEMBERS = frozenset({Part.RUNNING_INFO, Part.STACKS, Part.TAGS, Part.CONSUMPTION, Part.STORE_TIMES})


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the snapshot (gzip-compressed JSON).")],
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    store: OptionalStoreOption = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="SPAN", help="Look twice, this far apart, at what should move: 60s."),
    ] = None,
    stacks: StacksOption = False,
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Replace addresses, hosts, client ids, keys and paths, each by the same word."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    quick: QuickOption = False,
    at: AtOption = None,
    levels: LevelsOption = None,
    broker_name: BrokerNameOption = None,
) -> int:
    """Save a snapshot of a live cluster, or of a store directory, to one file.

    A snapshot holds names, offsets, times and counts, but no bodies and no secrets, and of the properties only ids and
    keys. --redact replaces addresses, hosts, client ids, keys and paths, but keeps the names of topics, groups and
    brokers; all rules still work on it. It is one sample, without rates, unless --window gives the time between two. If
    part of a live cluster does not answer, the file is still written: missing parts are named, and the exit code is
    that of a read command.
    """
    from mqctl.cli.times import parse_span_ms

    if not force:
        refuse_existing(file)
    state = read_snapshot(
        store=store,
        snapshot=None,
        at=at,
        now=datetime.now().astimezone(),
        levels=levels,
        broker_name=broker_name,
        quick=quick,
        live=LiveOptions(
            namesrv=namesrv,
            profile=profile,
            timeout=timeout,
            window_ms=parse_span_ms(window) if window else 0,
            with_stacks=stacks,
        ),
    )
    gaps = gaps_of(state, list(Part))
    if redact:
        from mqctl.snapshot.redaction import redacted

        state = redacted(state)
    save_snapshot(state, file, force=force)
    tell(sentence("common-wrote", "mqctl: wrote {page} ({size_bytes})", page=file, size_bytes=file.stat().st_size))
    _tell_looks(state, file)
    if state.without_brokers:
        tell(f"mqctl: {none_registered(state.origin.location)}")
        return ExitCode.NOT_FOUND
    return ExitCode.OK if store is not None else _tell_gaps(gaps, file)


def _tell_looks(state: ClusterSnapshot, file: Path) -> None:
    if state.origin.kind is OriginKind.LIVE and state.earlier is None:
        tell(
            sentence(
                "snapshot-look-shows-no-rates", "mqctl: it is one sample, which shows no rates; --window 60s saves two"
            )
        )
    doctor, show = command_line("mqctl doctor --snapshot {}", file), command_line("mqctl snapshot show {}", file)
    tell(sentence("snapshot-look", "mqctl: to look at it: {doctor}; {show}", doctor=doctor, show=show))


def _tell_gaps(gaps: list[Gap], file: Path) -> ExitCode:
    """Names what is not in the snapshot. What only members kept to themselves is no failure: nearly every cluster has
    some that do not tell."""
    minor = [gap for gap in gaps if gap.part in _OF_MEMBERS]
    wanted = [gap for gap in gaps if gap.part not in _OF_MEMBERS]
    return tell_gaps(wanted, minor=minor, lister=command_line("mqctl snapshot show {}", file))
