"""TLS of the client: what to trust, what to show, and what went wrong in words.

`ssl` is imported when the first connection is made, so that a command that speaks plainly does not pay for it.
"""

from __future__ import annotations

import socket
from _thread import allocate_lock
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.errors import ConfigurationError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

if TYPE_CHECKING:
    import ssl

_RECEIVE_BYTES = 64 * 1024
ANY_NAME = "any"
_NO_CERTIFICATE_WORDS = ("CERTIFICATE_REQUIRED", "ALERT_HANDSHAKE_FAILURE", "BAD_CERTIFICATE")
_FILE_REASONS = {
    "KEY_VALUES_MISMATCH": sentence("client-key-other-certificate", "the key is another certificate's"),
    "NO_CERTIFICATE_OR_CRL_FOUND": sentence("client-not-pem", "it is not in PEM form"),
    "NO_START_LINE": sentence("client-not-pem", "it is not in PEM form"),
}
_EXPIRED, _NOT_YET, _WRONG_HOST, _WRONG_IP = 10, 9, 62, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """How connections are secured.

    Attributes:
        ca_file: PEM file with the authorities to trust; None trusts those of the system.
        cert_file, key_file: our own certificate (chain), for brokers that ask for one, and its key; PEM.
        key_password: of an encrypted key; never shown.
        server_name: name that all certificates of the cluster carry, instead of the addresses we connect to; `any`
            accepts every name.
        verify: whether a certificate has to be trusted at all; a cluster in test mode has self-signed ones.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    server_name: str | None = None
    verify: bool = True


class TlsError(OSError):
    """A connection that could not be secured.

    Attributes:
        remedy: what to do about it.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


@lru_cache(maxsize=8)
def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Returns what all connections with these settings share.

    Raises:
        ConfigurationError: a file cannot be read, or key and certificate do not belong together.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif settings.server_name == ANY_NAME:
        context.check_hostname = False
    if settings.ca_file is not None:
        try:
            context.load_verify_locations(cafile=settings.ca_file)
        except OSError as error:
            raise _unusable(
                sentence("client-authorities-to-trust", "the authorities to trust"), settings.ca_file, error
            ) from error
    elif settings.verify:
        context.load_default_certs()
    if settings.cert_file is not None:
        _load_certificate(context, settings)
    elif settings.key_file is not None:
        raise ConfigurationError(
            sentence("client-tls-key-needs-certificate", "a TLS key needs its certificate"),
            remedy=sentence("client-name-certificate-too", "name the certificate too"),
        )
    return context


def _load_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    files = f"{settings.cert_file}{f' and {settings.key_file}' if settings.key_file else ''}"

    needs_password = False

    def password() -> str:
        nonlocal needs_password
        needs_password = True
        if settings.key_password is None:
            raise ConfigurationError(
                sentence("client-could-not-use-our", "could not use our certificate {files}", files=files),
                reason=sentence("client-key-encrypted", "its key is encrypted"),
                remedy=sentence("client-set-tls-key-password", "set MQCTL_TLS_KEY_PASSWORD"),
            )
        return settings.key_password

    import ssl

    try:
        context.load_cert_chain(settings.cert_file or "", settings.key_file, password)
    except OSError as error:
        if needs_password and isinstance(error, ssl.SSLError) and error.reason != "KEY_VALUES_MISMATCH":
            raise ConfigurationError(
                sentence("client-could-not-use-our", "could not use our certificate {files}", files=files),
                reason=sentence("client-tls-key-password-not", "MQCTL_TLS_KEY_PASSWORD does not decrypt the key"),
                remedy=sentence("client-set-password-key", "set the password of this key"),
            ) from error
        if settings.key_file is None and _holds_certificate(settings.cert_file):
            raise ConfigurationError(
                sentence("client-could-not-use-our-certificate", "could not use our certificate, {files}", files=files),
                reason=sentence("client-key-not-file", "its key is not in that file"),
                remedy=sentence("client-add-tls-key", "add --tls-key"),
            ) from error
        raise _unusable(sentence("client-our-certificate", "our certificate"), files, error) from error


def _holds_certificate(file: str | None) -> bool:
    try:
        return file is not None and "-----BEGIN CERTIFICATE-----" in Path(file).read_text("ascii", "replace")
    except OSError:
        return False


def _unusable(what: str, file: str, error: OSError) -> ConfigurationError:
    reason = _FILE_REASONS.get(getattr(error, "reason", ""), "")
    reason = reason or (
        sentence("client-not-pem", "it is not in PEM form") if "PEM" in str(error) else error.strerror or str(error)
    )
    return ConfigurationError(
        sentence("client-could-not-use", "could not use {what}, {file}", what=what, file=file),
        reason=reason,
        remedy=sentence("client-name-pem-files-exist", "name PEM files that exist: certificate, then key"),
    )


