"""What a topic may become: no message is left where nobody reads, whatever is wished; which keys move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import RefusedError, UsageError
from mqctl.model.config import TopicConfig
from mqctl.model.java_hash import java_string_hash
from mqctl.model.queue import MessageQueue
from mqctl.model.setting_plan import config_of, fields_of
from mqctl.model.topic_use import Reader, TopicUse
from mqctl.plan.reshard import key_moves, publish_queues
from mqctl.plan.topic_changes import TopicRequest, next_config, parse_perm

NUMBERS = st.integers(1, 6)
WISHES = st.none() | NUMBERS


def queue(number: int) -> MessageQueue:
    return MessageQueue("T", "a", number)


@st.composite
def uses(draw: st.DrawFn, queues: int) -> TopicUse:
    """A topic whose queues hold up to three messages, read by up to two groups."""
    bounds = {}
    for number in range(queues):
        low = draw(st.integers(0, 3))
        bounds[queue(number)] = (low, low + draw(st.integers(0, 3)))
    readers = [
        Reader(
            group=name,
            member_count=draw(st.integers(0, 1)),
            broadcasting=draw(st.booleans()),
            offsets={item: draw(st.integers(0, high + 1)) for item, (_, high) in bounds.items() if draw(st.booleans())},
        )
        for name in draw(st.sets(st.sampled_from(["G", "H"])))
    ]
    return TopicUse(topic="T", bounds=bounds, readers=tuple(readers))


@given(st.data())
def test_no_queue_goes_that_is_written_or_unread(data: st.DataObject) -> None:
    read = data.draw(NUMBERS)
    write = data.draw(st.integers(1, read))
    config = TopicConfig(name="T", read_queue_count=read, write_queue_count=write)
    use = data.draw(uses(read))
    request = TopicRequest(queues=data.draw(WISHES), read_queues=data.draw(WISHES), write_queues=data.draw(WISHES))
    try:
        after, note = next_config(config, request, "a", use)
    except (UsageError, RefusedError):
        return
    assert after.write_queue_count <= after.read_queue_count
    gone = [queue(number) for number in range(after.read_queue_count, read)]
    if gone:
        assert write <= after.read_queue_count
        clustering = [item for item in use.readers if not item.broadcasting and (item.offsets or item.member_count)]
        for item in gone:
            low, high = use.bounds[item]
            assert low == high or clustering
            assert all(max(reader.offsets.get(item, low), low) >= high for reader in clustering)
    if request.queues is not None and note is None and request.read_queues is None:
        assert after.read_queue_count == request.queues


@given(st.integers(1, 6), st.integers(1, 6))
def test_two_runs_reach_fewer_queues_when_all_is_read(before: int, wished: int) -> None:
    bounds = {queue(number): (0, 2) for number in range(before)}
    reader = Reader(group="G", member_count=1, broadcasting=False, offsets=dict.fromkeys(bounds, 2))
    use = TopicUse(topic="T", bounds=bounds, readers=(reader,))
    config = TopicConfig(name="T", read_queue_count=before, write_queue_count=before)
    first, note = next_config(config, TopicRequest(queues=wished), "a", use)
    assert (first.write_queue_count, note is not None) == (wished, wished < before)
    second, _ = next_config(first, TopicRequest(queues=wished), "a", use)
    assert (second.read_queue_count, second.write_queue_count) == (wished, wished)


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1), st.integers(1, 8), st.integers(1, 8))
def test_moves_are_those_of_the_hash(keys: list[str], old: int, new: int) -> None:
    before, after = ([queue(number) for number in range(count)] for count in (old, new))
    sample = [(key, queue(0)) for key in keys]
    moves = key_moves(sample, before, after, "keys")
    assert moves.key_count == len(set(keys))
    assert moves.moved_count == sum(
        abs(java_string_hash(key)) % old != abs(java_string_hash(key)) % new for key in set(keys)
    )
    assert key_moves(sample, before, before, "keys").moved_count == 0
    assert moves.placed_count == sum(abs(java_string_hash(key)) % old == 0 for key in keys)


def test_producers_go_through_writable_brokers_by_name() -> None:
    configs = {
        "b": TopicConfig(name="T", write_queue_count=1),
        "a": TopicConfig(name="T", write_queue_count=2),
        "c": TopicConfig(name="T", write_queue_count=4, perm=4),
    }
    expected = [MessageQueue("T", "a", 0), MessageQueue("T", "a", 1), MessageQueue("T", "b", 0)]
    assert publish_queues("T", configs) == expected


@pytest.mark.parametrize(("text", "perm"), [("RW-", 6), ("rw", 6), ("R", 4), ("-W-", 2), ("-", 0), ("6", 6), ("4", 4)])
def test_permissions_are_read_as_they_are_written(text: str, perm: int) -> None:
    assert parse_perm(text) == perm


@pytest.mark.parametrize("text", ["", "X", "7", "RWX", "9", "read"])
def test_other_permissions_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_perm(text)


@given(
    st.builds(
        TopicConfig,
        name=st.just("T"),
        read_queue_count=st.integers(0, 99),
        perm=st.integers(0, 7),
        filter_type=st.sampled_from(["SINGLE_TAG", "MULTI_TAG"]),
        attributes=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    )
)
def test_settings_survive_the_journal(config: TopicConfig) -> None:
    texts = fields_of(config)
    assert texts is not None
    assert config_of(TopicConfig, "T", texts) == config
