"""`mqctl replay follow`: the plan of a cut-over to a topic with more queues, and the follower that copies."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from time import monotonic, sleep, time

from mqctl.changes.engine.cautions import Touched, cautions
from mqctl.changes.engine.run import Consent, journal, must_be_shown
from mqctl.changes.messages.replay import Pace
from mqctl.changes.messages.topic_follower import FollowOrder, TopicFollower
from mqctl.changes.plan.follow import KeySelector, follow_command, follower_group, scattered_keys
from mqctl.changes.plan.reshard import key_moves, publish_queues
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import wait_for_interrupt
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.client.consumer.consumer_settings import ConsumerSettings
from mqctl.client.instance import ClientSettings
from mqctl.commands.replay.follow_record import FollowNotes
from mqctl.commands.replay.follow_view import (
    FollowedKeys,
    FollowPlan,
    FollowReport,
    follow_document,
    follow_plan_document,
)
from mqctl.commands.replay.view import PlannedRange
from mqctl.errors import ExitCode, MqctlError, NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names_alike import meant
from mqctl.model.queue import MessageQueue
from mqctl.model.release import NEWEST
from mqctl.model.said import said
from mqctl.model.topic_use import TopicUse
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_offsets, ask_topics, list_brokers, masters_of
from mqctl.snapshot.live.topic_use import all_told, sampled_keys, topic_use
from mqctl.text import Word, sentence

_LOOK_S = 1.0
_PERSIST_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRequest:
    """What is to be followed into what.

    Attributes:
        from_group: the group where whose offsets the follower begins; None for the first messages.
        rate_per_s: most messages a second; None for as fast as brokers take them.
        hold_group, hold_above: pause while this group has more messages of the new topic left than that.
        drain: end when everything is copied.
    """

    old: str
    new: str
    selector: KeySelector
    from_group: str | None = None
    rate_per_s: float | None = None
    hold_group: str | None = None
    hold_above: int = 100_000
    drain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The plan, and what carrying it out needs.

    Attributes:
        begins: where the follower begins in queues of which it has no offset yet.
        addresses: of the old topic's masters, by broker name.
        goes_on: whether an earlier follower has offsets.
    """

    plan: FollowPlan
    begins: Mapping[MessageQueue, int]
    addresses: Mapping[str, str]
    cluster: str
    goes_on: bool


def run_follow(target: ClusterTarget, request: FollowRequest, consent: Consent) -> tuple[Document, int]:
    """Plans, and follows when asked to, until it is interrupted or has copied everything.

    Raises:
        UsageError, NotFoundError: see `_plan`.
        RefusedError: it is not confirmed, or another follower runs on this machine.
        StorageError: the journal cannot be written; nothing more is copied.
        MqctlError: the cluster cannot be asked.
    """
    with target.open() as cluster:
        asking = Asking(cluster, target.deadline())
        planned = _plan(asking, request)
        bound = (request, planned.plan.group, planned.plan.new_queue_count, planned.plan.receivers)
        must_be_shown(bound, execute=consent.execute)
        careful = cautions(asking, NEWEST, Touched(topics={request.old, request.new}))
        shown = follow_plan_document(planned.plan).with_cautions(careful)
        if not consent.execute:
            return shown, ExitCode.OK
        confirm(request.new, consent.confirmed, shown, where=cluster.name_servers.addresses())
        with journal().alone(sentence("replay-follow", "follow {group}", group=planned.plan.group), tell):
            plan = planned.plan
            notes = FollowNotes(journal().replays, plan, planned.cluster, planned.addresses, goes_on=planned.goes_on)
            tell(
                sentence(
                    "replay-follower-history-keeps-copied",
                    "mqctl: follower {record}; mqctl history keeps what it copied",
                    record=notes.record.id,
                )
            )
            _place_group(Asking(cluster, target.deadline()), planned)
            report = _follow(target, Asking(cluster, target.deadline()), request, planned, notes)
    return follow_document(report), ExitCode.UNKNOWN if report.unknown_count else ExitCode.OK


