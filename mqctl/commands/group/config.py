"""`mqctl group config`: a group's settings."""

from __future__ import annotations

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, tell_broker_gaps
from mqctl.cli.live_groups import group_holders
from mqctl.cli.options import NoColorOption, OneGroupOption, OutputOption
from mqctl.render.groups import config_document, config_rows

EXAMPLES = ("mqctl group config -g order-service", "mqctl group config -g order-service -o yaml")


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a group's settings on each broker."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        brokers = group_holders(asking_of(cluster, chosen), group)
    configs = {broker.name: broker.groups[group] for broker in brokers if group in broker.groups}
    emit(config_document(group, config_rows(configs)), output)
    return tell_broker_gaps(brokers)
