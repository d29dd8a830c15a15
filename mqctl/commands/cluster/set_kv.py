"""`mqctl cluster set-kv`: other values in a namespace of the name servers."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl cluster set-kv GRAY_RELEASE orders=v2",
    "mqctl cluster set-kv GRAY_RELEASE --remove orders --execute --confirm GRAY_RELEASE",
)


def command(
    namespace: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Which namespace; a new one is made.")],
    values: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Keys and their new values.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="KEY", help="A key to delete.")] = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan other values of keys in every name server; with --execute, write them and read them back.

    Name servers read no namespace but that of order topics (`mqctl topic update --order`); others belong to tools
    and clients.
    """
    requested: dict[str, str | None] = dict.fromkeys(remove or ())
    for item in values or ():
        key, given, value = item.partition("=")
        if not given or not key or key in requested:
            raise UsageError(
                sentence("cannot-read", "cannot read {item!r}", item=item),
                remedy=sentence(
                    "cluster-write-key-value-each", "write KEY=VALUE, each key once; --remove KEY deletes one"
                ),
            )
        requested[key] = value
    if not requested:
        raise UsageError(
            sentence("no-action-given", "no action given"),
            remedy=sentence("cluster-write-key-value-remove", "write KEY=VALUE, or --remove KEY"),
        )
    from mqctl.commands.cluster.namespaces import plan_key_values
    from mqctl.operations.settings.change import run_setting_change

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_key_values(asking, namespace, requested),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
