"""Profiles as a table; keys never show."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import sentence

COLUMNS = (
    Column("name", "profile"),
    Column("current", "current", CellKind.FLAG),
    Column("namesrv", "name servers"),
    Column("cluster", "cluster"),
    Column("timeout_ms", "timeout", CellKind.DURATION_MS, none="15 s"),
    Column("keys", "keys", none="none"),
    Column("tls", "TLS by", none="plain"),
    Column("room_rule", "rooms by", wide=True),
    Column("proxies", "proxies", wide=True),
    Column("brokers", "brokers", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """One profile.

    Attributes:
        keys: where the keys come from; never the keys.
        tls: file of the authority that is trusted, `none` for anybody; None without TLS.
        brokers: names of those that belong to it, where they were given.
    """

    name: str
    current: bool
    namesrv: str
    cluster: str | None
    timeout_ms: int | None
    keys: str | None
    room_rule: str | None
    tls: str | None = None
    proxies: str | None = None
    brokers: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileList:
    """Machine form of `profile show`."""

    profiles: list[ProfileRow]


def profile_document(rows: Sequence[ProfileRow]) -> Document:
    """Builds the document of profiles."""
    empty = sentence("profile-none-yet", "no profiles yet; try: mqctl profile add NAME --namesrv HOST:PORT")
    value = ProfileList(profiles=list(rows))
    return Document(schema="profile.show/1", value=value, records=rows, blocks=[Table(COLUMNS, rows, empty=empty)])
