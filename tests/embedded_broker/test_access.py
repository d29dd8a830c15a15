"""Access control of the embedded broker as 4.9.8 has it: signatures, permissions, white lists, files, requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from embedded_broker import EmbeddedCluster
from mqctl.errors import ConfigurationError
from mqctl.model.names import retry_topic
from mqctl.protocol.acl import Credentials, sign
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.header import Request
from mqctl.protocol.requests_admin import (
    CreateAccessConfig,
    CreateTopic,
    DeleteAccessConfig,
    GetBrokerAclConfig,
    GetBrokerConfig,
    QueryMessage,
    UpdateGlobalWhiteAddrsConfig,
)
from mqctl.protocol.requests_client import (
    ConsumerSendMsgBack,
    GetConsumerListByGroup,
    Heartbeat,
    SendMessage,
    UnregisterClient,
    UpdateConsumerOffset,
)
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo
from tests.embedded_broker.access import ADMIN, LIST, READER, USER, SigningPeer, write_list
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer

ACL = "org.apache.rocketmq.acl.common.AclException"
PLAIN = "org.apache.rocketmq.acl.plain.PlainPermissionManager"
FINE = 0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    file = write_list(tmp_path_factory.mktemp("conf"))
    with EmbeddedCluster(acl_file=file, virtual_time=True) as cluster:
        with SigningPeer(cluster.broker().address, ADMIN) as peer:
            for topic in ("Both", "In", "Out", "Closed", "Other"):
                assert peer.call(_topic(topic)).code == FINE
        yield cluster


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """A cluster whose list the test may change."""
    with EmbeddedCluster(acl_file=write_list(tmp_path), virtual_time=True) as cluster:
        yield cluster


def _topic(name: str) -> CreateTopic:
    return CreateTopic(
        topic=name,
        default_topic="TBW102",
        read_queue_nums=1,
        write_queue_nums=1,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        topic_sys_flag=0,
        order=False,
    )


def _offset(group: str, topic: str) -> UpdateConsumerOffset:
    return UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=0, commit_offset=0)


def _denied(topic: str = "", group: str = "", *, line: int) -> str:
    what = f"group:{group}" if group else f"topic:{topic}"
    return f"{ACL}: No default permission for {what}, {PLAIN}.checkPerm(PlainPermissionManager.java:{line})"


@pytest.mark.parametrize("form", list(SerializeType))
def test_who_has_no_key_a_wrong_one_or_a_wrong_secret_is_told_so(guarded: EmbeddedCluster, form: SerializeType) -> None:
    address = guarded.broker().address
    validate = f"{PLAIN}.validate(PlainPermissionManager.java"
    with Peer(address, serialize_type=form) as peer:
        answer = peer.call(GetBrokerConfig())
        assert (answer.code, answer.remark) == (1, f"{ACL}: No accessKey is configured, {validate}:664)")
        assert answer.serialize_type is SerializeType.JSON
    with SigningPeer(address, Credentials("stranger", "whatever"), serialize_type=form) as peer:
        assert peer.call(GetBrokerConfig()).remark == f"{ACL}: No acl config for stranger, {validate}:668)"
    with SigningPeer(address, Credentials(USER.access_key, "guessed-it"), serialize_type=form) as peer:
        remark = f"{ACL}: Check signature failed for accessKey=user-key, {validate}:684)"
        assert peer.call(GetBrokerConfig()).remark == remark
    for account in (USER, ADMIN, READER):
        with SigningPeer(address, account, serialize_type=form) as peer:
            assert peer.call(GetBrokerConfig()).code == FINE


def test_a_request_that_was_changed_on_the_way_is_refused(guarded: EmbeddedCluster) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        signed = sign(send("Both").command(opaque=1, body=b"pay 1", version=409), USER)
        peer.put(replace(signed, body=b"pay 9"))
        assert "Check signature failed" in (peer.answer_to(1).remark or "")
        ext = {**(signed.ext_fields or {}), "b": "Closed"}
        peer.put(replace(signed, opaque=2, ext_fields=ext))
        assert "Check signature failed" in (peer.answer_to(2).remark or "")
        peer.put(replace(signed, opaque=3))
        assert peer.answer_to(3).code == FINE


def test_an_unknown_code_needs_a_signature_too(guarded: EmbeddedCluster) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        peer.put(RemotingCommand(code=9999, opaque=1))
        assert peer.answer_to(1).code == 1
        peer.put(sign(RemotingCommand(code=9999, opaque=2), USER))
        assert peer.answer_to(2).code == 3


def test_the_name_server_asks_for_no_key(guarded: EmbeddedCluster) -> None:
    with Peer(guarded.namesrv) as peer:
        assert peer.call(GetBrokerClusterInfo()).code == FINE


def _v1(topic: str, group: str = "GP") -> SendMessage:
    return SendMessage(
        producer_group=group,
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=1_700_000_000_000,
        flag=0,
        properties="",
        reconsume_times=0,
        unit_mode=False,
        batch=False,
    )


def _sends(topic: str, group: str = "GP") -> list[Request]:
    return [send(topic, group=group), _v1(topic, group)]


@pytest.mark.parametrize("topic", ["Both", "In"])
def test_sends_need_pub(guarded: EmbeddedCluster, topic: str) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        for request in _sends(topic):
            assert peer.call(request, b"x").code == FINE


@pytest.mark.parametrize(("topic", "line"), [("Out", 611), ("Closed", 611), ("Other", 606)])
def test_sends_without_pub_are_refused(guarded: EmbeddedCluster, topic: str, line: int) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        for request in _sends(topic):
            answer = peer.call(request, b"x")
            assert (answer.code, answer.remark) == (1, _denied(topic, line=line))


def test_a_send_to_a_retry_topic_needs_sub_on_its_producers_group(guarded: EmbeddedCluster) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        allowed = peer.call(send(retry_topic("G"), group="G"), b"x")
        assert ACL not in (allowed.remark or "")
        assert peer.call(send(retry_topic("G"), group="Barred"), b"x").remark == _denied(group="Barred", line=611)


@pytest.mark.parametrize(
    ("request_", "remark"),
    [
        (pull("Both", 0, group="G"), None),
        (pull("Out", 0, group="G"), None),
        (pull("In", 0, group="G"), _denied("In", line=611)),
        (pull("Other", 0, group="G"), _denied("Other", line=606)),
        (pull("Both", 0, group="Barred"), _denied(group="Barred", line=611)),
        (_offset("G", "Both"), None),
        (_offset("G", "In"), _denied("In", line=611)),
        (_offset("Barred", "Both"), _denied(group="Barred", line=611)),
        (GetConsumerListByGroup(consumer_group="Barred"), _denied(group="Barred", line=611)),
        (UnregisterClient(client_id="c", consumer_group="Barred"), _denied(group="Barred", line=611)),
        (UnregisterClient(client_id="c", producer_group="GP"), None),
        (ConsumerSendMsgBack(offset=0, group="Barred", delay_level=1), _denied(group="Barred", line=611)),
        (QueryMessage(topic="Out", key="k", max_num=1, begin_timestamp=0, end_timestamp=1), None),
        (
            QueryMessage(topic="In", key="k", max_num=1, begin_timestamp=0, end_timestamp=1),
            _denied("In", line=611),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_request_needs_what_the_reference_says(
    guarded: EmbeddedCluster, request_: Request, remark: str | None
) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        answer = peer.call(request_)
        if remark is None:
            assert ACL not in (answer.remark or "")
        else:
            assert (answer.code, answer.remark) == (1, remark)


def test_a_heartbeat_needs_its_groups_and_topics(guarded: EmbeddedCluster) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        assert heartbeat(peer, "c1", group="G", subscriptions={"Both": "*", "Out": "*"}).code == FINE
        barred = heartbeat(peer, "c1", group="Barred", subscriptions={"Both": "*"})
        assert barred.remark == _denied(group="Barred", line=611)
        assert heartbeat(peer, "c1", group="G", subscriptions={"In": "*"}).remark == _denied("In", line=611)
        place = "org.apache.rocketmq.acl.plain.PlainAccessValidator.parse(PlainAccessValidator.java:134)"
        assert peer.call(Heartbeat(), b"{").remark == f"{ACL}, {place}"


def test_five_codes_need_an_admin(guarded: EmbeddedCluster) -> None:
    with SigningPeer(guarded.broker().address, USER) as peer:
        for code in (17, 25, 200, 207, 215):
            signed = sign(RemotingCommand(code=code, opaque=code, ext_fields={}), USER)
            peer.put(signed)
            assert peer.answer_to(code).remark == (
                f"{ACL}: Need admin permission for request code={code}, but accessKey=user-key is not, "
                f"{PLAIN}.checkPerm(PlainPermissionManager.java:581)"
            )


def test_traces_may_always_be_sent(guarded: EmbeddedCluster) -> None:
    with SigningPeer(guarded.broker().address, READER) as peer:
        assert ACL not in (peer.call(send("RMQ_SYS_TRACE_TOPIC"), b"x").remark or "")
        assert peer.call(send("Both"), b"x").remark == _denied("Both", line=606)


@pytest.mark.parametrize("white", ["127.0.0.1", "127.0.*.*", "10.1.2.3,127.0.0.1", "127.0.0.{1,2}", "127.0.0.0-9", "*"])
def test_white_listed_addresses_need_no_key(tmp_path: Path, white: str) -> None:
    everywhere = write_list(tmp_path, f"globalWhiteRemoteAddresses:\n  - '{white}'\n")
    with EmbeddedCluster(acl_file=everywhere) as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(_topic("Any")).code == FINE
    text = f"accounts:\n  - accessKey: account\n    secretKey: the-secret\n    whiteRemoteAddress: '{white}'\n"
    of_one = write_list(tmp_path, text)
    with EmbeddedCluster(acl_file=of_one) as cluster:
        with Peer(cluster.broker().address) as peer:
            assert "No accessKey is configured" in (peer.call(_topic("Any")).remark or "")
        with SigningPeer(cluster.broker().address, Credentials("account", "not that one")) as peer:
            assert peer.call(_topic("Any")).code == FINE


def test_a_changed_file_counts_within_five_seconds_and_a_broken_one_changes_nothing(own: EmbeddedCluster) -> None:
    file = own.spec.acl_file
    assert file is not None
    with SigningPeer(own.broker().address, Credentials("fresh-key", "fresh-secret")) as peer:
        assert "No acl config" in (peer.call(GetBrokerConfig()).remark or "")
        file.write_text(LIST + "  - accessKey: fresh-key\n    secretKey: fresh-secret\n")
        own.advance(5_000)
        assert peer.call(GetBrokerConfig()).code == FINE
        for broken in ("accounts: [", "accounts: 7", "accounts:\n  - accessKey: short\n", ""):
            file.write_text(broken)
            own.advance(5_000)
            assert peer.call(GetBrokerConfig()).code == FINE
        (file.parent / "acl").mkdir()
        (file.parent / "acl" / "more.yaml").write_text("accounts:\n  - {accessKey: more-key, secretKey: more-secret}\n")
        file.write_text(LIST)
        own.advance(5_000)
        assert "No acl config" in (peer.call(GetBrokerConfig()).remark or "")
    with SigningPeer(own.broker().address, Credentials("more-key", "more-secret")) as peer:
        assert peer.call(GetBrokerConfig()).code == FINE


def test_accounts_are_put_changed_and_dropped_by_request(own: EmbeddedCluster) -> None:
    file = own.spec.acl_file
    assert file is not None
    made = CreateAccessConfig(
        access_key="made-key", secret_key="made-secret", topic_perms="Both=SUB,In=PUB", group_perms="G=SUB"
    )
    with SigningPeer(own.broker().address, ADMIN) as admin:
        assert admin.call(_topic("Both")).code == FINE
        before = admin.call(GetBrokerAclConfig())
        assert admin.call(made).code == FINE
        with SigningPeer(own.broker().address, Credentials("made-key", "made-secret")) as peer:
            assert peer.call(pull("Both", 0, group="G")).code != 1
            assert peer.call(send("Both"), b"x").remark == _denied("Both", line=611)
            changed = CreateAccessConfig(access_key="made-key", secret_key="made-secret", topic_perms="Both=PUB|SUB")
            assert admin.call(changed).code == FINE
            assert peer.call(send("Both"), b"x").code == FINE
            remark = peer.call(pull("Both", 0, group="G")).remark
            assert remark == _denied(group="G", line=606), "only what the request named, until the file is read"
            at_once = admin.call(GetBrokerAclConfig())
            own.advance(5_000)
            assert peer.call(pull("Both", 0, group="G")).code != 1
            after = admin.call(GetBrokerAclConfig())
            for answer, counters in ((before, (0, 0)), (at_once, (0, 2)), (after, (2, 2))):
                assert json.loads(answer.ext("version") or "")["counter"] == counters[0]
                assert json.loads(answer.ext("allAclFileVersion") or "")[str(file)]["counter"] == counters[1]
            assert (after.ext("brokerName"), after.ext("clusterName")) == ("broker-a", "DefaultCluster")
            assert admin.call(DeleteAccessConfig(access_key="made-key")).code == FINE
            assert "No acl config" in (peer.call(send("Both"), b"x").remark or "")
        gone = admin.call(DeleteAccessConfig(access_key="made-key"))
        assert (gone.code, gone.remark) == (
            210,
            "The accesskey[made-key] corresponding to accessConfig has been deleted failed.",
        )
    written = yaml.safe_load(file.read_text())
    assert [account["accessKey"] for account in written["accounts"]] == ["admin-key", "user-key", "reader-key"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_bad_accounts_are_refused_and_their_secret_is_not_repeated(own: EmbeddedCluster) -> None:
    with SigningPeer(own.broker().address, ADMIN) as admin:
        short = admin.call(CreateAccessConfig(access_key="made-key", secret_key="s3cr3t"))
        assert short.code == 209
        assert short.remark == (
            "The accessKey=made-key and secretKey=*** cannot be null and length should longer than 6"
        )
        wrong = CreateAccessConfig(access_key="made-key", secret_key="made-secret", topic_perms="Both=ALL")
        assert (admin.call(wrong).remark or "").startswith("Parse resource permission error for Both=ALL.")


def test_the_white_list_is_replaced_in_files_of_the_list_only(own: EmbeddedCluster, tmp_path: Path) -> None:
    address = own.broker().address
    other = tmp_path / "other.yml"
    other.write_text("accounts: []\n")
    with SigningPeer(address, ADMIN) as admin, Peer(address) as peer:
        for wrong in (str(other), "/etc/passwd", f"{tmp_path}/acl/../other.yml"):
            answer = admin.call(UpdateGlobalWhiteAddrsConfig(global_white_addrs="127.0.0.1", acl_file_full_path=wrong))
            assert answer.code == 211
        assert other.read_text() == "accounts: []\n"
        assert peer.call(GetBrokerConfig()).code == 1
        assert admin.call(UpdateGlobalWhiteAddrsConfig(global_white_addrs="10.1.1.1,127.0.0.1")).code == FINE
        assert peer.call(GetBrokerConfig()).code == 1, "it counts when the file is read again"
        own.advance(5_000)
        assert peer.call(GetBrokerConfig()).code == FINE
        assert peer.call(UpdateGlobalWhiteAddrsConfig(global_white_addrs="nowhere")).code == 211
        assert peer.call(GetBrokerConfig()).code == FINE


def test_a_broker_without_access_control_refuses_changes_and_keeps_silent_about_versions() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        for request, code in (
            (CreateAccessConfig(access_key="made-key", secret_key="made-secret"), 209),
            (DeleteAccessConfig(access_key="made-key"), 210),
            (UpdateGlobalWhiteAddrsConfig(global_white_addrs="*"), 211),
        ):
            answer = peer.call(request)
            assert (answer.code, answer.remark) == (code, None)
        silent = peer.post(GetBrokerAclConfig())
        assert peer.call(GetBrokerConfig()).code == FINE
        assert all(command.opaque != silent for command in peer.unasked)


def test_the_setting_gives_each_broker_an_empty_list_of_its_own() -> None:
    with EmbeddedCluster(settings={"aclEnable": "true"}) as cluster:
        file = cluster.broker().store / "conf" / "plain_acl.yml"
        assert file.stat().st_mode & 0o777 == 0o600
        with Peer(cluster.broker().address) as peer:
            assert "No accessKey is configured" in (peer.call(GetBrokerConfig()).remark or "")


@pytest.mark.parametrize(
    "text",
    [
        "accounts: [",
        "- a",
        "accounts:\n  - accessKey: account\n    secretKey: s3cret\n",
        "globalWhiteRemoteAddresses: ['*.1.1.1']",
        "globalWhiteRemoteAddresses: ['1.2.3']",
        "globalWhiteRemoteAddresses: ['1.2.3.9-1']",
        "accounts:\n  - {accessKey: account, secretKey: s3cret-1, topicPerms: [Pay]}\n",
    ],
)
def test_a_list_that_cannot_be_read_ends_the_start_without_showing_a_secret(tmp_path: Path, text: str) -> None:
    with (
        pytest.raises(ConfigurationError) as caught,
        EmbeddedCluster(acl_file=write_list(tmp_path, text)),
    ):
        pass
    assert "s3cret" not in str(caught.value)


def test_five_has_no_plain_list(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="cannot control access by a list"),
        EmbeddedCluster(acl_file=write_list(tmp_path), version="5.3.3"),
    ):
        pass
