"""Topics and groups of a cluster as a file, and the plan that makes a cluster have those of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

from mqctl.changes.engine.run import now_ms
from mqctl.changes.plan.settings_file import FileSettings, SettingsFile, check_settings, file_settings, unusual
from mqctl.changes.plan.settings_file import group_of as group_in
from mqctl.changes.plan.settings_file import topic_of as topic_in
from mqctl.changes.plan.topic_changes import TopicRequest, next_config
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.client.message.outgoing import check_group, check_topic
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UsageError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep, fields_of
from mqctl.model.topic_use import TopicUse
from mqctl.protocol.yaml_text import decode_yaml
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_runtime, ask_topics
from mqctl.snapshot.live.topic_use import all_told, topic_use
from mqctl.store.plain_files import read_named, refused
from mqctl.text import Word, joined, sentence

_Config = TopicConfig | SubscriptionGroupConfig
_NAMED = 3
_FIVE_ONLY = {"consume_message_orderly", "consume_timeout_minute", "attributes", "subscriptions", "forbidden"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """How a file is applied.

    Attributes:
        brokers: where to, whatever brokers the file names; none for those of the file.
        updates: whether topics and groups that are there get the settings of the file.
    """

    brokers: Sequence[str] = ()
    updates: bool = False


def exported(brokers: Iterable[LiveBroker], scope: Scope, cluster: str, modes: Mapping[str, Set[str]]) -> SettingsFile:
    """Returns the topics and groups of applications; retry and dead-letter topics come by themselves, and stay out.

    Args:
        modes: how brokers have groups consume, where that is set.
    """
    topics: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for broker in sorted(brokers, key=lambda item: item.name):
        for name in broker.user_topics(scope):
            if group_of(name) is None:
                topics.setdefault((name, _told(broker.topics[name])), []).append(broker.name)
        for name, config in broker.groups.items():
            if not is_system_group(name):
                groups.setdefault((name, _told(config)), []).append(broker.name)
    return SettingsFile(
        cluster=cluster,
        topics=_items(topics),
        groups=_items(groups),
        consume_modes={
            name: ", ".join(sorted(modes[name])) for name in sorted({name for name, _ in groups} & set(modes))
        },
    )


def _told(config: TopicConfig | SubscriptionGroupConfig) -> tuple[tuple[str, str], ...]:
    return tuple((fields_of(config) or {}).items())


def _items(places: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]]) -> list[FileSettings]:
    return [file_settings(name, brokers, settings) for (name, settings), brokers in sorted(places.items())]


def load_settings(file: Path) -> SettingsFile:
    """Reads a file of settings.

    Raises:
        NotFoundError: there is none.
        PermissionDeniedError, StorageError: it cannot be read.
        BadInputError: it is no such file.
    """
    try:
        wanted = decode_yaml(read_named(file), SettingsFile)
        check_settings(wanted)
    except FileNotFoundError as error:
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=file),
            remedy=sentence("settings-cluster-export-yaml-writes", "mqctl cluster export -o yaml writes one"),
        ) from error
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=file), error) from error
    except (ValueError, BadInputError) as error:
        raise BadInputError(
            sentence("could-not-read", "could not read {file}", file=file),
            reason=str(error),
            remedy=sentence("settings-cluster-export-yaml-shows", "mqctl cluster export -o yaml shows an example"),
        ) from error
    return wanted


def plan_application(asking: Asking, file: Path, applied: Applied) -> SettingPlan:
    """Plans to create the topics and groups of a file that are missing; with `updates`, to change those that differ.

    Nothing is deleted: what is on the cluster and not in the file stays.

    Raises:
        MqctlError: as `load_settings`.
        NotFoundError: the file names a broker that is not there.
        UsageError: other brokers are given, and the file has several settings of one name.
        RefusedError: a broker of 4.9 is to keep what only 5.x knows; queues that are to go hold unread messages; a
            retry policy would be lost.
    """
    wanted = load_settings(file)
    if applied.brokers:
        _refuse_two_settings(wanted)
    masters = touched_masters(asking, applied.brokers or sorted(wanted.broker_names()))
    ask_topics(asking, masters)
    ask_groups(asking, masters, Scope())
    ask_runtime(asking, masters)
    all_told(masters)
    left: list[str] = []
    steps = [
        *_topic_steps(asking, masters, wanted.topics, applied, left),
        *_group_steps(masters, wanted.groups, applied, left),
    ]
    cluster = masters[0].address.cluster
    changed = any(step.moves and step.old is not None for step in steps)
    return SettingPlan(
        kind="cluster-apply",
        noun="cluster",
        subject=cluster,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=(*_warnings(left), *_unset_modes(wanted)),
        severe=changed,
    )


def _refuse_two_settings(wanted: SettingsFile) -> None:
    """Refuses to give brokers two settings of one name: the file has one for each of its own brokers."""
    for noun, items in (("topic", wanted.topics), ("group", wanted.groups)):
        names = [item.name for item in items]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(
                sentence(
                    "several-settings-file",
                    "{noun} {name} has several settings in the file",
                    noun=Word(noun),
                    name=name,
                ),
                reason=sentence(
                    "settings-different-brokers-broker-takes",
                    "they are for different brokers, and --broker takes every setting to the same ones",
                ),
                remedy=sentence(
                    "settings-take-out-file-not", "take out of the file what is not meant, or leave --broker out"
                ),
            )


def _topic_steps(
    asking: Asking, masters: list[LiveBroker], items: Sequence[FileSettings], applied: Applied, left: list[str]
) -> list[SettingStep]:
    steps: list[SettingStep] = []
    for item in items:
        check_topic(item.name)
        new = topic_in(item)
        for broker in _where(masters, item, applied):
            if is_system_topic(item.name) or item.name in broker.reserved:
                raise UsageError(
                    sentence("topic-belongs-brokers", "topic {topic} belongs to the brokers", topic=item.name),
                    reason=sentence("settings-brokers-refuse-change", "brokers refuse to change it"),
                )
            _refuse_on_4(
                broker,
                sentence("shared-topic", "topic {topic}", topic=item.name),
                ["attributes"] if new.attributes else [],
            )
            old, note = broker.topics.get(item.name), None
            becomes = new
            if old is not None and fields_of(old) != fields_of(new):
                if not applied.updates:
                    left.append(
                        sentence("settings-topic", "topic {item} on {broker}", item=item.name, broker=broker.name)
                    )
                    becomes = old
                else:
                    becomes, note = _next(asking, broker, old, new)
            steps.append(replace(_step(SettingKind.TOPIC, broker, old, becomes), note=note))
    return steps


def _next(asking: Asking, broker: LiveBroker, old: TopicConfig, new: TopicConfig) -> tuple[TopicConfig, str | None]:
    request = TopicRequest(
        read_queues=None if new.read_queue_count < old.read_queue_count else new.read_queue_count,
        write_queues=new.write_queue_count,
        queues=new.read_queue_count,
        perm=new.perm,
        attributes=new.attributes,
    )
    shrinks = new.read_queue_count < old.read_queue_count
    use = topic_use(asking, [broker], old.name) if shrinks else TopicUse(topic=old.name, bounds={}, readers=())
    becomes, note = next_config(old, request, broker.name, use)
    return replace(becomes, filter_type=new.filter_type, sys_flag=new.sys_flag), note


def _group_steps(
    masters: list[LiveBroker], items: Sequence[FileSettings], applied: Applied, left: list[str]
) -> list[SettingStep]:
    steps = []
    for item in items:
        check_group(item.name)
        new = group_in(item)
        if is_system_group(item.name):
            raise UsageError(
                sentence("settings-group-belongs-brokers", "group {group} belongs to the brokers", group=item.name),
                reason=sentence("settings-brokers-mqadmin-rely", "brokers and mqadmin rely on it"),
            )
        only_five = sorted(_FIVE_ONLY & unusual(new).keys())
        for broker in _where(masters, item, applied):
            _refuse_on_4(broker, sentence("group-name", "group {name}", name=item.name), only_five)
            old = broker.groups.get(item.name)
            becomes = new
            if old is not None and old != new and not applied.updates:
                left.append(sentence("settings-group", "group {item} on {broker}", item=item.name, broker=broker.name))
                becomes = old
            if old != becomes:
                _refuse_policy(becomes)
                _refuse_policy(old)
            steps.append(_step(SettingKind.GROUP, broker, old, becomes))
    return steps


def _refuse_policy(config: SubscriptionGroupConfig | None) -> None:
    """Refuses to write, now or for an undo, a retry policy whose numbers neither files nor brokers give."""
    if config is not None and config.retry_policy_type != "CUSTOMIZED":
        raise RefusedError(
            sentence(
                "settings-group-cannot-written-here", "group {config} cannot be written from here", config=config.name
            ),
            reason=sentence(
                "settings-retry-policy-whose-numbers",
                "its retry policy is {policy}, whose numbers would be lost",
                policy=config.retry_policy_type,
            ),
            remedy=sentence(
                "settings-take-group-out-file",
                "take the group out of the file; mqadmin updateSubGroup takes the policy too",
            ),
        )


def _where(masters: list[LiveBroker], item: FileSettings, applied: Applied) -> list[LiveBroker]:
    return masters if applied.brokers else [broker for broker in masters if broker.name in item.brokers]


def _refuse_on_4(broker: LiveBroker, what: str, only_five: Sequence[str]) -> None:
    version = broker.runtime.get("brokerVersionDesc", "?")
    if only_five and not version.startswith("V5"):
        raise RefusedError(
            sentence(
                "settings-broker-not-know-setting-only-five",
                "broker {broker} does not know the setting {only_five} of {what}",
                broker=broker.name,
                only_five=only_five[0],
                what=what,
            ),
            reason=sentence("settings-version", "it is {version}", version=version),
            remedy=sentence(
                "settings-take-setting-out-file",
                "take the setting out of the file, or name other brokers with --broker",
            ),
        )


def _step(kind: SettingKind, broker: LiveBroker, old: _Config | None, new: _Config) -> SettingStep:
    return SettingStep(
        kind=kind,
        place=broker.name,
        address=broker.address.address,
        subject=new.name,
        old=fields_of(old),
        new=fields_of(new),
    )


def _unset_modes(wanted: SettingsFile) -> list[str]:
    popping = sorted({item.name for item in wanted.groups if "POP" in wanted.consume_modes.get(item.name, "")})
    if not popping:
        return []
    more = sentence("common-more", " and {left} more", left=len(popping) - _NAMED) if len(popping) > _NAMED else ""
    names = joined("", (", ".join(popping[:_NAMED]), more))
    return [
        sentence(
            "settings-file-says-pop-not",
            "the file says that {names} pop, which is not set by it: mqadmin setConsumeMode does that",
            names=names,
        )
    ]


def _warnings(left: Sequence[str]) -> list[str]:
    if not left:
        return []
    more = sentence("common-more", " and {left} more", left=len(left) - _NAMED) if len(left) > _NAMED else ""
    stay = (
        sentence("other-settings-stays", "has other settings and stays as it is")
        if len(left) == 1
        else sentence("other-settings-stay", "have other settings and stay as they are")
    )
    return [
        sentence(
            "update-gives-settings-file",
            "{left}{more} {stay}; --update gives settings of the file",
            left=left[:_NAMED],
            more=more,
            stay=stay,
        )
    ]
