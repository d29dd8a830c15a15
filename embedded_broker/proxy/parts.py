"""The parts of an endpoint that its methods share."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from embedded_broker.proxy.access import Access
from embedded_broker.proxy.channels import Channel
from embedded_broker.proxy.clients import GrpcClients
from embedded_broker.proxy.ground import Members, ProxyGround
from embedded_broker.proxy.halves import KnownHalves
from embedded_broker.proxy.questions import Questions
from embedded_broker.proxy.renewal import KeptHandles
from embedded_broker.proxy.unread import UnreadAnswers

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller


class Parts:
    """What methods work on.

    Attributes:
        halves: half messages that may be ended here.
        kept: handles whose time is lengthened.
        unread: what clients have not read yet.
        long_work: held by the one call whose answer is made in slices.
    """

    def __init__(self, members: Members) -> None:
        self.ground = ProxyGround(members)
        self.access = Access(self.ground)
        self.halves = KnownHalves(self.ground.clock)
        self.kept = KeptHandles(self.ground)
        self.questions = Questions(self.ground, self.halves, self.kept)
        self.clients = GrpcClients(self.ground, self.questions.ask, self.kept.free)
        self.unread = UnreadAnswers()
        self.long_work = asyncio.Lock()
        self._turns: Counter[str] = Counter()

    def channel_of(self, caller: Caller) -> Channel:
        """Returns a connection to the brokers for one call."""
        return Channel(self.ground.clock, caller.peer)

    def next_turn(self, topic: str) -> int:
        """Counts the messages of a topic that may go to any queue."""
        self._turns[topic] += 1
        return self._turns[topic] - 1

    def stop(self) -> None:
        """Forgets all clients."""
        self.clients.stop()
        self.kept.stop()
