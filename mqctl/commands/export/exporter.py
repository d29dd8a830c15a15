"""The server behind `export prometheus`: a scrape gathers, unless the last gathering is young enough."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Lock
from time import monotonic, time

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mqctl.cli.emit import tell
from mqctl.cli.terminal.interrupts import wait_for_interrupt
from mqctl.commands.export.metric_families import Family
from mqctl.commands.export.metrics import LEFT_OUT, any_answered, families
from mqctl.commands.export.metrics_detail import Detail
from mqctl.errors import MqctlError, StorageError, UsageError
from mqctl.model.counts import counted
from mqctl.model.numbers import decimal
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import composed, printable, sentence

Gather = Callable[[], ClusterSnapshot]


class ClusterCollector(Collector):
    """Metrics of a cluster, gathered when they are asked for.

    When no broker answers, `mqctl_up` is 0; what could not be read is absent or NaN: an old number would look like a
    new one.

    Args:
        fresh_s: how long one gathering answers scrapes.
        most_groups: groups that have metrics, None for all; that some are left out is told once.
        detail: what there is beside the numbers of groups.
    """

    def __init__(
        self, gather: Gather, fresh_s: float, most_groups: int | None = None, detail: Detail | None = None
    ) -> None:
        self._most_groups = most_groups
        self._detail = detail
        self._left_out = False
        self._gather = gather
        self._fresh_s = fresh_s
        self._lock = Lock()
        self._families: list[Family] = []
        self._gathered_at: float | None = None
        self._failures = 0
        self._failed = False

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yields the metrics; scrapes at the same time share one gathering."""
        with self._lock:
            if self._gathered_at is None or monotonic() - self._gathered_at >= self._fresh_s:
                self._look()
            metrics = list(self._families)
        for item in metrics:
            kind = CounterMetricFamily if item.counts else GaugeMetricFamily
            family = kind(item.name, item.help, labels=item.labels)
            for labels, value in item.samples:
                family.add_metric([printable(label) for label in labels], value)
            yield family

    def _look(self) -> None:
        began = monotonic()
        metrics: list[Family] = []
        problem = ""
        try:
            snapshot = self._gather()
        except MqctlError as error:
            problem = str(error)
        else:
            metrics = families(snapshot, self._most_groups, self._detail)
            self._tell_left_out(metrics)
            if snapshot.without_brokers:
                problem = sentence(
                    "checks-no-broker-registered",
                    "no broker is registered: {location} answers and lists none",
                    location=snapshot.origin.location,
                )
            elif not any_answered(snapshot):
                problem = sentence(
                    "checks-no-broker-answers",
                    "no broker answers: {brokers_count:broker is/are} registered",
                    brokers_count=len(snapshot.brokers),
                )
        if problem:
            self._failures += 1
            if not self._failed:
                tell(composed("mqctl: {problem}", problem=problem))
        elif self._failed:
            tell(sentence("check-cluster-answers-again", "mqctl: the cluster answers again"))
        self._failed = bool(problem)
        self._gathered_at = monotonic()
        own = (
            ("mqctl_up", "1 if a broker answered, 0 if none did", float(not self._failed)),
            ("mqctl_gather_duration_seconds", "how long asking the cluster took", self._gathered_at - began),
            ("mqctl_gather_timestamp_seconds", "when the cluster was asked, epoch seconds", time()),
        )
        failures = "how often nobody answered, since the start"
        self._families = [
            *(Family(name=name, help=text, labels=(), samples=[((), value)]) for name, text, value in own),
            Family(name="mqctl_gather_failures", help=failures, labels=(), samples=[((), self._failures)], counts=True),
            *metrics,
        ]

    def _tell_left_out(self, metrics: list[Family]) -> None:
        count = sum(value for family in metrics if family.name == LEFT_OUT for _, value in family.samples)
        if count and not self._left_out:
            tell(
                sentence(
                    "check-without-metrics-those-members",
                    "mqctl: {count} without metrics, {most_groups:,} with (those with members, then "
                    "those furthest behind); --limit all has all, -g 'order-*' and --except choose",
                    count=counted(round(count), "group"),
                    most_groups=self._most_groups,
                )
            )
        self._left_out = bool(count)


def registry_of(
    gather: Gather, fresh_s: float, most_groups: int | None = None, detail: Detail | None = None
) -> CollectorRegistry:
    """Returns a registry with nothing but the cluster in it; nothing is gathered yet."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ClusterCollector(gather, fresh_s, most_groups, detail))
    return registry


def serve(registry: CollectorRegistry, host: str, port: int) -> None:
    """Serves `/metrics` until SIGINT or SIGTERM; the address is told on stderr, a port of 0 is one that is free.

    Raises:
        StorageError: the address cannot be listened on.
    """
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        problem = sentence("checks-could-not-listen", "could not listen on {host}:{port}", host=host, port=port)
        raise StorageError(
            problem,
            reason=error.strerror or str(error),
            remedy=sentence("check-name-another-listen", "name another --listen"),
        ) from error
    shown = f"[{host}]" if ":" in host else host
    tell(
        sentence(
            "check-metrics-http-ctrl",
            "mqctl: metrics at http://{shown}:{server_port}/metrics; Ctrl-C ends it",
            shown=shown,
            server_port=server.server_port,
        )
    )
    sys.stderr.flush()
    try:
        wait_for_interrupt()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def listen_address(text: str) -> tuple[str, int]:
    """Reads `HOST:PORT`, `[V6]:PORT` or `:PORT`, which is the loopback's.

    Raises:
        UsageError: it is none of these.
    """
    host, colon, port = text.rpartition(":")
    number = decimal(port, 0, 65_535)
    if not colon or number is None:
        raise UsageError(
            sentence("check-not-address-listen", "{text!r} is not an address to listen on", text=text),
            remedy=sentence("check-use-instance-listen", "use for instance --listen 127.0.0.1:9557"),
        )
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", number
