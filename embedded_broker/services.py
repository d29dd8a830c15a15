"""What moves messages on by itself in a master: delay levels, transactions, timers, POP. A slave leaves it alone."""

from __future__ import annotations

from embedded_broker.delay.levels import DelaySchedule, Elsewhere
from embedded_broker.delay.timers import Timers
from embedded_broker.pop.service import Pop
from embedded_broker.transactions.half_messages import Transactions


class Services:
    """The services of one broker, started and ended together."""

    def __init__(
        self, schedule: DelaySchedule, transactions: Transactions, timers: Timers | None, pop: Pop | None
    ) -> None:
        self._services = tuple(one for one in (transactions, pop, timers, schedule) if one is not None)
        self._schedule = schedule
        self._runs = self._stands_in = False

    def start(self) -> None:
        """Starts them; the store must be open."""
        self._runs = True
        for service in reversed(self._services):
            service.start()

    def stop(self) -> None:
        """Stops them and leaves everything in the store."""
        self.step_back()
        if self._runs:
            for service in self._services:
                service.stop()

    def abandon(self) -> None:
        """Stops them as kill -9 would."""
        if self._stands_in:
            self._schedule.abandon()
        if self._runs:
            for service in self._services:
                service.abandon()

    def stand_in(self, elsewhere: Elsewhere | None) -> None:
        """Serves delay levels in the place of a lost master, from the offsets that were copied last.

        Args:
            elsewhere: takes what falls due; None lets it wait, for a slave may not write.
        """
        self._stands_in = True
        self._schedule.load()
        self._schedule.elsewhere = elsewhere
        self._schedule.start()

    def step_back(self) -> None:
        """Leaves delay levels to the master, which asks for their offsets."""
        if self._stands_in:
            self._stands_in = False
            self._schedule.stop()
