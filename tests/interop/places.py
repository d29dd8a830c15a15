"""Where cells of the table are tried: an embedded cluster, or a real one with a proxy; both set up alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.tls import TlsMode
from mqctl.protocol.acl import Credentials
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import CreateTopic, UpdateAndCreateSubscriptionGroup
from mqctl.protocol.requests_namesrv import GetRouteInfo
from mqctl.protocol.requests_pop import SetMessageRequestMode
from tests.client.consuming import wait_until
from tests.embedded_broker.access import SigningPeer
from tests.embedded_broker.authority import Authority
from tests.embedded_broker.messages import pull
from tests.embedded_broker.wire import Peer
from tests.real.cluster import Plan, running

EMBEDDED = "embedded"
EMBEDDED_AS = "5.3.3"
"""The newest release that the embedded broker knows."""
REAL = "5.5.0"
USERS, TLS = "users", "TLS"
"""What guards a place, and the kinds that want that; TLS comes with users."""
ADMIN = Credentials("admin", "adm12345")
SETTINGS: Mapping[str, str] = {
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "recallMessageEnable": "true",
    "enableLmq": "true",
    "enableMultiDispatch": "true",
    # A first retry waits for level 3.
    "messageDelayLevel": "1s 2s 1s 1s 1s",
    "transactionCheckInterval": "1000",
    "transactionTimeOut": "1000",
    "transactionOpBatchInterval": "100",
}
_AUTHENTICATION = "org.apache.rocketmq.auth.authentication.provider"
_INNER = json.dumps({"accessKey": "inner", "secretKey": "inn12345"})
_USERS: Mapping[str, str] = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_AUTHENTICATION}.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_AUTHENTICATION}.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": json.dumps({"username": ADMIN.access_key, "password": ADMIN.secret_key}),
    "innerClientAuthenticationCredentials": _INNER,
}
_USERS_OF_PROXY: Mapping[str, object] = {
    "authenticationEnabled": True,
    "authenticationProvider": _USERS["authenticationProvider"],
    "authenticationMetadataProvider": "org.apache.rocketmq.proxy.auth.ProxyAuthenticationMetadataProvider",
    "innerClientAuthenticationCredentials": _INNER,
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """One cluster.

    Attributes:
        side: `EMBEDDED`, or the release of a real one.
        broker: address of its only broker.
        grpc: address for gRPC clients.
        authority: signed the certificate that it shows to gRPC clients; None where these speak plainly.
        credentials: without them it refuses everything; None where it asks for none.
    """

    side: str
    namesrv: str
    broker: str
    grpc: str
    authority: Authority | None = None
    credentials: Credentials | None = None

    def peer(self) -> Peer:
        """Opens a connection to the broker."""
        return SigningPeer(self.broker, self.credentials) if self.credentials else Peer(self.broker)

    def make_topic(self, topic: str, kind: str, queues: int) -> None:
        """Makes a topic, and waits for its route: until then a client takes that of TBW102, with more queues."""
        request = CreateTopic(
            topic=topic,
            default_topic="TBW102",
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=6,
            topic_filter_type="SINGLE_TAG",
            attributes=f"+message.type={kind}",
        )
        with self.peer() as peer, Peer(self.namesrv) as namesrv:
            answer = peer.call(request)
            assert answer.code == 0, answer.remark
            wait_until(lambda: namesrv.call(GetRouteInfo(topic=topic)).code == 0, f"a route of {topic}")

    def make_group(self, group: str, settings: Mapping[str, object]) -> None:
        with self.peer() as peer:
            body = json.dumps({"groupName": group, **settings}).encode()
            answer = peer.call(UpdateAndCreateSubscriptionGroup(), body)
        assert answer.code == 0, answer.remark

    def use_pop(self, topic: str, group: str) -> None:
        """Has the broker give a group's remoting clients their messages by POP."""
        body = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0}
        with self.peer() as peer:
            answer = peer.call(SetMessageRequestMode(), json.dumps(body).encode())
        assert answer.code == 0, answer.remark

    def bodies(self, topic: str) -> list[bytes]:
        """Returns the bodies of all messages in queue 0 of a topic; none where there is no such topic."""
        bodies: list[bytes] = []
        with self.peer() as peer:
            offset = 0
            while (answer := peer.call(pull(topic, offset, group="Looking"))).code == ResponseCode.SUCCESS:
                bodies += [message.body for message in decode_messages(answer.body)]
                offset = int(answer.ext("nextBeginOffset") or "0")
        return bodies


def guard_of(side: str, kind: str) -> str:
    """Returns what a kind wants a place to be guarded by, empty for nothing; a real one is started once for both."""
    guards = (USERS, TLS)
    return "" if kind not in guards else kind if side == EMBEDDED else " and ".join(guards)


@contextmanager
def embedded(directory: Path, guard: str) -> Iterator[Place]:
    """Runs an embedded cluster as 5.3.3, the newest that it knows; its endpoint speaks either TLS or plainly."""
    authority = Authority(directory) if TLS in guard else None
    with EmbeddedCluster(
        version=EMBEDDED_AS,
        grpc=True,
        settings={**SETTINGS, **(_USERS if guard else {})},
        tls=authority.server(TlsMode.PERMISSIVE) if authority else None,
    ) as cluster:
        yield Place(
            side=EMBEDDED,
            namesrv=cluster.namesrv,
            broker=cluster.broker().address,
            grpc=cluster.grpc,
            authority=authority,
            credentials=ADMIN if guard else None,
        )


def _for_java(key: Path) -> Path:
    """Writes a key in the only form that Java reads, PKCS8."""
    made = serialization.load_pem_private_key(key.read_bytes(), None)
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    written = key.with_suffix(".pkcs8")
    written.write_bytes(made.private_bytes(serialization.Encoding.PEM, form, plain))
    return written


@contextmanager
def real(directory: Path, release: str, guard: str) -> Iterator[Place]:
    """Runs a real cluster with a proxy, which speaks TLS and plainly.

    Raises:
        UnavailableError, NotUpError: as `tests.real.cluster.up`.
    """
    authority = Authority(directory) if guard else None
    plan = Plan(release=release, proxy=True, settings=SETTINGS)
    if authority is not None:
        pair = authority.issue("127.0.0.1", "localhost")
        shown = {"tlsTestModeEnable": False, "tlsCertPath": str(pair.cert), "tlsKeyPath": str(_for_java(pair.key))}
        plan = replace(plan, admin=ADMIN, settings={**SETTINGS, **_USERS}, proxy_settings={**_USERS_OF_PROXY, **shown})
    with running(plan, directory) as cluster:
        assert cluster.proxy_grpc is not None
        yield Place(
            side=release,
            namesrv=cluster.namesrv,
            broker=cluster.member("broker-a").address,
            grpc=cluster.proxy_grpc,
            authority=authority,
            credentials=ADMIN if guard else None,
        )
