"""How accounts and white lists in the access files of 4.9 brokers are written, and what can be read back of them.

No request of 4.9.8 tells what a file says. Two things can be known: how often the files were changed by request (52),
and whether a request that an account signed passes. The first proves that a change was written, the second that an
account is there and has the secret key that was given; from an address on a white list every signature passes, so that
only the first counts.
"""

from __future__ import annotations

from dataclasses import replace

from mqctl.changes.engine.journal import new_id
from mqctl.client.admin import access
from mqctl.client.admin.broker_queries import runtime_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.answers import DeniedAnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.errors import RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.setting_plan import Fields, SettingKind
from mqctl.protocol.acl import Credentials
from mqctl.text import sentence

CHANGES, ACCOUNT = sentence("acl-changes-request", "changes by request"), "account"
ABSENT, PRESENT, SIGNS, OTHER_SECRET = (
    "none",
    "present",
    sentence("acl-secret-given", "has the secret given"),
    sentence("acl-another-secret", "has another secret"),
)
UNTESTED = sentence("acl-not-tested-host-white", "not tested: this host is white-listed")
_NO_ACCOUNT = ("No acl config for", "No PlainAccessResource for")
_WRONG_SECRET = "Check signature failed"


def is_counted(kind: SettingKind) -> bool:
    """Tells whether a change of this kind is proved by a count of changes, as its settings cannot be read."""
    return kind in (SettingKind.ACCOUNT, SettingKind.WHITE_LIST)


def readable(settings: Fields | None) -> Fields | None:
    """Returns what of an account's or a white list's settings can be read at a broker."""
    return None if settings is None else {name: settings[name] for name in (CHANGES, ACCOUNT) if name in settings}


def read_changes(cluster: Cluster, address: str, limit: Deadline) -> dict[str, str]:
    """Returns how often the access files of a broker were changed by request. Raises MqctlError."""
    return {CHANGES: str(sum(item.change_count for item in cluster.ask(address, access.access_files(), limit)))}


def read_account(cluster: Cluster, where: tuple[str, str], secret: str | None, limit: Deadline) -> dict[str, str]:
    """Returns what can be known of an account, by address and access key. Raises MqctlError when a broker is silent."""
    address, access_key = where
    nobody = f"mqctl-{new_id()}"  # no account has this name: who passes with it is not checked
    if _passes(cluster, address, Credentials(nobody, nobody), limit) == SIGNS:
        state = UNTESTED
    else:
        state = _passes(cluster, address, Credentials(access_key, secret or nobody), limit)
        if state == PRESENT and secret is not None:
            state = OTHER_SECRET
    return {ACCOUNT: state, **read_changes(cluster, address, limit)}


def write_account(cluster: Cluster, where: tuple[str, str], new: Fields, secret: str | None, limit: Deadline) -> None:
    """Puts or deletes an account, by address and access key. Raises MqctlError when it is refused."""
    address, access_key = where
    if new[ACCOUNT] == ABSENT:
        cluster.ask(address, access.delete_account(access_key), limit)
        return
    if secret is None:
        raise RefusedError(
            sentence("acl-account-not-written", "account {access_key} was not written", access_key=access_key),
            reason=sentence("acl-no-secret-key-given", "no secret key is given"),
            remedy=command_line("--password-file FILE"),
        )
    cluster.ask(address, access.put_account(access_key, secret, new), limit)


def _passes(cluster: Cluster, address: str, credentials: Credentials, limit: Deadline) -> str:
    """Signs a harmless request as somebody, and returns what the broker makes of the signature."""
    with Links(replace(cluster.links.settings, credentials=credentials)) as links:
        try:
            links.ask(address, runtime_info(), limit)
        except DeniedAnswerError as error:
            remark = error.remark or ""
            if any(text in remark for text in _NO_ACCOUNT):
                return ABSENT
            if _WRONG_SECRET in remark:
                return PRESENT
            raise
    return SIGNS
