"""`mqctl cluster kv`: keys and values of a namespace of the name servers."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of
from mqctl.commands.cluster.namespaces import namespace_values
from mqctl.commands.cluster.view import key_values_document

EXAMPLES = (
    "mqctl cluster kv",
    "mqctl cluster kv GRAY_RELEASE",
    "mqctl cluster kv GRAY_RELEASE --diff -o json",
)


def command(
    namespace: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Order topics unless given.")] = (
        "ORDER_TOPIC_CONFIG"
    ),
    diff: Annotated[bool, typer.Option("--diff", help="Only keys in which name servers differ.")] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the keys and values that every name server has in a namespace. No request lists the namespaces."""
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        rows, gaps = namespace_values(asking_of(cluster, target), namespace)
    if diff:
        shared = {key for key in {row.key for row in rows} if len({row.value for row in rows if row.key == key}) == 1}
        rows = [row for row in rows if row.key not in shared]
    return answer(key_values_document(namespace, rows), gaps, output)
