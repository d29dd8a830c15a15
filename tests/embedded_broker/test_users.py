"""Users and ACLs of 5.x: recorded requests are answered as by the real broker, and what no recording shows."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.errors import ConfigurationError
from mqctl.model.access import AccessEntry
from mqctl.protocol.acl import Credentials
from mqctl.protocol.bodies_access import UserInfo, acl_info
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand, decode, encode
from mqctl.protocol.requests_admin import GetBrokerConfig
from mqctl.protocol.requests_client import GetConsumerListByGroup, UpdateConsumerOffset
from mqctl.protocol.requests_pop import AckMessage, BatchAckMessage
from mqctl.protocol.requests_v5 import (
    CreateAcl,
    CreateUser,
    DeleteAcl,
    DeleteUser,
    GetAcl,
    GetUser,
    ListAcls,
    ListUsers,
    UpdateUser,
)
from tests.embedded_broker.access import SigningPeer
from tests.embedded_broker.wire import Peer

FINE, FAILED, NO_PERMISSION = 0, 1, 16
ADMIN, BOB = Credentials("admin", "adm12345"), Credentials("bob", "bob12345")
SETTINGS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": '{"username":"admin","password":"adm12345"}',
}
_RECORDED = Path(__file__).parents[1] / "golden" / "acl" / "frames.tar.xz"
_OF_ACCESS = range(3001, 3011)


@dataclass(frozen=True)
class Exchange:
    """A recorded request with its answer."""

    note: str
    request: RemotingCommand
    answer: RemotingCommand


def recorded_access() -> list[Exchange]:
    with tarfile.open(_RECORDED) as archive:
        contents = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    index = json.loads(contents["index.json"])
    answers = {entry["req_seq"]: decode(contents[entry["file"]]) for entry in index if entry["req_seq"]}
    return [
        Exchange(entry["note"], decode(contents[entry["file"]]), answers[entry["seq"]])
        for entry in index
        if entry["kind"] == "request"
    ]


@pytest.fixture
def guarded() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def admin(guarded: EmbeddedCluster) -> Iterator[SigningPeer]:
    with SigningPeer(guarded.broker().address, ADMIN) as peer:
        yield peer


@pytest.fixture
def bob(guarded: EmbeddedCluster, admin: SigningPeer) -> Iterator[SigningPeer]:
    _create(admin, BOB)
    with SigningPeer(guarded.broker().address, BOB) as peer:
        yield peer


def _create(admin: SigningPeer, user: Credentials, kind: str = "Normal") -> None:
    info = UserInfo(username=user.access_key, password=user.secret_key, user_type=kind)
    assert admin.call(CreateUser(username=user.access_key), info.to_bytes()).code == FINE


def _allow(admin: SigningPeer, *entries: AccessEntry, user: str = "bob") -> RemotingCommand:
    subject = f"User:{user}"
    return admin.call(CreateAcl(subject=subject), acl_info(subject, entries).to_bytes())


def test_the_recorded_session_is_answered_word_for_word(guarded: EmbeddedCluster) -> None:
    exchanges = recorded_access()
    with Peer(guarded.broker().address, version=479) as peer:
        for item in exchanges:
            peer.socket.sendall(encode(item.request))
            got, wanted = peer.answer_to(item.request.opaque), item.answer
            if item.note == "pop allowed":  # of a moment long ago
                assert got.code != NO_PERMISSION
                continue
            assert (got.code, got.remark) == (wanted.code, wanted.remark), item.note
            assert got.serialize_type is wanted.serialize_type, item.note
            if item.request.code in _OF_ACCESS:
                assert got.body == wanted.body, item.note
                assert got.ext_fields == wanted.ext_fields, item.note
    assert len(exchanges) == 60


def test_users_and_entries_outlive_a_restart_in_files_of_their_owner(
    guarded: EmbeddedCluster, admin: SigningPeer
) -> None:
    _create(admin, BOB)
    assert _allow(admin, AccessEntry("Topic:T", ("Pub",))).code == FINE
    before = [admin.call(request).body for request in (ListUsers(), ListAcls())]
    guarded.broker().kill()
    guarded.broker().start()
    with SigningPeer(guarded.broker().address, ADMIN) as peer:
        assert [peer.call(request).body for request in (ListUsers(), ListAcls())] == before
    config = guarded.broker().store / "config"
    assert {path.stat().st_mode & 0o777 for path in config.glob("users.json*")} == {0o600}


def test_a_super_user_is_touched_by_super_users_only(admin: SigningPeer, bob: SigningPeer) -> None:
    _allow(admin, AccessEntry("Cluster:*", ("All",)))
    boss = UserInfo(username="boss", password="boss1234", user_type="Super")
    for request, body, verb in (
        (CreateUser(username="boss"), boss.to_bytes(), "create"),
        (UpdateUser(username="bob"), UserInfo(user_type="Super").to_bytes(), "update"),
        (UpdateUser(username="admin"), UserInfo(user_status="disable").to_bytes(), "update"),
        (DeleteUser(username="admin"), b"", "delete"),
    ):
        answer = bob.call(request, body)
        assert (answer.code, answer.remark) == (FAILED, f"The super user can only be {verb} by super user")
    assert json.loads(admin.call(GetUser(username="bob")).body)["userType"] == "Normal"


def test_a_deleted_user_leaves_no_entries(admin: SigningPeer, bob: SigningPeer) -> None:
    _allow(admin, AccessEntry("*", ("All",)))
    assert bob.call(GetBrokerConfig()).code == FINE
    assert admin.call(DeleteUser(username="bob")).code == FINE
    assert bob.call(GetBrokerConfig()).remark == "User:bob is not found."
    assert admin.call(GetAcl(subject="User:bob")).body == b""
    answer = admin.call(DeleteAcl(subject="User:bob"))
    assert (answer.code, answer.remark) == (NO_PERMISSION, "The acl is not exist.")


@pytest.mark.parametrize(
    ("entry", "remark"),
    [
        (AccessEntry("Topic:T", ("Pub",), sources=("nowhere",)), "The source ip is invalid."),
        (AccessEntry("Topic:T", ("Pub",), "Perhaps"), "The decision is null or illegal."),
        (AccessEntry("Topic:T", ("Any",)), "The actions is empty."),
        (AccessEntry("Topic:", ("Pub",)), "The resource is null."),
    ],
)
def test_entries_that_cannot_be_are_refused(
    admin: SigningPeer, bob: SigningPeer, entry: AccessEntry, remark: str
) -> None:
    answer = _allow(admin, entry)
    assert (answer.code, answer.remark) == (NO_PERMISSION, remark)
    assert _allow(admin).remark == "The policies is empty."
    assert bob.call(GetBrokerConfig()).code == FINE, "who has no entry may do what is not checked"


def test_a_retry_topic_counts_as_its_group_and_that_of_a_pop_as_another(admin: SigningPeer, bob: SigningPeer) -> None:
    _allow(admin, AccessEntry("Group:GA", ("Sub",)))
    offset = UpdateConsumerOffset(consumer_group="GA", topic="%RETRY%GA", queue_id=0, commit_offset=0)
    assert bob.call(offset).code != NO_PERMISSION
    ack = AckMessage(
        consumer_group="GA", topic="%RETRY%GA_T", queue_id=0, extra_info="0 1 2 3 4 broker-a 0 0", offset=0
    )
    refused = "User:bob has no permission to access Group:GA_T from 127.0.0.1, no matched policies."
    assert bob.call(ack).remark == refused
    _allow(admin, AccessEntry("Group:GA*", ("Sub",)))
    assert bob.call(ack).code != NO_PERMISSION


def test_a_batch_of_acknowledgements_wants_what_each_alone_wants(admin: SigningPeer, bob: SigningPeer) -> None:
    """A real broker lets any user acknowledge anybody's messages this way: the names are in the body."""

    def acknowledged(*places: tuple[str, str]) -> RemotingCommand:
        acks = [
            {"b": "AQ==", "c": group, "it": 1, "pt": 1, "q": 0, "r": "0", "rq": 0, "so": 0, "t": topic}
            for group, topic in places
        ]
        return bob.call(BatchAckMessage(), dump_bytes({"brokerName": "broker-a", "acks": acks}))

    assert acknowledged(("GA", "T")).code == NO_PERMISSION
    _allow(admin, AccessEntry("Group:GA", ("Sub",)), AccessEntry("Topic:T", ("Sub",)))
    assert acknowledged(("GA", "T")).code != NO_PERMISSION
    for other in (("GB", "T"), ("GA", "U")):
        assert acknowledged(("GA", "T"), other).code == NO_PERMISSION


