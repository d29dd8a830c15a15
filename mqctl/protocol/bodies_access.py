"""Bodies about users and ACLs of 5.x: requests 3001 to 3010."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.model.access import CUSTOM, DEFAULT, ENABLE, NORMAL, AccessEntry, AccessUser
from mqctl.protocol.body import Body, BodyError
from mqctl.protocol.fastjson import FastjsonError, loads
from mqctl.text import sentence

SUBJECT_PREFIX = "User:"


class UserInfo(Body):
    """A user; the password travels as plain text, and never shows in a representation."""

    username: str | None = None
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None

    def __repr__(self) -> str:
        return f"UserInfo(username={self.username!r}, user_type={self.user_type!r}, user_status={self.user_status!r})"

    def user(self) -> AccessUser:
        """Returns the user without the password."""
        return AccessUser(self.username or "", self.user_type or NORMAL, self.user_status or ENABLE)


class PolicyEntryInfo(Body):
    """One entry; texts as they were sent, which need not be words that a broker knows."""

    resource: str | None = None
    actions: tuple[str, ...] | None = None
    source_ips: tuple[str, ...] | None = None
    decision: str | None = None


class PolicyInfo(Body):
    """Entries of one policy, `Custom` or `Default`."""

    policy_type: str | None = None
    entries: tuple[PolicyEntryInfo, ...] | None = None


class AclInfo(Body):
    """All policies of a subject, `User:name`."""

    subject: str | None = None
    policies: tuple[PolicyInfo, ...] | None = None

    def access_entries(self) -> tuple[AccessEntry, ...]:
        """Returns the entries of all policies, in their order."""
        return tuple(
            AccessEntry(
                item.resource or "",
                item.actions or (),
                item.decision or "",
                item.source_ips or (),
                policy.policy_type or CUSTOM,
            )
            for policy in self.policies or ()
            for item in policy.entries or ()
        )


def acl_info(subject: str, entries: Sequence[AccessEntry]) -> AclInfo:
    """Returns the body that tells entries of a subject; empty sources are left out, as brokers do."""
    policies = []
    for policy in (CUSTOM, DEFAULT):
        own = [item for item in entries if item.policy == policy]
        infos = tuple(
            PolicyEntryInfo(
                resource=item.resource,
                actions=item.actions,
                source_ips=item.sources or None,
                decision=item.decision,
            )
            for item in own
        )
        if infos:
            policies.append(PolicyInfo(policy_type=policy, entries=infos))
    return AclInfo(subject=subject, policies=tuple(policies))


def read_users(data: bytes) -> tuple[UserInfo, ...]:
    """Reads a list of users. Raises BodyError."""
    return tuple(UserInfo.from_json(item) for item in _listed(data))


def read_acls(data: bytes) -> tuple[AclInfo, ...]:
    """Reads a list of ACLs. Raises BodyError."""
    return tuple(AclInfo.from_json(item) for item in _listed(data))


def _listed(data: bytes) -> Iterable[object]:
    try:
        value = loads(data) if data else []
    except FastjsonError as error:
        raise BodyError(sentence("wire-body-read", "A body cannot be read"), reason=str(error)) from error
    if not isinstance(value, list):
        raise BodyError(
            sentence("wire-body-read", "A body cannot be read"),
            reason=sentence("wire-list-expected", "a list is expected"),
        )
    return value
