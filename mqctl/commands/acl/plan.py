"""Plans that make, change and delete users of 5.x brokers, and what they may do.

Each broker has users and entries of its own: a plan goes to all masters, or to those that are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mqctl.changes.engine.run import now_ms
from mqctl.changes.settings.access_places import AS_GIVEN, entry_fields, entry_subject
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.changes.settings.places import Place, read_setting
from mqctl.client.admin import access
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.access import ACTIONS, ANYTHING, ENABLE, RESOURCE_TYPES, SUPER, AccessEntry, AccessUser, source_problem
from mqctl.model.command_line import command_line
from mqctl.model.setting_plan import Fields, SettingKind, SettingPlan, SettingStep
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.text import sentence


def plan_user(
    asking: Asking,
    user: str,
    requested: Fields,
    secret: str | None,
    brokers: Sequence[str],
    *,
    new: bool,
    existing: bool,
) -> SettingPlan:
    """Plans a new user, or other settings of one.

    Args:
        requested: `user_type`, `user_status`, those that are given.
        secret: the password; None leaves it.
        new: change none that is there.
        existing: make none.

    Raises:
        UsageError: the name cannot be, nothing is to change, or a new user has no password.
        NotFoundError: no broker has the user that is to change.
        RefusedError: a broker has the user that is to be new, with other settings.
    """
    _check_name(user)
    if not requested and secret is None:
        raise UsageError(
            sentence("no-change-given", "no change given"),
            remedy=sentence("acl-give-type-status-password", "give --type, --status or --password-file"),
        )
    masters = touched_masters(asking, brokers)
    now = {broker.name: _read(asking, broker, SettingKind.USER, user, secret) for broker in masters}
    if existing and not any(now.values()):
        raise NotFoundError(
            sentence("acl-no-user", "there is no user {user}", user=user),
            remedy=sentence("acl-list-shows-users", "mqctl acl list shows the users"),
        )
    fresh = {"user_type": AccessUser(user).kind, "user_status": ENABLE}
    steps = []
    for broker in masters:
        old = now[broker.name]
        if old is None and existing:
            continue
        password = {"password": AS_GIVEN} if secret is not None else {}
        steps.append(_step(broker, SettingKind.USER, user, (old, {**fresh, **(old or {}), **requested, **password})))
    without = [step.place for step in steps if step.old is None]
    if without and secret is None:
        raise UsageError(
            sentence("acl-new-user-password", "a new user needs a password"),
            reason=sentence("acl-brokers-without-user", "without user {user}: {brokers}", user=user, brokers=without),
            remedy=sentence("acl-password-or-existing", "give --password-file, or --existing to make no user"),
        )
    if new and (changed := [step.place for step in steps if step.old is not None and step.moves]):
        raise RefusedError(
            sentence("acl-user-exists", "there is a user {user} already", user=user),
            reason=sentence("acl-with-other-settings", "with other settings on {brokers}", brokers=changed),
            remedy=sentence("acl-without-new", "leave out --new to change it"),
        )
    creates = new or not any(now.values())
    return _plan(
        "acl-user-create" if creates else "acl-user-update", user, (masters, steps), _of_user(requested, secret)
    )


def plan_user_deletion(asking: Asking, user: str, brokers: Sequence[str]) -> SettingPlan:
    """Plans to delete a user, its entries first, so that they can be brought back. Raises NotFoundError."""
    masters = touched_masters(asking, brokers)
    steps = []
    for broker in masters:
        old = _read(asking, broker, SettingKind.USER, user, None)
        if old is None:
            continue
        entries = asking.cluster.ask(broker.address.address, access.entries_of(user), asking.deadline)
        steps += [
            _step(broker, SettingKind.ENTRY, entry_subject(user, item), (entry_fields(item), None)) for item in entries
        ]
        steps.append(_step(broker, SettingKind.USER, user, (old, None), stage=1))
    if not steps:
        raise NotFoundError(
            sentence("acl-no-user", "there is no user {user}", user=user),
            remedy=sentence("acl-list-shows-users", "mqctl acl list shows the users"),
        )
    warnings = [
        sentence("acl-clients-user-refused", "clients of this user are refused from then on"),
        sentence("acl-password-not-recorded-undo", "its password is not recorded: undo needs it again"),
    ]
    return _plan("acl-user-delete", user, (masters, steps), warnings)


def plan_grant(asking: Asking, user: str, entry: AccessEntry, brokers: Sequence[str]) -> SettingPlan:
    """Plans an entry of a user; one of the same resource is replaced.

    Raises:
        UsageError: it cannot be.
        NotFoundError: a broker has no such user.
    """
    check_entry(entry)
    masters = touched_masters(asking, brokers)
    steps, warnings = [], []
    for broker in masters:
        address = broker.address.address
        known = asking.cluster.ask(address, access.one_user(user), asking.deadline)
        if known is None:
            raise NotFoundError(
                sentence("acl-broker-no-user", "broker {broker} has no user {user}", broker=broker.name, user=user),
                remedy=command_line("mqctl acl put {} --new --password-file FILE", user),
            )
        if known.user_type == SUPER:
            warnings.append(
                sentence(
                    "acl-user-super-entries-ignored",
                    "on {broker} the user is Super: its entries are ignored",
                    broker=broker.name,
                )
            )
        entries = asking.cluster.ask(address, access.entries_of(user), asking.deadline)
        old = next((item for item in entries if (item.policy, item.resource) == (entry.policy, entry.resource)), None)
        change = (None if old is None else entry_fields(old), entry_fields(entry))
        steps.append(_step(broker, SettingKind.ENTRY, entry_subject(user, entry), change))
        warnings += _contradicted(broker, entry, entries)
    return _plan("acl-grant", user, (masters, steps), warnings)


def plan_revoke(asking: Asking, user: str, resource: str | None, brokers: Sequence[str]) -> SettingPlan:
    """Plans to delete the entries of a resource, or all of a user. Raises NotFoundError."""
    masters = touched_masters(asking, brokers)
    steps = []
    for broker in masters:
        entries = asking.cluster.ask(broker.address.address, access.entries_of(user), asking.deadline)
        steps += [
            _step(broker, SettingKind.ENTRY, entry_subject(user, item), (entry_fields(item), None))
            for item in entries
            if resource in (None, item.resource)
        ]
    if not steps:
        of = sentence("common-group", " of {group}", group=resource) if resource is not None else ""
        raise NotFoundError(
            sentence("acl-user-no-entries", "user {user} has no entries{of}", user=user, of=of),
            remedy=sentence("acl-list-shows-users", "mqctl acl list shows the users"),
        )
    return _plan(
        "acl-revoke",
        user,
        (masters, steps),
        [sentence("acl-undo-adds-entry-end", "undo adds an entry at the end, which may change its precedence")],
    )


def check_entry(entry: AccessEntry) -> None:
    """Passes when brokers take an entry. Raises UsageError."""
    kind, colon, name = entry.resource.partition(":")
    if entry.resource != ANYTHING and not (kind in RESOURCE_TYPES and colon and name and " " not in name):
        raise UsageError(
            sentence("acl-not-resource", "{resource!r} is not a resource", resource=entry.resource),
            remedy=sentence(
                "acl-write-topic-name-group",
                "write Topic:NAME, Group:NAME, Cluster:NAME or *; NAME may end with *",
            ),
        )
    unknown = [action for action in entry.actions if action not in ACTIONS]
    if unknown or not entry.actions:
        raise UsageError(
            sentence(
                "acl-not-action",
                "{unknown} is not an action",
                unknown=unknown or sentence("none-nothing", "nothing"),
            ),
            remedy=sentence("acl-choose", "choose of {actions}", actions=ACTIONS),
        )
    for source in entry.sources:
        if source_problem(source):
            raise UsageError(
                sentence("not-address", "{address!r} is not an address", address=source),
                remedy=sentence("acl-address-forms", "write 10.1.2.3, 10.1.2.3-10.1.2.9 or 10.1.2.0/24"),
            )


def _check_name(user: str) -> None:
    if not user or any(sign.isspace() for sign in user):
        raise UsageError(
            sentence("acl-not-valid-user-name", "{user!r} is not a valid user name", user=user),
            remedy=sentence("acl-write-without-blanks", "write it without blanks"),
        )


def _contradicted(broker: LiveBroker, entry: AccessEntry, entries: Iterable[AccessEntry]) -> list[str]:
    return [
        sentence(
            "acl-overlaps-order-added-decides",
            "on {broker} it overlaps {decision} of {resource}: the order in which they were added decides",
            broker=broker.name,
            decision=item.decision,
            resource=item.resource,
        )
        for item in entries
        if item.decision != entry.decision and item.resource != entry.resource and item.overlaps(entry)
    ]


def _of_user(requested: Fields, secret: str | None) -> list[str]:
    entries = []
    if requested.get("user_type") == SUPER:
        entries.append(
            sentence("acl-super-user-everything-whatever", "a Super user may do everything, whatever its entries say")
        )
    if requested.get("user_status") == "disable":
        entries.append(sentence("acl-clients-user-refused", "clients of this user are refused from then on"))
    if secret is not None:
        entries.append(
            sentence(
                "acl-brokers-store-passwords-plain",
                "brokers store passwords in plain text and return them to anyone who may list users",
            )
        )
    return entries


def _read(asking: Asking, broker: LiveBroker, kind: SettingKind, subject: str, secret: str | None) -> Fields | None:
    place = Place(kind, broker.address.address, subject, secret)
    return read_setting(asking.cluster, place, asking.deadline)


def _step(
    broker: LiveBroker,
    kind: SettingKind,
    subject: str,
    change: tuple[Mapping[str, str] | None, Mapping[str, str] | None],
    stage: int = 0,
) -> SettingStep:
    old, new = change
    return SettingStep(
        kind=kind, place=broker.name, address=broker.address.address, subject=subject, old=old, new=new, stage=stage
    )


def _plan(
    kind: str, user: str, made: tuple[list[LiveBroker], list[SettingStep]], warnings: Iterable[str]
) -> SettingPlan:
    masters, steps = made
    return SettingPlan(
        kind=kind,
        noun="user",
        subject=user,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=tuple(dict.fromkeys(warnings)),
        severe=kind != "acl-user-create",
    )