def _plan(asking: Asking, request: FollowRequest) -> _Planned:
    """Plans; asks only.

    Raises:
        UsageError: the topics are one, or a group to begin with has no offsets.
        NotFoundError: one of the topics does not exist.
        UnreachableError, PermissionDeniedError: a broker does not tell what the plan rests on.
    """
    if request.old == request.new:
        raise UsageError(
            sentence("replay-topic-not-followed-itself", "a topic is not followed into itself"),
            remedy=command_line("mqctl topic update -t TOPIC --queues N"),
        )
    group = follower_group(request.old, request.new)
    masters = masters_of(list_brokers(asking, asking.cluster.brokers(asking.deadline), Scope()))
    ask_topics(asking, masters)
    all_told(masters)
    holders, receivers = _holders(masters, request.old), _holders(masters, request.new)
    use, new_use = topic_use(asking, holders, request.old), topic_use(asking, receivers, request.new)
    ask_offsets(asking, holders, Scope(groups=frozenset({group})))
    all_told(holders)
    own = {
        MessageQueue(topic, broker.name, number): offset
        for broker in holders
        for (name, topic, number), offset in broker.offsets.items()
        if name == group and topic == request.old
    }
    begins, words = _begin(use, own, request.from_group)
    old_queues = publish_queues(request.old, {broker.name: broker.topics[request.old] for broker in holders})
    new_queues = publish_queues(request.new, {broker.name: broker.topics[request.new] for broker in receivers})
    sample, kind = sampled_keys(asking, use, holders)
    keys = FollowedKeys(
        kind=kind,
        message_count=len(sample),
        key_count=len({key for key, _ in sample}),
        placed_count=key_moves(sample, old_queues, new_queues, kind).placed_count,
        scattered_count=scattered_keys(sample),
    )
    left = {reader.group: use.left_count(reader) for reader in use.readers if reader.group != group}
    addresses = {broker.name: broker.address.address for broker in holders}
    queues = _ranges(use, begins, addresses)
    warnings = _warnings(request, keys, left, len(old_queues), new_queues)
    steps = _cut_over(request, group, sorted(left))
    plan = FollowPlan(
        old=request.old,
        new=request.new,
        group=group,
        selector=request.selector.value,
        begin=words,
        old_queue_count=len(old_queues),
        new_queue_count=len(new_queues),
        message_count=sum(row.message_count for row in queues),
        readers=left,
        receivers=sorted(reader.group for reader in new_use.readers),
        keys=keys,
        warnings=warnings,
        steps=steps,
        queues=queues,
        keyed_warnings=said(warnings),
        keyed_steps=said(steps),
    )
    cluster = holders[0].address.cluster
    return _Planned(plan=plan, begins={} if own else begins, addresses=addresses, cluster=cluster, goes_on=bool(own))


def _ranges(use: TopicUse, begins: Mapping[MessageQueue, int], addresses: Mapping[str, str]) -> list[PlannedRange]:
    return [
        PlannedRange(
            topic=use.topic,
            broker_name=queue.broker_name,
            broker_address=addresses[queue.broker_name],
            queue_id=queue.queue_id,
            begin=begins[queue],
            end=high,
            message_count=max(0, high - begins[queue]),
            gone_count=max(0, low - begins[queue]),
        )
        for queue, (low, high) in sorted(use.bounds.items())
    ]


def _holders(masters: list[LiveBroker], topic: str) -> list[LiveBroker]:
    holders = [broker for broker in masters if topic in broker.topics]
    if not holders:
        known = {name for broker in masters for name in broker.topics}
        create = command_line("mqctl topic create -t {} --queues N", topic)
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic), remedy=meant(topic, known, create)
        )
    return holders


def _begin(
    use: TopicUse, own: Mapping[MessageQueue, int], from_group: str | None
) -> tuple[dict[MessageQueue, int], str]:
    """Returns the first offset of each queue, and where that is in words."""
    firsts = {queue: low for queue, (low, _) in use.bounds.items()}
    if own:
        return {queue: max(low, own.get(queue, low)) for queue, low in firsts.items()}, sentence(
            "replay-going-where-stopped", "continuing where it stopped"
        )
    if from_group is None:
        return firsts, sentence("replay-first-messages", "from the first messages")
    reader = next((reader for reader in use.readers if reader.group == from_group and reader.offsets), None)
    if reader is None:
        raise UsageError(
            sentence(
                "replay-group-no-offsets",
                "group {from_group} has no offsets on {topic}",
                from_group=from_group,
                topic=use.topic,
            ),
            remedy=sentence(
                "replay-groups-read",
                "groups that read it: {readers}",
                readers=[reader.group for reader in use.readers],
            ),
        )
    if reader.member_count:
        raise UsageError(
            sentence(
                "replay-group-online-keeps-consuming",
                "group {from_group} is online and keeps consuming",
                from_group=from_group,
            ),
            reason=sentence(
                "replay-receive-twice-consumes-after",
                "it would receive twice what it consumes after the follower read its offsets",
            ),
            remedy=sentence("replay-stop-consumers-first-run", "stop its consumers first, then run this again"),
        )
    begins = {queue: max(low, reader.offsets.get(queue, low)) for queue, low in firsts.items()}
    return begins, sentence("replay-where-got", "from where {from_group} has got to", from_group=from_group)


