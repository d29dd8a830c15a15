"""Who calls: what a call's headers, peer and deadline say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.statuses import Refused
from mqctl.model.numbers import decimal
from mqctl.protocol.codes import Language

_CLIENT_ID, _VERSION, _LANGUAGE = "x-mq-client-id", "x-mq-client-version", "x-mq-language"
_TRACED_SINCE = (5, 0, 3)
LONGEST_CLIENT_ID = 1_024


@dataclass(frozen=True, slots=True)
class Caller:
    """One call's sender.

    Attributes:
        headers: request metadata by lower-case name; binary ones are left out.
        peer: `ip:port`.
        seconds: what is left until the call's deadline; None without one.
    """

    headers: dict[str, str]
    peer: str
    seconds: float | None

    @classmethod
    def of(cls, metadata: Iterable[tuple[str, str | bytes]] | None, peer: str, seconds: float | None) -> Caller:
        """Reads what the transport knows of a call; `peer` as gRPC writes it, `ipv4:ip:port`."""
        headers = {key: value for key, value in metadata or () if isinstance(value, str)}
        address = peer.partition(":")[2].replace("%5B", "[").replace("%5D", "]")
        return cls(headers, address or peer, seconds)

    @property
    def client_id(self) -> str:
        """The client's id. Raises Refused: it gave none, or one that nobody gives."""
        value = self.headers.get(_CLIENT_ID, "")
        if not value.strip():
            raise Refused(pb.Code.CLIENT_ID_REQUIRED, "client id cannot be empty")
        if len(value) > LONGEST_CLIENT_ID:
            raise Refused(pb.Code.BAD_REQUEST, f"client id is longer than {LONGEST_CLIENT_ID} characters")
        return value

    @property
    def language(self) -> Language:
        """The client's language as brokers know it."""
        try:
            return Language[self.headers.get(_LANGUAGE, "").upper()]
        except KeyError:
            return Language.OTHER

    @property
    def version(self) -> str:
        """The client's version, free text."""
        return self.headers.get(_VERSION, "")

    @property
    def too_short_to_poll(self) -> pb.Code:
        """What a receive with too short a deadline is answered: clients before 5.0.3 do not know the newer status."""
        parts = self.version.split(".")
        numbers = [number for number in map(decimal, parts[:3]) if number is not None]
        is_old = len(numbers) == 3 and tuple(numbers) < _TRACED_SINCE
        return pb.Code.BAD_REQUEST if is_old else pb.Code.ILLEGAL_POLLING_TIME
