"""The requests by which anything of a cluster is changed."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from mqctl.protocol.codes import RequestCode
from tests.client.consuming import wait_until

CHANGING = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        RequestCode.CLONE_GROUP_OFFSET,
        RequestCode.QUERY_CORRECTION_OFFSET,
        RequestCode.PUT_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
        RequestCode.CLEAN_UNUSED_TOPIC,
        RequestCode.DELETE_EXPIRED_COMMITLOG,
        RequestCode.RESUME_CHECK_HALF_MESSAGE,
    }
)


def changes(cluster: EmbeddedCluster) -> list[RequestCode]:
    """Returns the logged requests that change something, oldest first; there must be a log, with requests in it."""
    assert cluster.requests()
    return [RequestCode(item.code) for item in cluster.requests() if item.code in CHANGING]


def reached(cluster: EmbeddedCluster, code: int, server: str | None = None, *, count: int = 1) -> None:
    """Waits until so many logged requests have reached a server, or any."""
    wait_until(lambda: len(cluster.requests(code, server=server)) >= count, f"{count} requests {code} at {server}")
