"""Settings of topics and groups in a file: what is read, what is refused, and what is not the default."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.changes.plan.settings_file import (
    SCHEMA,
    FileSettings,
    SettingsFile,
    Value,
    check_settings,
    file_settings,
    group_of,
    topic_of,
    unusual,
    unusual_in,
    value_of,
)
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.each import each


def item(name: str = "T", brokers: str = "a", of: Mapping[str, Value] | None = None) -> FileSettings:
    """Settings of a topic or group on brokers named by single letters."""
    return FileSettings(name=name, brokers=list(brokers), settings=dict(of or {}))


def file(*topics: FileSettings, groups: tuple[FileSettings, ...] = (), schema: str = SCHEMA) -> SettingsFile:
    return SettingsFile(schema=schema, topics=list(topics), groups=list(groups))


def test_what_can_be_applied() -> None:
    parsed = file(item(), item(brokers="bc", of={"perm": 4}), item("U"), groups=(item(brokers="bd"),))
    check_settings(parsed)
    check_settings(file(groups=(item(),)))
    assert parsed.broker_names() == {"a", "b", "c", "d"}
    assert file().broker_names() == set()


@each(
    "parsed, said",
    [
        (file(item(), schema="cluster.settings/2"), "cluster.settings/2, not cluster.settings/1"),
        (file(), "names no topic and no group"),
        (file(item(), item()), "topic T on a is listed twice"),
        (file(item("U", "ab"), item("T", "b"), item("T", "cb"), item("U", "b")), "topic T on b is listed twice"),
        (file(item(brokers="aa")), "topic T on a is listed twice"),
        (file(item(), groups=(item("G"), item("G"))), "group G on a is listed twice"),
        (file(item(brokers="")), "topic T has no broker"),
        (file(item("A"), item("B", ""), item("C", "")), "topic B has no broker"),
        (file(groups=(item("G", ""),)), "group G has no broker"),
        (file(item(of={"perm": 99})), "perm 99 of topic T is not a permission"),
        (file(groups=(item("G", of={"nothing": 1}),)), "G has the setting nothing, which is unknown"),
    ],
)
def test_what_cannot_be_applied(parsed: SettingsFile, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check_settings(parsed)


@each(
    "of, config",
    [
        ({}, TopicConfig(name="T")),
        ({"read_queue_count": 1}, TopicConfig(name="T", read_queue_count=1)),
        ({"write_queue_count": 1}, TopicConfig(name="T", write_queue_count=1)),
        ({"read_queue_count": 65_536}, TopicConfig(name="T", read_queue_count=65_536)),
        ({"perm": 0}, TopicConfig(name="T", perm=0)),
        ({"perm": 15}, TopicConfig(name="T", perm=15)),
        ({"perm": "4"}, TopicConfig(name="T", perm=4)),
        ({"sys_flag": 1, "filter_type": "MULTI_TAG"}, TopicConfig(name="T", sys_flag=1, filter_type="MULTI_TAG")),
        ({"attributes": {"a": "b"}}, TopicConfig(name="T", attributes={"a": "b"})),
    ],
)
def test_settings_of_topics(of: dict[str, Value], config: TopicConfig) -> None:
    assert topic_of(item(of=of)) == config


@each(
    "of, said",
    [
        ({"read_queue_count": 0}, "queues of topic T: 0; possible: 1 to 65,536"),
        ({"write_queue_count": 0}, "queues of topic T: 0;"),
        ({"write_queue_count": -1}, "queues of topic T: -1;"),
        ({"read_queue_count": 65_537}, "queues of topic T: 65537;"),
        ({"perm": 16}, "perm 16 of topic T"),
        ({"perm": -1}, "perm -1 of topic T"),
        ({"perm": "RW-"}, "perm of T is 'RW-'; its default is 6"),
        ({"order": True}, "T has the setting order, which is unknown"),
        ({"filter_type": 5}, "filter_type of T is '5'; its default is SINGLE_TAG"),
        ({"read_queue_count": True}, "read_queue_count of T is 'true'"),
        ({"name": "x"}, "T has the setting name, which is unknown; known: attributes, filter_type, perm"),
    ],
)
def test_settings_that_a_topic_cannot_have(of: dict[str, Value], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        topic_of(item(of=of))


def test_settings_of_groups() -> None:
    made = group_of(item("G", of={"retry_max_times": 3, "retry_intervals_ms": [1, 2], "consume_enable": False}))
    expected = SubscriptionGroupConfig(name="G", retry_max_times=3, retry_intervals_ms=(1, 2), consume_enable=False)
    assert made == expected
    with pytest.raises(ValueError, match="retry_max_times of G is 'many'"):
        group_of(item("G", of={"retry_max_times": "many"}))


@each(
    "config, texts",
    [
        (TopicConfig(name="T"), {}),
        (TopicConfig(name="T", perm=4, sys_flag=1), {"perm": "4", "sys_flag": "1"}),
        (TopicConfig(name="T", attributes={"b": "c", "a": "d"}), {"attributes": '{"a": "d", "b": "c"}'}),
        (SubscriptionGroupConfig(name="G"), {}),
        (SubscriptionGroupConfig(name="G", retry_intervals_ms=(5,)), {"retry_intervals_ms": "[5]"}),
    ],
)
def test_what_is_not_the_default(config: TopicConfig | SubscriptionGroupConfig, texts: dict[str, str]) -> None:
    assert unusual(config) == texts
    in_file = file_settings(config.name, ["a"], texts.items())
    assert (in_file.name, in_file.brokers) == (config.name, ["a"])
    assert unusual_in(in_file, type(config)) == texts
    read = topic_of(in_file) if isinstance(config, TopicConfig) else group_of(in_file)
    assert read == config


def test_the_default_and_what_is_unknown_as_they_stand_in_a_file() -> None:
    assert unusual_in(item(of={"perm": 6, "read_queue_count": 16}), TopicConfig) == {}
    strange = item(of={"perm": "6", "strange": [1], "filter_type": "X"})
    assert unusual_in(strange, TopicConfig) == {"strange": "[1]", "filter_type": "X"}


@each(
    "text, value",
    [
        ("5", 5),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ('{"a": "b"}', {"a": "b"}),
        ("SINGLE_TAG", "SINGLE_TAG"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_settings_as_they_stand_in_a_file(text: str, value: Value) -> None:
    assert value_of(text) == value


@settings(max_examples=20)
@given(
    st.builds(
        TopicConfig,
        name=st.just("T"),
        read_queue_count=st.integers(1, 65_536),
        write_queue_count=st.integers(1, 65_536),
        perm=st.integers(0, 15),
        sys_flag=st.integers(0, 3),
        attributes=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    )
)
def test_what_is_written_is_read(config: TopicConfig) -> None:
    assert topic_of(file_settings("T", ["a"], unusual(config).items())) == config
