"""Plans that create, change and delete consumer groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl.changes.engine.run import now_ms
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.changes.settings.groups import refuse_with_members
from mqctl.changes.settings.topics import refuse_while_used, route_steps
from mqctl.client.admin import broker_queries as ask
from mqctl.client.message.outgoing import check_group
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.counts import counted
from mqctl.model.names import dlq_topic, is_system_group, retry_topic
from mqctl.model.names_alike import meant
from mqctl.model.setting_plan import Fields, SettingKind, SettingPlan, SettingStep, config_of, fields_of
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_runtime, ask_topics
from mqctl.snapshot.live.topic_use import all_told, topic_use
from mqctl.text import sentence

_FIVE_ONLY = frozenset({"consume_message_orderly", "consume_timeout_minute"})


def plan_creation(asking: Asking, group: str, requested: Fields, brokers: Sequence[str]) -> SettingPlan:
    """Plans a new group.

    Args:
        requested: settings as text by their name in `SubscriptionGroupConfig`, those that are given.

    Raises:
        UsageError: its name cannot be.
        RefusedError: a broker has it with other settings, or does not know a setting.
    """
    check_group(group)
    masters = _masters(asking, group, requested, brokers)
    new = _with(SubscriptionGroupConfig(name=group), requested)
    steps = []
    for broker in masters:
        old = broker.groups.get(group)
        if old is not None and old != new:
            update = command_line("mqctl group update -g {}", group)
            raise RefusedError(
                sentence(
                    "settings-group-already-exists",
                    "group {group} already exists on {broker}",
                    group=group,
                    broker=broker.name,
                ),
                reason=sentence("other-settings", "with other settings"),
                remedy=sentence(
                    "settings-name-brokers-lack-broker",
                    "{update}; or name the brokers that lack it with --broker",
                    update=update,
                ),
            )
        steps.append(_step(broker, group, old, new))
    return _plan("group-create", group, masters, steps, _meanings(requested), severe=False)


def plan_update(asking: Asking, group: str, requested: Fields, brokers: Sequence[str]) -> SettingPlan:
    """Plans other settings of a group; what is not given stays as it is.

    Raises:
        NotFoundError: no broker has it.
        RefusedError: a broker does not know a setting.
    """
    if not requested:
        raise UsageError(
            sentence("no-change-given", "no change given"),
            remedy=sentence(
                "settings-give-least-setting-see", "give at least one setting; see mqctl group update --help"
            ),
        )
    holders = _holders(_masters(asking, group, requested, brokers), group)
    _policy_known(holders, group)
    steps = [_step(item, group, item.groups[group], _with(item.groups[group], requested)) for item in holders]
    return _plan("group-update", group, holders, steps, _meanings(requested), severe=True)


def plan_deletion(asking: Asking, group: str, brokers: Sequence[str], *, with_topics: bool) -> SettingPlan:
    """Plans to delete a group.

    Args:
        with_topics: its retry and dead-letter topics too.

    Raises:
        NotFoundError: no broker has it.
        RefusedError: it has members; or a topic of it that is to go holds messages that nobody has read.
    """
    holders = _holders(_masters(asking, group, {}, brokers), group)
    _policy_known(holders, group)
    refuse_with_members(asking, holders, group)
    answers = asking.put(
        (number, item.address.address, ask.consume_stats(group)) for number, item in enumerate(holders)
    )
    unread = sum(
        max(0, item.broker_offset - item.consumer_offset)
        for stats in answers.values.values()
        for item in stats.offset_table.values()
    )
    lag = (
        counted(unread, "message")
        if not answers.errors
        else sentence("unknown-number-messages", "an unknown number of messages")
    )
    stays = sentence(
        "settings-offsets-stay-broker-group",
        "its offsets stay on the broker, and a group of the same name resumes from them",
    )
    warnings = [sentence("settings-unread", "unread by it: {lag}; {stays}", lag=lag, stays=stays)]
    steps = [_step(item, group, item.groups[group], None) for item in holders]
    if with_topics:
        steps += _topic_steps(asking, group, holders, everywhere=not brokers)
    else:
        warnings.append(
            sentence(
                "settings-retry-dead-letter-topics",
                "its retry and dead-letter topics stay; --with-topics deletes them too",
            )
        )
    return _plan("group-delete", group, holders, steps, warnings, severe=True)


def _topic_steps(asking: Asking, group: str, holders: list[LiveBroker], *, everywhere: bool) -> list[SettingStep]:
    """Returns the steps that delete the topics of a group after the group itself. Raises RefusedError."""
    ask_topics(asking, holders)
    all_told(holders)
    steps = []
    for topic in (retry_topic(group), dlq_topic(group)):
        having = [broker for broker in holders if topic in broker.topics]
        refuse_while_used(topic_use(asking, having, topic), drop_unread=False)
        steps += [
            SettingStep(
                kind=SettingKind.TOPIC,
                place=broker.name,
                address=broker.address.address,
                subject=topic,
                old=fields_of(broker.topics[topic]),
                new=None,
                stage=1,
            )
            for broker in having
        ]
        if having and everywhere:
            steps += [replace(step, stage=2) for step in route_steps(asking, topic)]
    return steps


def _masters(asking: Asking, group: str, requested: Fields, brokers: Sequence[str]) -> list[LiveBroker]:
    if is_system_group(group):
        raise UsageError(
            sentence("settings-group-belongs-brokers", "group {group} belongs to the brokers", group=group),
            reason=sentence("settings-brokers-mqadmin-rely", "brokers and mqadmin rely on it"),
        )
    masters = touched_masters(asking, brokers)
    ask_groups(asking, masters, Scope(groups=frozenset({group})))
    if _FIVE_ONLY & set(requested):
        ask_runtime(asking, masters)
    all_told(masters)
    for broker in masters if _FIVE_ONLY & set(requested) else ():
        version = broker.runtime.get("brokerVersionDesc", "?")
        if not version.startswith("V5"):
            name = min(_FIVE_ONLY & set(requested))
            problem = sentence(
                "settings-broker-not-know-setting",
                "broker {broker} does not know the setting {name}",
                broker=broker.name,
                name=name,
            )
            raise RefusedError(
                problem,
                reason=sentence("settings-version", "it is {version}", version=version),
                remedy=sentence("settings-leave-out-name-others", "leave it out, or name others with --broker"),
            )
    return masters


def _holders(masters: list[LiveBroker], group: str) -> list[LiveBroker]:
    holders = [broker for broker in masters if group in broker.groups]
    if not holders:
        known = {name for broker in masters for name in broker.told_groups}
        raise NotFoundError(
            sentence("no-consumer-group", "there is no consumer group {group}", group=group),
            remedy=meant(group, known, "mqctl group list --all"),
        )
    return holders


def _policy_known(holders: list[LiveBroker], group: str) -> None:
    """Refuses to write back, now or for an undo, what cannot be read whole."""
    for broker in holders:
        policy = broker.groups[group].retry_policy_type
        if policy != "CUSTOMIZED":
            raise RefusedError(
                sentence(
                    "settings-group-cannot-changed-here",
                    "group {group} on {broker} cannot be changed from here",
                    group=group,
                    broker=broker.name,
                ),
                reason=sentence(
                    "settings-retry-policy-whose-numbers",
                    "its retry policy is {policy}, whose numbers would be lost",
                    policy=policy,
                ),
                remedy=sentence(
                    "settings-change-mqadmin-updatesubgroup-takes",
                    "change it with mqadmin updateSubGroup, which takes the policy too",
                ),
            )


def _plan(
    kind: str, group: str, brokers: list[LiveBroker], steps: list[SettingStep], warnings: list[str], *, severe: bool
) -> SettingPlan:
    return SettingPlan(
        kind=kind,
        noun="group",
        subject=group,
        identity=identity_of(brokers),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=tuple(warnings),
        severe=severe,
    )


def _with(config: SubscriptionGroupConfig, requested: Fields) -> SubscriptionGroupConfig:
    return config_of(SubscriptionGroupConfig, config.name, {**(fields_of(config) or {}), **requested})


def _step(
    broker: LiveBroker, group: str, old: SubscriptionGroupConfig | None, new: SubscriptionGroupConfig | None
) -> SettingStep:
    return SettingStep(
        kind=SettingKind.GROUP,
        place=broker.name,
        address=broker.address.address,
        subject=group,
        old=fields_of(old),
        new=fields_of(new),
    )


def _meanings(requested: Fields) -> list[str]:
    """Returns what settings mean that are easily misread."""
    meanings = []
    if requested.get("consume_enable") == "false":
        meanings.append(
            sentence(
                "settings-consumers-receive-nothing-brokers",
                "its consumers receive nothing: brokers refuse their pulls with NO_PERMISSION (16)",
            )
        )
    if requested.get("retry_queue_count") == "0":
        meanings.append(
            sentence(
                "settings-without-retry-queues-message",
                "without retry queues a message that fails is lost: no retry, no dead letter",
            )
        )
    if requested.get("retry_max_times") == "0":
        meanings.append(
            sentence(
                "settings-without-retries-message-fails",
                "without retries a message that fails once becomes a dead letter",
            )
        )
    return meanings