class TlsSocket:
    """A connected socket with TLS on it; one thread may read while others write.

    A reader and a writer share the session under a lock held for its own work only, never while bytes travel, so that a
    peer that does not read until it was read from cannot stop both.
    """

    def __init__(self, raw: socket.socket, settings: TlsSettings, host: str) -> None:
        from mqctl.protocol.tls import TlsSession

        named = settings.server_name if settings.server_name not in (None, ANY_NAME) else host
        self._raw = raw
        self._plain = b""
        self._using, self._sending = allocate_lock(), allocate_lock()
        self._session = TlsSession(client_context(settings), server_side=False, server_name=named)
        self._settings = settings
        self._named = named or host

    def shake_hands(self) -> None:
        """Secures the connection, in the time that the socket waits. Raises TlsError, or OSError (network)."""
        from time import monotonic

        data, limit_s = b"", self._raw.gettimeout() or 0.0
        end = monotonic() + limit_s
        try:
            while True:
                self._plain += self._fed(data)
                if self._session.established:
                    return
                if limit_s:  # also for who sends a byte now and then
                    self._raw.settimeout(max(0.001, end - monotonic()))
                data = self._raw.recv(_RECEIVE_BYTES)
                if not data:
                    raise _closed()
        except TimeoutError as error:
            raise TlsError(
                sentence(
                    "client-accepted-connection-but-did",
                    "it accepted the connection but did not finish the TLS handshake in {limit_ms}",
                    limit_ms=round(limit_s * 1000),
                ),
                sentence("client-no-tls-or-hangs", "it may speak no TLS: leave --tls out; or it hangs"),
            ) from error
        except (ConnectionResetError, BrokenPipeError) as error:
            raise _closed() from error

    def recv_into(self, buffer: memoryview) -> int:
        """Reads what there is, at least a byte; 0 at the end. Raises TlsError, OSError."""
        while not self._plain:
            data = self._raw.recv(_RECEIVE_BYTES)
            if not data or self._session.ended:
                return 0
            self._plain = self._fed(data)
        size = min(len(buffer), len(self._plain))
        buffer[:size] = self._plain[:size]
        self._plain = self._plain[size:]
        return size

    def _fed(self, data: bytes) -> bytes:
        import ssl

        try:
            with self._using:
                plain = self._session.feed(data)
        except ssl.SSLError as error:
            self._answer()  # the other side learns why
            raise _explained(error, self._named, self._settings) from error
        self._answer()
        return plain

    def _answer(self) -> None:
        """Sends what the session itself has to say, unless a writer is about to: it goes with the next bytes then."""
        if self._sending.acquire(blocking=False):
            try:
                with self._using:
                    data = self._session.outgoing()
                if data:
                    self._raw.sendall(data)
            finally:
                self._sending.release()

    def sendall(self, data: bytes) -> None:
        """Writes all of `data`. Raises OSError."""
        with self._sending:
            with self._using:
                self._session.write(data)
                sealed = self._session.outgoing()
            self._raw.sendall(sealed)

    def getsockname(self) -> tuple[str, int]:
        """Returns our own end."""
        host, port = self._raw.getsockname()[:2]
        return host, port

    def shutdown(self, how: int) -> None:
        """Ends the connection under whoever reads."""
        self._raw.shutdown(how)

    def close(self) -> None:
        """Closes the socket."""
        self._raw.close()


def _closed() -> TlsError:
    return TlsError(
        sentence("client-closed-connection-when-tls", "it closed the connection when TLS was proposed"),
        sentence(
            "client-no-tls-or-refuses",
            "it may speak no TLS: leave --tls out; or it accepts no connection with this address or name",
        ),
    )


def _explained(error: ssl.SSLError, name: str, settings: TlsSettings) -> TlsError:
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return _untrusted(error, name)
    reason = error.reason or str(error)
    if "UNKNOWN_CA" in reason or "CERTIFICATE" in reason or any(word in reason for word in _NO_CERTIFICATE_WORDS):
        return _refused(reason, settings)
    if reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}:
        return TlsError(
            sentence("client-not-answer-tls", "it does not answer with TLS"),
            sentence("client-leave-tls-or-port", "leave --tls out, or name the port that speaks TLS"),
        )
    words = reason.lower().replace("_", " ")
    return TlsError(
        sentence("client-no-secure-connection", "no secure connection: {words}", words=words),
        sentence("client-compare-tls-versions", "compare its TLS versions and certificates with ours"),
    )


def _refused(reason: str, settings: TlsSettings) -> TlsError:
    """Tells what the other side has against our certificate."""
    if "CERTIFICATE_EXPIRED" in reason:
        return TlsError(
            sentence("client-our-certificate-expired", "our certificate has expired"),
            sentence("client-renew-name-new", "have it renewed, and name the new one with --tls-cert"),
        )
    if not any(word in reason for word in _NO_CERTIFICATE_WORDS):
        remedy = sentence("client-have-it-signed", "have it signed by an authority that the broker trusts")
        return TlsError(sentence("client-not-accept-our-certificate", "it does not accept our certificate"), remedy)
    if settings.cert_file is None:
        return TlsError(
            sentence(
                "requires-client-certificate-none",
                "it requires a client certificate, and none is configured",
            ),
            sentence("client-add-tls-cert-key", "add --tls-cert and --tls-key"),
        )
    return TlsError(
        sentence("client-not-accept-our-certificate", "it does not accept our certificate"),
        sentence("client-check-signer-cert", "check the signer of --tls-cert, and its time"),
    )


def _untrusted(error: ssl.SSLCertVerificationError, name: str) -> TlsError:
    if error.verify_code == _EXPIRED:
        return TlsError(
            sentence("client-certificate-expired", "its certificate has expired"),
            sentence("client-renew-until-then", "have it renewed; until then nothing proves who answers there"),
        )
    if error.verify_code == _NOT_YET:
        return TlsError(
            sentence("client-certificate-not-valid-yet", "its certificate is not valid yet"),
            sentence("client-compare-clocks", "compare the clocks of both machines"),
        )
    if error.verify_code in (_WRONG_HOST, _WRONG_IP):
        return TlsError(
            sentence("client-certificate-not", "its certificate is not for {name}", name=name),
            sentence(
                "client-name-tls-server-name",
                "name what it is for with --tls-server-name, or `any` where the authority alone is proof enough",
            ),
        )
    return TlsError(
        sentence(
            "client-certificate-not-signed-trusted",
            "its certificate is not signed by a trusted authority ({verify_message})",
            verify_message=error.verify_message,
        ),
        sentence("client-name-tls-ca", "name the file of the cluster's authority with --tls-ca"),
    )
