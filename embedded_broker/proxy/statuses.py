"""Status codes of the gRPC side, and what the answers of brokers become there.

Business errors travel in the message, never as gRPC status. Source: `ResponseBuilder` of the 5.3.3 proxy.
"""

from __future__ import annotations

from embedded_broker.proxy import messages as pb
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand

PROXY_ERROR = "org.apache.rocketmq.proxy.common.ProxyException: "
"""What the proxy's inner layer puts before its words."""

_STATUS_OF = {
    ResponseCode.SUCCESS: pb.Code.OK,
    ResponseCode.SYSTEM_BUSY: pb.Code.TOO_MANY_REQUESTS,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: pb.Code.NOT_IMPLEMENTED,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: pb.Code.CONSUMER_GROUP_NOT_FOUND,
}


class Refused(Exception):
    """A call that is answered with a status.

    Attributes:
        code: status code.
        text: its words.
    """

    def __init__(self, code: pb.Code, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    @property
    def status(self) -> pb.Status:
        return pb.Status(code=self.code, message=self.text)


def ok() -> pb.Status:
    """Returns the status of success."""
    return pb.Status(code=pb.Code.OK, message="OK")


def broker_refusal(answer: RemotingCommand) -> Refused:
    """Returns what an answer of a broker that is no success becomes."""
    return Refused(_STATUS_OF.get(ResponseCode(answer.code), pb.Code.INTERNAL_SERVER_ERROR), answer.remark or "")


def common(statuses: list[pb.Status]) -> pb.Status:
    """Returns the status of a call with several results: the one they share, or MULTIPLE_RESULTS."""
    codes = {status.code for status in statuses}
    code = codes.pop() if len(codes) == 1 else pb.Code.MULTIPLE_RESULTS
    return pb.Status(code=code, message=pb.Code.Name(code))
