"""Brokers that no name server lists: whether somebody answers where they were, asked beside everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Thread

from mqctl.client.admin import broker_queries as ask
from mqctl.client.remoting.fan_out import AddressedQuestion
from mqctl.errors import MqctlError
from mqctl.model.numbers import decimal
from mqctl.model.route import AddressAnswer, SeenBroker
from mqctl.snapshot.live.asking import Asking

_PATIENCE_MS = 1_000
"""A machine that is gone answers nothing, and a look must not wait long for what it expects to be dead."""


def try_addresses(asking: Asking, missed: Iterable[SeenBroker]) -> Callable[[], tuple[SeenBroker, ...]]:
    """Begins to ask the last known addresses of brokers, a second at most, and returns a function that waits for the
    end and returns the brokers with what came of it; one without an address is returned as it was."""
    wanted = tuple(missed)
    asks = [AddressedQuestion(item.address, ask.broker_settings(), item.name) for item in wanted if item.address]
    if not asks:
        return lambda: wanted
    limit = asking.deadline.within(_PATIENCE_MS)
    answers: dict[str, AddressAnswer] = {}

    def work() -> None:
        for outcome in asking.cluster.ask_many(asks, limit, call_timeout_ms=_PATIENCE_MS):
            answers[outcome.ask.about] = address_answer(outcome.answer, outcome.error)

    thread = Thread(target=work, daemon=True)
    thread.start()

    def ended() -> tuple[SeenBroker, ...]:
        thread.join()
        return tuple(replace(item, answer=answers.get(item.name)) for item in wanted)

    return ended


def address_answer(settings: dict[str, str] | None, error: MqctlError | None) -> AddressAnswer:
    """Reads who answered from its properties, or why that is not known from the error."""
    if settings is None:
        return AddressAnswer(problem=None if error is None else str(error))
    return AddressAnswer(
        name=settings.get("brokerName"),
        broker_id=decimal(settings.get("brokerId", "")),
        namesrv=settings.get("namesrvAddr") or None,
    )
