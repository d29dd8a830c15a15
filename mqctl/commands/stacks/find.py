"""`mqctl stacks find`: consumer processes of this machine."""

from __future__ import annotations

from mqctl.capture.processes import Surroundings
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.options.common import GroupOption, NoColorOption, OutputOption
from mqctl.commands.stacks.find_view import processes_document
from mqctl.commands.stacks.gather_processes import ClusterStackRequest, process_rows, surroundings
from mqctl.text import sentence

EXAMPLES = (
    "mqctl stacks find",
    "mqctl stacks find --namesrv 10.0.0.1:9876 -g order-service",
    "mqctl stacks find -o json | jq '.processes[] | select(.cpu_share > 0.5) | .pid'",
)


def command(
    group: GroupOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Find the consumer processes of this machine: group, client id, threads, processor time, memory.

    Groups and client ids come from the cluster, which knows its clients by their connections; without one, only what
    command lines and thread names show. The last column says what would keep `mqctl stacks dump --pid` from working.
    """
    around, gaps = surroundings(ClusterStackRequest(namesrv=namesrv, profile=profile, timeout=timeout))
    rows, hidden = process_rows(around or Surroundings())
    shown = [row for row in rows if not group or row.group in group]
    emit(processes_document(shown), output)
    if around is None:
        tell(
            sentence(
                "stacks-no-cluster-selected",
                "mqctl: no cluster selected and no local cluster running: groups are known from "
                "command lines only (add --namesrv)",
            )
        )
    return tell_gaps(gaps, minor=hidden)
