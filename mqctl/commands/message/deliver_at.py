"""Sending a message for a moment: by the brokers' timers, or by a relay over delay levels."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.cli.sources.brokers import asking_of
from mqctl.cli.sources.delay_ways import delay_ways, need_relay
from mqctl.cli.times import parse_instant
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.delay_relay import for_later
from mqctl.text import sentence

_TIMER = "TIMER_DELIVER_MS"


def at_moment(message: OutgoingMessage, text: str, target: ClusterTarget) -> tuple[OutgoingMessage, str | None]:
    """Returns what to send so that consumers see `message` at a moment, and by which way; past ones are sent at once.

    Raises:
        UsageError: `text` is no time, or the brokers' delay levels differ.
        RefusedError: neither timers nor a relay could deliver it.
        UnreachableError: a broker does not answer.
    """
    now = datetime.now().astimezone()
    moment, now_ms = parse_instant(text, now, ahead=True), round(now.timestamp() * 1000)
    if moment.epoch_ms <= now_ms:
        tell(sentence("delay-past-sent-once", "mqctl: {moment} is past: sent at once", moment=moment.text))
        return message, None
    tell(sentence("delay-delivered", "mqctl: to be delivered at {moment}", moment=moment.text))
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        ways = delay_ways(asking)
        if ways.timer_reach_ms is not None and moment.epoch_ms - now_ms <= ways.timer_reach_ms:
            return replace(message, properties={**message.properties, _TIMER: str(moment.epoch_ms)}), "timer"
        need_relay(asking)
    return for_later(message, moment.epoch_ms, ways.table, now_ms=now_ms), "relay"
