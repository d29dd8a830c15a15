"""Where the addresses of the name servers come from: written down, or from an HTTP address service.

Source: `TopAddressing` of 4.9.8: `http://<domain>:8080/rocketmq/nsaddr` answers `ip:port;ip:port`; a room's or a unit's
service answers its own list, and switching a room means changing what its service answers.
"""

from __future__ import annotations

from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import split_address
from mqctl.errors import ConfigurationError, UnreachableError, UsageError
from mqctl.text import sentence

_PROXY_PORT = 8080
_LONGEST_ANSWER_BYTES = 64 * 1024
SERVICE_TIMEOUT_MS = 3000
_LONGEST_WAIT_S = 86_400.0  # what a socket can wait ends at 24 days
_SERVICE_REMEDY = sentence(
    "address-service-form", "write http://host:port/rocketmq/nsaddr, an IPv6 address in [brackets]"
)


def parse_addresses(text: str) -> tuple[str, ...]:
    """Reads `host:port;host:port` (commas and blanks separate as well).

    Raises:
        UsageError: nothing there, or something that is no address.
    """
    addresses = tuple(dict.fromkeys(text.replace(",", ";").replace(" ", ";").strip(";").split(";")))
    listed = tuple(address for address in addresses if address)
    if not listed:
        raise UsageError(
            sentence("client-no-name-server-given", "no name server given"),
            remedy=sentence("client-write-host-port-address", "write host:port;host:port, or an address service's URL"),
        )
    for address in listed:
        host, _port = split_address(address)
        try:
            host.encode("idna")  # as connecting will do: labels that are too long, bytes that are no text
        except UnicodeError as error:
            raise UsageError(
                sentence("not-address", "{address!r} is not an address", address=address),
                reason=sentence("client-no-host-name", "no host can have this name"),
            ) from error
    return listed


def proxy_addresses(text: str) -> tuple[str, ...]:
    """Reads `host[:port];host[:port]`: remoting ports of proxies, 8080 where none is given (`ProxyConfig`).

    Raises:
        UsageError: nothing there, or something that is no address.
    """
    addresses = []
    for part in filter(None, text.replace(",", ";").replace(" ", ";").split(";")):
        address = part if ":" in part.rpartition("]")[2] else f"{part}:{_PROXY_PORT}"
        try:
            split_address(address)
        except UsageError as error:
            raise UsageError(
                sentence("client-not-address-proxy", "{part!r} is not the address of a proxy", part=part),
                remedy=sentence("client-write-host-port", "write HOST or HOST:PORT"),
            ) from error
        addresses.append(address)
    if not addresses:
        raise UsageError(
            sentence("client-no-proxy-given", "no proxy given"),
            remedy=sentence("client-write-host-port", "write HOST or HOST:PORT"),
        )
    return tuple(dict.fromkeys(addresses))


class TopAddressing:
    """An HTTP service that names the name servers.

    Args:
        url: `http://host[:port]/rocketmq/nsaddr`, a query included where the service wants one.
    """

    def __init__(self, url: str) -> None:
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(url)
            _ = parts.port
            (parts.path + parts.query).encode("ascii")
            (parts.hostname or "").encode("idna")
        except ValueError as error:
            raise UsageError(
                sentence("client-not-address-service", "{url!r} is not an address service", url=url),
                reason=str(error),
                remedy=_SERVICE_REMEDY,
            ) from error
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(
                sentence("client-not-address-service", "{url!r} is not an address service", url=url),
                remedy=_SERVICE_REMEDY,
            )
        self.url = url
        self._parts = parts

    def fetch(self, deadline: Deadline | None = None) -> tuple[str, ...]:
        """Asks the service.

        Raises:
            UnreachableError: it did not answer, or not with 200.
            ConfigurationError: its answer names no name server.
        """
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        parts = self._parts
        limit_s = min((deadline or Deadline(SERVICE_TIMEOUT_MS)).remaining_s or 0.001, _LONGEST_WAIT_S)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=limit_s)
        try:
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
            response = connection.getresponse()
            text = response.read(_LONGEST_ANSWER_BYTES).decode("utf-8", "replace").strip()
        except (OSError, HTTPException) as error:
            raise self._unreachable(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if response.status != 200:
            raise self._unreachable(
                sentence("answered-with-http-status", "it answered with HTTP status {status}", status=response.status)
            )
        try:
            return parse_addresses(text)
        except UsageError as error:
            raise ConfigurationError(
                sentence(
                    "client-address-service-lists-no",
                    "the address service {url} lists no name server",
                    url=self.url,
                ),
                reason=sentence("client-answers", "it answers {text!r}", text=text[:80]),
            ) from error

    def _unreachable(self, reason: str) -> UnreachableError:
        return UnreachableError(
            sentence("client-address-service-did-not", "The address service {url} did not answer", url=self.url),
            reason=reason,
            remedy=sentence("client-check-url-name", "check the URL, or name the name servers as host:port;host:port"),
        )


def name_server_source(text: str) -> tuple[str, ...] | TopAddressing:
    """Reads the setting of name servers: addresses, or the URL of an address service (it has a path).

    `http://host:port` without a path is that one name server, as managed instances write it.

    Raises:
        UsageError: neither.
    """
    text = text.strip()
    scheme, separator, rest = text.partition("://")
    if not separator:
        return parse_addresses(text)
    if "@" in rest.partition("/")[0]:  # not repeated: what stands before it may be a password
        raise UsageError(
            sentence(
                "client-url-names-user",
                "the URL {scheme}://...@{rpartition} names a user",
                scheme=scheme,
                rpartition=rest.rpartition("@")[2],
            ),
            reason=sentence(
                "client-address-services-rocketmq-no",
                "address services of RocketMQ have no users, and URLs are printed and stored",
            ),
            remedy=sentence("client-leave-out-before", "leave out what is before the @"),
        )
    if "/" in rest.rstrip("/"):
        return TopAddressing(text)
    if scheme not in {"http", "https"}:
        raise UsageError(
            sentence("client-names-no-name-server", "{text!r} names no name server", text=text),
            remedy=sentence("client-write-host-and-port", "write host:port;host:port"),
        )
    return parse_addresses(rest.rstrip("/"))
