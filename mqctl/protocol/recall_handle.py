"""The handle by which a timer message of 5.x can be recalled: base64 of version, topic, broker, moment and unique key.

Source: `RecallMessageHandle` of 5.3.3.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.text import sentence

_VERSION = "v1"
_PARTS = 5


class RecallHandleError(BadInputError):
    """Text that is no handle."""


@dataclass(frozen=True, slots=True)
class RecallHandle:
    """What names a waiting message.

    Attributes:
        deliver_ms: a moment that belongs to the same slot of the wheel.
        unique_key: its UNIQ_KEY.
    """

    topic: str
    broker_name: str
    deliver_ms: int
    unique_key: str

    def __str__(self) -> str:
        text = f"{_VERSION} {self.topic} {self.broker_name} {self.deliver_ms} {self.unique_key}"
        return urlsafe_b64encode(text.encode()).decode()

    @property
    def delete_key(self) -> str:
        """What the delete marker carries."""
        return f"{self.topic}+{self.unique_key}"

    @classmethod
    def parse(cls, text: str) -> RecallHandle:
        """Reads a handle.

        Raises:
            RecallHandleError: it is none.
        """
        try:
            parts = urlsafe_b64decode(text.encode()).decode().split(" ")
        except (binascii.Error, UnicodeError):
            parts = []
        deliver_ms = decimal(parts[3]) if len(parts) == _PARTS and parts[0] == _VERSION else None
        if deliver_ms is None:
            raise RecallHandleError(
                sentence("wire-no-recall-handle", "{text!r:.200} is not a recall handle", text=text),
                reason=sentence("wire-not-of-send", "it is not what a send answered"),
            )
        return cls(parts[1], parts[2], deliver_ms, parts[4])
