"""How this cluster can deliver at a moment: its delay levels, its timers, and whether a relay runs."""

from __future__ import annotations

from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.sources.brokers import asking_of, open_brokers
from mqctl.client.admin.broker_queries import consumer_connections
from mqctl.client.producer.delay_relay import RELAY_GROUP
from mqctl.errors import MqctlError, RefusedError, UnreachableError, UsageError
from mqctl.model.delay_level import DEFAULT_LEVELS, DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.snapshot.live.asking import Asking, out_of_reach
from mqctl.snapshot.live.brokers import LiveBroker, ask_runtime, ask_settings, masters_of
from mqctl.text import sentence

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayWays:
    """What the masters have in common.

    Attributes:
        timer_reach_ms: how far ahead timers reach; None when some master has none.
    """

    table: DelayLevelTable
    levels: str
    timer_reach_ms: int | None


def delay_ways(asking: Asking, brokers: tuple[str, ...] = ()) -> DelayWays:
    """Asks the masters for their settings.

    Raises:
        UnreachableError: one of them does not answer.
        UsageError: their level tables differ.
    """
    masters = masters_of(open_brokers(asking, brokers))
    ask_settings(asking, masters)
    ask_runtime(asking, masters)
    if not masters:
        raise UnreachableError(
            sentence("delay-cluster-no-master", "the cluster has no master"),
            reason=sentence("delay-name-servers-list-none", "the name servers list none"),
        )
    for master in masters:
        if master.gaps:
            raise UnreachableError(
                sentence(
                    "delay-broker-not-report-settings",
                    "broker {master} does not report its settings",
                    master=master.name,
                ),
                reason=master.gaps[0].reason,
            )
    tables = {master.config.get("messageDelayLevel") or DEFAULT_LEVELS for master in masters}
    if len(tables) > 1:
        names = ", ".join(master.name for master in masters)
        raise UsageError(
            sentence("delay-levels-brokers-differ", "the delay levels of the brokers differ"),
            reason=sentence("delay-among", "among {names}", names=names),
            remedy=sentence("delay-name-broker", "name one with --broker"),
        )
    reaches = [_timer_reach_ms(master) for master in masters]
    known = [reach for reach in reaches if reach is not None]
    (levels,) = tables
    reach_ms = min(known) if len(known) == len(reaches) else None
    return DelayWays(table=DelayLevelTable.parse(levels), levels=levels, timer_reach_ms=reach_ms)


def level_taken(level: int, broker: str, target: ClusterTarget) -> str:
    """Says in which level a message lies: a broker puts one beyond its table into the highest that it has."""
    try:
        with target.open() as cluster:
            highest = delay_ways(asking_of(cluster, target), (broker,)).table.max_level
    except MqctlError:
        return sentence(
            "delay-level-highest-if-lower",
            "level {level}, or the highest of {broker} if that is lower: it did not report its levels",
            level=level,
            broker=broker,
        )
    return (
        sentence("common-level", "level {level}", level=level)
        if level <= highest
        else sentence("delay-level-highest", "level {highest}, the highest of {broker}", highest=highest, broker=broker)
    )


def _timer_reach_ms(master: LiveBroker) -> int | None:
    is_v5 = master.runtime.get("brokerVersionDesc", "").startswith("V5")
    if not is_v5 or master.config.get("timerWheelEnable") != "true":
        return None
    told_s = decimal(master.config.get("timerMaxDelaySec"))
    return told_s * 1_000 if told_s is not None else 3 * _DAY_MS


def need_relay(asking: Asking) -> None:
    """Checks that a relay runs: without one, what is sent to it would lie there.

    Raises:
        RefusedError: none does.
        UnreachableError, DeadlineError: no broker could be asked.
    """
    masters = asking.cluster.masters(asking.deadline)
    answers = asking.put((item.address, item.address, consumer_connections(RELAY_GROUP)) for item in masters)
    if any(answer.connection_set for answer in answers.values.values()):
        return
    errors: list[MqctlError] = [error for error in answers.errors.values() if out_of_reach(error)]
    if errors:
        raise errors[0]
    raise RefusedError(
        sentence("delay-nothing-deliver-message-moment", "nothing would deliver the message at that moment"),
        reason=sentence(
            "delay-timers-these-brokers-not",
            "the timers of these brokers do not reach that far, and no relay is running",
        ),
        remedy=sentence("start-let-run-delay", "start one and let it run: mqctl delay relay"),
    )