def _warnings(
    request: FollowRequest, keys: FollowedKeys, left: Mapping[str, int], old_count: int, new: list[MessageQueue]
) -> list[str]:
    lines = []
    if not new:
        lines.append(
            sentence(
                "replay-cannot-written-now",
                "{new} cannot be written now: {value}",
                new=request.new,
                value=command_line("mqctl topic describe -t {}", request.new),
            )
        )
    if len(new) <= old_count:
        lines.append(
            sentence(
                "replay-no-more-queues-nothing",
                "{new} has no more queues than {old}: there is nothing to gain",
                new=request.new,
                old=request.old,
            )
        )
    if keys.scattered_count:
        lines.append(
            sentence(
                "replay-keys-several-queues-order",
                "keys in several queues of {old}: {scattered_count:,}; their order is lost already",
                old=request.old,
                scattered_count=keys.scattered_count,
            )
        )
    if keys.placed_count < keys.message_count:
        lines.append(
            sentence(
                "replay-producers-not-place-all",
                "producers of {old} do not place all keys by the hash of their text: those of {new} "
                "must, as --key-selector {selector} says, or a key ends up in two queues there",
                old=request.old,
                new=request.new,
                selector=request.selector,
            )
        )
    if len(left) > 1 and request.from_group is not None:
        others = ", ".join(sorted(set(left) - {request.from_group}))
        lines.append(
            sentence(
                "replay-read-too-own-offsets",
                "{others} read {old} too, at their own offsets: let them drain it before they switch",
                others=others,
                old=request.old,
            )
        )
    return lines


def _cut_over(request: FollowRequest, group: str, readers: list[str]) -> list[str]:
    """Returns what to do, in order, so that each key stays in order and nothing is lost."""
    reader = request.from_group or (readers[0] if readers else "GROUP")
    follow = follow_command(request.old, request.new, request.selector, reader)
    members = command_line("mqctl group members -g {}", reader)
    read_only = command_line("mqctl topic update -t {} --perm R-- --execute", request.old)
    drained = command_line("mqctl group lag -g {} -t {} --until 'lag<1'", group, request.old)
    return [
        sentence(
            "replay-stop-consumers-shows-when",
            "stop the consumers of {reader} on {old}: {members} shows when all are gone",
            reader=reader,
            old=request.old,
            members=members,
        ),
        sentence(
            "replay-copies-not-consumed-producers",
            "{follow}: it copies what they have not consumed, and what producers keep writing",
            follow=follow,
        ),
        sentence(
            "replay-start-first-message",
            "start {reader} on {new}, from its first message (FIRST_OFFSET); watch it with {value}",
            reader=reader,
            new=request.new,
            value=command_line("mqctl group lag -g {} -t {}", reader, request.new),
        ),
        sentence(
            "replay-producers-stop-sending-buffer",
            "producers stop sending to {old}, or buffer; {read_only} rejects the rest (undo restores it)",
            old=request.old,
            read_only=read_only,
        ),
        sentence(
            "replay-wait-until-old-topic",
            "wait until the old topic is drained: {drained}; stop the follower (SIGTERM), which reports duplicates",
            drained=drained,
        ),
        sentence(
            "replay-producers-start-choosing-queues",
            "producers start on {new}, choosing queues by {selector} of the same key; before "
            "step 5 a key could overtake its own older messages",
            new=request.new,
            selector=request.selector,
        ),
        sentence(
            "replay-go-back-before-step",
            "to go back before step 6: give {old} its permission back and start {reader} there; "
            "messages that it consumed from {new} are redelivered",
            old=request.old,
            reader=reader,
            new=request.new,
        ),
    ]


