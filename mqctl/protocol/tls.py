"""TLS without sockets: bytes of the wire in, bytes of frames out, and back; inside TLS the framing is unchanged.

Both sides drive it: the client from its reader and writer threads (under a lock of its own: OpenSSL's objects may not
be used by two threads at once), the embedded broker from its loop. Import it only where TLS is spoken.
"""

from __future__ import annotations

import ssl

HANDSHAKE_BYTE = 0x16
"""First byte of a TLS connection; that of a plain frame is 0 (`HandshakeHandler` of 4.9.8)."""

_READ_BYTES = 256 * 1024


class TlsSession:
    """One end of one connection.

    Attributes:
        established: the handshake is done.
        ended: the other side said that it sends no more.
    """

    def __init__(self, context: ssl.SSLContext, *, server_side: bool, server_name: str | None = None) -> None:
        self.established = False
        self.ended = False
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_name
        )
        self._waiting: list[bytes] = []

    def feed(self, data: bytes) -> bytes:
        """Takes bytes from the wire and returns what they carry; `outgoing` may have an answer afterwards.

        Raises:
            ssl.SSLError: they are no TLS, or one side does not accept the other.
        """
        if data:
            self._incoming.write(data)
        if not self.established and not self._shake_hands():
            return b""
        pieces = []
        while True:
            try:
                part = self._object.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                part = b""
            if not part:
                self.ended = True
                break
            pieces.append(part)
        return b"".join(pieces)

    def _shake_hands(self) -> bool:
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self.established = True
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            self._object.write(data)
        return True

    def write(self, data: bytes) -> None:
        """Takes bytes to be sent; `outgoing` has them as they go over the wire. Raises ssl.SSLError."""
        if self.established:
            self._object.write(data)
        else:
            self._waiting.append(data)

    def outgoing(self) -> bytes:
        """Returns what has to be sent now, each byte once."""
        return self._outgoing.read()
