"""Corners of the plain ACL of 4.9.8: names that are both topic and group, several refusals, lists given by request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from embedded_broker import EmbeddedCluster
from embedded_broker.acl_addresses import address_pattern
from embedded_broker.acl_rules import AccessDenied, Account
from mqctl.errors import ConfigurationError
from mqctl.model.names import dlq_topic, retry_topic
from mqctl.protocol.acl import Credentials, sign
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.requests_admin import CreateAccessConfig, GetBrokerConfig, UpdateGlobalWhiteAddrsConfig
from tests.embedded_broker.access import ADMIN, LIST, USER, SigningPeer, write_list
from tests.embedded_broker.messages import heartbeat, pull
from tests.embedded_broker.wire import Peer

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
    ["1.2.3.{1,2", "1.2.3{1}", "{1,2}.2.3.4", "1.2.3.256", "1.2.3.1-", "1.2.3.-9", "1.2.3.3-400", "a.b.c.d"],
)
def test_patterns_that_nobody_can_read(pattern: str) -> None:
    with pytest.raises(ConfigurationError):
        address_pattern(pattern)


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
        told = process.stderr.read()
    assert b"\\x1b[2J\\n2026" in told
    assert b"\x1b" not in told


def _frame(command: RemotingCommand) -> bytes:
    from mqctl.protocol.frame import encode

    return encode(command)
