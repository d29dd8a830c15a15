"""What moves messages on by itself in a master: delay levels, transactions, timers, POP. A slave leaves it alone."""

from __future__ import annotations

from embedded_broker.delay.levels import DelaySchedule
from embedded_broker.delay.timers import Timers
from embedded_broker.pop.service import Pop
from embedded_broker.transactions.half_messages import Transactions


class Services:
    """The services of one broker, started and ended together."""

    def __init__(
        self, schedule: DelaySchedule, transactions: Transactions, timers: Timers | None, pop: Pop | None
    ) -> None:
        self._services = tuple(one for one in (transactions, pop, timers, schedule) if one is not None)
        self._runs = False

    def start(self) -> None:
        """Starts them; the store must be open."""
        self._runs = True
        for service in reversed(self._services):
            service.start()

    def stop(self) -> None:
        """Stops them and leaves everything in the store."""
        if self._runs:
            for service in self._services:
                service.stop()

    def abandon(self) -> None:
        """Stops them as kill -9 would."""
        if self._runs:
            for service in self._services:
                service.abandon()
