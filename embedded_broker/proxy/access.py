"""Who may call what: users and ACLs of 5.x, by the authorization header (acl2).

`MQv2-HMAC-SHA1 Credential=<user>, SignedHeaders=x-mq-date-time, Signature=<hex>`: signed is the text of the date header
alone. Source: `AuthenticationPipeline`, `AuthorizationPipeline` and `DefaultAuthorizationContextBuilder` of 5.3.3.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from typing import TYPE_CHECKING

from embedded_broker.acl.wanted import Wanted
from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.statuses import Refused
from mqctl.model.access import DISABLE

if TYPE_CHECKING:
    from embedded_broker.broker import Broker
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.ground import ProxyGround

_HEADER, _DATE = "authorization", "x-mq-date-time"
_PUB, _SUB, _BOTH = ("Pub",), ("Sub",), ("Pub", "Sub")
_Publishes = pb.RecallMessageRequest | pb.EndTransactionRequest
_Consumes = pb.AckMessageRequest | pb.ForwardMessageToDeadLetterQueueRequest | pb.QueryAssignmentRequest
_OfGroup = pb.ChangeInvisibleDurationRequest | pb.HeartbeatRequest | pb.NotifyClientTerminationRequest


class Access:
    """Checks calls as the brokers of the cluster are told to check requests."""

    def __init__(self, ground: ProxyGround) -> None:
        self._ground = ground

    def check(self, request: object, caller: Caller) -> None:
        """Passes when a call may be served. Raises Refused."""
        self._check(wanted_of(request), caller)

    def check_settings(self, settings: pb.Settings, caller: Caller) -> None:
        """Passes when a client may have its settings. Raises Refused."""
        wanted = [Wanted(f"Topic:{topic.name}", _PUB) for topic in settings.publishing.topics]
        if settings.HasField("subscription"):
            wanted.append(Wanted(f"Group:{settings.subscription.group.name}", _SUB))
            wanted += [Wanted(f"Topic:{entry.topic.name}", _SUB) for entry in settings.subscription.subscriptions]
        self._check(iter(wanted), caller)

    def _check(self, wanted: Iterator[Wanted], caller: Caller) -> None:
        broker = next(self._ground.masters(), None)
        if broker is None or broker.access.users is None:
            return
        settings = broker.settings
        if not (settings.authentication_enabled or settings.authorization_enabled):
            return
        name, date, signature = _signed(caller)
        if settings.authentication_enabled:
            _authenticate(broker, name, date, signature)
        if settings.authorization_enabled:
            address = caller.peer.rpartition(":")[0].strip("[]")
            for item in wanted:
                reason = broker.access.users.denial(name, item.resource, item.actions, address)
                if reason is not None:
                    raise Refused(pb.Code.UNAUTHORIZED, reason)


def _signed(caller: Caller) -> tuple[str, str, str]:
    """Returns user, signed text and signature of a call; empty ones without the header. Raises Refused."""
    text, date = caller.headers.get(_HEADER, ""), caller.headers.get(_DATE, "")
    if not text.strip():
        return "", date, ""
    _, blank, rest = text.partition(" ")
    if not blank:
        raise Refused(pb.Code.UNAUTHORIZED, "authentication header is incorrect.")
    fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    if not date:
        raise Refused(pb.Code.UNAUTHORIZED, "datetime is null.")
    return fields.get("Credential", "").partition("/")[0], date, fields.get("Signature", "")


def _authenticate(broker: Broker, name: str, date: str, signature: str) -> None:
    users = broker.access.users
    if not name.strip():
        raise Refused(pb.Code.UNAUTHORIZED, "username cannot be null.")
    user = users.user(name) if users is not None else None
    if user is None:
        raise Refused(pb.Code.UNAUTHORIZED, f"User:{name} is not found.")
    if user.user_status == DISABLE:
        raise Refused(pb.Code.UNAUTHORIZED, f"User:{name} is disabled.")
    own = hmac.new((user.password or "").encode(), date.encode(), hashlib.sha1).hexdigest()
    if not hmac.compare_digest(own.encode(), signature.lower().encode()):
        raise Refused(pb.Code.UNAUTHORIZED, "check signature failed.")


def wanted_of(request: object) -> Iterator[Wanted]:
    """Yields what a request wants of which resource."""
    if isinstance(request, pb.SendMessageRequest):
        for name in dict.fromkeys(message.topic.name for message in request.messages):
            yield Wanted(f"Topic:{name}", _PUB)
    elif isinstance(request, _Publishes):
        yield Wanted(f"Topic:{request.topic.name}", _PUB)
    elif isinstance(request, pb.QueryRouteRequest):
        yield Wanted(f"Topic:{request.topic.name}", _BOTH)
    elif isinstance(request, pb.ReceiveMessageRequest):
        yield Wanted(f"Group:{request.group.name}", _SUB)
        yield Wanted(f"Topic:{request.message_queue.topic.name}", _SUB)
    elif isinstance(request, _Consumes):
        yield Wanted(f"Group:{request.group.name}", _SUB)
        yield Wanted(f"Topic:{request.topic.name}", _SUB)
    elif isinstance(request, _OfGroup) and request.HasField("group"):
        yield Wanted(f"Group:{request.group.name}", _SUB)
