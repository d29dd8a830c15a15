"""TLS of name servers and brokers: one port for plain and secured connections, told apart by their first byte.

Source: `NettyRemotingServer.HandshakeHandler`, `TlsHelper` and `TlsSystemConfig` of 4.9.8. A server without certificate
and key closes connections that propose TLS, whatever its mode; the self-signed certificate of `tls.test.mode.enable` is
not made here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock
from embedded_broker.remoting.listener import Accepted
from embedded_broker.remoting.server import Limits, Service
from mqctl.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl

    from mqctl.protocol.tls import TlsSession

log = logging.getLogger("embedded_broker")

_HANDSHAKE_BYTE = 0x16


class TlsMode(StrEnum):
    """`tls.server.mode`: which connections a server takes."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(StrEnum):
    """`tls.server.need.client.auth`: whether clients have to show a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTls:
    """How name servers and brokers secure connections.

    Attributes:
        mode: `tls.server.mode`.
        cert_path, key_path: `tls.server.certPath`, `tls.server.keyPath`: PEM files, the key unencrypted.
        need_client_auth: `tls.server.need.client.auth`.
        trust_cert_path: `tls.server.trustCertPath`: authorities that sign the certificates of clients.
    """

    mode: TlsMode = TlsMode.PERMISSIVE
    cert_path: Path
    key_path: Path
    need_client_auth: ClientAuth = ClientAuth.NONE
    trust_cert_path: Path | None = None

    def server_context(self) -> ssl.SSLContext:
        """Returns what all connections to a server share. Raises ConfigurationError."""
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._load(context)
        wanted = {
            ClientAuth.NONE: ssl.CERT_NONE,
            ClientAuth.OPTIONAL: ssl.CERT_OPTIONAL,
            ClientAuth.REQUIRE: ssl.CERT_REQUIRED,
        }
        context.verify_mode = wanted[self.need_client_auth]
        if self.need_client_auth is not ClientAuth.NONE and self.trust_cert_path is None:
            raise ConfigurationError(
                f"clients cannot be asked for certificates ({self.need_client_auth})",
                reason="nobody is named who signs them",
                remedy="name the file of the authority that does (tls.server.trustCertPath)",
            )
        return context

    def outbound_context(self) -> ssl.SSLContext | None:
        """Returns how brokers speak to name servers: secured where these take nothing else, with the same certificate.

        As with `tls.client.authServer`, which is off by default, the name server need not prove who it is.
        """
        if self.mode is not TlsMode.ENFORCING:
            return None
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self._load(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        file = self.cert_path

        def password() -> str:
            raise ConfigurationError(
                f"could not use the key {self.key_path}", reason="it is encrypted", remedy="give an unencrypted one"
            )

        try:
            context.load_cert_chain(self.cert_path, self.key_path, password)
            if self.trust_cert_path is not None:
                file = self.trust_cert_path
                context.load_verify_locations(cafile=file)
        except OSError as error:
            raise ConfigurationError(
                f"could not use the certificate {file}",
                reason=str(error.strerror or error),
                remedy="name PEM files that exist: the certificate, and the key that belongs to it",
            ) from error


class SecuredConnection(Accepted):
    """An accepted connection whose first byte says whether it is secured."""

    def __init__(self, service: Service, clock: Clock, limits: Limits, mode: TlsMode, context: ssl.SSLContext) -> None:
        super().__init__(service, clock, limits)
        self._mode = mode
        self._context = context
        self._session: TlsSession | None = None
        self._began_ms: int | None = None

    def data_received(self, data: bytes) -> None:
        if self._began_ms is None:
            self._began_ms = self._clock.now_ms()
            if not self._admits(data[0] == _HANDSHAKE_BYTE):
                return
        if self._session is None:
            super().data_received(data)
            return
        import ssl

        try:
            plain = self._session.feed(data)
        except ssl.SSLError as error:
            self._flush()
            self.refuse(f"no TLS with it: {(error.reason or str(error)).lower().replace('_', ' ')}")
            return
        self._flush()
        if plain:
            super().data_received(plain)
        if self._session.ended:
            self.close()

    def _admits(self, secured: bool) -> bool:  # noqa: FBT001 - the byte decides
        if secured and self._mode is TlsMode.DISABLED:
            self.refuse("it wants TLS, which is disabled here")
            return False
        if not secured and self._mode is TlsMode.ENFORCING:
            self.refuse("it speaks plainly, and TLS is enforced here")
            return False
        if secured:
            from mqctl.protocol.tls import TlsSession

            self._session = TlsSession(self._context, server_side=True)
        return True

    def write(self, data: bytes) -> None:
        if self._session is None:
            super().write(data)
        elif not self.closed:
            self._session.write(data)
            self._flush()

    def _flush(self) -> None:
        data = self._session.outgoing() if self._session is not None else b""
        if data:
            super().write(data)

    def overdue(self, now_ms: int) -> str | None:
        session = self._session
        if session is not None and not session.established and self._began_ms is not None:
            limit_ms = self._limits.half_frame_ms
            if now_ms - self._began_ms > limit_ms:
                return f"its TLS handshake has not ended after {limit_ms} ms"
        return super().overdue(now_ms)
