"""What a 4.9 broker decides by its access files.

Source: `PlainPermissionManager.validate` and `checkPerm`, `PlainAccessValidator.parse`, `Permission`,
`RemoteAddressStrategyFactory` of 4.9.8. A consumer needs SUB on its topic and on its group, a producer PUB on its
topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqctl.model.access import ALLOW, CUSTOM, DEFAULT, DENY, SUPER, AccessEntry, AccessState, AccessUser, Decision
from mqctl.model.numbers import decimal
from mqctl.text import sentence

EVERYBODY = frozenset({"*", "*.*.*.*", "*:*:*:*:*:*:*:*"})
"""Addresses of access lists that let requests from everywhere in."""
_BOTH = ("Pub", "Sub")
_WORDS = {"PUB": ("Pub",), "SUB": ("Sub",), "PUB|SUB": _BOTH, "SUB|PUB": _BOTH}
_CHANGES = frozenset({"Create", "Update", "Delete"})


def listed_entries(
    topics: Iterable[str], groups: Iterable[str], default_topic: str, default_group: str
) -> tuple[AccessEntry, ...]:
    """Returns permissions of an account as entries: `name=WORD`, and the two defaults, each of which allows or denies.

    An unknown word, and a default that is not given, denies.
    """
    entries: dict[str, list[AccessEntry]] = {}
    for kind, items in (("Group", groups), ("Topic", topics)):
        for item in items:
            name, equals, word = item.partition("=")
            if equals and name.strip():
                entries[f"{kind}:{name.strip()}"] = list(_of_word(f"{kind}:{name.strip()}", word, CUSTOM))
    named = [entry for some in entries.values() for entry in some]
    defaults = (("Topic:*", default_topic), ("Group:*", default_group))
    return (*named, *(entry for resource, word in defaults for entry in _of_word(resource, word, DEFAULT)))


def _of_word(resource: str, word: str, policy: str) -> Iterator[AccessEntry]:
    allowed = _WORDS.get(word.strip(), ())
    denied = tuple(action for action in _BOTH if action not in allowed)
    if allowed:
        yield AccessEntry(resource, allowed, ALLOW, policy=policy)
    if denied:
        yield AccessEntry(resource, denied, DENY, policy=policy)


def decide_listed(state: AccessState, user: AccessUser, resource: str, action: str, address: str) -> Decision:
    """Returns what a broker with these files decides of an action on one resource.

    Args:
        resource: `Topic:name`, `Group:name` or `Cluster:name`.
        address: where the request comes from, without port.
    """
    if any(lets_in(pattern, address) for pattern in (*state.white, state.white_of.get(user.name, ""))):
        reason = sentence("acl-white-listed", "{address} is on a white list: nothing of it is checked", address=address)
        return Decision(allowed=True, reason=reason)
    entries, is_admin = state.entries.get(user.name, ()), user.kind == SUPER
    if is_admin and (action in _CHANGES or not any(entry.policy == CUSTOM for entry in entries)):
        return Decision(allowed=True)
    if action in _CHANGES:
        reason = sentence("acl-listed-needs-admin", "it needs an account with admin: true")
        return Decision(allowed=False, reason=reason)
    if action not in _BOTH or not resource.startswith(("Topic:", "Group:")):
        return Decision(allowed=True, reason=sentence("acl-listed-signature-only", "4.9 checks the signature only"))
    named = [entry for entry in entries if entry.policy == CUSTOM and entry.resource == resource]
    usual = [entry for entry in entries if entry.policy == DEFAULT and entry.resource == f"{resource[:5]}:*"]
    best = next(entry for entry in named or usual if action in entry.actions)
    allowed = best.decision == ALLOW
    return Decision(allowed=allowed, reason="" if allowed else _refusal(resource), entry=best)


def _refusal(resource: str) -> str:
    kind, _, name = resource.partition(":")
    return f"No default permission for {kind.lower()}:{name}"  # a broker's words


def lets_in(pattern: str, address: str) -> bool:
    """Tells whether an address pattern of an access file matches: `10.1.2.3`, `10.1.2.*`, `10.1.2-9.*`, `10.1.2.{3,4}`,
    or several addresses with commas. Parts behind a range do not count. Of IPv6, whole addresses only."""
    if pattern in EVERYBODY or not pattern.strip():
        return bool(pattern.strip())
    head, brace, tail = pattern.partition("{")
    if brace:
        return any(head + part == address for part in tail.removesuffix("}").split(","))
    if "," in pattern or not any(sign in pattern for sign in "*-"):
        return address in pattern.split(",")
    return _in_range(pattern.split("."), address.split("."))


def _in_range(parts: list[str], address: list[str]) -> bool:
    if len(parts) != len(address):
        return False
    for part, own in zip(parts, address, strict=True):
        if part.strip() == "*":
            return True
        low, dash, high = part.partition("-")
        if dash:
            bounds = decimal(low), decimal(own), decimal(high)
            return all(bound is not None for bound in bounds) and list(bounds) == sorted(bounds)  # type: ignore[type-var]
        if part.strip() != own:
            return False
    return True


def reads_in_vain(state: AccessState) -> list[str]:
    """Returns accounts that may read a topic and belong to no group with which they could."""
    return [
        user.name
        for user in state.users
        if state.listed
        and user.kind != SUPER
        and user.name not in state.white_of
        and _may_read(state, user, "Topic:")
        and not _may_read(state, user, "Group:")
    ]


def _may_read(state: AccessState, user: AccessUser, kind: str) -> bool:
    return any(
        entry.resource.startswith(kind) and entry.decision == ALLOW and "Sub" in entry.actions
        for entry in state.entries.get(user.name, ())
    )
