"""After how many failures members of a group have a message become a dead letter, as they say themselves.

Source: `AbstractSendMessageProcessor.consumerSendMsgBack` and `handleRetryAndDLQ` of 4.9.8 and 5.3.3: the limit that a
client from 3.4.9 on sends along counts instead of the group's `retryMaxTimes`, and it always sends one.
`DefaultMQPushConsumerImpl.getMaxReconsumeTimes`: -1 is 16; `ConsumeMessageOrderlyService.getMaxReconsumeTimes`: -1 is
without end.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import RunningInfo
from mqctl.model.numbers import MOST_INT32, decimal

DEFAULT_MAX_RECONSUME_TIMES = 16
_UNSET = -1


class LimitOf(StrEnum):
    """Whose limit it is: of MEMBERS that are online, or of the GROUP's settings, where no member told one."""

    MEMBERS = "members"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLimit:
    """The largest limit that members of a group report.

    Attributes:
        most: failures before the one with which a message becomes a dead letter; None without end.
        orderly: whether who reports it tries again in place, so that no delay level tells when.
    """

    most: int | None
    orderly: bool = False


def member_limit(running: Iterable[RunningInfo]) -> MemberLimit | None:
    """Returns the largest limit that members report, of equal ones an orderly member's; None where none does.

    Those that pop send nothing back.
    """
    limits = [limit for info in running if not info.pops and (limit := _limit(info)) is not None]
    return max(limits, key=lambda limit: (limit.most is None, limit.most or 0, limit.orderly), default=None)


def _limit(info: RunningInfo) -> MemberLimit | None:
    most = decimal(info.properties.get("maxReconsumeTimes"), low=-MOST_INT32, high=MOST_INT32)
    if most is None:
        return None
    orderly = bool(info.orderly)
    if most == _UNSET:
        return MemberLimit(most=None if orderly else DEFAULT_MAX_RECONSUME_TIMES, orderly=orderly)
    return MemberLimit(most=most, orderly=orderly)
