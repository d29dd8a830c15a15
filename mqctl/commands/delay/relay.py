"""`mqctl delay relay`: deliver at any moment on brokers that know delay levels only."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.text import sentence

EXAMPLES = ("mqctl delay relay", "mqctl delay relay --profile prod")


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Relay messages of `mqctl message send --deliver-at` from delay level to delay level, until interrupted.

    It creates its topic MQCTL_DELAY_RELAY on masters that lack it, and consumes it as the group of the same name.
    Several relays share the work. If one dies, nothing is lost, but what it was working on may be delivered twice.
    """
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.cli.sources.delay_ways import delay_ways
    from mqctl.cli.terminal.interrupts import wait_for_interrupt
    from mqctl.client.admin.broker_changes import put_topic
    from mqctl.client.admin.broker_queries import topic_configs
    from mqctl.client.instance import ClientSettings
    from mqctl.client.producer.delay_relay import RELAY_TOPIC, DelayRelay
    from mqctl.commands.delay.plan_view import RelayReport, relay_document
    from mqctl.model.config import TopicConfig

    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        ways = delay_ways(asking)
        for master in cluster.masters(asking.deadline):
            if RELAY_TOPIC not in cluster.ask(master.address, topic_configs(), asking.deadline):
                topic = TopicConfig(name=RELAY_TOPIC, read_queue_count=4, write_queue_count=4)
                cluster.ask(master.address, put_topic(topic), asking.deadline)
                tell(
                    sentence(
                        "delay-created-topic",
                        "mqctl: created topic {relay_topic} on {broker_name}",
                        relay_topic=RELAY_TOPIC,
                        broker_name=master.broker_name,
                    )
                )
    client = ClientSettings(name_servers=target.namesrv, links=target.links())
    with DelayRelay(client, ways.table) as relay:
        tell(
            sentence(
                "delay-relaying-over-levels-interrupt",
                "mqctl: relaying over the levels {levels}; interrupt it to end",
                levels=ways.levels,
            )
        )
        wait_for_interrupt()
    counts = relay.counts
    report = RelayReport(relayed_count=counts.relayed, delivered_count=counts.delivered, failed_count=counts.failed)
    emit(relay_document(report), output)
