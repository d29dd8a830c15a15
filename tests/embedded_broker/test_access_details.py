"""Corners of the plain ACL of 4.9.8: names that are both topic and group, several refusals, lists given by request."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from embedded_broker import EmbeddedCluster
from embedded_broker.acl.addresses import address_pattern
from embedded_broker.acl.rules import AccessDenied, Account
from mqctl.errors import ConfigurationError
from mqctl.model.names import dlq_topic, retry_topic
from mqctl.protocol.acl import Credentials, sign
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.requests_admin import (
    CreateAccessConfig,
    DeleteSubscriptionGroup,
    GetBrokerAclConfig,
    GetBrokerConfig,
    QueryMessage,
    UpdateGlobalWhiteAddrsConfig,
)
from tests.embedded_broker.access import ADMIN, LIST, USER, SigningPeer, write_list
from tests.embedded_broker.messages import heartbeat, pull
from tests.embedded_broker.wire import Peer

ACL = "org.apache.rocketmq.acl.common.AclException"
OPERATOR = Credentials("operator", "operator-secret")
MORE = """
  - accessKey: operator
    secretKey: operator-secret
    defaultTopicPerm: DENY
    defaultGroupPerm: DENY
    topicPerms:
      - "%DLQ%G=SUB"
      - "%RETRY%Plain=SUB"
      - Pay=ANY
      - Both=SUB|PUB
    groupPerms:
      - G=SUB
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(acl_file=write_list(tmp_path, LIST + MORE), virtual_time=True) as cluster:
        yield cluster


def refusal(peer: Peer, topic: str, group: str) -> str | None:
    remark = peer.call(pull(topic, 0, group=group)).remark or ""
    return remark.partition("No default permission for ")[2].partition(",")[0] or None


def test_dead_letters_are_a_topic_and_retry_topics_a_group(own: EmbeddedCluster) -> None:
    with SigningPeer(own.broker().address, OPERATOR) as peer:
        assert refusal(peer, dlq_topic("G"), "G") is None
        assert refusal(peer, dlq_topic("Other"), "G") == f"topic:{dlq_topic('Other')}"
        assert refusal(peer, retry_topic("G"), "G") is None
        assert refusal(peer, "Both", "Plain") is None, "a retry topic among the topics is the group"
        assert refusal(peer, retry_topic("Other"), "G") == "group:Other"
        assert refusal(peer, "Pay", "G") == "topic:Pay", "an unknown word denies"


@pytest.mark.parametrize(
    ("refused", "first"),
    [
        ((retry_topic("Barred"), "In"), "topic:In"),
        ((retry_topic("G"), "Pay", "Orders"), "topic:Orders"),
        ((retry_topic("grp-7"), "t-1", "t-2", "t-3", "订单"), "group:grp-7"),
        (tuple(f"topic-{number}" for number in range(20)), "topic:topic-6"),
    ],
)
def test_of_several_refusals_the_first_of_javas_hash_map_is_told(refused: tuple[str, ...], first: str) -> None:
    """The orders are those in which a JVM printed the keys of such maps."""
    with pytest.raises(AccessDenied) as caught:
        Account("key", "secret").check(34, dict.fromkeys(refused, 8))
    assert f"No default permission for {first}," in caught.value.remark


def test_a_refused_oneway_request_is_not_answered(own: EmbeddedCluster) -> None:
    with SigningPeer(own.broker().address, OPERATOR) as peer:
        silent = peer.post(pull("In", 0, group="G"), oneway=True)
        assert peer.call(GetBrokerConfig()).code == 0
        assert all(command.opaque != silent for command in peer.unasked)


@pytest.mark.parametrize("form", list(SerializeType))
def test_the_body_of_a_heartbeat_is_signed_and_judged(own: EmbeddedCluster, form: SerializeType) -> None:
    with SigningPeer(own.broker().address, OPERATOR, serialize_type=form) as peer:
        assert heartbeat(peer, "客户端", group="G", subscriptions={"Both": "标签"}).code == 0
        assert "topic:订单" in (heartbeat(peer, "c", group="G", subscriptions={"订单": "*"}).remark or "")


def test_whoever_signs_may_change_the_list(own: EmbeddedCluster) -> None:
    """4.9.8 counts 50 to 53 not among the admin codes."""
    with SigningPeer(own.broker().address, USER) as peer:
        assert peer.call(CreateAccessConfig(access_key="made-key", secret_key="made-secret", admin=True)).code == 0


