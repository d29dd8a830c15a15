"""What a slave refuses, and in which words; everything else it answers from its own log and tables.

A send is refused by the store itself in 4.9, and before it is looked at in 5.x, unless slaves may stand in for their
master there. Source: `DefaultMessageStore.checkStoreStatus`, `AdminBrokerProcessor`, `EndTransactionProcessor`,
`PullMessageProcessor` of 4.9.8 and 5.3.3; checked against recorded answers.
"""

from __future__ import annotations

from embedded_broker.release import Release
from embedded_broker.remoting.handler_table import NO_REMARK_SET
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.settings import BrokerSettings
from mqctl.protocol.codes import RequestCode, ResponseCode

_SENDS = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
    }
)
_PULLS = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE})
_TABLE_CHANGES = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
    }
)
_BUSY = "[REJECTREQUEST]system busy, start flow control for a while"
_NO_CHANGE = "Can't modify topic or subscription group from slave broker, please execute it from master broker."


def slave_refusal(code: int, settings: BrokerSettings, release: Release) -> Refusal | None:
    """Returns what a slave answers to a request that it does not serve, None for the others."""
    if code == RequestCode.END_TRANSACTION:
        return Refusal(ResponseCode.SLAVE_NOT_AVAILABLE, NO_REMARK_SET)
    if not release.is_v5:
        return Refusal(ResponseCode.SYSTEM_ERROR, _NO_CHANGE) if code in _TABLE_CHANGES else None
    if (code in _SENDS and not settings.enable_slave_acting_master) or (
        code in _PULLS and not settings.slave_read_enable
    ):
        return Refusal(ResponseCode.SYSTEM_BUSY, _BUSY)
    if code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
        return Refusal(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
    return None
