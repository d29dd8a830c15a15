"""`bench produce`: processes that send, watched, added up."""

from __future__ import annotations

import time
from collections.abc import Sequence

from mqctl.bench.broker_view import BrokerWatch
from mqctl.bench.crew import Crew, crew
from mqctl.bench.limits import LimitEvidence, limit_of
from mqctl.bench.probe import topic_queues
from mqctl.bench.summing import Summed, summed
from mqctl.bench.task import BenchTask, EndTold
from mqctl.changes.settings.own_topics import Quota
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import note
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.terminal.progress import step_progress
from mqctl.client.producer.producer import Producer
from mqctl.errors import DeadlineError, NotFoundError, UsageError
from mqctl.model.bench import BenchClient, BenchKind, BenchRun, MessageType, SendMode, Workload
from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence

_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """A run that may begin.

    Attributes:
        warm_up_s: seconds at the start that no figure counts.
        brokers: only queues of these; none means of all.
    """

    topic: str
    group: str
    workload: Workload
    quota: Quota
    warm_up_s: int
    send_timeout_ms: int
    brokers: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPlace:
    """Where the sends go."""

    queues: Sequence[MessageQueue]
    addresses: dict[str, str]
    cluster: str


def check_workload(workload: Workload) -> None:
    """Raises UsageError for what cannot be sent together."""
    kind = workload.message_type
    if workload.min_bytes > workload.max_bytes:
        raise UsageError(
            sentence("bench-size-ends-before-begins", "--size ends before it begins"),
            remedy=sentence("bench-write-smaller-number-first", "write the smaller number first: --size 100-2000"),
        )
    if workload.batch_count > 1 and (kind is not MessageType.NORMAL or workload.compression != "none"):
        raise UsageError(
            sentence("bench-batch-takes-plain-messages", "--batch takes plain messages only"),
            reason=sentence(
                "bench-brokers-not-support-delay",
                "brokers do not support delay, order, transactions or compression for batches",
            ),
            remedy=sentence("bench-leave-out-batch-type", "leave out --batch, or --type and --compression"),
        )
    if kind is MessageType.TRANSACTION and workload.mode is SendMode.ONEWAY:
        raise UsageError(
            sentence("bench-transaction-needs-answer", "a transaction needs an answer"),
            reason=sentence("bench-holds-position-half-message", "it holds the position of the half message"),
        )
    if kind is MessageType.FIFO and workload.key_count < workload.process_count:
        raise UsageError(
            sentence("bench-type-fifo-needs-keys", "--type fifo needs --keys"),
            reason=sentence("bench-order-needs-key", "order needs a key"),
            remedy=sentence("bench-instance-keys", "for instance --keys 1000"),
        )
    if workload.in_flight < workload.process_count:
        raise UsageError(
            sentence("bench-flight-less-processes", "--in-flight is less than --processes"),
            remedy=sentence("bench-give-each-process-request", "give each process a request at least"),
        )


def produce(target: ClusterTarget, plan: BenchPlan) -> BenchRun:
    """Sends until the first end is reached, or somebody presses Ctrl-C, and returns the figures.

    Raises:
        MqctlError: the run could not begin.
    """
    place = find_place(target, plan.topic, plan.brokers)
    if plan.workload.message_type is MessageType.FIFO and len(place.queues) < plan.workload.process_count:
        raise UsageError(
            sentence("bench-more-processes-queues-cannot", "more processes than queues cannot send in order"),
            remedy=sentence("bench-lower-processes", "lower --processes"),
        )
    began_ms = time.time_ns() // 1_000_000
    with BrokerWatch(target, place.addresses, place.queues) as watch, crew(send_tasks(target, plan, place)) as members:
        members.wait_ready()
        follow(members, plan.quota.time_ms)
        views = watch.views()
    figures = summed((second for member in members.members for second in member.seconds), warm_up_s=plan.warm_up_s)
    ends = [member.end for member in members.members if member.end is not None]
    counted_s = max([end.busy_s for end in ends], default=0.0) - plan.warm_up_s
    counted_s = max(counted_s, 0.001)
    client = client_of(ends, figures, plan.warm_up_s)
    scheduled = plan.workload.rate is not None
    service = figures.service if scheduled else figures.latency
    per_s = figures.message_count / counted_s
    return BenchRun(
        kind=BenchKind.PRODUCE,
        topic=plan.topic,
        group=None,
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
        service=figures.service if scheduled else None,
        series=figures.series,
        brokers=views,
        client=client,
        limit=limit_of(
            LimitEvidence(
                workload=plan.workload,
                counted_s=counted_s,
                messages_per_s=per_s,
                client=client,
                brokers=views,
                errors=figures.errors,
                service=service,
            )
        ),
        counting=_counting(plan.workload),
    )


