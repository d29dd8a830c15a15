"""What an answer that is no success means to a command: one error for each exit code."""

from __future__ import annotations

import re

from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import (
    BadInputError,
    DeadlineError,
    MqctlError,
    NotAskedError,
    NotFoundError,
    PermissionDeniedError,
    RefusedError,
    UnreachableError,
    UnsupportedError,
)
from mqctl.model.command_line import shell_words
from mqctl.model.remark import on_one_line, quoted
from mqctl.protocol.codes import ResponseCode, request_name, response_name
from mqctl.protocol.frame import RemotingCommand
from mqctl.text import sentence

_NOT_FOUND = {
    ResponseCode.TOPIC_NOT_EXIST,
    ResponseCode.QUERY_NOT_FOUND,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
}
_ACL_REMARK = "AclException"
_JAVA_FRAME = re.compile(r", [\w.$]+\.\w+\(\w+\.java:\d+\)\s*$")
_KEYS = sentence(
    "access-set-keys",
    "set MQCTL_ACCESS_KEY and MQCTL_SECRET_KEY, or MQCTL_ACL_FILE, or name a profile with keys (mqctl profile add -h)",
)
_ACL_REMEDIES = (
    ("No accessKey is configured", _KEYS),
    (
        "No acl config for",
        sentence("access-account-missing-here", "check the access key; its account may be missing on this broker only"),
    ),
    (
        "No PlainAccessResource for",
        sentence("access-account-gone", "the account is gone from the broker's plain_acl.yml: have it put back"),
    ),
    (
        "Check signature failed",
        sentence("secret-key-of-other-account", "the secret key is not the account's: check where it comes from"),
    ),
    ("Need admin permission", sentence("use-keys-of-admin", "use the keys of an account with `admin: true`")),
    (
        "No default permission for",
        sentence(
            "add-permission-to-account", "have this permission added to the account, or use the keys of another one"
        ),
    ),
)
_NO_FILTER_REMARK = "does not support consumer to filter message by"
_LIMIT_OPTION = "--timeout"
_AT_THE_END_S = 0.01
"""How much a deadline may end before the whole, of which it got all that was left in whole milliseconds."""
_MORE_TIME = sentence("give-longer-timeout", "give it longer: {option} 60s, for instance", option=_LIMIT_OPTION)
_LONGEST_FRAMED = 2_000
_NO_REMARK = {None, "", "not set any response code"}


class AnswerError(MqctlError):
    """The other side answered with a code that is no success.

    Attributes:
        code: response code.
        remark: the other side's text.
        address: who answered.
    """

    def __init__(
        self,
        problem: str,
        *,
        reason: str = "",
        remedy: str = "",
        code: int = ResponseCode.SYSTEM_ERROR,
        remark: str | None = None,
        address: str = "",
    ) -> None:
        super().__init__(problem, reason=reason, remedy=remedy)
        self.code = code
        self.remark = remark
        self.address = address


class RefusedAnswerError(AnswerError, RefusedError):
    """The broker said no."""


class UnsupportedAnswerError(RefusedAnswerError, UnsupportedError):
    """The broker does not know the request."""


class NotFoundAnswerError(AnswerError, NotFoundError):
    """The broker knows no such topic, group or message."""


class DeniedAnswerError(AnswerError, PermissionDeniedError):
    """Access control or a permission is in the way."""


class UnreadableAnswerError(BadInputError):
    """An answer that does not have the shape its request asks for."""


def refusal(request_code: int, address: str, answer: RemotingCommand) -> AnswerError:
    """Makes the error that stands for `answer` to a request of code `request_code`."""
    code, remark = answer.code, answer.remark
    kind: type[AnswerError] = RefusedAnswerError
    remedy = ""
    if code == ResponseCode.NO_PERMISSION or _ACL_REMARK in (remark or ""):
        kind = DeniedAnswerError
        remedy = _denial_remedy(remark or "")
    elif code in _NOT_FOUND:
        kind = NotFoundAnswerError
    elif code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
        kind = UnsupportedAnswerError
    elif code == ResponseCode.SYSTEM_BUSY:
        remedy = sentence("broker-overloaded-try-later", "the broker is overloaded: try again later")
    elif _NO_FILTER_REMARK in (remark or ""):
        remedy = sentence(
            "enable-property-filter",
            "set enablePropertyFilter=true in the broker's properties and restart it, or filter by tag",
        )
    name = response_name(code, version=answer.version)
    text = "" if remark is None or remark in _NO_REMARK else f": {quoted(_without_frame(remark))}"
    return kind(
        sentence(
            "request-refused-by",
            "{request_name} was refused by {address}",
            request_name=request_name(request_code),
            address=on_one_line(address),
        ),
        reason=f"{name} ({code}){text}",
        remedy=remedy,
        code=code,
        remark=remark,
        address=address,
    )


