"""`mqctl export prometheus`: metrics of a cluster, served to scrapes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import typer

from mqctl.cli.connection.seen_brokers import with_seen_brokers
from mqctl.cli.connection.target import ClusterTarget, NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.options.common import ExceptOption, GroupPatternOption, TopicPatternOption
from mqctl.cli.options.limit import GroupLimitOption, most_of
from mqctl.cli.times import parse_span_ms
from mqctl.errors import ExitCode
from mqctl.model.snapshot import ClusterSnapshot

EXAMPLES = (
    "mqctl export prometheus",
    "mqctl export prometheus --listen 0.0.0.0:9557 --profile prod --every 30s",
    "mqctl export prometheus --once | grep mqctl_group_lag_seconds",
    "mqctl export prometheus -g 'order-*' --except '*-test' --once",
    "mqctl export prometheus -g order-service --by-queue --clients",
)
_TIMEOUT_MS = 8_000
_MOST_GROUPS = 500


def command(
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to serve; nothing but this machine by default.")
    ] = "127.0.0.1:9557",
    every: Annotated[
        str, typer.Option("--every", metavar="SPAN", help="Scrapes within this time share one sample of the cluster.")
    ] = "15s",
    once: Annotated[bool, typer.Option("--once", help="Print what a scrape would get, and end.")] = False,
    group: GroupPatternOption = None,
    topic: TopicPatternOption = None,
    without: ExceptOption = None,
    limit: GroupLimitOption = None,
    by_queue: Annotated[
        bool, typer.Option("--by-queue", help="Lag and offsets of every queue as well, of 10,000 queues at most.")
    ] = False,
    clients: Annotated[
        bool, typer.Option("--clients", help="Also export what consumers report themselves, of 10,000 at most.")
    ] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
) -> int:
    """Serve lag, members, dead letters, delays and disks of a cluster at /metrics until Ctrl-C.

    Each scrape asks the cluster, at most every --every, within --timeout (8s unless given). Unknown is not zero: a
    number that could not be read is NaN, `mqctl_unknown_parts` counts unanswered requests, and `mqctl_up` is 0 if no
    broker answers. `mqctl_brokers_expected` also counts brokers that were registered within seven days or are part of
    the cluster; `mqctl_broker_up` is 0 for a broker that is not registered. With more than 500 groups,
    `mqctl_groups_left_out` counts those without metrics; --limit and -g choose. `mqctl_queues_left_out` and
    `mqctl_clients_left_out` do the same for --by-queue and --clients; a client's id changes with each start, and
    --clients asks every consumer at each scrape. There is no access control: keep it on the loopback address, or where
    only your monitoring can reach it.
    """
    from mqctl.commands.export.exporter import listen_address, registry_of, serve
    from mqctl.commands.export.metrics_detail import Detail

    host, port = listen_address(listen)
    target = cluster_target(namesrv, profile, timeout)
    if timeout is None:
        target = replace(target, timeout_ms=min(target.timeout_ms, _TIMEOUT_MS))

    def gather() -> ClusterSnapshot:
        return _numbers(target, (group or (), topic or (), without or ()), clients=clients)

    detail = Detail(queues=by_queue, clients=clients)
    registry = registry_of(gather, parse_span_ms(every) / 1000, most_of(limit, _MOST_GROUPS), detail)
    if once:
        from prometheus_client import generate_latest

        sys.stdout.write(generate_latest(registry).decode())
        return ExitCode.OK if registry.get_sample_value("mqctl_up") else ExitCode.UNREACHABLE
    serve(registry, host, port)
    return ExitCode.OK


def _numbers(target: ClusterTarget, names: tuple[Iterable[str], ...], *, clients: bool) -> ClusterSnapshot:
    """Asks for the numbers of groups and topics that are named, without those of a third list."""
    from time import time

    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.gatherer import gather_numbers

    groups, topics, without = map(frozenset, names)
    scope = Scope(groups=groups, topics=topics, without=without)
    with target.open() as cluster:
        now_ms = round(time() * 1000)
        looked = gather_numbers(
            cluster, target.deadline(), now_ms=now_ms, scope=scope, with_consumers=clients, with_pop=True
        )
        return with_seen_brokers(looked, target, whole=scope == Scope())
