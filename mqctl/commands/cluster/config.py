"""`mqctl cluster config`: the properties of name servers."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of
from mqctl.client.admin.nameserver import name_server_settings
from mqctl.commands.cluster.view import NameServerSetting, name_server_settings_document
from mqctl.model.gap import GapSubject, Part

EXAMPLES = ("mqctl cluster config", "mqctl cluster config --diff", "mqctl cluster config --key 'order*' -o json")


def command(
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="PATTERN", help="Only these keys; * and ? stand for others.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Only keys in which name servers differ.")] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the properties of every name server. Addresses, ports and paths always differ."""
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        addresses = cluster.name_servers.addresses(asking.deadline)
        answers = asking.put((address, address, name_server_settings()) for address in addresses)
    keys = sorted({name for settings in answers.values.values() for name in settings})
    if key:
        keys = [name for name in keys if any(fnmatchcase(name, pattern) for pattern in key)]
    if diff:
        keys = [name for name in keys if len({settings.get(name) for settings in answers.values.values()}) > 1]
    rows = [
        NameServerSetting(name_server=address, key=name, value=answers.values[address][name])
        for name in keys
        for address in addresses
        if name in answers.values.get(address, {})
    ]
    gaps = answers.gaps(Part.CONFIG, {address: GapSubject(address=address) for address in addresses})
    return answer(name_server_settings_document(rows), gaps, output)
