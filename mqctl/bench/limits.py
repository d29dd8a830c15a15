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
from mqctl.text import sentence

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
            evidence=sentence("bench-no-answer-shows-how", "no answer shows how long brokers take"),
            next=sentence(
                "bench-compare-brokers-stored-send",
                "compare with what the brokers stored, or send with --mode sync",
            ),
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
        return BenchLimit(
            what=LimitKind.UNKNOWN,
            evidence=sentence("bench-no-pull-brought-message", "no pull brought a message"),
            next=sentence("bench-produce-sends-some", "bench produce sends some"),
        )
    mean_ms, batch = run.service.mean_ms, run.workload.batch_count
    brought = sentence(
        "bench-each-queue-pull-under",
        "each queue has one pull under way; one brought {per_pull:,.1f} messages in {mean_ms}",
        per_pull=per_pull,
        mean_ms=mean_ms,
    )
    if follows and per_pull < batch / 2:
        return BenchLimit(
            what=LimitKind.UNKNOWN,
            evidence=sentence(
                "bench-pulls-wait-broker-until",
                "{brought}, and pulls wait in the broker until something is sent",
                brought=brought,
            ),
            next=sentence(
                "bench-send-faster-meanwhile-read",
                "send faster meanwhile, or read stored messages: bench consume without --follow",
            ),
        )
    if run.client.connect_ms is not None and run.service.p50_ms > run.client.connect_ms * _NEAR_NETWORK:
        return BenchLimit(
            what=LimitKind.BROKER,
            evidence=sentence(
                "bench-half-more-connects-broker",
                "{brought}, half of them in more than {near_network:g} connects to the broker; "
                "neither our CPU nor the connections were full",
                brought=brought,
                near_network=_NEAR_NETWORK,
            ),
            next=sentence(
                "bench-read-more-queues-once",
                "read with more queues once: where the rate stays and the time grows, the broker is at its limit",
            ),
        )
    return BenchLimit(
        what=LimitKind.IN_FLIGHT,
        evidence=brought,
        next=sentence("bench-raise-batch-while-pulls", "raise --batch while pulls come back full; else more queues"),
    )


def _arriving(run: LimitEvidence) -> BenchLimit | None:
    if run.client.arriving_share < _BLOCKED_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.NETWORK,
        evidence=sentence(
            "bench-connection-part-answer-waited",
            "a connection had a part of an answer and waited for the rest for {arriving_share} of the time",
            arriving_share=run.client.arriving_share,
        ),
        next=sentence(
            "bench-measure-network-where-room-broker",
            "measure the network; where it has room, the broker does not write fast enough",
        ),
    )


def _refused(run: LimitEvidence) -> BenchLimit | None:
    count = sum(error.count for error in run.errors if error.code in _REFUSING)
    if not count:
        return None
    return BenchLimit(
        what=LimitKind.BROKER,
        evidence=sentence(
            "bench-broker-refused-requests-because",
            "a broker refused {count:,} requests because it was busy",
            count=count,
        ),
        next=sentence(
            "bench-see-broker-describe-disk-threads",
            "see mqctl broker describe for its disk and threads; or send at a lower --rate",
        ),
    )


def _short(run: LimitEvidence) -> BenchLimit | None:
    if run.counted_s >= _SHORTEST_S:
        return None
    return BenchLimit(
        what=LimitKind.UNKNOWN,
        evidence=sentence(
            "bench-too-short-judge", "{counted_ms} are too short to judge", counted_ms=run.counted_s * 1000
        ),
        next=sentence("bench-let-run-longer-duration", "let it run longer: --duration 30s, say"),
    )


def _kept(run: LimitEvidence) -> BenchLimit | None:
    rate = run.workload.rate
    missed = any(error.name == "NOT_SENT" for error in run.errors)
    if rate is None or missed or run.messages_per_s < rate * _KEPT_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.SCHEDULE,
        evidence=sentence(
            "bench-schedule-messages-second-kept",
            "the schedule of {messages_per_s} messages a second was kept",
            messages_per_s=rate,
        ),
        next=sentence("bench-raise-rate-leave-out", "raise --rate, or leave it out to go as fast as possible"),
    )


def _busy(run: LimitEvidence) -> BenchLimit | None:
    if run.client.cpu_share < _BUSY_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.CLIENT_CPU,
        evidence=sentence(
            "bench-process-ours-used-core",
            "a process of ours used {cpu_share} of a core",
            cpu_share=run.client.cpu_share,
        ),
        next=sentence("bench-raise-processes-run-another", "raise --processes, or run it on another machine as well"),
    )


def _waited(run: LimitEvidence) -> BenchLimit | None:
    worst = max(run.brokers, key=lambda view: view.send_wait_max_ms or 0, default=None)
    if worst is None or (worst.send_wait_max_ms or 0) < _WAITING_MS:
        return None
    return BenchLimit(
        what=LimitKind.BROKER,
        evidence=sentence(
            "bench-sends-waited-up-ms",
            "sends waited up to {send_wait_max_ms} for a thread of {broker_name}",
            send_wait_max_ms=worst.send_wait_max_ms,
            broker_name=worst.broker_name,
        ),
        next=sentence("bench-see-broker-describe-disk", "see mqctl broker describe for its disk and send threads"),
    )


def _blocked(run: LimitEvidence) -> BenchLimit | None:
    if run.client.blocked_share < _BLOCKED_SHARE:
        return None
    return BenchLimit(
        what=LimitKind.NETWORK,
        evidence=sentence(
            "bench-connection-took-no-more",
            "a connection took no more bytes for {blocked_share} of the time, and no send was "
            "seen to wait inside a broker",
            blocked_share=run.client.blocked_share,
        ),
        next=sentence(
            "bench-measure-network-where-room",
            "measure the network; where it has room, the broker does not read fast enough",
        ),
    )


def _round_trips(workload: Workload, client: BenchClient, service: Percentiles) -> BenchLimit:
    """Little's law: so many requests in flight, each away for so long, are no more a second than this."""
    near = client.connect_ms is not None and service.p50_ms <= client.connect_ms * _NEAR_NETWORK
    evidence = sentence(
        "bench-requests-flight-each-answered",
        "{in_flight} requests in flight, each answered in {mean_ms} on average, are {most_tps} a second at most",
        in_flight=workload.in_flight,
        mean_ms=service.mean_ms,
        most_tps=workload.in_flight * 1000 / max(service.mean_ms, 0.001),
    )
    if near:
        return BenchLimit(
            what=LimitKind.IN_FLIGHT,
            evidence=sentence(
                "bench-half-answers-take-no",
                "{evidence}; half of the answers take no more than {near_network:g} connects to the broker",
                evidence=evidence,
                near_network=_NEAR_NETWORK,
            ),
            next=sentence("bench-raise-flight", "raise --in-flight"),
        )
    return BenchLimit(
        what=LimitKind.BROKER,
        evidence=sentence(
            "bench-neither-our-cpu-nor",
            "{evidence}; neither our CPU nor the connections were full",
            evidence=evidence,
        ),
        next=sentence(
            "bench-raise-flight-once-where",
            "raise --in-flight once: where the rate stays and the time grows, the broker is at its limit",
        ),
    )