def test_lists_by_request_are_split_as_java_splits_them(own: EmbeddedCluster) -> None:
    file = own.spec.acl_file
    assert file is not None
    with SigningPeer(own.broker().address, ADMIN) as peer:
        empty = peer.call(CreateAccessConfig(access_key="made-key", secret_key="made-secret", topic_perms=""))
        assert (empty.code, (empty.remark or "").partition("\n")[0]) == (209, "Parse Resource format error for .")
        given = CreateAccessConfig(
            access_key="made-key",
            secret_key="made-secret",
            topic_perms="A=PUB,B=SUB,,",
            default_topic_perm="",
            white_remote_address="",
        )
        assert peer.call(given).code == 0
        assert peer.call(UpdateGlobalWhiteAddrsConfig(global_white_addrs="")).code == 0
        short = peer.call(CreateAccessConfig(access_key="made-key"))
        assert (short.code, "made-secret" in (short.remark or "")) == (209, False)
    written = yaml.safe_load(file.read_text())
    assert written["globalWhiteRemoteAddresses"] == [""]
    assert written["accounts"][-1] == {
        "accessKey": "made-key",
        "secretKey": "made-secret",
        "whiteRemoteAddress": "",
        "admin": False,
        "topicPerms": ["A=PUB", "B=SUB"],
    }


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("1.2.3.*", "1.2.3.255", "1.2.30.1"),
        ("1.2.*.*", "1.2.0.9", "1.20.0.1"),
        ("1.2.*.7", "1.2.3.4", "1.3.3.7"),
        ("1.2.3.1-10", "1.2.3.10", "1.2.3.11"),
        ("1.2.3-4.9", "1.2.4.1", "1.2.5.9"),
        ("1.2.3.{1,2}", "1.2.3.2", "1.2.3.12"),
        ("1.2.3.4,5.6.7.8", "5.6.7.8", "5.6.7.9"),
        ("::1", "0:0:0:0:0:0:0:1", "::2"),
        ("fe80::{1,a}", "fe80:0:0:0::A", "fe80::2"),
        ("fe80:0:0:0:0:0:0:*", "fe80::ffff", "fe81::1"),
        ("fe80::9:1-1f", "fe80::9:1f", "fe80::9:20"),
        ("fe80:0:0:0:0:0:1-2:*", "fe80::2:9", "fe80::3:9"),
        ("fe80::*", "fe80:0:1::1", "fe80:1::1"),
        ("fe80::1-2:*", "fe80:0:2::1", "fe80::2:9"),
        ("2001:db8::1,10.0.0.1", "2001:DB8:0::1", "10.0.0.2"),
    ],
)
def test_patterns_of_addresses(pattern: str, inside: str, outside: str) -> None:
    matches = address_pattern(pattern)
    assert matches(inside)
    assert not matches(outside)
    assert not matches("no address")


@pytest.mark.parametrize(
    "pattern",
    [
        *("1.2.3.{1,2", "1.2.3{1}", "{1,2}.2.3.4", "1.2.3.256", "1.2.3.1-", "1.2.3.-9", "1.2.3.3-400", "a.b.c.d"),
        *("1.2.3.4, 1.2.3.5", "1.2.3.{4, 5}", " 1.2.3.4", "1.2.3.0-0", "1.2.*"),
        *("fe80:*:1", "fe80:1-2:3:4", "fe80:1-2:3:*", "*:1", "1:2:3:4:5:6:7:8:*", "fe80:0:0:0:0:0:0:9-1", "fe80:x:*"),
    ],
)
def test_patterns_that_nobody_can_read(pattern: str) -> None:
    with pytest.raises(ConfigurationError):
        address_pattern(pattern)


def test_an_account_with_an_address_that_cannot_be_read_is_refused_in_the_words_of_the_wire(
    own: EmbeddedCluster,
) -> None:
    with SigningPeer(own.broker().address, ADMIN) as peer:
        for white, remark in (
            ("1.2.3.4, 1.2.3.5", "Netaddress examine Exception netaddress is  1.2.3.5"),
            ("1.2.*", "Netaddress examine scope Exception netaddress is 1.2.*"),
            ("1.2.3{4,5}", "MultipleRemoteAddressStrategy has got a/some wrong format IP(s) "),
            ("1.2.3.9-1", "RangeRemoteAddressStrategy netaddress examine scope Exception start is 9 , end is 1"),
        ):
            answer = peer.call(
                CreateAccessConfig(access_key="made-key", secret_key="made-secret", white_remote_address=white)
            )
            assert (answer.code, answer.remark) == (209, remark)