def find_place(target: ClusterTarget, topic: str, brokers: Sequence[str]) -> SendPlace:
    """Returns the queues that can be written. A topic that was made a moment ago may take one to show.

    Raises:
        NotFoundError: there is no topic, or no such queue.
        DeadlineError: it does not show.
    """
    deadline = target.deadline()
    with Producer("MQCTL_PRODUCER", target.sender()) as producer:
        while True:
            try:
                queues = topic_queues(producer, topic)
                break
            except NotFoundError:
                if deadline.expired:
                    raise
                time.sleep(_LOOK_AGAIN_S)
        wanted = [queue for queue in queues if not brokers or queue.broker_name in brokers]
        if not wanted:
            raise NotFoundError(
                sentence("bench-topic-no-queue", "topic {topic} has no queue there", topic=topic),
                remedy=command_line("mqctl topic route -t {}", topic),
            )
        routes = producer.instance.routes
        addresses = {queue.broker_name: routes.master(queue.broker_name) or "" for queue in wanted}
    if not all(addresses.values()):
        raise DeadlineError(
            sentence("bench-name-servers-know-no", "the name servers know no master of a broker"),
            remedy=command_line("mqctl broker list"),
        )
    with target.open() as cluster:
        clusters = {item.cluster for item in cluster.masters(target.deadline()) if item.broker_name in addresses}
    return SendPlace(queues=wanted, addresses=addresses, cluster=", ".join(sorted(clusters)))


def send_tasks(target: ClusterTarget, plan: BenchPlan, place: SendPlace) -> list[BenchTask]:
    """Returns what each process is told; the quota is shared out evenly."""
    count = plan.workload.process_count
    return [
        BenchTask(
            number=number,
            topic=plan.topic,
            producer_group=plan.group,
            workload=plan.workload,
            addresses=place.addresses,
            queues=[(queue.broker_name, queue.queue_id) for queue in place.queues],
            max_messages=plan.quota.messages // count + (number < plan.quota.messages % count),
            max_bytes=plan.quota.size_bytes // count,
            duration_ms=plan.quota.time_ms,
            timeout_ms=plan.send_timeout_ms,
            credentials=target.credentials,
            tls=target.tls,
        )
        for number in range(count)
    ]


def follow(members: Crew, time_ms: int) -> None:
    """Lets the processes send until the end, or Ctrl-C, which keeps the figures so far; a second one gives up."""
    began = time.monotonic()
    with terminable(), step_progress() as report:

        def heard() -> None:
            if report is not None:
                report("sending", min(time_ms, round((time.monotonic() - began) * 1000)), time_ms)

        try:
            members.begin()
            members.wait(heard)
        except KeyboardInterrupt:
            note(
                sentence(
                    "bench-interrupted-waiting-under-way",
                    "interrupted: waiting for what is under way; the figures are those so far",
                )
            )
            members.stop()
            members.wait(heard)


def client_of(ends: Sequence[EndTold], figures: Summed, warm_up_s: int) -> BenchClient:
    """Returns the cost on our side."""
    total = sum(item.message_count for item in figures.series)
    connects = [end.connect_ms for end in ends if end.connect_ms is not None]
    return BenchClient(
        cpu_share=round(max((end.cpu_s / end.busy_s for end in ends if end.busy_s > 0), default=0.0), 3),
        cpu_us_per_message=round(sum(end.cpu_s for end in ends) * 1_000_000 / total, 2) if total else None,
        blocked_share=round(max((end.blocked_s / end.busy_s for end in ends if end.busy_s > 0), default=0.0), 3),
        arriving_share=round(max((end.arriving_s / end.busy_s for end in ends if end.busy_s > 0), default=0.0), 3),
        connect_ms=round(min(connects), 3) if connects else None,
    )


def ended_by(ends: Sequence[EndTold], process_count: int) -> str:
    """Returns how the run ended: what ended the first process that did not simply run out of time."""
    if len(ends) < process_count:
        return sentence("bench-lost-process", "lost a process")
    reasons = [end.ended_by for end in ends]
    return next((reason for reason in ("interrupt", "quota", "count", "end") if reason in reasons), "duration")


def _counting(workload: Workload) -> str:
    """Says what one of the figures counts."""
    if workload.mode is SendMode.ONEWAY:
        return sentence(
            "bench-message-counts-when-handed",
            "a message counts when it was handed to the connection; compare with what the brokers stored",
        )
    times = (
        sentence(
            "bench-moment-due-schedule-service",
            "from the moment it was due by the schedule (`service`: from the moment it was sent) to its answer",
        )
        if workload.rate is not None
        else sentence("bench-moment-sent-answer", "from the moment it was sent to its answer")
    )
    unit = (
        sentence("bench-request-messages", "a request of {batch_count} messages", batch_count=workload.batch_count)
        if workload.batch_count > 1
        else sentence("bench-message", "a message")
    )
    who = (
        sentence(
            "bench-senders-each-wait-answer",
            "{in_flight} senders that each wait for their answer",
            in_flight=workload.in_flight,
        )
        if workload.mode is SendMode.SYNC
        else sentence(
            "bench-up-requests-without-answer",
            "up to {in_flight} requests without an answer",
            in_flight=workload.in_flight,
        )
    )
    return sentence(
        "bench-counts-when-answer-says",
        "{unit} counts when its answer says that it is stored; {who}; times are {times}",
        unit=unit,
        who=who,
        times=times,
    )