def test_custom_entries_come_before_default_ones(admin: SigningPeer, bob: SigningPeer) -> None:
    _allow(
        admin,
        AccessEntry("Group:GA", ("Sub",), "Deny", policy="Custom"),
        AccessEntry("*", ("All",), policy="Default"),
    )
    denied = bob.call(GetConsumerListByGroup(consumer_group="GA"))
    assert denied.remark == "User:bob has no permission to access Group:GA from 127.0.0.1, the decision is deny."
    assert bob.call(GetConsumerListByGroup(consumer_group="GB")).code != NO_PERMISSION


def test_listed_codes_are_not_checked() -> None:
    lists = {"authenticationWhitelist": "3005, 26", "authorizationWhitelist": "3005"}
    with (
        EmbeddedCluster(version="5.3.3", settings={**SETTINGS, **lists}) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        assert peer.call(ListUsers()).code == FINE
        assert peer.call(GetBrokerConfig()).code == FINE
        assert peer.call(ListAcls()).remark == "username cannot be null."


def test_without_a_provider_there_are_no_users_and_with_one_nothing_is_checked() -> None:
    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.broker().address) as peer:
        answer = peer.call(ListUsers())
        assert (answer.code, answer.remark) == (FAILED, "An system error occurred, please try again later.")
    provider = {"authenticationMetadataProvider": "a.b.LocalAuthenticationMetadataProvider"}
    with (
        EmbeddedCluster(version="5.3.3", settings=provider) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        user = UserInfo(username="alice", password="secret1", user_type="Super")
        assert peer.call(CreateUser(username="alice"), user.to_bytes()).code == FINE
        assert [item["username"] for item in json.loads(peer.call(ListUsers()).body)] == ["alice"]


def test_a_signature_covers_body_and_fields(guarded: EmbeddedCluster, admin: SigningPeer) -> None:
    _create(admin, BOB)
    with SigningPeer(guarded.broker().address, BOB) as peer:
        signed = next(item for item in recorded_access() if item.note == "get broker config").request
        peer.socket.sendall(encode(signed))
        assert peer.answer_to(signed.opaque).code == FINE
        forged = replace(signed, ext_fields={**(signed.ext_fields or {}), "more": "1"})
        peer.socket.sendall(encode(forged))
        assert peer.answer_to(forged.opaque).remark == "check signature failed."


def test_a_first_user_that_cannot_be_read_ends_the_start() -> None:
    settings = {**SETTINGS, "initAuthenticationUser": '{"username":"admin","passwort":"s3cret"}'}
    with (
        pytest.raises(ConfigurationError, match="first user") as caught,
        EmbeddedCluster(version="5.3.3", settings=settings),
    ):
        pass
    assert "s3cret" not in str(caught.value)
