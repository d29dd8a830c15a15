"""What the commands about users share: who has which users, and what would be decided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.commands.acl.plan import check_entry
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.access import ACTIONS, AccessEntry, Decision, decide_access
from mqctl.model.access_list import decide_listed
from mqctl.model.gap import Part
from mqctl.snapshot.live.access import ask_access, ask_access_files, ask_listed_access
from mqctl.snapshot.live.brokers import LiveBroker, masters_of
from mqctl.text import sentence


def access_of(source: LiveOrSaved, names: Sequence[str]) -> list[LiveBroker]:
    """Returns the masters, or those named, each with its users. Raises NotFoundError."""
    brokers = [item for item in masters_of(source.brokers({Part.ACCESS})) if not names or item.name in names]
    if not brokers:
        raise NotFoundError(
            sentence("acl-no-such-broker", "there is no such broker"),
            remedy=sentence("acl-broker-list-shows-names", "mqctl broker list shows the names"),
        )
    source.ask(ask_access, brokers)
    return brokers


def ask_listed(source: LiveOrSaved, brokers: list[LiveBroker], copy: Path | None) -> None:
    """Reads access lists of those of 4.9 that have one; a snapshot has what could be read when it was saved."""
    source.ask(ask_listed_access, brokers, copy)


def ask_files(source: LiveOrSaved, brokers: list[LiveBroker]) -> None:
    """Asks brokers of 4.9 which access files they have; a snapshot does not tell."""
    source.ask(ask_access_files, brokers)


def decisions_of(brokers: Sequence[LiveBroker], user: str, question: tuple[str, str, str]) -> dict[str, Decision]:
    """Returns what each broker that has users decides.

    Args:
        question: resource, action and address.

    Raises:
        UsageError: resource, action or address cannot be.
        NotFoundError: every broker answered, and none has the user.
    """
    resource, action, address = question
    check_entry(AccessEntry(resource, (action,), sources=(address,)))
    if resource.endswith("*") or action == ACTIONS[0]:
        raise UsageError(
            sentence("acl-ask-thing", "ask for one thing"),
            reason=sentence("acl-lot", "{action} on {resource} is a lot", action=action, resource=resource),
            remedy=sentence("acl-name-resource", "name one resource"),
        )
    decisions = {}
    for broker in brokers:
        for item in broker.access.users if broker.access is not None else ():
            if item.name == user and broker.access is not None:
                entries = broker.access.entries.get(user, ())
                decisions[broker.name] = (
                    decide_listed(broker.access, item, resource, action, address)
                    if broker.access.listed
                    else decide_access(item, entries, resource, (action,), address)
                )
    if not decisions and not any(gap.part is Part.ACCESS for broker in brokers for gap in broker.gaps):
        raise NotFoundError(
            sentence("acl-no-user", "there is no user {user}", user=user),
            remedy=sentence("acl-list-shows-users", "mqctl acl list shows the users"),
        )
    return decisions
