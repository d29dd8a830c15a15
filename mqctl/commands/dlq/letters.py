"""What the commands on dead letters share: the brokers, and which letters are meant."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.emit import tell
from mqctl.cli.sources.brokers import open_brokers
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.dead_letter import LetterChoice
from mqctl.model.names import dlq_topic
from mqctl.model.names_alike import meant
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_topics, masters_of
from mqctl.text import sentence

KeyOption = Annotated[
    list[str] | None, typer.Option("--key", metavar="KEY", help="Only letters with this key; may be repeated.")
]
IdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--id", metavar="ID", help="Only letters with this message id, offset id or origin id; may be repeated."
    ),
]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Given up at or after this time.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Given up before this time.")]
BrokersOption = Annotated[
    list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
]


def letter_choice(
    keys: list[str] | None,
    ids: list[str] | None,
    since: str | None,
    until: str | None,
    brokers: list[str] | None,
) -> LetterChoice:
    """Reads the options that choose letters; the instants are echoed. Raises UsageError."""
    moments: list[int | None] = []
    for word, text in (("since", since), ("until", until)):
        if text is None:
            moments.append(None)
            continue
        from mqctl.cli.times import parse_instant

        moment = parse_instant(text, datetime.now().astimezone())
        tell(f"mqctl: {word} {moment.text}")
        moments.append(moment.epoch_ms)
    first, last = moments
    if first is not None and last is not None and first >= last:
        raise UsageError(
            sentence("since-not-before-until", "--since is not before --until"),
            remedy=sentence("dlq-exchange-leave-out", "exchange them, or leave one out"),
        )
    return LetterChoice(
        keys=frozenset(keys or ()),
        ids=frozenset(ids or ()),
        since_ms=first,
        until_ms=last,
        brokers=frozenset(brokers or ()),
    )


def letter_brokers(asking: Asking, group: str, names: Iterable[str]) -> list[LiveBroker]:
    """Returns the masters with their topics and the group.

    Raises:
        NotFoundError: no such broker; or every one answered, and none knows the group or letters of it.
    """
    wanted = set(names)
    open_brokers(asking, wanted)
    brokers = masters_of(open_brokers(asking))
    ask_topics(asking, brokers)
    ask_groups(asking, brokers, Scope(groups=frozenset({group})))
    topic = dlq_topic(group)
    if not any(broker.gaps or group in broker.groups or topic in broker.topics for broker in brokers):
        groups = {name for broker in brokers for name in broker.told_groups}
        remedy = meant(group, groups, "mqctl dlq list; mqctl group list --all")
        raise NotFoundError(
            sentence("no-consumer-group", "there is no consumer group {group}", group=group), remedy=remedy
        )
    return [item for item in brokers if not wanted or {item.name, item.address.address} & wanted]
