"""Where the addresses of the name servers come from: written down, or from an HTTP address service.

Source: `TopAddressing` of 4.9.8: `http://<domain>:8080/rocketmq/nsaddr` answers `ip:port;ip:port`; a room's or a unit's
service answers its own list, and switching a room means changing what its service answers.
"""

from __future__ import annotations

from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import split_address
from mqctl.errors import ConfigurationError, UnreachableError, UsageError

_PROXY_PORT = 8080
_LONGEST_ANSWER_BYTES = 64 * 1024
SERVICE_TIMEOUT_MS = 3000
_LONGEST_WAIT_S = 86_400.0  # what a socket can wait ends at 24 days
_SERVICE_REMEDY = "write http://host:port/rocketmq/nsaddr, an IPv6 address in [brackets]"


def parse_addresses(text: str) -> tuple[str, ...]:
    """Reads `host:port;host:port` (commas and blanks separate as well).

    Raises:
        UsageError: nothing there, or something that is no address.
    """
    addresses = tuple(dict.fromkeys(text.replace(",", ";").replace(" ", ";").strip(";").split(";")))
    listed = tuple(address for address in addresses if address)
    if not listed:
        raise UsageError("no name server given", remedy="write host:port;host:port, or an address service's URL")
    for address in listed:
        host, _port = split_address(address)
        try:
            host.encode("idna")  # as connecting will do: labels that are too long, bytes that are no text
        except UnicodeError as error:
            raise UsageError(f"{address!r} is not an address", reason="no host can have this name") from error
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
            raise UsageError(f"{part!r} is not the address of a proxy", remedy="write HOST or HOST:PORT") from error
        addresses.append(address)
    if not addresses:
        raise UsageError("no proxy given", remedy="write HOST or HOST:PORT")
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
            raise UsageError(f"{url!r} is not an address service", reason=str(error), remedy=_SERVICE_REMEDY) from error
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(f"{url!r} is not an address service", remedy=_SERVICE_REMEDY)
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
            raise self._unreachable(f"it answered with HTTP status {response.status}")
        try:
            return parse_addresses(text)
        except UsageError as error:
            raise ConfigurationError(
                f"the address service {self.url} lists no name server", reason=f"it answers {text[:80]!r}"
            ) from error

    def _unreachable(self, reason: str) -> UnreachableError:
        return UnreachableError(
            f"The address service {self.url} did not answer",
            reason=reason,
            remedy="check the URL, or name the name servers as host:port;host:port",
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
            f"the URL {scheme}://...@{rest.rpartition('@')[2]} names a user",
            reason="address services of RocketMQ have no users, and URLs are printed and stored",
            remedy="leave out what is before the @",
        )
    if "/" in rest.rstrip("/"):
        return TopAddressing(text)
    if scheme not in {"http", "https"}:
        raise UsageError(f"{text!r} names no name server", remedy="write host:port;host:port")
    return parse_addresses(rest.rstrip("/"))
