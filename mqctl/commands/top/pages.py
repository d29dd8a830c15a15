"""What the screen can show: each page is the document of a read command, so that `c` can name it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass


class PageName(StrEnum):
    """The pages. Their names for people are phrases: `page_brokers`."""

    BROKERS = "brokers"
    TOPICS = "topics"
    GROUPS = "groups"
    QUEUES = "queues"
    MEMBERS = "members"
    MEMBER = "member"
    STACKS = "stacks"
    MESSAGES = "messages"
    MESSAGE = "message"
    FINDINGS = "findings"
    FINDING = "finding"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a page is about, and what a row adds to that; None where it is not narrowed."""

    broker: str | None = None
    topic: str | None = None
    group: str | None = None
    queue_id: int | None = None
    client_id: str | None = None
    message_id: str | None = None
    code: str | None = None

    def with_row(self, row: object, names: Mapping[str, str]) -> About:
        """Returns these facts with those of a row.

        Args:
            names: the attribute of the row by fact.
        """
        added = {fact: getattr(row, attribute) for fact, attribute in names.items()}
        return replace(self, **{fact: value for fact, value in added.items() if value is not None})

    def known(self) -> dict[str, object]:
        """Returns what is not None, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def only(self, names: Sequence[str]) -> About:
        """Returns some of the facts."""
        return replace(self, **{item.name: None for item in fields(self) if item.name not in names})


Words = Callable[[About], list[str]]


def _options(facts: About, **options: str) -> list[str]:
    """Returns the options for what is known: `group="-g"` becomes `-g ORDERS`."""
    known = facts.known()
    return [word for name, option in options.items() if name in known for word in (option, str(known[name]))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenPage:
    """One kind of page.

    Attributes:
        words: the command line that shows the same, without the options that name the cluster.
        needs: facts without which there is nothing to ask.
        narrows: further facts that it obeys; all others are dropped on the way in.
        row: the attribute of a row for each fact that a row tells.
        opens: what Enter opens; None for running text.
        key: opens the page from anywhere.
        columns: of the document's records, where people see no table of them elsewhere; empty: the document's table.
        drawn: column whose last minutes are drawn.
        every_s: seconds between looks; None: only when asked, since it is long.
    """

    words: Words
    needs: tuple[str, ...] = ()
    narrows: tuple[str, ...] = ()
    row: Mapping[str, str] = field(default_factory=dict)
    opens: PageName | None = None
    key: str = ""
    columns: tuple[str, ...] = ()
    drawn: str = ""
    every_s: float | None = 5.0

    def obeyed(self, facts: About) -> About:
        """Returns the facts that the page is about."""
        return facts.only((*self.needs, *self.narrows))


LIVE = (PageName.BROKERS, PageName.TOPICS, PageName.GROUPS)
"""Shown from the looks of `top` itself, which know rates."""

PAGES: Mapping[PageName, ScreenPage] = {
    PageName.BROKERS: ScreenPage(
        words=lambda facts: ["broker", "list"],
        row={"broker": "name"},
        opens=PageName.TOPICS,
        key="b",
        drawn="put_tps",
    ),
    PageName.TOPICS: ScreenPage(
        words=lambda facts: ["top", "--once", *_options(facts, topic="-t", broker="--broker")],
        narrows=("broker",),
        row={"topic": "topic"},
        opens=PageName.GROUPS,
        key="t",
        drawn="produce_tps",
    ),
    PageName.GROUPS: ScreenPage(
        words=lambda facts: ["group", "lag", "--watch", "--by", "group", *_options(facts, topic="-t", group="-g")],
        narrows=("topic",),
        row={"group": "group", "topic": "topic"},
        opens=PageName.QUEUES,
        key="g",
        drawn="lag_count",
    ),
    PageName.QUEUES: ScreenPage(
        words=lambda facts: ["group", "lag", "--by", "queue", *_options(facts, group="-g", topic="-t")],
        needs=("group",),
        narrows=("topic",),
        row={"group": "group", "topic": "topic", "broker": "broker_name", "queue_id": "queue_id"},
        opens=PageName.MESSAGES,
        key="u",
        drawn="lag_count",
    ),
    PageName.MEMBERS: ScreenPage(
        words=lambda facts: ["group", "members", *_options(facts, group="-g")],
        needs=("group",),
        row={"client_id": "client_id"},
        opens=PageName.MEMBER,
        key="m",
        drawn="cached_count",
    ),
    PageName.MEMBER: ScreenPage(
        words=lambda facts: ["group", "members", "--client", str(facts.client_id), *_options(facts, group="-g")],
        needs=("group", "client_id"),
    ),
    PageName.STACKS: ScreenPage(
        words=lambda facts: ["stacks", "dump", *_options(facts, group="-g", client_id="--client")],
        needs=("group",),
        narrows=("client_id",),
        key="k",
        every_s=None,
    ),
    PageName.MESSAGES: ScreenPage(
        words=lambda facts: [
            *("message", "peek", *_options(facts, topic="-t", broker="--broker", queue_id="-q")),
            *("--count", "20"),
        ],
        needs=("topic",),
        narrows=("broker", "queue_id"),
        row={"topic": "topic", "message_id": "message_id"},
        opens=PageName.MESSAGE,
        key="e",
        columns=("queue_id", "queue_offset", "store_time_ms", "tags", "keys", "body_bytes", "message_id", "body"),
    ),
    PageName.MESSAGE: ScreenPage(
        words=lambda facts: ["message", "get", str(facts.message_id), *_options(facts, topic="-t")],
        needs=("topic", "message_id"),
        every_s=None,
    ),
    PageName.FINDINGS: ScreenPage(
        words=lambda facts: ["doctor", *_options(facts, group="-g", topic="-t")],
        narrows=("group", "topic"),
        row={"code": "code"},
        opens=PageName.FINDING,
        key="f",
        columns=("severity", "code", "subject", "what"),
        every_s=None,
    ),
    PageName.FINDING: ScreenPage(
        words=lambda facts: [
            *("doctor", "--only", str(facts.code), "--explain", *_options(facts, group="-g", topic="-t")),
        ],
        needs=("code",),
        narrows=("group", "topic"),
        every_s=None,
    ),
}
BY_KEY: Mapping[str, PageName] = {page.key: name for name, page in PAGES.items() if page.key}
