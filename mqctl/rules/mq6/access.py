"""MQ63x: who may do what, as far as it is dangerous: brokers that differ, what anybody may, words that contradict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mqctl.model.access import DENY, ENABLE, NORMAL, SUPER, AccessState
from mqctl.model.access_list import reads_in_vain
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_LIST = "aclEnable"
_SWITCHES = (_LIST, "authenticationEnabled", "authorizationEnabled")
_FIRST_USERS = ("initAuthenticationUser", "innerClientAuthenticationCredentials")
_NAMED = 3


def _masters(case: ClusterCase) -> list[BrokerSnapshot]:
    """Returns the masters that told their settings."""
    return [item for item in case.snapshot.brokers if item.broker_id == 0 and item.config]


def _subject(broker: BrokerSnapshot) -> Subject:
    return Subject(kind=SubjectKind.BROKER, broker=broker.name)


@rule(
    "MQ630",
    Severity.ERROR,
    source="AuthConfig",
    needs=(Part.CONFIG, Part.ACCESS),
    playbook="broker-down",
    texts=RuleTexts(
        title="Access differs between brokers",
        speaks="one of two masters checks nobody, or has no entries of a user",
        silent="both have the same entries, in another order",
        what={
            "": "{users} of {cluster} differ between the brokers {brokers}: {user_count:user} in all.",
            "open": "{open_count} of {broker_count:broker} of {cluster} have no access control: {brokers}.",
        },
        effect="Clients are served by one broker and refused by another; with a broker that checks nobody, the "
        "rules of the others protect little.",
        advice="Give all masters the same switches in their configuration files, and the same users: `acl grant` and `acl put` "
        "go to all masters at once.",
        explain="Compares aclEnable, authenticationEnabled and authorizationEnabled of the masters, and their users and entries. Each "
        "broker has users of its own; nothing keeps them the same.",
        next_command="mqctl acl list {source}",
    ),
)
def access_differs(case: ClusterCase) -> Iterator[Verdict]:
    """Masters of one cluster of which only some check who asks, or that have other users and entries."""
    for cluster, masters in _by_cluster(_masters(case)).items():
        subject = Subject(kind=SubjectKind.CLUSTER)
        open_ones = [item for item in masters if not _checks(item)]
        if open_ones and len(open_ones) < len(masters):
            yield Verdict(
                subject=subject,
                params={"cluster": cluster, "brokers": _names(open_ones)},
                evidence={"open_count": len(open_ones), "broker_count": len(masters)},
                variant="open",
            )
        states = {item.name or "?": item.access for item in masters if item.access is not None}
        users = _differing(states)
        if users:
            yield Verdict(
                subject=subject,
                params={"cluster": cluster, "users": ", ".join(users[:_NAMED]), "brokers": ", ".join(sorted(states))},
                evidence={"user_count": len(users), "broker_count": len(states)},
                severity=Severity.WARNING,
            )


def _by_cluster(brokers: list[BrokerSnapshot]) -> dict[str, list[BrokerSnapshot]]:
    by_cluster: dict[str, list[BrokerSnapshot]] = {}
    for item in brokers:
        by_cluster.setdefault(item.cluster or "?", []).append(item)
    return by_cluster


def _checks(broker: BrokerSnapshot) -> bool:
    return any(broker.config.get(name) == "true" for name in _SWITCHES)


def _names(brokers: list[BrokerSnapshot]) -> str:
    return ", ".join(sorted(item.name or "?" for item in brokers))


def _differing(states: Mapping[str, AccessState]) -> list[str]:
    """Returns the users that are not everywhere, or not the same everywhere."""
    known = {user.name for state in states.values() for user in state.users}
    return sorted(name for name in known if len({_of_user(state, name) for state in states.values()}) > 1)


def _of_user(state: AccessState, name: str) -> tuple[object, object]:
    entries = (
        replace(item, actions=tuple(sorted(item.actions)), sources=tuple(sorted(item.sources)))
        for item in state.entries.get(name, ())
    )
    return next((user for user in state.users if user.name == name), None), frozenset(entries)


@rule(
    "MQ631",
    Severity.ERROR,
    source="DefaultAuthorizationContextBuilder",
    needs=(Part.CONFIG, Part.ACCESS),
    playbook="broker-down",
    texts=RuleTexts(
        title="Open to every user",
        speaks="an ordinary user on a broker that checks",
        silent="all ordinary users are disabled",
        what={
            "": "{broker} lets each of its {user_count:ordinary user} ({users}) change groups and broker configuration.",
            "password": "{broker} returns the password of a Super user to each of its {user_count:ordinary user} ({users}): {properties}.",
            "list": "{broker} lets each of its {user_count:ordinary account} ({users}) put and delete accounts, and make itself an admin.",
        },
        effect="5.3.3 checks no policy for creating and changing groups (200) nor for reading and changing broker configuration (26, 25). "
        "4.9.8 does not check who changes accounts and white lists (50, 51, 53). With the password of a Super user there is no limit.",
        advice="Remove first users from the configuration once they exist, change their passwords, and let only trusted networks reach "
        "the brokers; applications can go through a proxy.",
        explain="Request 26 answers all properties, initAuthenticationUser and innerClientAuthenticationCredentials among them, to every client "
        "whose signature is valid. A broker with Super users only is left alone.",
        next_command="mqctl acl list {source}",
    ),
)
def open_to_every_user(case: ClusterCase) -> Iterator[Verdict]:
    """Ordinary users: on 5.x each may change groups and configuration, on 4.9 accounts, its own among them."""
    for broker in _masters(case):
        if broker.access is None:
            continue
        users = [user.name for user in broker.access.users if user.kind == NORMAL and user.status == ENABLE]
        first_users = [name for name in _FIRST_USERS if broker.config.get(name)]
        if users:
            yield Verdict(
                subject=_subject(broker),
                params={
                    "broker": broker.name,
                    "users": ", ".join(users[:_NAMED]),
                    "properties": ", ".join(first_users) or None,
                },
                evidence={"user_count": len(users)},
                severity=None if first_users else Severity.WARNING,
                variant=_open_variant(broker, first_users),
            )


def _open_variant(broker: BrokerSnapshot, first_users: list[str]) -> str | None:
    if broker.config.get(_LIST) == "true":
        return "list"
    return "password" if first_users else None


@rule(
    "MQ632",
    Severity.WARNING,
    source="AclAuthorizationHandler",
    needs=(Part.ACCESS,),
    playbook="broker-down",
    texts=RuleTexts(
        title="Entries contradict each other",
        speaks="a literal Deny beside an Allow of its prefix",
        silent="the Deny is of another action, or of the other policy",
        what={"": "On {broker}, user {user} is denied {deny} and allowed {allow}; both fit the same requests."},
        effect="Which one wins depends on the order in which they were added and on prefix lengths: Deny does not "
        "always win.",
        advice="Make the names disjoint, or remove one of the two; `acl explain` shows what the broker decides now.",
        explain="A literal name and a prefix outrank each other in turn, so that the one added last wins; of two prefixes the shorter one "
        "does. Entries that share no action, or are of different policies, are left alone.",
        next_command="mqctl acl list {source} --user {user}",
    ),
)
def contradicting_entries(case: ClusterCase) -> Iterator[Verdict]:
    """Entries of one user of which one denies what another allows: their order of addition decides."""
    for broker in case.snapshot.brokers:
        if broker.access is None:
            continue
        free = {user.name for user in broker.access.users if user.kind == SUPER}  # whose entries nobody looks at
        for user, entries in sorted(broker.access.entries.items()):
            if user in free:
                continue
            pairs = [
                (deny, allow)
                for deny in entries
                for allow in entries
                if deny.decision == DENY != allow.decision and deny.policy == allow.policy and deny.overlaps(allow)
            ]
            if pairs:
                yield Verdict(
                    subject=_subject(broker),
                    params={
                        "broker": broker.name,
                        "user": user,
                        "deny": pairs[0][0].resource,
                        "allow": pairs[0][1].resource,
                    },
                    evidence={"pair_count": len(pairs)},
                )


@rule(
    "MQ633",
    Severity.ERROR,
    source="DefaultAuthenticationHandler",
    needs=(Part.ACCESS,),
    playbook="broker-down",
    texts=RuleTexts(
        title="A default password",
        speaks="a Super user with a password of the examples",
        silent="a disabled user has it",
        what={
            "": "On {broker}, {user_count:user} ({users}) {user_count:/has/have} a password from RocketMQ's examples, or the user name as password."
        },
        effect="Whoever reaches the broker can act as this user.",
        advice="Set another password, and give it to the clients: `acl put NAME --password-file FILE`.",
        explain="Compares passwords, where brokers return them or 4.9's access files are on this host, with those of RocketMQ's examples and with the name. No snapshot or report "
        "has the password itself. Disabled users are left alone.",
        next_command="mqctl acl list {source}",
    ),
)
def well_known_password(case: ClusterCase) -> Iterator[Verdict]:
    """Enabled users with a password that everybody tries first: RocketMQ's examples, or the name of the user."""
    for broker in case.snapshot.brokers:
        if broker.access is None:
            continue
        enabled = {user.name for user in broker.access.users if user.status == ENABLE}
        users = sorted(enabled & set(broker.access.well_known))
        if users:
            yield Verdict(
                subject=_subject(broker),
                params={"broker": broker.name, "users": ", ".join(users[:_NAMED])},
                evidence={"user_count": len(users)},
            )


