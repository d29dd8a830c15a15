"""From what somebody typed to a run: quota, place, plan or figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from mqctl.bench.consuming import measure_latency, measure_reading
from mqctl.bench.options import run_length_ms, size_bytes
from mqctl.bench.producing import BenchPlan, check_workload, find_place, produce
from mqctl.bench.view import bench_document
from mqctl.changes.settings.own_topics import OwnPlace, Quota, provide
from mqctl.cli.connection.target import ClusterTarget
from mqctl.errors import ExitCode
from mqctl.model.bench import BenchRun, Workload
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.own_names import Purpose, own_name
from mqctl.render.document import Document
from mqctl.text import sentence

_SEND_TIMEOUT_MS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBounds:
    """Where a run ends.

    Attributes:
        count: messages; None leaves them to time and bytes.
        warm_up_s: seconds at the start that no figure counts.
    """

    time_ms: int
    count: int | None
    max_bytes: int
    warm_up_s: int = 0

    def quota(self, workload: Workload) -> Quota:
        """Returns the most that a workload can send in these bounds."""
        most = self.count if self.count is not None else self.max_bytes // workload.min_bytes + 1
        if workload.rate is not None:
            most = min(most, math.ceil(workload.rate * self.time_ms / 1000) + workload.batch_count)
        return Quota(messages=most, size_bytes=self.max_bytes, time_ms=self.time_ms)


def run_bounds(
    duration: str | None, count: int | None, max_bytes: str, warm_up: int, *, ends_itself: bool
) -> RunBounds:
    """Returns where a run ends, as typed; one that ends by itself has an hour for it. Raises UsageError."""
    length_ms = run_length_ms(duration, ends_itself=ends_itself)
    most_bytes = size_bytes("--max-bytes", max_bytes)
    return RunBounds(time_ms=length_ms, count=count, max_bytes=most_bytes, warm_up_s=warm_up)


def bench_place(name: str, topic: str | None, queues: int, brokers: Sequence[str], *, foreign: bool) -> OwnPlace:
    """Returns where a bench sends: to a topic of its own, or to another one. Raises UsageError for odd names."""
    own = own_name(Purpose.BENCH, name)
    return OwnPlace(
        purpose=Purpose.BENCH,
        topic=topic or own,
        queues=queues,
        brokers=brokers,
        foreign=foreign and topic is not None,
    )


def run_produce(
    target: ClusterTarget, workload: Workload, place: OwnPlace, bounds: RunBounds, *, execute: bool
) -> tuple[Document, int]:
    """Shows the plan, or sends and shows the figures."""
    check_workload(workload)
    plan = _plan(workload, place, bounds, own_name(Purpose.BENCH, "producer"))
    announced = [
        sentence(
            "sends-bench-clean-removes",
            "sends to {topic}: {sentence}; mqctl bench clean removes topics and groups",
            topic=plan.topic,
            sentence=plan.quota.sentence(),
        )
    ]
    stopped = provide(target, place, announced, execute=execute)
    if stopped is not None:
        return stopped
    run = produce(target, plan)
    return bench_document(run), exit_code(run)


def run_consume(
    target: ClusterTarget, workload: Workload, place: OwnPlace, bounds: RunBounds, *, follows: bool, execute: bool
) -> tuple[Document, int]:
    """Shows the plan, or reads and shows the figures. Raises NotFoundError: there is nothing to read."""
    group = own_name(Purpose.BENCH, "consumer")
    plan = _plan(workload, place, bounds, group)
    find_place(target, place.topic, place.brokers)  # a topic that is made for it would be empty
    announced = [
        sentence(
            "bench-reads-nobody-member-commits",
            "reads {topic}, as nobody's member, and commits nothing: {sentence}",
            topic=plan.topic,
            sentence=plan.quota.sentence(),
        )
    ]
    stopped = provide(target, replace(place, groups=[group]), announced, execute=execute)
    if stopped is not None:
        return stopped
    run = measure_reading(target, plan, follows=follows)
    return bench_document(run), exit_code(run)


def run_latency(
    target: ClusterTarget, workload: Workload, place: OwnPlace, bounds: RunBounds, *, execute: bool
) -> tuple[Document, int]:
    """Shows the plan, or sends and reads at once, and shows the figures."""
    check_workload(workload)
    group = own_name(Purpose.BENCH, "consumer")
    plan = _plan(workload, place, bounds, own_name(Purpose.BENCH, "producer"))
    announced = [
        sentence(
            "sends-reads-bench-clean",
            "sends to {topic} and reads it: {sentence}; mqctl bench clean removes both",
            topic=plan.topic,
            sentence=plan.quota.sentence(),
        )
    ]
    stopped = provide(target, replace(place, groups=[group]), announced, execute=execute)
    if stopped is not None:
        return stopped
    run = measure_latency(target, plan, group)
    return bench_document(run), exit_code(run)


def _plan(workload: Workload, place: OwnPlace, bounds: RunBounds, group: str) -> BenchPlan:
    return BenchPlan(
        topic=place.topic,
        group=group,
        workload=workload,
        quota=bounds.quota(workload),
        warm_up_s=bounds.warm_up_s,
        send_timeout_ms=_SEND_TIMEOUT_MS,
        brokers=place.brokers,
    )


def exit_code(run: BenchRun) -> int:
    """Returns 130 after Ctrl-C; where nothing at all came through, what stood in the way most."""
    if run.ended_by == "interrupt":
        return ExitCode.INTERRUPTED
    if run.message_count or not run.errors:
        return ExitCode.OK
    name = run.errors[0].name
    return {"CONNECTION": ExitCode.UNREACHABLE, "TIMEOUT": ExitCode.TIMEOUT, "NOT_SENT": ExitCode.TIMEOUT}.get(
        name, ExitCode.REFUSED
    )
