"""`mqctl bench clean`: the topics and groups of benches and drills, removed."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = ("mqctl bench clean", "mqctl bench clean --execute")


def command(
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to delete every topic and group whose name starts with MQCTL_BENCH_ or MQCTL_DRILL_.

    --execute deletes them. It is refused while one of the groups has members: a bench or drill is still running. Other
    topics are never touched.
    """
    from mqctl.changes.settings.own_topics_cleaning import clean

    document, code = clean(cluster_target(namesrv, profile, timeout), tuple(broker or ()), execute=execute)
    emit(document, output)
    return code
