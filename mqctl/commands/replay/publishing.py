"""Messages of the past published once more: planned, carried out, taken up again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.journal import Drawer, Journal, new_id
from mqctl.changes.engine.records import ReplayRecord, StretchPart
from mqctl.changes.engine.run import (
    Change,
    Consent,
    Finished,
    Work,
    journal,
    must_be_shown,
    now_ms,
    run_change,
    shown_before,
)
from mqctl.changes.engine.same_cluster import refuse_other_cluster
from mqctl.changes.messages.replay import Pace, Publishing, publish
from mqctl.changes.plan.follow import follow_again
from mqctl.changes.plan.replay import wanted
from mqctl.client.admin.nameserver import route
from mqctl.client.identity import MessageClientIds
from mqctl.client.producer.packing import Packer, ProducerSettings
from mqctl.client.remoting.clock import ClientClock
from mqctl.client.remoting.deadline import Deadline
from mqctl.commands.replay.gather import Source, ranges_of
from mqctl.commands.replay.progress import report_of
from mqctl.commands.replay.view import PlannedRange, ReplayPlanReport, replay_document, replay_plan_document
from mqctl.errors import BadInputError, MqctlError, NotFoundError, RefusedError
from mqctl.model.command_line import command_line, shell_word
from mqctl.model.counts import counted
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.model.stretch import ReplayFilter, Stretch
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.topic_use import groups_of_topic
from mqctl.store.exclusive_lock import forget_dead, who
from mqctl.text import sentence

_PRODUCER = "MQCTL_PRODUCER"
_WRITABLE = 2


@dataclass(frozen=True, slots=True)
class Ranges:
    """What a replay covers, as it was shown."""

    ranges: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishPlan:
    """What is to be published.

    Attributes:
        record: as it stands before the first message.
        shown: the plan, for people and machines.
    """

    record: ReplayRecord
    shown: Document


class Publication(Change[PublishPlan, ReplayRecord]):
    """Messages published once more, from the beginning or from where it stopped."""

    stopping = (MqctlError,)

    def __init__(self, asking: Asking, make: Callable[[], PublishPlan]) -> None:
        self._asking = asking
        self._make = make

    def drawer(self, journal: Journal) -> Drawer[ReplayRecord]:
        return journal.replays

    def plan(self) -> PublishPlan:
        return self._make()

    def document(self, plan: PublishPlan) -> Document:
        return plan.shown

    def has_work(self, plan: PublishPlan) -> bool:
        return True

    def word(self, plan: PublishPlan) -> str:
        return plan.record.subject

    def asking(self) -> Asking:
        return self._asking

    def touched(self, plan: PublishPlan) -> Touched:
        record = plan.record
        return Touched(
            topics={record.subject, *(part.topic for part in record.parts)},
            store=None if record.store is None else Path(record.store),
        )

    def where(self) -> Sequence[str]:
        return self._asking.cluster.name_servers.addresses()

    def locks(self, plan: PublishPlan) -> str:
        return sentence("replay-record", "replay {record}", record=plan.record.id)

    def again(self, shown: PublishPlan) -> PublishPlan:
        _refuse_overtaken(journal().replays, shown.record)
        return shown

    def record(self, plan: PublishPlan, drawer: Drawer[ReplayRecord]) -> ReplayRecord:
        return plan.record

    def opened(self, record: ReplayRecord) -> str:
        return sentence(
            "replay-continues-if-stops",
            "mqctl: replay {record}; {value} continues it if it stops",
            record=record.id,
            value=command_line("mqctl replay resume {}", record.id),
        )

    def carry_out(self, work: Work[PublishPlan, ReplayRecord]) -> None:
        record, cluster = work.record, self._asking.cluster
        clock = ClientClock()
        publish(
            Publishing(
                cluster=cluster,
                record=record,
                addresses=record.brokers,
                targets=writable_queues(Asking(cluster, Deadline(self._asking.deadline.limit_ms)), record.subject),
                packer=Packer(_PRODUCER, ProducerSettings(), clock, MessageClientIds(clock)),
                pace=Pace(record.rate_per_s, monotonic, lambda ms: sleep(ms / 1000)),
                save=work.save,
                report=lambda done, total: work.report("messages", done, total),
                stored=_stored(record),
            )
        )

    def finish(self, record: ReplayRecord) -> str:
        return sentence(
            "replay-continues-where-stopped",
            "{value} continues where it stopped",
            value=command_line("mqctl replay resume {}", record.id),
        )

    def report(self, record: ReplayRecord) -> Document:
        return replay_document(report_of(record))


def _stored(record: ReplayRecord) -> Callable[[StretchPart], tuple[list[Message], int]] | None:
    """Returns the reader of a replay whose messages lie in a store; None for one that brokers read."""
    if record.store is None:
        return None
    from mqctl.commands.replay.stored import StoredTopic

    return StoredTopic(Path(record.store), record.parts[0].topic).read


def run_publishing(asking: Asking, consent: Consent, make: Callable[[], PublishPlan]) -> Finished[ReplayRecord]:
    """Plans, and publishes when asked to.

    Raises:
        MqctlError: as `make` and `run_change`.
    """
    book = journal()
    if consent.execute:
        forget_dead(book.directory.glob(".replay_*.lock.holder"))
        _forget_ended(book)
    done = run_change(Publication(asking, make), consent)
    if consent.execute:
        _forget_ended(book)
    return done


def plan_publish(
    asking: Asking, source: Source, target: str, chosen: ReplayFilter, rate_per_s: float, *, execute: bool
) -> PublishPlan:
    """Plans a replay that publishes; asks only.

    Args:
        execute: whether it is to be carried out, and must be what was shown.

    Raises:
        MqctlError: as `ranges_of`, `wanted`; NotFoundError: there is no target topic.
    """
    wanted(chosen)
    stretches = Ranges(tuple(ranges_of(asking, source)))
    ranges = (shown_before("ranges", stretches, Ranges, execute=execute) or stretches).ranges
    masters = {item.broker_name: item for item in asking.cluster.masters(asking.deadline)}
    targets = writable_queues(asking, target)
    record = ReplayRecord(
        id=new_id(),
        kind="replay-publish",
        subject=target,
        who=who(),
        made_at_ms=now_ms(),
        cluster=masters.get(ranges[0].queue.broker_name, next(iter(masters.values()))).cluster,
        brokers={name: item.address for name, item in masters.items()},
        source=source.words,
        parts=range_parts(ranges),
        target=target,
        filter=chosen,
        rate_per_s=rate_per_s,
        store=str(source.store) if source.store is not None else None,
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
    hint = sentence(
        "replay-nothing-published-add-execute",
        "nothing was published; add --execute --confirm {target} to do it",
        target=shell_word(target),
    )
    return PublishPlan(record=record, shown=replay_plan_document(report, hint))


def resume_plan(asking: Asking, record: ReplayRecord, *, execute: bool) -> PublishPlan:
    """Plans to go on with a replay; asks only.

    Raises:
        RefusedError: there is nothing to go on with.
        BadInputError: this is another cluster.
    """
    if record.group is not None:
        status = command_line("mqctl replay status {}", record.id)
        raise RefusedError(
            sentence(
                "replay-made-group", "replay {record} is made by group {group}", record=record.id, group=record.group
            ),
            reason=sentence("replay-consumers-carry-out", "its consumers carry it out"),
            remedy=sentence(
                "replay-interrupted-change-finished-offset",
                "{status}; an interrupted change is finished by mqctl offset reset --resume",
                status=status,
            ),
        )
    if record.selector is not None:
        raise RefusedError(
            sentence("replay-follows-topic-no-end", "{record} follows a topic and has no end", record=record.id),
            reason=sentence("replay-goes-offsets-group", "it continues from the offsets of its group"),
            remedy=follow_again(record.parts[0].topic, record.subject, record.selector),
        )
    if record.ended:
        raise RefusedError(
            sentence("replay-complete", "replay {record} is complete", record=record.id),
            reason=sentence(
                "replay-published-far", "published so far: {published}", published=counted(record.published, "message")
            ),
        )
    names = {part.broker_name for part in record.parts}
    touched = record.brokers if record.store else {name: record.brokers[name] for name in names}
    here = refuse_other_cluster(asking, touched, sentence("replay-record", "replay {record}", record=record.id))
    record.brokers = {**record.brokers, **here}
    must_be_shown((record.id, record.target, record.parts, record.in_flight, record.brokers), execute=execute)
    return PublishPlan(record=record, shown=replay_document(report_of(record)))


def ranges_report(cluster: str, source: str, ranges: Iterable[Stretch], addresses: dict[str, str]) -> ReplayPlanReport:
    """Returns the machine form of stretches that wait to be replayed."""
    rows = [
        PlannedRange(
            topic=item.queue.topic,
            broker_name=item.queue.broker_name,
            broker_address=addresses.get(item.queue.broker_name, item.queue.broker_name),
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


def range_parts(ranges: Iterable[Stretch]) -> list[StretchPart]:
    """Returns the stretches as they stand before the first message."""
    return [
        StretchPart(
            topic=item.queue.topic,
            broker_name=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            begin=item.begin,
            end=item.end,
            next=item.begin,
        )
        for item in ranges
    ]


def _receivers(asking: Asking, addresses: Collection[str], target: str) -> list[str]:
    """Returns the groups that will get the copies. Raises UnreachableError, PermissionDeniedError: who is not known."""
    places = [item for item in asking.cluster.brokers(asking.deadline) if item.address in addresses]
    brokers = [LiveBroker(address=item) for item in places]
    groups = groups_of_topic(asking, brokers, target)
    for number, error in groups.errors.items():
        problem, remedy = (
            sentence(
                "broker-did-not-list",
                "broker {brokers} did not list the readers of {topic}",
                brokers=brokers[number].name,
                topic=target,
            ),
            command_line("mqctl broker list"),
        )
        raise Gap.of(Part.GROUPS, error).as_error(
            problem, remedy, so_far=sentence("replay-nothing-published", "nothing was published")
        )
    return sorted(frozenset().union(*groups.values.values()))


def _forget_ended(book: Journal) -> None:
    """Removes the locks of replays that are complete.

    Whoever still waits for such a lock, or makes it anew, finds the record ended once it has it, and is refused: that
    two can hold it then does no harm. A replay that stopped in the middle keeps its lock.
    """
    for lock in book.directory.glob(".replay_*.lock"):
        name = lock.name.removeprefix(".replay_").removesuffix(".lock")
        with suppress(OSError, MqctlError):
            if book.replays.has(name) and book.replays.read(name).ended:
                lock.unlink(missing_ok=True)


def _refuse_overtaken(book: Drawer[ReplayRecord], shown: ReplayRecord) -> None:
    """Refuses to go on from where a replay stood when somebody else has gone on with it since it was read.

    Raises:
        BadInputError: somebody has.
    """
    if not book.has(shown.id):
        return
    known = book.read(shown.id)
    if (known.ended, known.parts, known.in_flight) != (shown.ended, shown.parts, shown.in_flight):
        raise BadInputError(
            sentence("replay-nothing-published", "nothing was published"),
            reason=sentence(
                "another-gone-replay-since",
                "another mqctl has gone on with replay {shown} since the plan was made",
                shown=shown.id,
            ),
            remedy=command_line("mqctl replay status {}", shown.id),
        )


def writable_queues(asking: Asking, topic: str) -> tuple[MessageQueue, ...]:
    """Returns the queues of a topic that can be written. Raises NotFoundError."""
    where = asking.cluster.name_servers.ask(route(topic), asking.deadline)
    masters = {data.broker_name for data in where.broker_datas if 0 in data.broker_addrs}
    queues = tuple(
        MessageQueue(topic, data.broker_name, number)
        for data in where.queue_datas
        if data.broker_name in masters and data.perm & _WRITABLE
        for number in range(data.write_queue_nums)
    )
    if not queues:
        raise NotFoundError(
            sentence(
                "replay-topic-no-queue-written-again", "topic {topic} has no queue that can be written", topic=topic
            ),
            remedy=command_line("mqctl topic route -t {}", topic),
        )
    return queues
