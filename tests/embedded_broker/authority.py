"""Certificates for tests, made on the spot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from embedded_broker.remoting.tls import ClientAuth, ServerTls, TlsMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its key, as files."""

    cert: Path
    key: Path


class Authority:
    """An authority that signs certificates, and the file that tells clients to trust it."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._directory = directory
        self._name = name
        self._ca = trustme.CA()
        self.file = directory / f"{name}.pem"
        self._ca.cert_pem.write_to_path(self.file)
        self._count = 0

    def issue(self, *names: str, expired: bool = False) -> Pair:
        """Signs a certificate for names or addresses."""
        now = datetime.now(UTC)
        before, after = (now - timedelta(days=9), now - timedelta(days=1)) if expired else (None, None)
        issued = self._ca.issue_cert(*names, not_before=before, not_after=after)
        self._count += 1
        stem = f"{self._name}-{self._count}"
        pair = Pair(cert=self._directory / f"{stem}.crt", key=self._directory / f"{stem}.key")
        for number, blob in enumerate(issued.cert_chain_pems):
            blob.write_to_path(pair.cert, append=number > 0)
        issued.private_key_pem.write_to_path(pair.key)
        return pair

    def server(
        self,
        mode: TlsMode,
        *,
        pair: Pair | None = None,
        auth: ClientAuth = ClientAuth.NONE,
    ) -> ServerTls:
        """Returns the settings of servers with a certificate for 127.0.0.1."""
        shown = pair or self.issue("127.0.0.1", "localhost")
        return ServerTls(
            mode=mode, cert_path=shown.cert, key_path=shown.key, need_client_auth=auth, trust_cert_path=self.file
        )
