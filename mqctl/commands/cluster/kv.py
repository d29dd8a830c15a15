"""`mqctl cluster kv`: keys and values of a namespace of the name servers, and other values for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of
from mqctl.commands.cluster.namespaces import namespace_values
from mqctl.commands.cluster.view import key_values_document
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl cluster kv",
    "mqctl cluster kv GRAY_RELEASE --diff -o json",
    "mqctl cluster kv GRAY_RELEASE --set orders=v2",
    "mqctl cluster kv GRAY_RELEASE --delete orders --execute --confirm GRAY_RELEASE",
)


def command(
    namespace: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Order topics unless given.")] = (
        "ORDER_TOPIC_CONFIG"
    ),
    values: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="The same as --set.")] = None,
    put: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A key and its new value.")
    ] = None,
    delete: Annotated[
        list[str] | None, typer.Option("--delete", "--remove", metavar="KEY", help="A key to delete.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Only keys in which name servers differ.")] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the keys of a namespace in every name server. Namespaces cannot be listed: name one.

    --set and --delete plan changes in every name server; with --execute, they are written and read back. The first key
    creates its namespace. Name servers themselves read only the namespace of order topics (`mqctl topic update
    --order`); others belong to tools and clients.
    """
    requested = _requested([*(values or ()), *(put or ())], delete or ())
    target = cluster_target(namesrv, profile, timeout)
    if requested:
        from mqctl.changes.settings.change import run_setting_change
        from mqctl.commands.cluster.namespaces import plan_key_values

        document, code = run_setting_change(
            target, lambda asking: plan_key_values(asking, namespace, requested), execute=execute, confirmed=confirm
        )
        emit(document, output)
        return code
    if execute:
        raise UsageError(
            sentence("no-action-given", "no action given"),
            remedy=sentence("cluster-write-key-value-delete", "add --set KEY=VALUE, or --delete KEY"),
        )
    with target.open() as cluster:
        rows, gaps = namespace_values(asking_of(cluster, target), namespace)
    if diff:
        shared = {key for key in {row.key for row in rows} if len({row.value for row in rows if row.key == key}) == 1}
        rows = [row for row in rows if row.key not in shared]
    return answer(key_values_document(namespace, rows), gaps, output)


def _requested(values: Sequence[str], deleted: Sequence[str]) -> dict[str, str | None]:
    requested: dict[str, str | None] = dict.fromkeys(deleted)
    for item in values:
        key, given, value = item.partition("=")
        if not given or not key or key in requested:
            raise UsageError(
                sentence("cannot-read", "cannot read {item!r}", item=item),
                remedy=sentence(
                    "cluster-write-key-value-each", "write KEY=VALUE, each key once; --delete KEY deletes one"
                ),
            )
        requested[key] = value
    return requested
