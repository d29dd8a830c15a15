"""Pops that wait, by hand: who is woken by an arrival, who by his time, and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from embedded_broker.clock import VirtualClock
from embedded_broker.log.store import Dispatched
from embedded_broker.pop.polls import ALL_QUEUES, Polling, Polls, PopRequest
from embedded_broker.remoting.server import ServerConnection
from embedded_broker.settings import BrokerSettings
from mqctl.model.names import pop_retry_topic

START_MS = 1_700_000_000_000


@dataclass
class Client:
    """A connection as far as polls look at it."""

    closed: bool = False


class Waiting:
    """Polls with a few places, and who ran again at which moment."""

    def __init__(self) -> None:
        self.clock = VirtualClock(START_MS)
        self.polls = Polls(self.clock, BrokerSettings(pop_polling_size=2, max_pop_polling_size=5))
        self.ran: list[tuple[int, str]] = []

    def wait(
        self,
        name: str,
        until: int = 1_000,
        *,
        topic: str = "T",
        group: str = "G",
        queue_id: int = ALL_QUEUES,
        wants: Callable[[Dispatched], bool] | None = None,
        client: Client | None = None,
    ) -> Polling:
        request = PopRequest(
            (topic, group, queue_id),
            START_MS + until,
            cast("ServerConnection", client or Client()),
            lambda: self.ran.append((self.clock.now_ms() - START_MS, name)),
            wants,
        )
        return self.polls.wait(request)

    async def names(self) -> list[str]:
        """Lets those run who were woken, and returns them."""
        await asyncio.sleep(0)
        names, self.ran = [name for _, name in self.ran], []
        return names

    async def arrives(self, topic: str = "T", queue_id: int = 0, tags_code: int = 0) -> list[str]:
        entry = Dispatched(topic, queue_id, 0, tags_code, store_ms=START_MS, physical_offset=0, size_bytes=100)
        self.polls.arrived(entry)
        return await self.names()


def looped(test: Callable[[Waiting], Awaitable[None]]) -> Callable[[], None]:
    """Runs a test on a loop of its own."""

    def run() -> None:
        async def whole() -> None:
            await test(Waiting())

        asyncio.run(whole())

    return run


@looped
async def test_an_arrival_wakes_one_of_each_group_for_all_queues_and_one_for_its_own(waiting: Waiting) -> None:
    for name, queue_id in (("any", ALL_QUEUES), ("any too", ALL_QUEUES), ("own", 2), ("own too", 2), ("other", 1)):
        assert waiting.wait(name, queue_id=queue_id) is Polling.WAITS
    assert (waiting.polls.total, waiting.polls.count(("T", "G", 2)), waiting.polls.count(("T", "G", 3))) == (5, 2, 0)
    assert await waiting.arrives("U", 2) == []
    assert await waiting.arrives(queue_id=2) == ["any", "own"]
    assert (waiting.polls.total, waiting.polls.count(("T", "G", 2))) == (3, 1)
    assert waiting.wait("of another group", group="H") is Polling.WAITS
    assert await waiting.arrives(queue_id=3) == ["any too", "of another group"]
    assert await waiting.arrives(queue_id=2) == ["own too"]
    assert await waiting.arrives(queue_id=2) == []
    assert (waiting.polls.total, await waiting.arrives(queue_id=1)) == (1, ["other"])
    assert waiting.polls.total == 0


@looped
async def test_who_waits_the_shortest_is_woken_first_and_of_two_who_came_first(waiting: Waiting) -> None:
    for name, until in (("late", 3_000), ("soon", 1_000), ("soon too", 1_000)):
        assert waiting.wait(name, until) is Polling.WAITS
    assert [await waiting.arrives() for _ in range(4)] == [["soon"], ["soon too"], ["late"], []]


@looped
async def test_only_the_first_is_asked_whether_he_wants_a_message(waiting: Waiting) -> None:
    waiting.wait("tag 7", 1_000, wants=lambda entry: entry.tags_code == 7)
    waiting.wait("any", 2_000)
    assert await waiting.arrives(tags_code=8) == []
    assert await waiting.arrives(tags_code=7) == ["tag 7"]
    assert await waiting.arrives(tags_code=8) == ["any"]


@looped
async def test_what_arrives_in_a_retry_topic_wakes_those_of_its_group_and_topic(waiting: Waiting) -> None:
    waiting.wait("G")
    waiting.wait("H", group="H")
    waiting.wait("other", topic="U")
    assert await waiting.arrives(pop_retry_topic("G", "T", v2=False)) == [], "which part is the group?"
    assert await waiting.arrives(pop_retry_topic("X", "T", v2=True)) == []
    assert await waiting.arrives(pop_retry_topic("G", "T", v2=True)) == ["G"]
    assert await waiting.arrives("G+T") == []
    assert await waiting.arrives(pop_retry_topic("H", "T", v2=True)) == ["H"]


@looped
async def test_time_that_is_over_wakes_50_ms_earlier_than_the_client_gives_up(waiting: Waiting) -> None:
    assert waiting.wait("over", 50) is Polling.OVER
    for name, until in (("c", 3_050), ("a", 51), ("b", 1_050), ("b too", 1_050)):
        assert waiting.wait(name, until, queue_id=until) is Polling.WAITS
    await waiting.arrives(queue_id=9)
    for moment, names in ((0, []), (1, ["a"]), (999, []), (1_000, ["b", "b too"]), (2_999, []), (3_000, ["c"])):
        waiting.clock.advance(START_MS + moment - waiting.clock.now_ms())
        assert (moment, await waiting.names()) == (moment, names)
    assert waiting.polls.total == 0
    waiting.wait("d", 5_000)
    assert await waiting.arrives() == ["d"]
    assert waiting.wait("e", 9_000) is Polling.WAITS, "the timer of one who was woken is not his"
    waiting.clock.advance(5_949)
    assert await waiting.names() == []
    waiting.clock.advance(1)
    assert await waiting.names() == ["e"]


@looped
async def test_a_key_and_the_broker_have_room_for_so_many(waiting: Waiting) -> None:
    assert [waiting.wait(f"{number}") for number in range(4)] == [Polling.WAITS] * 3 + [Polling.FULL]
    assert waiting.wait("over", 0) is Polling.OVER
    assert [waiting.wait(f"{number}", queue_id=0) for number in range(3)] == [Polling.WAITS] * 2 + [Polling.FULL]
    assert waiting.wait("over", 0) is Polling.FULL
    assert await waiting.arrives() == ["0", "0"]
    assert waiting.wait("again") is Polling.WAITS
    assert waiting.polls.total == 4


@looped
async def test_one_is_woken_at_most_once_and_not_when_he_is_gone(waiting: Waiting) -> None:
    gone = Client()
    waiting.wait("gone", client=gone)
    waiting.wait("here")
    for _ in range(3):
        waiting.polls.wake(("T", "G", ALL_QUEUES))
    waiting.polls.wake(("T", "G", 0))
    gone.closed = True
    assert await waiting.names() == ["here"]
    waiting.clock.advance(60_000)
    assert await waiting.names() == []


@looped
async def test_a_stopped_broker_wakes_nobody(waiting: Waiting) -> None:
    waiting.wait("woken already")
    waiting.wait("waits", 9_000)
    waiting.polls.wake(("T", "G", ALL_QUEUES))
    waiting.polls.stop()
    assert (waiting.polls.total, waiting.polls.count(("T", "G", ALL_QUEUES))) == (0, 0)
    waiting.clock.advance(60_000)
    assert await waiting.arrives() == []
    assert waiting.wait("after the stop", 61_000) is Polling.WAITS
    waiting.clock.advance(60_000)
    assert await waiting.names() == ["after the stop"]
