"""What the commands about users share: who has which users, and what would be decided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mqctl.changes.settings.change import touched_masters
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.options.access import Kind
from mqctl.cli.sources.brokers import asking_of
from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.commands.acl.plan import check_entry
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.access import ACTIONS, AccessEntry, Decision, decide_access
from mqctl.model.access_list import decide_listed
from mqctl.model.gap import Part
from mqctl.snapshot.live.access import ask_access, ask_access_files, ask_listed_access
from mqctl.snapshot.live.brokers import LiveBroker, ask_settings, masters_of
from mqctl.snapshot.live.topic_use import all_told
from mqctl.text import sentence

_SWITCH = "authenticationEnabled"  # a setting of brokers that have users


def named_on(
    target: ClusterTarget, names: Sequence[str], kind: Kind | None, brokers: Sequence[str]
) -> tuple[str, Kind, Sequence[str]]:
    """Returns who is named, whether that is a user or an account, and the brokers to change; none for all masters.

    Args:
        kind: as it was given; None where brokers say it, which all are of one kind then.
        brokers: those named, if any.

    Raises:
        UsageError: not one is named; or there are brokers of both kinds, and none is given.
        MqctlError: a broker does not tell its settings, and no kind is given.
    """
    if len(names) != 1:
        raise UsageError(
            sentence("acl-one-at-a-time", "one user or account at a time"),
            remedy=sentence("acl-name-just-one", "write one NAME"),
        )
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        masters = touched_masters(asking, brokers)
        ask_settings(asking, masters)
    if kind is None:
        all_told(masters)
    users = [item.name for item in masters if _SWITCH in item.config]
    accounts = [item.name for item in masters if item.config and item.name not in users]
    if kind is None and users and accounts:
        raise UsageError(
            sentence("acl-both-kinds", "brokers with users and brokers with accounts are here"),
            reason=sentence("acl-which-kind", "users: {users}; accounts: {accounts}", users=users, accounts=accounts),
            remedy=sentence("acl-give-kind", "add --kind user or --kind account, or name brokers with --broker"),
        )
    kind = kind or (Kind.USER if users else Kind.ACCOUNT)
    return names[0], kind, brokers or (users if kind is Kind.USER and accounts else ())


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
