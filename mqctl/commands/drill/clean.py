"""`mqctl drill clean`: the topics and groups of drills, removed."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = ("mqctl drill clean", "mqctl drill clean --execute")


def command(
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to delete every topic and group whose name begins with MQCTL_DRILL_; with --execute, delete them.

    Refused while one of the groups has members: a drill is still running. Other topics are never touched.
    """
    from mqctl.model.own_names import Purpose
    from mqctl.operations.own_topics.cleaning import clean

    document, code = clean(
        cluster_target(namesrv, profile, timeout), Purpose.DRILL, tuple(broker or ()), execute=execute
    )
    emit(document, output)
    return code
