"""Faults of access control (MQ63x), injected into the healthy live cluster, and what looks like them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.access import AccessEntry, AccessState, AccessUser
from mqctl.model.access_list import listed_entries
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import Scene
from tests.rules.live_snapshots import BROKERS, LIVE

CHECKS = {"authenticationEnabled": "true", "authorizationEnabled": "true"}
ADMIN, BOB = AccessUser("admin", "Super"), AccessUser("bob")
ALLOWED = AccessEntry("Topic:Pop*", ("Pub", "Sub"))


def with_access(
    first: AccessState | None, second: AccessState | None = None, config: dict[str, str] | None = None
) -> ClusterSnapshot:
    """Both brokers check; one of which nothing is said told no users."""
    states = dict(zip(BROKERS, (first, second), strict=True))
    brokers = [
        replace(item, access=states[item.name or ""], config={**item.config, **CHECKS, **(config or {})})
        for item in LIVE.brokers
    ]
    return replace(LIVE, brokers=tuple(brokers))


def of_bob(*entries: AccessEntry, **changes: str) -> AccessState:
    return AccessState(users=(ADMIN, replace(BOB, **changes)), entries={"bob": entries})


def _one_open() -> ClusterSnapshot:
    scene = with_access(AccessState(users=(ADMIN,)))
    return replace(scene, brokers=(scene.brokers[0], replace(scene.brokers[1], access=None, config={"a": "b"})))


def listed(**perms: tuple[str, str]) -> AccessState:
    """Access files of 4.9 with one topic, one default for groups of each account."""
    return AccessState(
        users=(ADMIN, *map(AccessUser, perms)),
        entries={name: listed_entries([topic], [], "DENY", groups) for name, (topic, groups) in perms.items()},
        listed=True,
    )


_DENIED = AccessEntry("Topic:PopA", ("Pub",), "Deny")
BOSS = {"kind": "Super"}
OFF = {"status": "disable"}
SCENES: list[Scene] = [
    ("MQ630", "open", _one_open(), {"open_count": 1, "broker_count": 2}),
    ("MQ630", None, with_access(of_bob(ALLOWED, **BOSS), of_bob(**BOSS)), {"user_count": 1, "broker_count": 2}),
    ("MQ631", None, with_access(of_bob(ALLOWED)), {"user_count": 1}),
    ("MQ631", "password", with_access(of_bob(), config={"initAuthenticationUser": "***"}), {"user_count": 1}),
    ("MQ631", "list", with_access(of_bob(ALLOWED), config={"aclEnable": "true"}), {"user_count": 1}),
    ("MQ632", None, with_access(of_bob(ALLOWED, _DENIED, **OFF)), {"pair_count": 1}),
    ("MQ633", None, with_access(AccessState(users=(ADMIN,), well_known=("admin",))), {"user_count": 1}),
    ("MQ634", None, with_access(AccessState(users=(ADMIN,), unchecked=("conf/plain_acl.yml",))), {"file_count": 1}),
    ("MQ634", "account", with_access(AccessState(users=(ADMIN,), unsigned=("admin",))), {"account_count": 1}),
]
STATES: dict[str, ClusterSnapshot] = {
    "MQ630": with_access(
        of_bob(ALLOWED, _DENIED, **BOSS), of_bob(_DENIED, replace(ALLOWED, actions=("Sub", "Pub")), **BOSS)
    ),
    "MQ631": with_access(of_bob(**OFF), config={"initAuthenticationUser": "***"}),
    "MQ632": with_access(of_bob(ALLOWED, replace(_DENIED, actions=("Delete",)), replace(_DENIED, policy="Default"))),
    "MQ633": with_access(AccessState(users=(ADMIN, replace(BOB, status="disable")), well_known=("bob",))),
    "MQ634": with_access(AccessState(users=(ADMIN, BOB))),
    "MQ647": with_access(None, listed(readers=("Pay=SUB", "SUB"), senders=("Pay=PUB", "DENY"))),
}
