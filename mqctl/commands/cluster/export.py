"""`mqctl cluster export`: settings of topics and groups, for another cluster or for later."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    ExceptOption,
    GroupPatternOption,
    NoColorOption,
    OnlyBrokersOption,
    OutputOption,
    SnapshotOption,
    TopicPatternOption,
)
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.cluster.export_view import export_document
from mqctl.commands.cluster.settings_file import exported
from mqctl.model.gap import Part
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups, ask_topics, masters_of

EXAMPLES = (
    "mqctl cluster export -o yaml > settings.yaml",
    "mqctl cluster export -t 'order*' -g 'order-*' --except '*-test' -o yaml > orders.yaml",
)


def command(
    group: GroupPatternOption = None,
    topic: TopicPatternOption = None,
    without: ExceptOption = None,
    broker: OnlyBrokersOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the settings of topics and consumer groups; with -o yaml, as a file for `mqctl cluster apply`.

    It includes attributes, but no messages, offsets or order configurations (`mqctl topic update --order`). -g without
    -t exports no topics, and -t without -g no groups.
    """
    both = bool(group) == bool(topic)
    scope = Scope(groups=frozenset(group or ()), topics=frozenset(topic or ()), without=frozenset(without or ()))
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = masters_of(look.brokers({Part.TOPICS, Part.GROUPS, Part.POP}, broker or ()))
        if topic or both:
            look.ask(ask_topics, brokers)
        if group or both:
            look.ask(ask_groups, brokers, scope)
        modes = look.declared_modes(brokers) if group or both else {}
    clusters = ", ".join(sorted({item.address.cluster for item in brokers}))
    document = export_document(exported(brokers, scope, clusters, modes))
    return answer(limited(document, output, limit), broker_gaps(brokers), output)