def _denial_remedy(remark: str) -> str:
    """Returns what to do about a refusal of access control, by the words of 4.9.8 (`PlainPermissionManager`)."""
    for words, remedy in _ACL_REMEDIES:
        if words in remark:
            return remedy
    return sentence(
        "check-key-and-permissions", "check the access key, and the permissions of the topic, the group and the broker"
    )


def _without_frame(remark: str) -> str:
    """Returns a remark of access control without the Java frame at its end, any other as it came."""
    text = remark.strip()
    return _JAVA_FRAME.sub("", text) if len(text) <= _LONGEST_FRAMED and _ACL_REMARK in text else text


def unreachable(request_code: int, address: str, reason: str, *, remedy: str = "") -> UnreachableError:
    """Makes the error for a request that could not be delivered, or whose connection was lost."""
    return UnreachableError(
        sentence(
            "client-could-not-sent",
            "{request_name} could not be sent to {address}",
            request_name=request_name(request_code),
            address=on_one_line(address),
        ),
        reason=reason,
        remedy=remedy
        or sentence(
            "check-listener-and-network", "check that something listens there and that this machine may connect to it"
        ),
    )


def timed_out(request_code: int, address: str, deadline: Deadline) -> DeadlineError:
    """Makes the error for a request without an answer in time.

    Of many, each gets what the others left of the whole: it is the whole that is said then, once for all of them.
    """
    whole = deadline.whole
    is_part = whole is not deadline and whole.at - deadline.at < _AT_THE_END_S
    return DeadlineError(
        sentence(
            "client-not-answered",
            "{request_name} was not answered by {address}",
            request_name=request_name(request_code),
            address=on_one_line(address),
        ),
        reason=sentence(
            "client-no-answer-before-over",
            "no answer before the {limit_ms} of {limit_option} were over",
            limit_ms=whole.limit_ms,
            limit_option=_LIMIT_OPTION,
        )
        if is_part
        else sentence("client-no-answer-within-ms", "no answer within {limit_ms}", limit_ms=deadline.limit_ms),
        remedy=sentence(
            "client-other-side-overloaded-hangs",
            "the other side is overloaded or hangs; try a longer timeout, or look at its thread dump",
        ),
    )


def not_asked(request_code: int, address: str, deadline: Deadline) -> NotAskedError:
    """Makes the error for a request that is not sent any more."""
    whole = deadline.whole
    return NotAskedError(
        sentence(
            "client-not-asked",
            "{request_name} was not asked of {address}",
            request_name=request_name(request_code),
            address=on_one_line(address),
        ),
        reason=sentence(
            "client-share-over",
            "its share of the {limit_ms} of {limit_option} is over",
            limit_ms=whole.limit_ms,
            limit_option=_LIMIT_OPTION,
        )
        if whole.remaining_ms
        else sentence(
            "client-over",
            "the {limit_ms} of {limit_option} are over",
            limit_ms=whole.limit_ms,
            limit_option=_LIMIT_OPTION,
        ),
        remedy=_MORE_TIME,
    )


def unreadable(request_code: int, address: str, error: MqctlError) -> UnreadableAnswerError:
    """Makes the error for an answer that cannot be read."""
    return UnreadableAnswerError(
        sentence(
            "answer-not-readable",
            "The answer of {address} to {request_code} cannot be read",
            address=on_one_line(address),
            request_code=request_name(request_code),
        ),
        reason=error.reason or error.problem,
        remedy=sentence("answer-of-other-version", "the other side may be another version, or no RocketMQ at all"),
    )


def too_many(request_code: int, address: str, count: int, *, most: int, limit_ms: int) -> UnreadableAnswerError:
    """Makes the error for an answer of more entries than a command can put together in its time."""
    return UnreadableAnswerError(
        sentence(
            "answer-not-usable",
            "The answer of {address} to {request_code} cannot be used",
            address=on_one_line(address),
            request_code=request_name(request_code),
        ),
        reason=sentence(
            "answer-entries-too-many",
            "it has {count:entry}; {most:,} can be read within the {limit_ms} of {limit_option}",
            count=count,
            most=most,
            limit_ms=limit_ms,
            limit_option=_LIMIT_OPTION,
        ),
        remedy=sentence(
            "raise-limit-for-entries",
            "if there are that many: {options}",
            options=shell_words([_LIMIT_OPTION, f"{limit_ms * count // most // 1000 + 1}s"]),
        ),
    )