@rule(
    "MQ634",
    Severity.ERROR,
    source="PlainPermissionManager",
    needs=(Part.ACCESS,),
    playbook="broker-down",
    texts=RuleTexts(
        title="The access list lets requests in without keys",
        speaks="the white list of a 4.9 broker has `*`",
        silent="accounts sign, and the white list is a network",
        what={
            "": "{broker} does not check who asks: the white list of {files} has an address that stands for all clients.",
            "account": "{broker} takes requests of {account_count:account} ({accounts}) from anywhere without a signature.",
        },
        effect="Whoever reaches the broker can do everything, or everything that these accounts may do: an access key is not a secret.",
        advice="Name the addresses that need it, or none: `acl put --white-list 10.1.2.*`, `acl put KEY --white-address 10.1.2.3`.",
        explain="Reads the access files of 4.9 brokers that run on this host, when mqctl may read them and their version is the broker's: no "
        "request of 4.9.8 tells what they say. `*` and `*.*.*.*` stand for all clients.",
        next_command="mqctl acl list {source}",
    ),
)
def lets_in_without_keys(case: ClusterCase) -> Iterator[Verdict]:
    """A 4.9 access list that checks nobody, or accounts that need no signature from anywhere."""
    for broker in case.snapshot.brokers:
        if broker.access is None:
            continue
        if broker.access.unchecked:
            yield Verdict(
                subject=_subject(broker),
                params={"broker": broker.name, "files": ", ".join(broker.access.unchecked[:_NAMED])},
                evidence={"file_count": len(broker.access.unchecked)},
            )
        elif broker.access.unsigned:
            yield Verdict(
                subject=_subject(broker),
                params={"broker": broker.name, "accounts": ", ".join(broker.access.unsigned[:_NAMED])},
                evidence={"account_count": len(broker.access.unsigned)},
                variant="account",
            )


