"""Settings of topics and groups in a file: what `cluster export -o yaml` writes and `cluster apply` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec

from mqctl.changes.plan.topic_changes import MAX_QUEUES
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.setting_plan import Fields, config_of, fields_of
from mqctl.text import Word, sentence

SCHEMA = "cluster.settings/1"
Value = str | int | bool | list[int] | dict[str, str | int]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the file; a setting that no release knows would be lost in silence, so it is refused."""


class FileSettings(_Part, frozen=True, kw_only=True):
    """A topic or a group with settings that some brokers share; settings that are left out have their default."""

    name: str
    brokers: list[str]
    settings: dict[str, Value] = {}


class SettingsFile(_Part, frozen=True, kw_only=True):
    """Topics and groups of a cluster; one that has other settings on other brokers stands more than once.

    Attributes:
        consume_modes: `POP` or `PULL` by group, both where it differs by topic, of those for which it is set (5.x); for
            who reads the file, nothing of it is applied.
    """

    schema: str = SCHEMA
    cluster: str | None = None
    topics: list[FileSettings] = []
    groups: list[FileSettings] = []
    consume_modes: dict[str, str] = {}

    def broker_names(self) -> set[str]:
        """Returns the names of all brokers in it."""
        return {name for item in (*self.topics, *self.groups) for name in item.brokers}


def check_settings(parsed: SettingsFile) -> None:
    """Passes a file that can be applied.

    Raises:
        ValueError: it is of another form, names nothing, or a place twice, or has a setting that cannot be.
    """
    if parsed.schema != SCHEMA:
        raise ValueError(
            sentence("schema-not", "its schema is {schema}, not {schema_2}", schema=parsed.schema, schema_2=SCHEMA)
        )
    if not parsed.topics and not parsed.groups:
        raise ValueError(sentence("file-names-nothing", "it names no topic and no group"))
    for noun, items in (("topic", parsed.topics), ("group", parsed.groups)):
        places = [(item.name, broker) for item in items for broker in item.brokers]
        if twice := sorted({place for place in places if places.count(place) > 1}) if _repeats(places) else ():
            raise ValueError(
                sentence(
                    "file-names-twice",
                    "{noun} {name} on {broker} is listed twice",
                    noun=Word(noun),
                    name=twice[0][0],
                    broker=twice[0][1],
                )
            )
        if empty := [item.name for item in items if not item.brokers]:
            raise ValueError(
                sentence("file-without-broker", "{noun} {name} has no broker", noun=Word(noun), name=empty[0])
            )
    for item in parsed.topics:
        topic_of(item)
    for item in parsed.groups:
        group_of(item)


def _repeats(places: list[tuple[str, str]]) -> bool:
    return len(set(places)) != len(places)


def topic_of(item: FileSettings) -> TopicConfig:
    """Reads the settings of a topic. Raises ValueError for a setting that is unknown, or that cannot be."""
    config = config_of(TopicConfig, item.name, _texts(item, TopicConfig(name=item.name)))
    for count in (config.read_queue_count, config.write_queue_count):
        if not isinstance(count, int) or not 1 <= count <= MAX_QUEUES:
            raise ValueError(
                sentence(
                    "file-queues-of-topic",
                    "queues of topic {topic}: {queues}; possible: 1 to {most:,}",
                    topic=item.name,
                    queues=count,
                    most=MAX_QUEUES,
                )
            )
    if not isinstance(config.perm, int) or config.perm not in range(16):
        raise ValueError(
            sentence(
                "file-no-permission",
                "perm {perm!r} of topic {topic} is not a permission; 6 is RW-",
                perm=config.perm,
                topic=item.name,
            )
        )
    return config


def group_of(item: FileSettings) -> SubscriptionGroupConfig:
    """Reads the settings of a group. Raises ValueError for a setting that is unknown, or that cannot be."""
    return config_of(SubscriptionGroupConfig, item.name, _texts(item, SubscriptionGroupConfig(name=item.name)))


def unusual(config: TopicConfig | SubscriptionGroupConfig) -> dict[str, str]:
    """Returns the settings that are not the default, as text."""
    usual = fields_of(type(config)(name=config.name)) or {}
    return {name: text for name, text in (fields_of(config) or {}).items() if usual[name] != text}


def unusual_in(item: FileSettings, kind: type[TopicConfig | SubscriptionGroupConfig]) -> dict[str, str]:
    """Returns what `unusual` does, of settings as they stand in a file, those that could not be applied included."""
    usual = fields_of(kind(name=item.name)) or {}
    return {name: text for name, text in _written(item).items() if usual.get(name) != text}


def _written(item: FileSettings) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in item.settings.items()
    }


def _texts(item: FileSettings, usual: TopicConfig | SubscriptionGroupConfig) -> Fields:
    """Returns the settings as text, each checked to be of the kind that its default is."""
    known = fields_of(usual) or {}
    texts: dict[str, str] = {}
    for name, text in _written(item).items():
        if name not in known:
            raise ValueError(
                sentence(
                    "file-setting-unknown",
                    "{subject} has the setting {setting}, which is unknown; known: {known}",
                    subject=item.name,
                    setting=name,
                    known=sorted(known),
                )
            )
        if _kind(text) != _kind(known[name]):
            raise ValueError(
                sentence(
                    "file-setting-of-other-kind",
                    "{setting} of {subject} is {text!r}; its default is {default}",
                    setting=name,
                    subject=item.name,
                    text=text,
                    default=known[name],
                )
            )
        texts[name] = text
    return {**known, **texts}


def _kind(text: str) -> type:
    """Tells of which kind a setting is by how it is written: words, numbers, lists and tables are not each other."""
    return type(value_of(text))


def value_of(text: str) -> Value:
    """Returns a setting as it stands in a file: numbers, yes or no, lists and tables are not quoted."""
    try:
        value: Value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def file_settings(name: str, brokers: list[str], settings: Iterable[tuple[str, str]]) -> FileSettings:
    """Returns how settings that some brokers share stand in a file."""
    return FileSettings(name=name, brokers=brokers, settings={name: value_of(text) for name, text in settings})
