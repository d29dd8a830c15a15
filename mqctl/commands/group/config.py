"""`mqctl group config`: a group's settings."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.groups import group_holders
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.group.gather import settings_rows
from mqctl.commands.group.rows import GroupSettings
from mqctl.commands.group.view import config_document

EXAMPLES = ("mqctl group config -g order-service", "mqctl group config -g order-service -o yaml")


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a group's settings on each broker."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = group_holders(look, group)
        modes = look.declared_modes(brokers).get(group, ())
    mode = ", ".join(sorted(modes)) or None
    settings = GroupSettings(group=group, brokers=settings_rows(brokers, group), consume_mode=mode)
    return answer(config_document(settings), broker_gaps(brokers), output)
