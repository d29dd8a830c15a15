"""`bench consume` and `bench latency`: processes that pull, alone or while others send."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mqctl.bench.broker_view import BrokerWatch
from mqctl.bench.crew import Crew, CrewMember, crew
from mqctl.bench.limits import LimitEvidence, limit_of, pull_limit
from mqctl.bench.producing import (
    BenchPlan,
    SendPlace,
    client_of,
    ended_by,
    find_place,
    follow,
    send_tasks,
)
from mqctl.bench.summing import Summed, summed
from mqctl.bench.task import BenchTask
from mqctl.cli.connection.target import ClusterTarget
from mqctl.errors import UnreachableError
from mqctl.model.bench import BenchError, BenchKind, BenchRun, BrokerView
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import bounds
from mqctl.text import sentence

_STRAGGLERS_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """First and next offset of each queue when a run begins."""

    offsets: Mapping[MessageQueue, tuple[int, int]]

    def of(self, queue: MessageQueue, *, last: bool) -> int:
        return self.offsets[queue][1 if last else 0]


def measure_reading(target: ClusterTarget, plan: BenchPlan, *, follows: bool) -> BenchRun:
    """Reads what a topic holds, or what comes from now on, until the first end is reached, and returns the figures.

    Raises:
        MqctlError: the run could not begin.
    """
    place = find_place(target, plan.topic, plan.brokers)
    start = _bounds(target, place)
    tasks = pull_tasks(target, plan, place, start, follows=follows)
    began_ms = time.time_ns() // 1_000_000
    with BrokerWatch(target, place.addresses, place.queues) as watch, crew(tasks) as members:
        members.wait_ready()
        follow(members, plan.quota.time_ms)
        views = watch.views()
    figures = _summed(members.members, plan.warm_up_s)
    ends = [member.end for member in members.members if member.end is not None]
    counted_s = max(max([end.busy_s for end in ends], default=0.0) - plan.warm_up_s, 0.001)
    client = client_of(ends, figures, plan.warm_up_s)
    per_s = figures.message_count / counted_s
    return BenchRun(
        kind=BenchKind.CONSUME,
        topic=plan.topic,
        group=plan.group,
        cluster=place.cluster,
        began_ms=began_ms,
        ended_by=ended_by(ends, len(members.members)),
        workload=plan.workload,
        counted_s=round(counted_s, 3),
        request_count=figures.request_count,
        message_count=figures.message_count,
        size_bytes=figures.size_bytes,
        messages_per_s=round(per_s, 1),
        bytes_per_s=round(figures.size_bytes / counted_s, 1),
        error_count=sum(error.count for error in figures.errors),
        errors=figures.errors,
        latency=figures.latency,
        service=figures.service,
        series=figures.series,
        brokers=views,
        client=client,
        limit=pull_limit(
            LimitEvidence(
                workload=plan.workload,
                counted_s=counted_s,
                messages_per_s=per_s,
                client=client,
                brokers=views,
                errors=figures.errors,
                service=figures.service,
            ),
            figures.message_count / max(figures.request_count, 1),
            follows=follows,
        ),
        counting=sentence(
            "bench-message-counts-when-latency",
            "a message counts when it is there; its latency is how old it was then, since it was "
            "due to be sent; service is the time of a pull that brought messages; nothing is "
            "committed",
        ),
    )


def measure_latency(target: ClusterTarget, plan: BenchPlan, group: str) -> BenchRun:
    """Sends by schedule, reads it at once, and returns how long messages took from being due to being there.

    Raises:
        MqctlError: the run could not begin.
    """
    place = find_place(target, plan.topic, plan.brokers)
    start = _bounds(target, place)
    senders = send_tasks(target, plan, place)
    beyond_ms = plan.quota.time_ms + plan.send_timeout_ms + round(_STRAGGLERS_S * 2000)
    pullers = [
        replace(task, duration_ms=beyond_ms, max_messages=1 << 60, max_bytes=1 << 60, consumer_group=group)
        for task in pull_tasks(target, plan, place, start, follows=True)
    ]
    began_ms = time.time_ns() // 1_000_000
    with (
        BrokerWatch(target, place.addresses, place.queues) as watch,
        crew(pullers) as reading,
        crew(senders) as sending,
    ):
        reading.wait_ready()
        sending.wait_ready()
        reading.begin()
        follow(sending, plan.quota.time_ms)
        _wait_for_stragglers(
            reading, sum(second.message_count for member in sending.members for second in member.seconds)
        )
        views = watch.views()
    return _latency_run(plan, group, place.cluster, began_ms, _Crews(sending=sending, reading=reading, views=views))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crews:
    """Who sent and who read, and what brokers said meanwhile."""

    sending: Crew
    reading: Crew
    views: Sequence[BrokerView]


def _latency_run(plan: BenchPlan, group: str, cluster: str, began_ms: int, crews: _Crews) -> BenchRun:
    sent, came = (_summed(each.members, plan.warm_up_s) for each in (crews.sending, crews.reading))
    ends, reads = (
        [member.end for member in each.members if member.end is not None] for each in (crews.sending, crews.reading)
    )
    counted_s = max(max([end.busy_s for end in ends], default=0.0) - plan.warm_up_s, 0.001)
    client = client_of([*ends, *reads], sent, plan.warm_up_s)
    errors = [*sent.errors, *came.errors, *_missing(sent, came)]
    per_s = sent.message_count / counted_s
    return BenchRun(
        kind=BenchKind.LATENCY,
        topic=plan.topic,
        group=group,
        cluster=cluster,
        began_ms=began_ms,
        ended_by=ended_by(ends, len(crews.sending.members)),
        workload=plan.workload,
        counted_s=round(counted_s, 3),
        request_count=came.request_count,
        message_count=came.message_count,
        size_bytes=came.size_bytes,
        messages_per_s=round(per_s, 1),
        bytes_per_s=round(sent.size_bytes / counted_s, 1),
        error_count=sum(error.count for error in errors),
        errors=errors,
        latency=came.latency,
        service=None,
        send=sent.latency,
        series=came.series,
        brokers=crews.views,
        client=client,
        limit=limit_of(
            LimitEvidence(
                workload=plan.workload,
                counted_s=counted_s,
                messages_per_s=per_s,
                client=client,
                brokers=crews.views,
                errors=errors,
                service=sent.latency,
            )
        ),
        counting=sentence(
            "bench-latency-moment-message-due",
            "latency is from the moment a message was due by the schedule until a consumer had "
            "it, send from the same moment to the broker's answer; sender and consumer share "
            "this machine's clock",
        ),
    )


def pull_tasks(
    target: ClusterTarget, plan: BenchPlan, place: SendPlace, start: _Start, *, follows: bool
) -> list[BenchTask]:
    """Returns what each process is told: queues and quota are dealt out evenly; one without a queue is not started."""
    count = min(plan.workload.process_count, len(place.queues))
    dealt = [list(place.queues[number::count]) for number in range(count)]
    return [
        BenchTask(
            number=number,
            topic=plan.topic,
            producer_group="",
            consumer_group=plan.group,
            workload=plan.workload,
            addresses=place.addresses,
            queues=[(queue.broker_name, queue.queue_id) for queue in queues],
            begin_offsets=[start.of(queue, last=follows) for queue in queues],
            end_offsets=None if follows else [start.of(queue, last=True) for queue in queues],
            max_messages=plan.quota.messages // count + (number < plan.quota.messages % count),
            max_bytes=plan.quota.size_bytes // count,
            duration_ms=plan.quota.time_ms,
            timeout_ms=plan.send_timeout_ms,
            credentials=target.credentials,
            tls=target.tls,
        )
        for number, queues in enumerate(dealt)
    ]


def _bounds(target: ClusterTarget, place: SendPlace) -> _Start:
    with target.open() as cluster:
        asking = Asking(cluster, target.deadline())
        offsets = bounds(asking, {queue: place.addresses[queue.broker_name] for queue in place.queues})
    unknown = sorted(set(place.queues) - set(offsets))
    if unknown:
        raise UnreachableError(
            sentence("bench-could-not-begin", "the bench could not begin"),
            reason=sentence("bench-not-report-offsets", "{unknown} does not report its offsets", unknown=unknown[0]),
        )
    return _Start(offsets=offsets)


def _summed(members: Sequence[CrewMember], warm_up_s: int) -> Summed:
    return summed((second for member in members for second in member.seconds), warm_up_s=warm_up_s)


def _wait_for_stragglers(reading: Crew, sent: int) -> None:
    """Reads on until all that was sent is there, or a few seconds bring nothing more."""
    came, limit = 0, time.monotonic() + _STRAGGLERS_S

    def heard() -> None:
        nonlocal came, limit
        now = sum(second.message_count for member in reading.members for second in member.seconds)
        if now > came:
            came, limit = now, time.monotonic() + _STRAGGLERS_S
        if came >= sent or time.monotonic() > limit:
            reading.stop()

    reading.wait(heard)


def _missing(sent: Summed, came: Summed) -> list[BenchError]:
    """What was sent and did not come, over the whole run."""
    missing = sum(second.message_count for second in sent.series) - sum(second.message_count for second in came.series)
    if missing <= 0:
        return []
    return [
        BenchError(
            code=None,
            name="NOT_RECEIVED",
            count=missing,
            example=sentence("bench-stored-not-read", "stored, and not read until the end"),
        )
    ]