@rule(
    "MQ647",
    Severity.INFO,
    source="PlainPermissionManager.checkPerm, PlainAccessValidator.parse",
    needs=(Part.ACCESS,),
    playbook="broker-down",
    texts=RuleTexts(
        title="Accounts that may read topics and have no group",
        speaks="an account has SUB on a topic and no group",
        silent="its default for groups is SUB, and another account only sends",
        what={
            "": "On {broker}, {account_count:account} ({accounts}) may read topics and {account_count:/has/have} SUB on no group: a consumer with such an account "
            "gets nothing."
        },
        effect="The broker refuses its heartbeats and pulls with `No default permission for group`, and knows no member: the group looks as if nobody ran it.",
        advice="Give the account its group: `acl put KEY --group GROUP=SUB`. Accounts that only look messages up need none.",
        explain="Reads the access files of 4.9 brokers that run on this host, as MQ634 does. A consumer needs SUB on its topic and on its group, by name or by "
        "default; accounts with admin: true and no permissions of their own, and white-listed ones, are not checked.",
        next_command="mqctl acl list {source}",
    ),
)
def reads_without_group(case: ClusterCase) -> Iterator[Verdict]:
    """Accounts of a 4.9 access list that may read topics and are refused with every group."""
    for broker in case.snapshot.brokers:
        accounts = reads_in_vain(broker.access) if broker.access is not None else []
        if accounts:
            yield Verdict(
                subject=_subject(broker),
                params={"broker": broker.name, "accounts": ", ".join(accounts[:_NAMED])},
                evidence={"account_count": len(accounts)},
            )
