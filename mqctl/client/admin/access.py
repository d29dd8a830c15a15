"""Requests about users and ACLs of 5.x brokers (3001 to 3010) and access files of 4.9 (50 to 53); each has its own."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.client.remoting.question import Question, nothing
from mqctl.model.access import AccessEntry, AccessFile, AccessUser
from mqctl.protocol import requests_v5 as v5
from mqctl.protocol.bodies_access import SUBJECT_PREFIX, AclInfo, UserInfo, acl_info, read_acls, read_users
from mqctl.protocol.body import BodyError
from mqctl.protocol.fastjson import loads
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CreateAccessConfig,
    DeleteAccessConfig,
    GetBrokerAclConfig,
    GetBrokerAclConfigReply,
    UpdateGlobalWhiteAddrsConfig,
)
from mqctl.text import sentence


def access_files() -> Question[tuple[AccessFile, ...]]:
    """The files of a 4.9 broker's access list; one that controls no access never answers."""
    return Question(GetBrokerAclConfig(), _read_files)


def _read_files(answer: RemotingCommand) -> tuple[AccessFile, ...]:
    """Raises BodyError."""
    versions = loads(GetBrokerAclConfigReply.from_ext(answer.ext_fields).all_acl_file_version or "{}")
    if not isinstance(versions, dict):
        raise BodyError(
            sentence("client-versions-unreadable", "The versions of access files cannot be read"),
            reason=sentence("client-versions-no-object", "they are not a JSON object"),
        )
    files = []
    for path, version in versions.items():
        known = version if isinstance(version, dict) else {}
        count, changed_ms = known.get("counter"), known.get("timestamp")
        if not isinstance(count, int) or not isinstance(changed_ms, int):
            raise BodyError(
                sentence("client-versions-unreadable", "The versions of access files cannot be read"),
                reason=sentence("client-version-incomplete", "one has no counter or no timestamp"),
            )
        files.append(AccessFile(path, count, changed_ms))
    return tuple(files)


def put_account(access_key: str, secret: str, settings: Mapping[str, str]) -> Question[None]:
    """Add an account to a 4.9 broker's access files, or change those settings of one that are given."""
    request = CreateAccessConfig(
        access_key=access_key,
        secret_key=secret,
        white_remote_address=settings.get("whiteRemoteAddress"),
        admin=settings.get("admin") == "true",
        default_topic_perm=settings.get("defaultTopicPerm"),
        default_group_perm=settings.get("defaultGroupPerm"),
        topic_perms=settings.get("topicPerms"),
        group_perms=settings.get("groupPerms"),
    )
    return Question(request, nothing)


def delete_account(access_key: str) -> Question[None]:
    """Delete an account from the file that has it."""
    return Question(DeleteAccessConfig(access_key=access_key), nothing)


def replace_white_list(path: str, addresses: str) -> Question[None]:
    """Replace the global white list of one access file; addresses are comma-separated."""
    return Question(UpdateGlobalWhiteAddrsConfig(global_white_addrs=addresses, acl_file_full_path=path), nothing)


def all_users() -> Question[tuple[UserInfo, ...]]:
    """All users, with their passwords."""
    return Question(v5.ListUsers(), lambda answer: read_users(answer.body))


def one_user(name: str) -> Question[UserInfo | None]:
    """One user, with the password; None when there is none."""
    return Question(v5.GetUser(username=name), lambda answer: UserInfo.from_bytes(answer.body) if answer.body else None)


def all_entries() -> Question[dict[str, tuple[AccessEntry, ...]]]:
    """The entries of all users, by user."""
    return Question(
        v5.ListAcls(),
        lambda answer: {
            (acl.subject or "").removeprefix(SUBJECT_PREFIX): acl.access_entries() for acl in read_acls(answer.body)
        },
    )


def entries_of(name: str) -> Question[tuple[AccessEntry, ...]]:
    """The entries of one user."""
    request = v5.GetAcl(subject=SUBJECT_PREFIX + name)
    return Question(request, lambda answer: AclInfo.from_bytes(answer.body).access_entries() if answer.body else ())


def create_user(user: AccessUser, password: str) -> Question[None]:
    """Make a user."""
    info = UserInfo(username=user.name, password=password, user_type=user.kind, user_status=user.status)
    return Question(v5.CreateUser(username=user.name), nothing, body=info.to_bytes())


def update_user(user: AccessUser, password: str | None) -> Question[None]:
    """Change a user; without a password it stays."""
    info = UserInfo(username=user.name, password=password, user_type=user.kind, user_status=user.status)
    return Question(v5.UpdateUser(username=user.name), nothing, body=info.to_bytes())


def delete_user(name: str) -> Question[None]:
    """Delete a user with all entries."""
    return Question(v5.DeleteUser(username=name), nothing)


def put_entry(name: str, entry: AccessEntry) -> Question[None]:
    """Add an entry of a user, or replace the one of the same resource."""
    subject = SUBJECT_PREFIX + name
    return Question(v5.CreateAcl(subject=subject), nothing, body=acl_info(subject, (entry,)).to_bytes())


def delete_entry(name: str, policy: str, resource: str) -> Question[None]:
    """Delete the entry of one resource."""
    return Question(v5.DeleteAcl(subject=SUBJECT_PREFIX + name, policy_type=policy, resource=resource), nothing)
