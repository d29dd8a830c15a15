"""Who pops and who pulls, by what brokers of 5.x keep (402); each of them is asked once."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.client.admin import broker_queries as ask
from mqctl.protocol.bodies_pop import MessageRequestModes
from mqctl.protocol.codes import V5_0_0, ResponseCode
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker

_UNKNOWN_REQUEST = frozenset({int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)})
_NONE = MessageRequestModes()


def ask_request_modes(asking: Asking, brokers: Iterable[LiveBroker]) -> None:
    """Fills in what brokers keep; one before 5.0 knows no other way than pulling, and is not asked."""
    asked = []
    for number, broker in enumerate(brokers):
        if broker.request_modes is None:
            if _is_old(asking, broker):
                broker.request_modes = _NONE
            else:
                asked.append((number, broker))
    places = dict(asked)
    answers = asking.put((number, broker.address.address, ask.request_modes()) for number, broker in asked)
    for number, modes in answers.values.items():
        places[number].request_modes = modes
    for number, error in answers.errors.items():
        places[number].request_modes = _NONE if refused_with(error, _UNKNOWN_REQUEST) else error


def _is_old(asking: Asking, broker: LiveBroker) -> bool:
    told = broker.runtime.get("brokerVersionDesc")
    if told is not None:
        return not told.startswith("V5")
    heard = asking.cluster.links.get(broker.address.address).peer_version
    return 0 < heard < V5_0_0
