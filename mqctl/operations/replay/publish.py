"""What the replay commands share: planned, carried out, told."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep, time

from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.terminal.progress import step_progress
from mqctl.client.admin.broker_queries import all_consumer_offsets
from mqctl.client.admin.nameserver import route
from mqctl.client.clock import ClientClock
from mqctl.client.identity import MessageClientIds
from mqctl.client.producer.packing import Packer, ProducerSettings
from mqctl.client.remoting.answers import not_told
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import BadInputError, ExitCode, MqctlError, NotFoundError, RefusedError
from mqctl.execute.alone import forget_dead
from mqctl.execute.journal import ChangeRecord, Journal
from mqctl.execute.record_files import new_id, who
from mqctl.execute.replay import Pace, Publishing, publish
from mqctl.execute.replays import GROUP, PUBLISH, ReplayRecord, Replays, range_records
from mqctl.model.plan import PlanKind
from mqctl.model.queue import MessageQueue
from mqctl.model.stretch import ReplayFilter, Stretch
from mqctl.operations.offsets.change import Asked, Done, journal, run
from mqctl.operations.offsets.planning import Wish
from mqctl.operations.plans.shown_plan import must_be_shown, shown_before
from mqctl.operations.replay.sources import Source, ranges_of
from mqctl.plan.replay import by_queue, not_reached, wanted
from mqctl.plan.targets import ToGiven
from mqctl.render.document import Document
from mqctl.render.replays import (
    DoubtRow,
    PlannedRange,
    RangeProgress,
    ReplayPlanReport,
    ReplayReport,
    replay_document,
    replay_plan_document,
)
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.readers import groups_of_topic

_PRODUCER = "MQCTL_PRODUCER"
_WRITABLE = 2


@dataclass(frozen=True, slots=True)
class _Ranges:
    """What a plan to replay covers."""

    ranges: tuple[Stretch, ...]


def replays() -> Replays:
    """Returns the journal of replays of this user."""
    return Replays(state_dir() / "replays")


def replay_by_group(asking: Asking, source: Source, group: str, asked: Asked) -> Done:
    """Points a group at the beginning of what is to be replayed; its end is kept for `replay status`.

    Raises:
        MqctlError: as `ranges_of` and `run`.
    """
    # A queue without an offset would begin wherever its consumers like to, at its first message perhaps.
    ranges = by_queue(ranges_of(asking, source, every_queue=True))
    shown = shown_before("ranges", _Ranges(ranges), _Ranges, execute=asked.execute)
    ranges = ranges if shown is None else shown.ranges
    wish = Wish(
        group=group,
        topics=tuple(sorted({item.queue.topic for item in ranges})),
        target=ToGiven({item.queue: item.begin for item in ranges}, source.words),
        brokers=frozenset(item.queue.broker_name for item in ranges),
        kind=PlanKind.REPLAY_GROUP,
        creates=True,
    )
    book = replays()

    def opened(change: ChangeRecord) -> None:
        # The journal's id is the replay's: undo and status know it by one name.
        record = _record(change.id, GROUP, source, ranges, change)
        record.group = group
        book.write(record)
        tell(f"mqctl: replay {change.id}; mqctl replay status {change.id} tells when its end is reached")

    return run(asking, wish, Asked(execute=asked.execute, confirmed=asked.confirmed, opened=opened))


def plan_publish(
    asking: Asking, source: Source, target: str, chosen: ReplayFilter, rate_per_s: float, *, execute: bool
) -> tuple[ReplayRecord, Document]:
    """Plans a replay that publishes; asks only.

    Args:
        execute: whether it is to be carried out, and must be what was shown.

    Raises:
        MqctlError: as `ranges_of`, `wanted`; NotFoundError: there is no target topic.
    """
    wanted(chosen)
    found = _Ranges(tuple(ranges_of(asking, source)))
    ranges = (shown_before("ranges", found, _Ranges, execute=execute) or found).ranges
    masters = {item.broker_name: item for item in asking.cluster.masters(asking.deadline)}
    targets = writable_queues(asking, target)
    record = ReplayRecord(
        id=new_id(),
        kind=PUBLISH,
        who=who(),
        made_at_ms=round(time() * 1000),
        cluster=masters[ranges[0].queue.broker_name].cluster,
        brokers={name: item.address for name, item in masters.items()},
        source=source.words,
        ranges=range_records(ranges),
        target=target,
        filter=chosen,
        rate_per_s=rate_per_s,
    )
    receivers = _receivers(asking, {record.brokers[queue.broker_name] for queue in targets}, target)
    must_be_shown((record.brokers, target, chosen, receivers), execute=execute)
    report = ranges_report(record.cluster, source.words, ranges, record.brokers)
    report = ReplayPlanReport(
        cluster=report.cluster,
        source=report.source,
        target=target,
        filter=chosen.words,
        rate_per_s=rate_per_s,
        message_count=report.message_count,
        receivers=receivers,
        queues=report.queues,
    )
    hint = f"nothing was published; add --execute --confirm {target} to do it"
    return record, replay_plan_document(report, hint)


def ranges_report(cluster: str, source: str, ranges: Iterable[Stretch], addresses: dict[str, str]) -> ReplayPlanReport:
    """Returns the machine form of stretches that wait to be replayed."""
    rows = [
        PlannedRange(
            topic=item.queue.topic,
            broker_name=item.queue.broker_name,
            broker_address=addresses[item.queue.broker_name],
            queue_id=item.queue.queue_id,
            begin=item.begin,
            end=item.end,
            message_count=item.count,
            gone_count=item.gone_count,
        )
        for item in ranges
    ]
    return ReplayPlanReport(
        cluster=cluster,
        source=source,
        target=None,
        filter=ReplayFilter().words,
        rate_per_s=None,
        message_count=sum(row.message_count for row in rows),
        receivers=[],
        queues=rows,
    )


def _receivers(asking: Asking, addresses: Collection[str], target: str) -> list[str]:
    """Returns the groups that will get the copies. Raises UnreachableError, PermissionDeniedError: who is not known."""
    places = [item for item in asking.cluster.brokers(asking.deadline) if item.address in addresses]
    brokers = [LiveBroker(address=item) for item in places]
    told = groups_of_topic(asking, brokers, target)
    for number, error in told.errors.items():
        problem, remedy = f"broker {brokers[number].name} did not tell who reads {target}", "mqctl broker list"
        raise not_told(problem, str(error), remedy, so_far="nothing was published")
    return sorted(frozenset().union(*told.values.values()))


def carry_publish_out(asking: Asking, record: ReplayRecord, shown: Document, confirmed: str | None) -> Done:
    """Publishes, from the beginning or from where it stopped.

    Raises:
        RefusedError: not confirmed, or another mqctl is at it.
        BadInputError: this is another cluster, or another mqctl has gone on with it.
        StorageError: the journal cannot be written; nothing was published then.
    """
    target = str(record.target)
    confirm(target, confirmed, shown, where=asking.cluster.name_servers.addresses())
    asking = Asking(asking.cluster, Deadline(asking.deadline.limit_ms))  # typing a name takes its time
    book, locks = replays(), journal()
    forget_dead(locks.directory.glob(".replay_*.lock.holder"))
    _forget_ended(book, locks)
    with locks.alone(f"replay {record.id}", note), terminable(), step_progress() as report:
        _refuse_overtaken(book, record)
        book.write(record)
        tell(f"mqctl: replay {record.id}; mqctl replay resume {record.id} goes on if it stops")
        clock = ClientClock()
        work = Publishing(
            cluster=asking.cluster,
            record=record,
            addresses=record.brokers,
            targets=writable_queues(asking, target),
            packer=Packer(_PRODUCER, ProducerSettings(), clock, MessageClientIds(clock)),
            pace=Pace(record.rate_per_s, monotonic, lambda ms: sleep(ms / 1000)),
            save=book.write,
            report=lambda done, total: report("messages", done, total) if report is not None else None,
        )
        stopped = None
        try:
            publish(work)
        except KeyboardInterrupt:
            stopped = "interrupted"
        except MqctlError as error:
            stopped = str(error)
    _forget_ended(book, locks)
    code = ExitCode.UNKNOWN if record.in_doubt else ExitCode.OK
    if stopped is not None:
        code = ExitCode.CRITICAL
        tell(
            f"mqctl: stopped in the middle: {stopped}\n  next: mqctl replay resume {record.id} goes on where it stopped"
        )
    return Done(document=replay_document(report_of(record)), code=code)


def _forget_ended(book: Replays, locks: Journal) -> None:
    """Removes the locks of replays that are complete.

    Whoever still waits for such a lock, or makes it anew, finds the record ended once it has it, and is refused: that
    two can hold it then does no harm. A replay that stopped in the middle keeps its lock.
    """
    for lock in locks.directory.glob(".replay_*.lock"):
        name = lock.name.removeprefix(".replay_").removesuffix(".lock")
        with suppress(OSError, MqctlError):
            if book.has(name) and book.read(name).ended:
                lock.unlink(missing_ok=True)


def _refuse_overtaken(book: Replays, shown: ReplayRecord) -> None:
    """Refuses to go on from where a replay stood when somebody else has gone on with it since it was read.

    Raises:
        BadInputError: somebody has.
    """
    if not book.has(shown.id):
        return
    known = book.read(shown.id)
    if (known.ended, known.ranges, known.in_flight) != (shown.ended, shown.ranges, shown.in_flight):
        raise BadInputError(
            "nothing was published",
            reason=f"another mqctl has gone on with replay {shown.id} since the plan was made",
            remedy=f"mqctl replay status {shown.id}",
        )


def resumed(asking: Asking, record: ReplayRecord, *, execute: bool) -> Document:
    """Returns what is left of a replay, to be shown and gone on with.

    Raises:
        RefusedError: there is nothing to go on with.
        BadInputError: this is another cluster.
    """
    if record.kind == GROUP:
        raise RefusedError(
            f"replay {record.id} is made by group {record.group}",
            reason="its consumers carry it out",
            remedy=f"mqctl replay status {record.id}; an interrupted change is finished by mqctl offset reset --resume",
        )
    if record.ended:
        raise RefusedError(f"replay {record.id} is complete", reason=f"{record.published} messages were published")
    here = {item.broker_name: item.address for item in asking.cluster.masters(asking.deadline)}
    for name in sorted({item.broker_name for item in record.ranges}):
        if here.get(name) != record.brokers[name]:
            raise BadInputError(
                f"replay {record.id} was made on another cluster",
                reason=f"it was made on {name} at {record.brokers[name]}, which is {here.get(name, 'unknown')} here",
                remedy="name that cluster with --namesrv or --profile",
            )
    record.brokers = {**record.brokers, **here}
    must_be_shown((record.id, record.target, record.ranges, record.in_flight, record.brokers), execute=execute)
    return replay_document(report_of(record))


def writable_queues(asking: Asking, topic: str) -> tuple[MessageQueue, ...]:
    """Returns the queues of a topic that can be written. Raises NotFoundError."""
    where = asking.cluster.name_servers.ask(route(topic), asking.deadline)
    masters = {data.broker_name for data in where.broker_datas if 0 in data.broker_addrs}
    found = tuple(
        MessageQueue(topic, data.broker_name, number)
        for data in where.queue_datas
        if data.broker_name in masters and data.perm & _WRITABLE
        for number in range(data.write_queue_nums)
    )
    if not found:
        raise NotFoundError(f"topic {topic} has no queue that can be written", remedy=f"mqctl topic route -t {topic}")
    return found


def report_of(record: ReplayRecord, committed: dict[MessageQueue, int | None] | None = None) -> ReplayReport:
    """Returns the machine form of a replay.

    Args:
        committed: offsets of the group, for one that a group carries out.
    """
    state, left = record.state, sum(item.end - item.next for item in record.ranges)
    open_queues: dict[MessageQueue, int] | None = None
    if record.kind == GROUP and committed is not None:
        open_queues = not_reached({item.queue: item.end for item in record.ranges}, committed)
        left = sum(open_queues.values())
        state = "started" if open_queues else "reached"
    known = record.kind != GROUP or open_queues is not None
    return ReplayReport(
        id=record.id,
        kind=record.kind,
        state=state if known else "unknown",
        who=record.who,
        made_at_ms=record.made_at_ms,
        cluster=record.cluster,
        source=record.source,
        goal=str(record.target or record.group),
        filter=record.filter.words,
        published_count=record.published,
        filtered_count=sum(item.filtered for item in record.ranges),
        left_count=left if known else None,
        found_count=record.found,
        in_doubt=[DoubtRow(key=item.key, reason=item.reason) for item in record.in_doubt],
        queues=[
            RangeProgress(
                topic=item.topic,
                broker_name=item.broker_name,
                queue_id=item.queue_id,
                begin=item.begin,
                end=item.end,
                reached=item.next if committed is None else committed.get(item.queue),
                left_count=(
                    item.end - item.next
                    if record.kind != GROUP
                    else None
                    if open_queues is None
                    else open_queues.get(item.queue, 0)
                ),
                published_count=item.published,
                filtered_count=item.filtered,
                gone_count=item.gone,
            )
            for item in record.ranges
        ],
    )


def committed_by(asking: Asking, record: ReplayRecord) -> dict[MessageQueue, int | None]:
    """Returns where the group of a replay stands in its queues.

    Raises:
        MqctlError: a broker does not tell.
    """
    found: dict[MessageQueue, int | None] = {}
    for name in sorted({item.broker_name for item in record.ranges}):
        table = asking.cluster.ask(record.brokers[name], all_consumer_offsets(), asking.deadline).offset_table
        for item in record.ranges:
            if item.broker_name == name:
                found[item.queue] = table.get(f"{item.topic}@{record.group}", {}).get(item.queue_id)
    return found


def _record(
    replay_id: str, kind: str, source: Source, ranges: tuple[Stretch, ...], change: ChangeRecord
) -> ReplayRecord:
    return ReplayRecord(
        id=replay_id,
        kind=kind,
        who=change.who,
        made_at_ms=change.made_at_ms,
        cluster=change.cluster,
        brokers=change.brokers,
        source=source.words,
        ranges=range_records(ranges),
    )
