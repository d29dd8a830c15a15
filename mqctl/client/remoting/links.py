"""All connections of one client or command (`NettyRemotingClient.channelTables`)."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from itertools import count
from types import TracebackType
from typing import Self, TypeVar

from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link, LinkSettings, OnRequest
from mqctl.client.remoting.question import Question
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.release import Release, release_text
from mqctl.protocol.codes import request_name, version_ordinal, version_text
from mqctl.protocol.header import proven_to
from mqctl.text import sentence

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """A peer of a release that is newer than any on which something was tried.

    Attributes:
        requests: names of those that it answered and whose answers may mean something else there.
    """

    address: str
    release: str
    requests: tuple[str, ...]


class Links:
    """All connections of one client or command, at most one per address. Use as a context manager, or close."""

    def __init__(
        self,
        settings: LinkSettings | None = None,
        *,
        on_request: OnRequest | None = None,
        on_close: Callable[[Link], None] | None = None,
    ) -> None:
        self.settings = settings or LinkSettings()
        self._on_request = on_request
        self._on_close = on_close
        self._links: dict[str, Link] = {}
        self._lock = allocate_lock()
        self._numbers = count(1)
        self._closed = False

    def get(self, address: str) -> Link:
        """Returns the connection to `address` (`host:port`), a new one when there is none or it has ended.

        Raises:
            UsageError: no address of that form, or everything has been closed.
        """
        link = self._links.get(address)
        if link is not None and not link.closed:
            return link
        with self._lock:
            link = self._links.get(address)
            if link is None or link.closed:
                if self._closed:
                    raise UsageError(
                        sentence("client-no-new-connection", "no new connection to {address}", address=address),
                        reason=sentence("client-closed", "this client has been closed"),
                    )
                link = self._links[address] = Link(
                    address,
                    self.settings,
                    number=next(self._numbers),
                    on_request=self._on_request,
                    on_close=self._on_close,
                )
        return link

    def ask(self, address: str, question: Question[T], deadline: Deadline) -> T:
        """Puts one question and returns the value of the answer.

        Raises:
            MqctlError: unreachable, timed out, refused or unreadable.
        """
        answer = self.get(address).call(question.request, body=question.body, deadline=deadline)
        return question.value(answer, address, deadline)

    def open_links(self) -> list[Link]:
        """Returns the connections that have not ended."""
        return [link for link in list(self._links.values()) if not link.closed]

    def unproven(self) -> list[Unproven]:
        """Returns whose answers are of releases on which their requests were not tried."""
        peers = []
        for link in list(self._links.values()):
            codes = (code for code in sorted(link.granted) if is_newer(link.peer_version, proven_to(code)))
            if names := tuple(map(request_name, codes)):
                peers.append(Unproven(address=link.address, release=version_text(link.peer_version), requests=names))
        return peers

    def release_heard(self, address: str) -> int:
        """Returns the version ordinal that answers from an address bore; 0 where none came, and nothing is opened."""
        link = self._links.get(address)
        return 0 if link is None else link.peer_version

    def newer_than(self, release: Release) -> list[Unproven]:
        """Returns who answered and is of a later release, whatever it was asked."""
        return [
            Unproven(address=link.address, release=version_text(link.peer_version), requests=())
            for link in list(self._links.values())
            if is_newer(link.peer_version, release)
        ]

    def sweep(self) -> None:
        """Ends the calls whose deadline has passed."""
        for link in list(self._links.values()):
            link.sweep()

    def drop(self, address: str) -> None:
        """Closes the connection to `address`, if there is one."""
        link = self._links.pop(address, None)
        if link is not None:
            link.close()

    def close(self) -> None:
        """Closes all connections and waits for their threads; nothing can be asked afterwards."""
        with self._lock:
            self._closed = True
        for address in list(self._links):
            self.drop(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_newer(ordinal: int, proven: Release | None) -> bool:
    """Tells whether a version ordinal is of a later release; nothing is later than what holds on all (None)."""
    return proven is not None and ordinal > version_ordinal(release_text(proven))
