"""`mqctl check`: declared expectations, held against a cluster, for CI and monitors."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.gaps import tell_remedies
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.cli.times import parse_span_ms
from mqctl.diagnosis.expectations import hold
from mqctl.model.expectation import CheckState, exit_code, worst
from mqctl.operations.checks.checks_file import load_expectations
from mqctl.render.checks import CheckFormat, check_document, formatted, with_next

EXAMPLES = (
    "mqctl check checks.yaml",
    "mqctl check checks.yaml --wait 5m --as junit > mqctl.xml",
    "mqctl check checks.yaml --as nagios --timeout 8s",
    "mqctl check checks.yaml --as prometheus > /var/lib/node_exporter/mqctl.prom",
)
_EVERY_S = 2.0


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What is expected, in YAML.")],
    form: Annotated[
        CheckFormat | None, typer.Option("--as", help="In the words of a CI system or a monitor.", show_choices=True)
    ] = None,
    wait: Annotated[
        str | None, typer.Option("--wait", metavar="SPAN", help="Look again until all holds, at most so long: 5m.")
    ] = None,
    window: Annotated[
        str | None, typer.Option("--window", metavar="SPAN", help="Look twice, so far apart, at what should not grow.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Hold a cluster against a file of expectations; for CI systems and monitors.

    Ends with 0 when all hold, 1 at worst a warning, 2 something does not hold, 3 something is not known and nothing is
    broken. A number is critical above its limit; `{warning: A, critical: B}` gives both. For example:

    \b
      cluster: DefaultCluster
      brokers: [broker-a, broker-b]
      disk: {warning: 0.75, critical: 0.9}
      delay_overdue: 1m
      topics:
        orders: {queues: 8, perm: RW-, silent_for: 10m}
      groups:
        order-service:
          lag: 10000
          lag_time: {warning: 1m, critical: 5m}
          members: {min: 2}
          subscribes: {orders: "paid || refunded"}
          dead_letters: 0
          dead_letter_growth: 10
    """
    expected = load_expectations(file)
    ends = monotonic() + (parse_span_ms(wait) / 1000 if wait else 0)
    live = LiveOptions(
        namesrv=namesrv, profile=profile, timeout=timeout, window_ms=parse_span_ms(window) if window else 0
    )
    while True:
        state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
        results = with_next(hold(state, expected), state)
        verdict = worst(results)
        if verdict is CheckState.OK or snapshot is not None or monotonic() + _EVERY_S > ends:
            break
        tell(f"mqctl: {sum(item.state is not CheckState.OK for item in results)} do not hold yet")
        sleep(_EVERY_S)
    if form is None:
        emit(check_document(results, verdict, state.origin.observed_at_ms), output)
    else:
        sys.stdout.write(formatted(results, verdict, form))
    tell_remedies(item.gap for item in results if item.gap is not None)
    return exit_code(results)
