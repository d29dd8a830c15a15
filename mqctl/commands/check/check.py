"""`mqctl check`: declared expectations, held against a cluster, for CI and monitors."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.gaps import tell_remedies
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.cli.times import parse_span_ms
from mqctl.commands.check.checks_file import load_expectations
from mqctl.commands.check.one_line import (
    BrokerCountOption,
    GroupsOption,
    MaxDeadLettersOption,
    MaxLagOption,
    MaxLagTimeOption,
    OneLine,
    RequireMembersOption,
    TemplateOption,
    WebhookOption,
    WithoutOption,
)
from mqctl.errors import UsageError
from mqctl.model.command_line import shell_words
from mqctl.model.expectation import CheckResult, CheckState, Expectations, exit_code, worst
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.checks import CheckFormat, check_document, formatted, with_next
from mqctl.rules.engine.expectations import hold
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.commands.check.webhook import Webhook

EXAMPLES = (
    "mqctl check checks.yaml",
    "mqctl check --group order-service --max-lag 1000 --require-members",
    "mqctl check --group '*' --except '*-test' --max-lag-time 5m --brokers 3",
    "mqctl check checks.yaml --wait 5m --as junit > mqctl.xml",
    "mqctl check checks.yaml --webhook https://chat.example/hooks/ops --webhook-template chat.json",
    "mqctl check checks.yaml --as nagios --timeout 8s",
    "mqctl check checks.yaml --as prometheus > /var/lib/node_exporter/mqctl.prom",
)
_EVERY_S = 2.0
_File = Annotated[Path | None, typer.Argument(metavar="FILE", help="File of expectations (YAML).")]
_Form = Annotated[
    CheckFormat | None, typer.Option("--as", help="Format of a CI or monitoring system.", show_choices=True)
]
_Wait = Annotated[
    str | None, typer.Option("--wait", metavar="SPAN", help="Look again until all holds, for at most this long: 5m.")
]
_Window = Annotated[
    str | None, typer.Option("--window", metavar="SPAN", help="Look twice, this far apart, at what should not grow.")
]


def command(
    file: _File = None,
    group: GroupsOption = None,
    without: WithoutOption = None,
    max_lag: MaxLagOption = None,
    max_lag_time: MaxLagTimeOption = None,
    max_dead_letters: MaxDeadLettersOption = None,
    require_members: RequireMembersOption = False,
    brokers: BrokerCountOption = None,
    form: _Form = None,
    wait: _Wait = None,
    window: _Window = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    webhook: WebhookOption = None,
    webhook_template: TemplateOption = None,
    limit: LimitOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Check a cluster against a file of expectations, or against options alone; for CI and monitoring.

    Ends with 0 when all expectations hold, 1 for warnings only, 2 when one does not hold, 3 when one is unknown and the
    rest hold. A number above its limit is an error; `{warning: A, error: B}` sets both. A pattern matches every group
    or topic except those under `except` and those with their own entry. A missing broker fails the check, and its lag
    is unknown; expected brokers are those named by members, an order configuration or the profile, or seen in the last
    24 hours (--brokers N gives their number). For example:

    \b
      cluster: DefaultCluster
      brokers: [broker-a, broker-b]
      disk: {warning: 0.75, error: 0.9}
      delay_overdue: 1m
      slaves: 1
      slave_behind: {warning: 1000000, error: 268435456}
      topics:
        orders: {queues: 8, perm: RW-, silent_for: 10m}
      groups:
        order-service:
          lag: 10000
          lag_time: {warning: 1m, error: 5m}
          members: {min: 2}
          subscribes: {orders: "paid || refunded"}
          dead_letters: 0
          dead_letter_growth: 10
        "*": {lag_time: 1h, except: ["*-test"]}
    """
    hook = _webhook(webhook, webhook_template) if webhook or webhook_template else None
    members = 1 if require_members else None
    typed = OneLine(group, without, max_lag, max_lag_time, max_dead_letters, members_min=members, brokers=brokers)
    expected = _expected(file, typed, named=group is not None)
    apart_ms = parse_span_ms(window) if window else 0
    live = LiveOptions(namesrv=namesrv, profile=profile, timeout=timeout, groups=group, window_ms=apart_ms)
    results, state = _held(expected, snapshot, live, parse_span_ms(wait) / 1000 if wait else 0)
    _show(results, state.origin.observed_at_ms, form, output, limit)
    if hook is not None:
        hook.post(results, state.origin.observed_at_ms)
    return exit_code(results)


def _with_group(name: str) -> str:
    """Returns the command line as it was typed, the name given as a group."""
    words = sys.argv[1:]
    rest = [word for place, word in enumerate(words) if place != words.index(name)] if name in words else ["check"]
    limits = [] if any(word.startswith(("--max", "--require")) for word in rest) else ["--require-members"]
    return shell_words(["mqctl", rest[0], "-g", name, *rest[1:], *limits])


def _webhook(url: str | None, template: Path | None) -> Webhook | None:
    from mqctl.commands.check.webhook import webhook_of  # HTTP costs a start what most checks do not need

    return webhook_of(url, template)


def _show(
    results: tuple[CheckResult, ...], at_ms: int, form: CheckFormat | None, output: Output, limit: str | None
) -> None:
    if form is None:
        emit(limited(check_document(results, worst(results), at_ms), output, limit), output)
    else:
        sys.stdout.write(formatted(results, worst(results), form))
    sys.stdout.flush()
    tell_remedies(item.gap for item in results if item.gap is not None)


def _held(
    expected: Expectations, snapshot: Path | None, live: LiveOptions, wait_s: float
) -> tuple[tuple[CheckResult, ...], ClusterSnapshot]:
    """Looks until all holds or the time is over."""
    ends = monotonic() + wait_s
    while True:
        state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
        results = with_next(hold(state, expected), state)
        if worst(results) is CheckState.OK or snapshot is not None or monotonic() + _EVERY_S > ends:
            return results, state
        tell(
            sentence(
                "check-not-hold-yet",
                "mqctl: {results} do not hold yet",
                results=sum(item.state is not CheckState.OK for item in results),
            )
        )
        sleep(_EVERY_S)


def _expected(file: Path | None, typed: OneLine, *, named: bool) -> Expectations:
    """Returns what must hold. Raises UsageError: a file and options, or neither, or a bare group instead of a file."""
    if file is not None and not named and not file.exists() and file.name == str(file) and not file.suffix:
        raise UsageError(
            sentence("no-file", "there is no file {file}", file=file),
            remedy=sentence("check-if-group", "if it is a group: {with_group}", with_group=_with_group(str(file))),
        )
    inline = typed.expectations()
    if file is not None and inline is not None:
        raise UsageError(
            sentence(
                "check-both-file-expectations-command",
                "both a file and expectations on the command line were given",
            ),
            remedy=sentence("check-put-all-file", "put them all into the file"),
        )
    if file is not None:
        return load_expectations(file)
    if inline is None:
        raise UsageError(
            sentence("no-expectations-given-check", "no expectations given to check"),
            remedy=sentence("check-name-file-group-limit", "name a file, or --group and a limit"),
        )
    return inline
