"""What a topic may become: no message is left where nobody reads, whatever is wished; which keys move."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.changes.plan.reshard import key_moves, publish_queues
from mqctl.changes.plan.topic_changes import TopicRequest, first_config, next_config, parse_perm
from mqctl.errors import RefusedError, UsageError
from mqctl.model.config import TopicConfig
from mqctl.model.java_hash import java_string_hash
from mqctl.model.queue import MessageQueue
from mqctl.model.setting_plan import config_of, fields_of
from mqctl.model.topic_use import Reader, TopicUse
from tests.each import each

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


@each(
    "wish, empty",
    [
        (TopicRequest(), True),
        (TopicRequest(queues=1), False),
        (TopicRequest(read_queues=0), False),
        (TopicRequest(write_queues=0), False),
        (TopicRequest(perm=0), False),
        (TopicRequest(attributes={"a": "b"}), False),
    ],
)
def test_whether_anything_is_wanted(wish: TopicRequest, empty: bool) -> None:
    assert wish.empty is empty


@each(
    "wish, read, write, perm",
    [
        (TopicRequest(), 8, 8, 6),
        (TopicRequest(queues=3), 3, 3, 6),
        (TopicRequest(write_queues=3), 3, 3, 6),
        (TopicRequest(read_queues=9), 9, 8, 6),
        (TopicRequest(queues=3, read_queues=5), 5, 3, 6),
        (TopicRequest(queues=3, write_queues=2), 3, 2, 6),
        (TopicRequest(perm=4, attributes={"a": "b"}), 8, 8, 4),
        (TopicRequest(perm=0), 8, 8, 0),
    ],
)
def test_a_new_topic(wish: TopicRequest, read: int, write: int, perm: int) -> None:
    made = first_config("T", wish)
    assert (made.name, made.read_queue_count, made.write_queue_count, made.perm) == ("T", read, write, perm)
    assert made.attributes == wish.attributes


@each("wish", [TopicRequest(read_queues=7), TopicRequest(queues=3, write_queues=4)])
def test_a_new_topic_is_read_where_it_is_written(wish: TopicRequest) -> None:
    with pytest.raises(UsageError, match="to read"):
        first_config("T", wish)


READ_UP = TopicUse(
    topic="T",
    bounds={queue(number): (0, 2) for number in range(4)},
    readers=(Reader(group="G", member_count=1, broadcasting=False, offsets={queue(n): 2 for n in range(4)}),),
)
UNREAD = TopicUse(
    topic="T",
    bounds=READ_UP.bounds,
    readers=(Reader(group="G", member_count=1, broadcasting=False, offsets={queue(n): 2 for n in range(3)}),),
)


@each(
    "read, write, wish, use, after",
    [
        (4, 4, TopicRequest(), READ_UP, (4, 4, 6, False)),
        (4, 4, TopicRequest(queues=4), READ_UP, (4, 4, 6, False)),
        (4, 4, TopicRequest(queues=5), READ_UP, (5, 5, 6, False)),
        (4, 4, TopicRequest(queues=3), UNREAD, (4, 3, 6, True)),
        (4, 3, TopicRequest(queues=3), READ_UP, (3, 3, 6, False)),
        (4, 3, TopicRequest(read_queues=3), READ_UP, (3, 3, 6, False)),
        (4, 2, TopicRequest(read_queues=3), READ_UP, (3, 2, 6, False)),
        (4, 4, TopicRequest(write_queues=1), UNREAD, (4, 1, 6, False)),
        (4, 4, TopicRequest(read_queues=6), UNREAD, (6, 4, 6, False)),
        (4, 4, TopicRequest(perm=4), UNREAD, (4, 4, 4, False)),
        (4, 4, TopicRequest(perm=0), UNREAD, (4, 4, 0, False)),
        (4, 4, TopicRequest(write_queues=2, queues=3), UNREAD, (4, 2, 6, True)),
    ],
)
def test_the_next_step_of_a_topic(
    read: int, write: int, wish: TopicRequest, use: TopicUse, after: tuple[int, int, int, bool]
) -> None:
    config = TopicConfig(name="T", read_queue_count=read, write_queue_count=write, attributes={"a": "b"})
    made, note = next_config(config, wish, "a", use)
    assert (made.read_queue_count, made.write_queue_count, made.perm, note is not None) == after
    assert made.attributes == {"a": "b"}
    if note is not None:
        assert f"only {wish.queues}" in note


@each(
    "read, write, wish, use, said",
    [
        (4, 4, TopicRequest(read_queues=3), READ_UP, "producers write to 4 of them"),
        (4, 4, TopicRequest(read_queues=3, write_queues=2), READ_UP, "producers write to 4 of them"),
        (4, 3, TopicRequest(queues=3), UNREAD, "group G has not read 2 messages"),
        (4, 2, TopicRequest(read_queues=2), UNREAD, "group G has not read 2 messages"),
        (4, 4, TopicRequest(write_queues=5), READ_UP, "5 write queues and 4 to read"),
    ],
)
def test_steps_that_lose_messages(read: int, write: int, wish: TopicRequest, use: TopicUse, said: str) -> None:
    config = TopicConfig(name="T", read_queue_count=read, write_queue_count=write)
    with pytest.raises((UsageError, RefusedError)) as caught:
        next_config(config, wish, "a", use)
    assert said in f"{caught.value} {caught.value.reason}"


def test_which_queues_cannot_be_removed_yet() -> None:
    config = TopicConfig(name="T", read_queue_count=4, write_queue_count=2)
    with pytest.raises(RefusedError, match="queues 2 to 3 of T on a") as caught:
        next_config(config, TopicRequest(queues=2), "a", UNREAD)
    assert "mqctl offset reset -g GROUP -t T --to-latest" in caught.value.remedy
    with pytest.raises(RefusedError) as caught:
        next_config(replace(config, write_queue_count=4), TopicRequest(read_queues=3), "a", UNREAD)
    assert "mqctl topic update -t T --write-queues 3" in caught.value.remedy


def test_attributes_are_added_to_those_that_are_there() -> None:
    config = TopicConfig(name="T", attributes={"a": "b", "c": "d"})
    made, _ = next_config(config, TopicRequest(attributes={"c": "e", "f": "g"}), "a", READ_UP)
    assert made.attributes == {"a": "b", "c": "e", "f": "g"}
    assert parse_perm("rr") == 4
    assert [parse_perm(text) for text in ("0", "2", "4", "6")] == [0, 2, 4, 6]
