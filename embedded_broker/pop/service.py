"""All that POP consumption keeps in one broker, and its life."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from embedded_broker.pop.assignments import RequestModes, Routes
from embedded_broker.pop.buffer import PopBuffer
from embedded_broker.pop.ground import Ground
from embedded_broker.pop.orders import OrderBlocks
from embedded_broker.pop.polls import ALL_QUEUES, Polls
from embedded_broker.pop.records import PopRecords
from embedded_broker.pop.revive import Revive

if TYPE_CHECKING:
    from collections.abc import Callable

    from embedded_broker.log.store import Dispatched
    from embedded_broker.tables.persistence import ConfigFile

_DRAWS = 100


class Pop:
    """The parts of POP consumption.

    Attributes:
        draw: returns a number of 0 to 99 for each pop.
        polls: pops that wait; `notifications`: requests 200054 that do.
        subscribed: topics and groups that were popped, retry topics included: that counts as a subscription.
    """

    def __init__(self, ground: Ground) -> None:
        clock, settings = ground.clock, ground.settings
        self.ground = ground
        self.draw: Callable[[], int] = lambda: random.randrange(_DRAWS)
        self.modes = RequestModes(clock, ground.config)
        self.routes = Routes(ground)
        self.records = PopRecords(ground)
        self.buffer = PopBuffer(ground, self.records)
        self.orders = OrderBlocks(clock, ground.config, self._freed)
        self.revive = Revive(ground, self.records)
        self.polls = Polls(clock, settings)
        self.notifications = Polls(clock, settings)
        self.subscribed: set[tuple[str, str]] = set()
        ground.storage.on_dispatch(self._arrived)

    @property
    def files(self) -> tuple[ConfigFile, ...]:
        """The configuration files that are written with the consumer offsets."""
        return (self.orders.file, self.modes.file)

    def _arrived(self, entry: Dispatched) -> None:
        for polls in (self.polls, self.notifications):
            if polls.total:
                polls.arrived(entry)

    def _freed(self, topic: str, group: str, queue_id: int) -> None:
        """Wakes those who wait for an ordered queue."""
        for polls in (self.polls, self.notifications):
            for number in (ALL_QUEUES, queue_id):
                polls.wake((topic, group, number))

    def start(self) -> None:
        """Begins to revive; store and timer wheel must be open."""
        self.revive.start()

    def stop(self) -> None:
        """Stops and leaves everything in the store; it must be open still."""
        self.revive.stop()
        self.buffer.stop()
        self._quiet()

    def abandon(self) -> None:
        """Stops as kill -9 would."""
        self.revive.stop()
        self.buffer.abandon()
        self._quiet()

    def _quiet(self) -> None:
        self.orders.stop()
        self.polls.stop()
        self.notifications.stop()
