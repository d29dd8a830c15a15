"""What kept a run from being faster, as far as the client's and the brokers' figures tell."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.bench import (
    BenchClient,
    BenchError,
    BenchLimit,
    BrokerView,
    LimitKind,
    Percentiles,
    SendMode,
    Workload,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.codes import ResponseCode
from mqctl.render.units import share

_BUSY_SHARE = 0.85
_BLOCKED_SHARE = 0.25
_WAITING_MS = 20
_SHORTEST_S = 1.0
_KEPT_SHARE = 0.98
_NEAR_NETWORK = 3.0
_REFUSING = frozenset({int(ResponseCode.SYSTEM_BUSY), int(ResponseCode.SERVICE_NOT_AVAILABLE)})


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitEvidence:
    """What is known of a run.

    Attributes:
        service: times from sending to the answer; None where no answer is asked for.
    """

    workload: Workload
    counted_s: float
    messages_per_s: float
    client: BenchClient
    brokers: Sequence[BrokerView]
    errors: Sequence[BenchError]
    service: Percentiles | None


def limit_of(run: LimitEvidence) -> BenchLimit:
    """Names the limit of a run of sends, the surest evidence first: refusals, a kept schedule, busy CPUs, waits."""
    limit = _refused(run) or _short(run) or _kept(run) or _busy(run) or _waited(run) or _blocked(run)
    if limit is not None:
        return limit
    if run.workload.mode is SendMode.ONEWAY or run.service is None:
        return BenchLimit(
            what=LimitKind.UNKNOWN,
            evidence="no answer shows how long brokers take",
            next="compare with what the brokers stored, or send with --mode sync",
        )
    return _round_trips(run.workload, run.client, run.service)


def pull_limit(run: LimitEvidence, per_pull: float, *, follows: bool) -> BenchLimit:
    """Names the limit of a run of pulls, the surest evidence first.

    Args:
        per_pull: messages that a pull brought on average.
        follows: whether pulls may have waited in the broker for messages that were not sent yet.
    """
    limit = _refused(run) or _short(run) or _busy(run) or _arriving(run)
    if limit is not None:
        return limit
    if run.service is None:
        return BenchLimit(what=LimitKind.UNKNOWN, evidence="no pull brought a message", next="bench produce sends some")
    mean_ms, batch = run.service.mean_ms, run.workload.batch_count
    brought = f"each queue has one pull under way; one brought {per_pull:,.1f} messages in {mean_ms:.3g} ms"
    if follows and per_pull < batch / 2:
        return BenchLimit(
            what=LimitKind.UNKNOWN,
            evidence=f"{brought}, and pulls wait in the broker until something is sent",
            next="send faster meanwhile, or read what is there: bench consume without --follow",
        )
    if run.client.connect_ms is not None and run.service.p50_ms > run.client.connect_ms * _NEAR_NETWORK:
        return BenchLimit(
            what=LimitKind.BROKER,
            evidence=f"{brought}, half of them in more than {_NEAR_NETWORK:g} connects to the broker; neither our CPU "
            "nor the connections were full",
            next="read with more queues once: where the rate stays and the time grows, the broker is at its limit",
        )
    return BenchLimit(
        what=LimitKind.IN_FLIGHT, evidence=brought, next="raise --batch while pulls come back full; else more queues"
    )


def _arriving(run: LimitEvidence) -> BenchLimit | None:
    if run.client.arriving_share < _BLOCKED_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.NETWORK,
        evidence=f"a connection had a part of an answer and waited for the rest for {share(run.client.arriving_share)} "
        "of the time",
        next="measure the network; where it has room, the broker does not write fast enough",
    )


def _refused(run: LimitEvidence) -> BenchLimit | None:
    count = sum(error.count for error in run.errors if error.code in _REFUSING)
    if not count:
        return None
    return BenchLimit(
        what=LimitKind.BROKER,
        evidence=f"a broker refused {count:,} requests because it was busy",
        next="see mqctl broker describe for its disk and threads; or send at a lower --rate",
    )


def _short(run: LimitEvidence) -> BenchLimit | None:
    if run.counted_s >= _SHORTEST_S:
        return None
    return BenchLimit(
        what=LimitKind.UNKNOWN,
        evidence=f"{run.counted_s:.3g} s are too short to judge",
        next="let it run longer: --duration 30s, say",
    )


def _kept(run: LimitEvidence) -> BenchLimit | None:
    rate = run.workload.rate
    missed = any(error.name == "NOT_SENT" for error in run.errors)
    if rate is None or missed or run.messages_per_s < rate * _KEPT_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.SCHEDULE,
        evidence=f"the schedule of {rate:,.0f} messages a second was kept",
        next="raise --rate, or leave it out to go as fast as possible",
    )


def _busy(run: LimitEvidence) -> BenchLimit | None:
    if run.client.cpu_share < _BUSY_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.CLIENT_CPU,
        evidence=f"a process of ours used {share(run.client.cpu_share)} of a core",
        next="raise --processes, or run it on another machine as well",
    )


def _waited(run: LimitEvidence) -> BenchLimit | None:
    worst = max(run.brokers, key=lambda view: view.send_wait_max_ms or 0, default=None)
    if worst is None or (worst.send_wait_max_ms or 0) < _WAITING_MS:
        return None
    return BenchLimit(
        what=LimitKind.BROKER,
        evidence=f"sends waited up to {worst.send_wait_max_ms} ms for a thread of {worst.broker_name}",
        next="see mqctl broker describe for its disk and send threads",
    )


def _blocked(run: LimitEvidence) -> BenchLimit | None:
    if run.client.blocked_share < _BLOCKED_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.NETWORK,
        evidence=f"a connection took no more bytes for {share(run.client.blocked_share)} of the time, and no send was "
        "seen to wait inside a broker",
        next="measure the network; where it has room, the broker does not read fast enough",
    )


def _round_trips(workload: Workload, client: BenchClient, service: Percentiles) -> BenchLimit:
    """Little's law: so many requests in flight, each away for so long, are no more a second than this."""
    near = client.connect_ms is not None and service.p50_ms <= client.connect_ms * _NEAR_NETWORK
    evidence = (
        f"{workload.in_flight} requests in flight, each answered in {service.mean_ms:.3g} ms on average, are "
        f"{workload.in_flight * 1000 / max(service.mean_ms, 0.001):,.0f} a second at most"
    )
    if near:
        return BenchLimit(
            what=LimitKind.IN_FLIGHT,
            evidence=f"{evidence}; half of the answers take no more than {_NEAR_NETWORK:g} connects to the broker",
            next="raise --in-flight",
        )
    return BenchLimit(
        what=LimitKind.BROKER,
        evidence=f"{evidence}; neither our CPU nor the connections were full",
        next="raise --in-flight once: where the rate stays and the time grows, the broker is at its limit",
    )