def test_a_query_by_unique_key_is_refused_when_its_flag_is_signed(own: EmbeddedCluster) -> None:
    """Clients from 4.9.4 on sign it, and 4.9.8 leaves it out of what it checks."""
    query = QueryMessage(
        topic="Both", key="k", max_num=1, begin_timestamp=0, end_timestamp=1, unique_key_query=True
    ).command(opaque=1, version=409)
    ext = dict(query.ext_fields or {})
    flag = ext.pop("_UNIQUE_KEY_QUERY")
    with SigningPeer(own.broker().address, OPERATOR) as peer:
        peer.put(sign(query, OPERATOR))
        assert "Check signature failed for accessKey=operator" in (peer.answer_to(1).remark or "")
        older = sign(replace(query, ext_fields=ext, opaque=2), OPERATOR)
        peer.put(replace(older, ext_fields={**(older.ext_fields or {}), "_UNIQUE_KEY_QUERY": flag}))
        assert ACL not in (peer.answer_to(2).remark or "")


def test_addresses_that_a_file_gained_in_its_white_list_are_never_taken_back(own: EmbeddedCluster) -> None:
    """4.9.8 keeps what to take back only for files that had a white list when all were read."""
    file = own.spec.acl_file
    assert file is not None
    (file.parent / "acl").mkdir()
    late = file.parent / "acl" / "late.yml"
    account = "accounts:\n  - {accessKey: late-key, secretKey: late-secret}\n"
    late.write_text(account)
    own.advance(5_000)
    with Peer(own.broker().address) as peer:
        assert peer.call(GetBrokerConfig()).code == 1
        file.write_text("globalWhiteRemoteAddresses: [127.0.0.1]\n")
        own.advance(5_000)
        assert peer.call(GetBrokerConfig()).code == 0
        file.write_text("globalWhiteRemoteAddresses: [10.1.1.1]\n")
        own.advance(5_000)
        assert peer.call(GetBrokerConfig()).code == 1, "a file that had a list takes its addresses back"
        late.write_text("globalWhiteRemoteAddresses: [127.0.0.1]\n" + account)
        own.advance(5_000)
        late.write_text(account)
        own.advance(5_000)
        assert peer.call(GetBrokerConfig()).code == 0, "one that had none does not"
        late.unlink()
        own.advance(5_000)
        assert peer.call(GetBrokerConfig()).code == 1, "another number of files reads all anew"


def test_of_two_accounts_with_one_key_the_first_counts_until_the_file_changes(own: EmbeddedCluster) -> None:
    file = own.spec.acl_file
    assert file is not None
    (file.parent / "acl").mkdir()
    (file.parent / "acl" / "more.yml").write_text(
        "accounts:\n  - {accessKey: twice-key, secretKey: first-secret, admin: 1}\n"
        "  - {accessKey: twice-key, secretKey: last-secret}\n"
    )
    own.advance(5_000)
    first, last = Credentials("twice-key", "first-secret"), Credentials("twice-key", "last-secret")
    address = own.broker().address
    with SigningPeer(address, first) as one, SigningPeer(address, last) as two:
        assert (one.call(GetBrokerConfig()).code, two.call(GetBrokerConfig()).code) == (0, 1)
        assert one.call(DeleteSubscriptionGroup(group_name="none")).code == 0, "`admin: 1` is true"
        file_of_both = file.parent / "acl" / "more.yml"
        file_of_both.write_text(file_of_both.read_text() + "# touched\n")
        own.advance(5_000)
        assert (one.call(GetBrokerConfig()).code, two.call(GetBrokerConfig()).code) == (1, 0)


def test_a_file_without_a_version_has_the_time_when_it_was_read(own: EmbeddedCluster) -> None:
    file = own.spec.acl_file
    assert file is not None
    with SigningPeer(own.broker().address, ADMIN) as peer:
        answer = peer.call(GetBrokerAclConfig())
    version = json.loads(answer.ext("version") or "")
    assert version["counter"] == 0
    assert 0 < version["timestamp"] <= own.now_ms()
    assert json.loads(answer.ext("allAclFileVersion") or "") == {str(file): version}


def test_a_key_in_the_log_steers_no_terminal(tmp_path: Path) -> None:
    file = write_list(tmp_path)
    words = [sys.executable, "-m", "embedded_broker", "--acl", str(file), "--memory", "--until-eof"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        ready = yaml.safe_load(process.stdout.readline())
        with Peer(ready["brokers"][0]["address"]) as peer:
            feigned = Credentials("x\x1b[2J\n2026-01-01 WARNING all is well", "whatever")
            peer.socket.sendall(_frame(sign(RemotingCommand(code=26, opaque=1), feigned)))
            assert "No acl config" in (peer.answer_to(1).remark or "")
        process.stdin.close()
        errors = process.stderr.read()
    assert b"\\x1b[2J\\n2026" in errors
    assert b"\x1b" not in errors


def _frame(command: RemotingCommand) -> bytes:
    from mqctl.protocol.frame import encode

    return encode(command)
