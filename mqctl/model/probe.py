"""What came of sending one message to a broker, and of its VIP port."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SendProbe:
    """One message to the topic that a broker keeps under its own name, which nobody consumes.

    Attributes:
        status: how it was stored, for instance `SEND_OK`; None when it was not.
        code: the broker's response code where it refused; None where nobody answered.
        reason: why it was not stored.
        took_ms: until the answer came, the connection not included.
        vip_open: whether a broker answers at listenPort - 2 from here; None when that was not tried.
    """

    topic: str
    status: str | None = None
    code: int | None = None
    reason: str | None = None
    took_ms: float | None = None
    vip_open: bool | None = None
