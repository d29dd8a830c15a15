"""Plans that create, change and delete topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl.changes.engine.run import now_ms
from mqctl.changes.plan.reshard import key_moves, publish_queues
from mqctl.changes.plan.topic_changes import TopicRequest, first_config, next_config
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.changes.settings.places import Place, read_setting
from mqctl.cli.sources.brokers import open_brokers
from mqctl.client.admin.nameserver import ORDER_NAMESPACE
from mqctl.client.message.outgoing import check_topic
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.config import PERM_READ, PERM_WRITE, TopicConfig
from mqctl.model.counts import counted
from mqctl.model.names import is_system_topic
from mqctl.model.names_alike import meant
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.queue import MessageQueue
from mqctl.model.setting_plan import Fields, SettingKind, SettingPlan, SettingStep, fields_of
from mqctl.model.topic_use import KeyMoves, TopicUse
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker, ask_runtime, ask_topics, masters_of
from mqctl.snapshot.live.messages import bounds
from mqctl.snapshot.live.topic_use import all_told, sampled_keys, topic_use
from mqctl.text import Word, joined, sentence

_READ_QUEUES = "read_queue_count"


def plan_creation(asking: Asking, topic: str, request: TopicRequest, brokers: Sequence[str]) -> SettingPlan:
    """Plans a new topic.

    Raises:
        UsageError: its name or its settings cannot be.
        RefusedError: a broker has it with other settings.
    """
    check_topic(topic)
    masters = touched_masters(asking, brokers)
    _not_reserved(masters, topic)
    ask_topics(asking, masters)
    all_told(masters)
    _attributes_known(asking, masters, request)
    new = fields_of(first_config(topic, request))
    steps = []
    for broker in masters:
        old = fields_of(broker.topics.get(topic))
        if old is not None and old != new:
            update = command_line("mqctl topic update -t {}", topic)
            raise RefusedError(
                sentence(
                    "settings-topic-already-exists",
                    "topic {topic} already exists on {broker}",
                    topic=topic,
                    broker=broker.name,
                ),
                reason=sentence("other-settings", "with other settings"),
                remedy=sentence(
                    "settings-name-brokers-lack-broker",
                    "{update}; or name the brokers that lack it with --broker",
                    update=update,
                ),
            )
        steps.append(_step(broker, topic, old, new))
    return SettingPlan(
        kind="topic-create",
        noun="topic",
        subject=topic,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        severe=False,
    )


def plan_update(asking: Asking, topic: str, request: TopicRequest, brokers: Sequence[str]) -> SettingPlan:
    """Plans other settings of a topic.

    Raises:
        NotFoundError: no broker has it.
        RefusedError: queues that are to go hold unread messages.
    """
    holders = _holders(asking, topic, brokers)
    _attributes_known(asking, holders, request)
    use = topic_use(asking, holders, topic)
    old = {broker.name: broker.topics[topic] for broker in holders}
    new: dict[str, TopicConfig] = {}
    steps = []
    for broker in holders:
        new[broker.name], note = next_config(old[broker.name], request, broker.name, use)
        step = _step(broker, topic, fields_of(old[broker.name]), fields_of(new[broker.name]))
        steps.append(replace(step, note=note))
    moves = _key_moves(asking, use, old, new)
    return SettingPlan(
        kind="topic-update",
        noun="topic",
        subject=topic,
        identity=identity_of(holders),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=(
            *_order_warnings(asking, topic, moves),
            *_perm_warnings(use, old, new),
            *_held_warnings(use, old, new),
        ),
        key_moves=moves,
    )


def late_messages(asking: Asking, topic: str, plans: Sequence[SettingPlan]) -> list[str]:
    """Tells of messages that came to queues between the plan that takes them away and its execution.

    Brokers take none afterwards: they refuse queue ids beyond both numbers.

    Args:
        plans: the last one is the one that was carried out.
    """
    going = {queue: step.address for step in plans[-1].moving for queue in _queues_going(step)}
    if not going:
        return []
    holders = _everywhere(asking, topic)
    readers = topic_use(asking, holders, topic).readers
    use = TopicUse(topic=topic, bounds=bounds(asking, going), readers=readers)
    return [
        sentence(
            "settings-messages-arrived-removed-queues", "messages arrived in the removed queues: {line}", line=line
        )
        for line in use.unread()
    ]


def still_readable(asking: Asking, steps: list[SettingStep], brokers: list[LiveBroker]) -> list[SettingStep]:
    """Keeps queues readable that would go with unread messages in them: only producers leave them at once."""
    fewer = {step.subject for step in steps if _queues_going(step)}
    if not fewer:
        return steps
    ask_topics(asking, brokers)
    all_told(brokers)
    uses = {topic: topic_use(asking, [held for held in brokers if topic in held.topics], topic) for topic in fewer}
    return [_kept(step, uses[step.subject]) if _queues_going(step) else step for step in steps]


def _queues_going(step: SettingStep) -> list[MessageQueue]:
    """Returns the queues that consumers do not read any more after a step."""
    if step.kind is not SettingKind.TOPIC or step.old is None or step.new is None:
        return []
    left, there = _read_queues(step.subject, step.new), _read_queues(step.subject, step.old)
    return [MessageQueue(step.subject, step.place, number) for number in range(left, there)]


def _read_queues(topic: str, settings: Fields) -> int:
    """Reads how many queues are read. Raises BadInputError: a record of the journal may have been edited."""
    count = decimal(settings.get(_READ_QUEUES), high=MOST_INT32)
    if count is None:
        raise BadInputError(
            sentence("cannot-read-item", "{item} of {name} cannot be read", item=_READ_QUEUES, name=topic),
            reason=sentence("must-whole-number", "it must be a whole number"),
        )
    return count


def _kept(step: SettingStep, use: TopicUse) -> SettingStep:
    left = use.unread(_queues_going(step))
    if not left or step.old is None or step.new is None:
        return step
    go_on = command_line("mqctl topic update -t {} --queues {}", step.subject, _read_queues(step.subject, step.new))
    note = sentence(
        "settings-queues-stay-readable-drain",
        "{left}: the queues stay readable; drain them, then {go_on}",
        left=joined("; ", left),
        go_on=go_on,
    )
    return replace(step, new={**step.new, _READ_QUEUES: step.old[_READ_QUEUES]}, note=note)


def plan_deletion(asking: Asking, topic: str, brokers: Sequence[str], *, drop_unread: bool) -> SettingPlan:
    """Plans to delete a topic: on its brokers, then in every name server.

    Raises:
        NotFoundError: no broker has it.
        RefusedError: a group subscribes to it, or messages are unread.
    """
    holders = _holders(asking, topic, brokers)
    use = topic_use(asking, holders, topic)
    refuse_while_used(use, drop_unread=drop_unread)
    steps = [_step(broker, topic, fields_of(broker.topics[topic]), None) for broker in holders]
    count = use.message_count()
    warnings = [
        sentence(
            "undo-restores-settings-not",
            "{count:message goes/go} with it; mqctl undo restores its settings, not its messages",
            count=count,
        )
    ]
    if {broker.name for broker in holders} == {broker.name for broker in _everywhere(asking, topic)}:
        steps += route_steps(asking, topic)
        # Its order configuration, where a name server has one, would rule a new topic of the name.
        steps += [replace(step, stage=1) for step in order_steps(asking, topic, None) if step.moves]
    else:
        warnings.append(
            sentence(
                "settings-other-brokers-still-route",
                "other brokers still have it: the route stays, and clients that use these brokers are refused",
            )
        )
    if keeping := [reader.group for reader in use.readers if reader.offsets]:
        groups = ", ".join(keeping)
        warnings.append(
            sentence(
                "settings-brokers-keep-offsets-new",
                "brokers of 4.9 keep the offsets of {groups}: a new topic of this name would start from them",
                groups=groups,
            )
        )
    return SettingPlan(
        kind="topic-delete",
        noun="topic",
        subject=topic,
        identity=identity_of(holders),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=tuple(warnings),
    )


def refuse_while_used(use: TopicUse, *, drop_unread: bool) -> None:
    """Raises RefusedError when a topic is still subscribed to or unread, naming all that stands in the way."""
    subscribed, unread = use.subscribed(), [] if drop_unread else use.unread()
    if not subscribed and not unread:
        return
    remedies = [sentence("settings-stop-those-consumers", "stop those consumers")] if subscribed else []
    if unread:
        delete = command_line("mqctl topic delete -t {} --drop-unread", use.topic)
        remedies.append(
            sentence(
                "settings-let-groups-drain-deletes",
                "let the groups drain it; or {delete} deletes it unread",
                delete=delete,
            )
        )
    raise RefusedError(
        sentence("settings-topic-cannot-deleted", "topic {topic} cannot be deleted", topic=use.topic),
        reason=joined("; ", [*subscribed, *unread]),
        remedy=joined("; ", remedies),
    )


def order_steps(asking: Asking, topic: str, value: str | None) -> list[SettingStep]:
    """Returns a step for each name server that sets, or with None deletes, the order configuration of a topic."""
    subject = f"{ORDER_NAMESPACE}/{topic}"
    return [
        SettingStep(
            kind=SettingKind.KV,
            place=address,
            address=address,
            subject=subject,
            old=read_setting(asking.cluster, Place(SettingKind.KV, address, subject), asking.deadline),
            new=None if value is None else {topic: value},
        )
        for address in asking.cluster.name_servers.addresses(asking.deadline)
    ]


def plan_order(asking: Asking, topic: str, value: str | None) -> SettingPlan:
    """Plans the order configuration of a topic in every name server; None deletes it, also where the topic is gone.

    Raises:
        UsageError: it is not written as `broker-a:4;broker-b:4`, or names queues that the topic does not have.
        NotFoundError: no broker has the topic.
    """
    check_topic(topic)
    holders = masters_of(open_brokers(asking)) if value is None else _everywhere(asking, topic)
    if not holders:
        masters = masters_of(open_brokers(asking))
        ask_topics(asking, masters)
        known = {name for broker in masters for name in broker.topics}
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic),
            remedy=meant(topic, known, "mqctl topic list --all"),
        )
    writable = {broker.name: broker.topics[topic].write_queue_count for broker in holders if topic in broker.topics}
    for item in value.split(";") if value else ():
        name, _, count = item.partition(":")
        if decimal(count, 1, writable.get(name, 0)) is None:
            had = ";".join(f"{name}:{count}" for name, count in sorted(writable.items()))
            raise UsageError(
                sentence(
                    "settings-not-part-order-configuration",
                    "{item!r} is not part of an order configuration of {topic}",
                    item=item,
                    topic=topic,
                ),
                reason=sentence("settings-had", "it has {had}", had=had),
            )
    return SettingPlan(
        kind="topic-order",
        noun="topic",
        subject=topic,
        identity=identity_of(holders),
        made_at_ms=now_ms(),
        steps=tuple(order_steps(asking, topic, value)),
        warnings=(
            sentence(
                "settings-producers-send-queues-lists",
                "producers send only to the queues it lists, once they refresh the route (within 30 "
                "s); name servers return it only when they run with orderMessageEnable",
            ),
        ),
    )


def route_steps(asking: Asking, topic: str) -> list[SettingStep]:
    """Returns a step for each name server that deletes what it knows of a topic, after the brokers have."""
    return [
        SettingStep(
            kind=SettingKind.ROUTE,
            place=address,
            address=address,
            subject=topic,
            old=current,
            new=None,
            stage=1,
        )
        for address in asking.cluster.name_servers.addresses(asking.deadline)
        for current in [read_setting(asking.cluster, Place(SettingKind.ROUTE, address, topic), asking.deadline)]
    ]


def _holders(asking: Asking, topic: str, brokers: Sequence[str]) -> list[LiveBroker]:
    masters = touched_masters(asking, brokers)
    _not_reserved(masters, topic)
    ask_topics(asking, masters)
    all_told(masters)
    holders = [broker for broker in masters if topic in broker.topics]
    if not holders:
        known = {name for broker in masters for name in broker.topics}
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic),
            remedy=meant(topic, known, "mqctl topic list --all"),
        )
    return holders


def _everywhere(asking: Asking, topic: str) -> list[LiveBroker]:
    """Returns the masters of every cluster that have a topic: routes and order configurations know no clusters.

    Raises:
        UnreachableError: one of them does not tell whether it has.
    """
    masters = masters_of(open_brokers(asking))
    ask_topics(asking, masters)
    all_told(masters)
    return [broker for broker in masters if topic in broker.topics]


def _not_reserved(brokers: Sequence[LiveBroker], topic: str) -> None:
    if is_system_topic(topic) or any(topic in broker.reserved for broker in brokers):
        raise UsageError(
            sentence("topic-belongs-brokers", "topic {topic} belongs to the brokers", topic=topic),
            reason=sentence("settings-brokers-refuse-change", "brokers refuse to change it"),
        )


def _attributes_known(asking: Asking, brokers: list[LiveBroker], request: TopicRequest) -> None:
    if not request.attributes:
        return
    ask_runtime(asking, brokers)
    for broker in brokers:
        version = broker.runtime.get("brokerVersionDesc", "?")
        if not version.startswith("V5"):
            raise RefusedError(
                sentence(
                    "settings-broker-not-support-topic",
                    "broker {broker} does not support topic attributes",
                    broker=broker.name,
                ),
                reason=sentence("settings-version", "it is {version}", version=version),
                remedy=sentence("leave-out", "leave them out"),
            )


def _step(broker: LiveBroker, topic: str, old: dict[str, str] | None, new: dict[str, str] | None) -> SettingStep:
    return SettingStep(
        kind=SettingKind.TOPIC,
        place=broker.name,
        address=broker.address.address,
        subject=topic,
        old=old,
        new=new,
    )


def _key_moves(
    asking: Asking, use: TopicUse, old: dict[str, TopicConfig], new: dict[str, TopicConfig]
) -> KeyMoves | None:
    """Returns which keys of stored messages would go to another queue; None when producers keep their queues."""
    if publish_queues(use.topic, old) == publish_queues(use.topic, new):
        return None
    holders = _everywhere(asking, use.topic)
    whole = {broker.name: broker.topics[use.topic] for broker in holders}
    before, after = publish_queues(use.topic, whole), publish_queues(use.topic, {**whole, **new})
    sample, kind = sampled_keys(asking, use, holders)
    return key_moves(sample, before, after, kind)


def _order_warnings(asking: Asking, topic: str, moves: KeyMoves | None) -> list[str]:
    """Tells what another number of queues does where order matters."""
    if moves is None:
        return []
    warnings = []
    if moves.key_count:
        warnings.append(
            sentence(
                "settings-go-another-queue-sample",
                "{kind} that would go to another queue: {moved_count} of {key_count} "
                "({moved_share}) in a sample of {message_count}. If order by key matters, stop "
                "the producers and drain the topic first",
                kind=Word(moves.kind),
                moved_count=moves.moved_count,
                key_count=moves.key_count,
                moved_share=moves.moved_share,
                message_count=counted(moves.message_count, "message"),
            )
        )
    if moves.placed_count:
        warnings.append(
            sentence(
                "settings-messages-lie-where-hash",
                "messages that are where a hash of their key puts them: {placed_count} of {message_count}; "
                "where producers choose queues by key, nearly all are",
                placed_count=moves.placed_count,
                message_count=moves.message_count,
            )
        )
    for step in order_steps(asking, topic, None):
        if step.old is not None:
            value = step.old[topic]
            warnings.append(
                sentence(
                    "settings-name-server-keeps-order",
                    "name server {place} keeps the order configuration {value}, which producers follow",
                    place=step.place,
                    value=value,
                )
            )
    return warnings


def _held_warnings(use: TopicUse, old: dict[str, TopicConfig], new: dict[str, TopicConfig]) -> list[str]:
    going = [
        MessageQueue(use.topic, name, number)
        for name in sorted(new)
        for number in range(new[name].read_queue_count, old[name].read_queue_count)
    ]
    held = use.message_count(going)
    consumed = sentence(
        "settings-consumed-all-groups-removed",
        "consumed by all groups, in the removed queues: {held}",
        held=counted(held, "message"),
    )
    return (
        [
            sentence(
                "settings-cannot-replayed-afterwards",
                "{consumed}; they cannot be replayed afterwards",
                consumed=consumed,
            )
        ]
        if held
        else []
    )


def _perm_warnings(use: TopicUse, old: dict[str, TopicConfig], new: dict[str, TopicConfig]) -> list[str]:
    warnings = []
    for name in sorted(new):
        lost = old[name].perm & ~new[name].perm
        if lost & PERM_WRITE:
            warnings.append(
                sentence(
                    "settings-producers-no-longer-send",
                    "producers can no longer send to {topic} on {name}; they notice within 30 s",
                    topic=use.topic,
                    name=name,
                )
            )
        if lost & PERM_READ:
            warnings.append(
                sentence(
                    "settings-no-longer-read",
                    "{readers} can no longer read {topic} on {name}",
                    readers=counted(len(use.readers), "group"),
                    topic=use.topic,
                    name=name,
                )
            )
    return warnings