def _place_group(asking: Asking, planned: _Planned) -> None:
    """Makes the follower's group where it is missing and gives it its first offsets."""
    cluster = asking.cluster
    for address in planned.addresses.values():
        cluster.ask(address, put_group(SubscriptionGroupConfig(name=planned.plan.group)), asking.deadline)
    for queue, offset in planned.begins.items():
        change = commit_offset(planned.plan.group, queue.topic, queue.queue_id, offset)
        cluster.ask(planned.addresses[queue.broker_name], change, asking.deadline)


def _follow(
    target: ClusterTarget, asking: Asking, request: FollowRequest, planned: _Planned, notes: FollowNotes
) -> FollowReport:
    group = planned.plan.group
    # The instance name stays the same after a kill: brokers keep the locks of the old process for a minute.
    client = ClientSettings(
        name_servers=target.namesrv, links=target.links(), instance_name=group, persist_period_ms=_PERSIST_MS
    )
    order = FollowOrder(
        old=request.old,
        new=request.new,
        selector=request.selector,
        wait=_Pacing(request.rate_per_s),
        noted=notes.noted,
        watched=notes.watched,
        watch=notes.watch,
    )
    settings = ConsumerSettings(batch_size=32, threads=max(1, min(64, planned.plan.old_queue_count)))
    follower = TopicFollower(order, client, settings)
    watch = _Watch(target, asking, request, follower)

    def looked() -> bool:
        notes.write(follower.reached())
        return watch.is_done()

    with follower:
        tell(
            sentence(
                "replay-following-interrupt-end",
                "mqctl: following {old} into {new}; interrupt it to end",
                old=request.old,
                new=request.new,
            )
        )
        wait_for_interrupt(every_s=_LOOK_S, done=looked)
        repeats = follower.repeats()
    left = watch.left(group, request.old)
    counts = follower.counts
    notes.end(follower.reached(), repeats, counts.already_there, drained=left == 0)
    return FollowReport(
        id=notes.record.id,
        old=request.old,
        new=request.new,
        group=group,
        state="drained" if left == 0 else "stopped",
        sent_count=counts.sent,
        found_count=counts.already_there,
        failed_count=counts.failed,
        repeated=repeats.keys,
        unknown_count=len(repeats.unknown),
        left_count=left,
    )


class _Pacing:
    """One pace for all queues."""

    def __init__(self, rate_per_s: float | None) -> None:
        self._pace = Pace(rate_per_s, monotonic, lambda ms: sleep(ms / 1000)) if rate_per_s else None
        self._turn = Lock()

    def __call__(self) -> None:
        """Returns when the next message may go."""
        if self._pace is not None:
            with self._turn:
                self._pace.wait()


class _Watch:
    """Looks after a follower from outside: whether it is done, and whether the new topic's consumers keep up."""

    def __init__(self, target: ClusterTarget, asking: Asking, request: FollowRequest, follower: TopicFollower) -> None:
        self._target, self._asking, self._request, self._follower = target, asking, request, follower
        self._held = False

    def is_done(self) -> bool:
        """Holds and lets go; tells whether everything is copied and that was asked for."""
        request = self._request
        if request.hold_group is not None:
            self._hold(self.left(request.hold_group, request.new))
        return request.drain and self.left(self._follower.consumer.group, request.old) == 0

    def _hold(self, left: int | None) -> None:
        most = self._request.hold_above
        if left is None or self._held == (left > (most // 2 if self._held else most)):
            return
        self._held = not self._held
        consumer = self._follower.consumer
        (consumer.suspend if self._held else consumer.resume)()
        what = "holding" if self._held else sentence("replay-going", "going on")
        tell(
            sentence(
                "replay-left",
                "mqctl: {what}: {hold_group} has {left} of {new} left",
                what=Word(what),
                hold_group=self._request.hold_group,
                left=counted(left, "message"),
                new=self._request.new,
            )
        )

    def left(self, group: str, topic: str) -> int | None:
        """Returns how many messages a group has left; None when brokers did not tell."""
        from mqctl.lag.current import LagRequest
        from mqctl.snapshot.live.lag import live_lag

        request = LagRequest((group,), (topic,))
        try:
            lag = live_lag(self._asking.cluster, self._target.deadline(), request, now_ms=round(time() * 1000))
        except MqctlError:
            return None
        counts = [row.lag_count for row in lag.report.queues if row.topic == topic]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) and not lag.gaps else None
