"""Brokers named by an address that no name server lists: who answers there, and that it is not registered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.cli.emit import note
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import BrokerAddress
from mqctl.errors import MqctlError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.remark import on_one_line
from mqctl.snapshot.live.asking import Asking, out_of_reach
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.text import sentence

_UNKNOWN = "?"


def brokers_at(asking: Asking, addresses: Sequence[str], registered: Iterable[BrokerAddress]) -> list[LiveBroker]:
    """Asks addresses for the properties of the broker there, which name it, and notes that none of them is registered.

    Returns:
        a broker for each; where nobody answers, one without a name that has the gap.
    """
    answers = asking.put((address, address, ask.broker_settings()) for address in addresses)
    known = {(item.broker_name, item.broker_id): item.address for item in registered}
    return [
        _without_answer(address, answers.errors[address])
        if address in answers.errors
        else _answering(address, answers.values[address], known)
        for address in addresses
    ]


def _answering(address: str, settings: dict[str, str], known: dict[tuple[str, int], str]) -> LiveBroker:
    place = BrokerAddress(
        settings.get("brokerClusterName", _UNKNOWN),
        settings.get("brokerName", _UNKNOWN),
        decimal(settings.get("brokerId")) or 0,
        address,
    )
    names = {"address": address, "broker": on_one_line(place.broker_name), "broker_id": place.broker_id}
    elsewhere = known.get((place.broker_name, place.broker_id))
    if elsewhere is None:
        note(
            sentence(
                "cli-broker-not-registered-answers",
                "{address} is not registered: no name server lists {broker} (id {broker_id}), which answers there",
                **names,
            )
        )
    else:
        note(
            sentence(
                "cli-broker-registered-elsewhere",
                "{address} is not registered: {broker} (id {broker_id}), which answers there, is listed as {elsewhere}",
                elsewhere=elsewhere,
                **names,
            )
        )
    return LiveBroker(address=place, config=settings, registered=elsewhere is not None)


def _without_answer(address: str, error: MqctlError) -> LiveBroker:
    broker = LiveBroker(address=BrokerAddress(_UNKNOWN, _UNKNOWN, 0, address), registered=False)
    if out_of_reach(error):
        broker.lost = True
        broker.miss(Part.CONFIG, error)
        note(sentence("cli-address-not-registered", "no name server lists {address}", address=address))
    else:
        note(
            sentence(
                "cli-address-not-registered-name-unknown",
                "no name server lists {address}, and who answers there is not known: {error}",
                address=address,
                error=error,
            )
        )
    return broker


def require_answers(brokers: Iterable[LiveBroker]) -> None:
    """Passes when somebody answers at each address that was named and is not registered.

    Raises:
        UnreachableError, DeadlineError: nobody does.
    """
    for broker in brokers:
        if broker.lost and not broker.registered:
            raise broker.gaps[0].as_error(
                sentence(
                    "cli-no-broker-at-address",
                    "there is no broker at {address}",
                    address=broker.address.address,
                ),
                command_line("mqctl broker list"),
                so_far="",
            )
