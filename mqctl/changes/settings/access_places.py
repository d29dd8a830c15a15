"""How users and their entries are read and written at a broker; passwords are compared, and never told.

A user's `password` is `as given` or `another`: what a plan, a record and a report may know of it.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from mqctl.client.admin import access
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import RefusedError
from mqctl.model.access import AccessEntry, AccessUser
from mqctl.model.command_line import command_line
from mqctl.model.setting_plan import Fields
from mqctl.text import sentence

_UNQUOTED = "!#$&'()*+,/:;=?@[]~|"
"""What stays as it is in the user of an entry's name; a blank would end it."""
AS_GIVEN, ANOTHER = sentence("acl-given", "as given"), "another"


def read_user(cluster: Cluster, where: tuple[str, str], secret: str | None, limit: Deadline) -> Fields | None:
    """Returns what a broker has of a user, by address and name; None where there is none. Raises MqctlError."""
    address, name = where
    stored = cluster.ask(address, access.one_user(name), limit)
    if stored is None:
        return None
    user = stored.user()
    fields = {"user_type": user.kind, "user_status": user.status}
    return fields if secret is None else {**fields, "password": AS_GIVEN if stored.password == secret else ANOTHER}


def write_user(
    cluster: Cluster,
    where: tuple[str, str],
    change: tuple[Fields | None, Fields | None],
    secret: str | None,
    limit: Deadline,
) -> None:
    """Makes, changes or deletes a user, by address and name. Raises MqctlError when it is refused."""
    address, name = where
    old, new = change
    if new is None:
        cluster.ask(address, access.delete_user(name), limit)
        return
    user = AccessUser(name, new["user_type"], new["user_status"])
    if old is not None:
        cluster.ask(address, access.update_user(user, secret), limit)
        return
    if secret is None:
        raise RefusedError(
            sentence("acl-user-not-made", "user {name} was not made", name=name),
            reason=sentence("acl-no-password-given", "no password given"),
            remedy=command_line("--password-file FILE"),
        )
    cluster.ask(address, access.create_user(user, secret), limit)
    made = AccessUser(name)
    if user.status != made.status:  # brokers make every user enabled
        cluster.ask(address, access.update_user(user, None), limit)


def entry_subject(user: str, entry: AccessEntry) -> str:
    """Returns the name of an entry in plans and records."""
    return f"{quote(user, safe=_UNQUOTED)} {entry.policy} {entry.resource}"


def entry_fields(entry: AccessEntry) -> dict[str, str]:
    """Returns an entry as settings."""
    return {
        "actions": ",".join(entry.actions),
        "decision": entry.decision,
        "sources": ",".join(entry.sources),
    }


def read_entry(cluster: Cluster, address: str, subject: str, limit: Deadline) -> Fields | None:
    """Returns what a broker has of an entry; None where there is none. Raises MqctlError."""
    user, policy, resource = entry_named(subject)
    entries = cluster.ask(address, access.entries_of(user), limit)
    same = (item for item in entries if (item.policy, item.resource) == (policy, resource))
    return next((entry_fields(item) for item in same), None)


def write_entry(cluster: Cluster, address: str, subject: str, new: Fields | None, limit: Deadline) -> None:
    """Puts or deletes an entry. Raises MqctlError when it is refused."""
    user, policy, resource = entry_named(subject)
    if new is None:
        cluster.ask(address, access.delete_entry(user, policy, resource), limit)
        return
    sources = tuple(new["sources"].split(",")) if new["sources"] else ()
    entry = AccessEntry(resource, tuple(new["actions"].split(",")), new["decision"], sources, policy)
    cluster.ask(address, access.put_entry(user, entry), limit)


def entry_named(subject: str) -> tuple[str, str, str]:
    """Returns user, policy and resource of an entry, as `entry_subject` has put them together."""
    user, policy, resource = subject.split(" ", 2)
    return unquote(user), policy, resource
