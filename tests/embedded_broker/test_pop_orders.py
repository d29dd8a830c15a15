"""Batches of ordered pops, by hand: whether a queue is blocked, where it goes on, how often a message was delivered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embedded_broker.clock import VirtualClock
from embedded_broker.pop.orders import OrderBlocks, Queue
from mqctl.protocol.bodies_pop import OrderInfo

START_MS = 1_700_000_000_000
QUEUE: Queue = ("T", "G", 3)
DAY_MS = 86_400_000


class Ordered:
    """The blocks of a broker, the clock they go by, and the queues that became free with the moment."""

    def __init__(self, directory: Path) -> None:
        self.clock = VirtualClock(START_MS)
        self.freed: list[tuple[int, str, str, int]] = []
        self.blocks = OrderBlocks(self.clock, directory, self._note)

    def _note(self, topic: str, group: str, queue_id: int) -> None:
        self.freed.append((self.now, topic, group, queue_id))

    @property
    def now(self) -> int:
        return self.clock.now_ms() - START_MS

    def begin(
        self, *offsets: int, attempt: str | None = "a", invisible_ms: int = 1_000, queue: Queue = QUEUE
    ) -> dict[int, int]:
        now_ms = self.clock.now_ms()
        batch = OrderInfo(attempt_id=attempt, pop_ms=now_ms, invisible_ms=invisible_ms, used_ms=now_ms)
        return self.blocks.begin(queue, offsets, batch)

    def ack(self, offset: int, *, popped_at: int = 0) -> int | None:
        return self.blocks.ack(QUEUE, offset, START_MS + popped_at)

    def blocked(self, attempt: str | None = "b", queue: Queue = QUEUE) -> bool:
        return self.blocks.is_blocked(queue, attempt)


@pytest.fixture
def ordered(tmp_path: Path) -> Ordered:
    return Ordered(tmp_path)


def test_a_batch_blocks_its_queue_until_its_time_is_over(ordered: Ordered) -> None:
    assert not ordered.blocked()
    ordered.begin(5, 6)
    assert ordered.blocked() and ordered.blocked(None)
    assert not ordered.blocked("a"), "the same attempt gets the same messages again"
    assert not ordered.blocked(queue=("T", "G", 2))
    ordered.clock.advance(999)
    assert ordered.blocked() and ordered.freed == []
    ordered.clock.advance(1)
    assert not ordered.blocked() and ordered.freed == [(1_000, *QUEUE)]
    ordered.clock.advance(DAY_MS)
    assert len(ordered.freed) == 1


def test_an_attempt_without_a_name_is_nobodys(ordered: Ordered) -> None:
    ordered.begin(5, attempt=None)
    assert ordered.blocked(None)
    assert ordered.begin(5, attempt=None) == {5: 1}


def test_the_offset_moves_to_the_first_message_that_is_not_acknowledged(ordered: Ordered) -> None:
    ordered.begin(10, 12, 13, 17)
    assert [ordered.ack(offset) for offset in (12, 17, 10, 10)] == [10, 10, 13, 13]
    assert ordered.blocked() and ordered.freed == []
    assert ordered.ack(13) == 18, "the last one's offset and one"
    assert not ordered.blocked() and ordered.freed == [(0, *QUEUE)]
    assert ordered.ack(12, popped_at=-1) is None, "acknowledges an earlier batch"
    assert ordered.ack(12, popped_at=1) is None
    for stranger in (9, 11, 18):
        with pytest.raises(ValueError, match="not in tuple"):
            ordered.ack(stranger)
    assert OrderBlocks(ordered.clock, Path("/nowhere"), lambda *_: None).ack(QUEUE, 4, 0) == 5, "no batch is known"


def test_what_was_postponed_comes_at_its_own_moment(ordered: Ordered) -> None:
    ordered.begin(5, 6, 7)
    ordered.blocks.postpone(QUEUE, 6, START_MS + 1, START_MS + 9_000)
    ordered.blocks.postpone(("T", "G", 0), 6, START_MS, START_MS + 9_000)
    ordered.clock.advance(1_000)
    assert not ordered.blocked(), "of another batch, of another queue"
    ordered.blocks.postpone(QUEUE, 6, START_MS, START_MS + 4_000)
    ordered.blocks.postpone(QUEUE, 5, START_MS, START_MS + 2_000)
    ordered.freed.clear()
    ordered.clock.advance(2_999)
    assert ordered.blocked() and ordered.freed == []
    ordered.clock.advance(1)
    assert not ordered.blocked() and ordered.freed == [(4_000, *QUEUE)]
    ordered.blocks.postpone(QUEUE, 6, START_MS, START_MS + 9_000)
    ordered.freed.clear()
    ordered.ack(6)
    assert not ordered.blocked(), "the others' time has come"
    ordered.blocks.postpone(QUEUE, 7, START_MS, START_MS + 5_000)
    assert ordered.blocked()


def test_how_often_messages_were_delivered(ordered: Ordered) -> None:
    assert ordered.begin(5, 6) == {}
    assert ordered.begin(5, 6) == {}, "the same attempt"
    assert ordered.begin(5, 6, attempt="b") == {5: 1, 6: 1}
    assert ordered.begin(5, 6, attempt="b") == {5: 1, 6: 1}
    assert ordered.begin(6, 7, attempt="c") == {6: 2}, "7 is new"
    assert ordered.begin(6, 7, 8, attempt="d") == {6: 3, 7: 1}
    assert ordered.begin(20, attempt="e") == {}
    assert ordered.begin(20, attempt="f", queue=("T", "H", 3)) == {}


def test_a_reset_or_a_deletion_frees_the_queues_it_is_about(ordered: Ordered) -> None:
    queues = [("T", "G", 3), ("T", "H", 3), ("U", "G", 0), ("U", "H", 0)]
    for queue in queues:
        ordered.begin(1, queue=queue)
    ordered.blocks.clear(("T", "G", 4))
    assert ordered.freed == []
    ordered.blocks.clear(queues[0])
    assert ordered.freed == [(0, *queues[0])]
    ordered.blocks.forget(group="H")
    assert ordered.freed == [(0, *queue) for queue in (queues[0], queues[1], queues[3])]
    assert [ordered.blocked(queue=queue) for queue in queues] == [False, False, True, False]
    ordered.begin(1, queue=queues[1])
    ordered.blocks.forget(topic="U")
    assert [ordered.blocked(queue=queue) for queue in queues] == [False, True, False, False]


def test_a_stopped_broker_wakes_no_more(ordered: Ordered) -> None:
    ordered.begin(1)
    ordered.blocks.stop()
    ordered.clock.advance(DAY_MS)
    assert ordered.freed == []


def test_the_file_has_what_was_used_within_a_day(ordered: Ordered, tmp_path: Path) -> None:
    ordered.begin(1, queue=("T", "G", 0))
    ordered.clock.advance(1)
    ordered.begin(3, 5, attempt=None)
    ordered.ack(5, popped_at=1)
    ordered.blocks.postpone(QUEUE, 3, START_MS + 1, START_MS + 7_000)
    ordered.clock.advance(DAY_MS)
    ordered.blocks.file.write()
    text = (tmp_path / "consumerOrderInfo.json").read_text().replace("{3:", '{"3":')
    at_ms = START_MS + 1
    assert json.loads(text) == {
        "table": {
            "T@G": {
                "3": {"cm": 2, "i": 1_000, "l": at_ms, "o": [3, 2], "ot": {"3": START_MS + 7_000}, "popTime": at_ms}
            }
        }
    }
    again = Ordered(tmp_path)
    again.clock.advance(6_999)
    assert again.blocked()
    again.clock.advance(1)
    assert not again.blocked() and not again.blocked(queue=("T", "G", 0))
    assert again.ack(3, popped_at=1) == 6, "5 was acknowledged before"
