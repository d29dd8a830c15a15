"""Keys and values that name servers keep: namespaces of tools and clients."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.changes.engine.run import now_ms
from mqctl.changes.settings.change import identity_of
from mqctl.changes.settings.places import Place, read_setting
from mqctl.cli.sources.brokers import open_brokers
from mqctl.client.admin.nameserver import ORDER_NAMESPACE, kv_table
from mqctl.commands.cluster.view import NameServerSetting
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep
from mqctl.snapshot.live.asking import Answers, Asking
from mqctl.snapshot.live.brokers import masters_of
from mqctl.text import sentence


def namespace_values(asking: Asking, namespace: str) -> tuple[list[NameServerSetting], list[Gap]]:
    """Returns what each name server has in a namespace, by key, and those that did not tell.

    Raises:
        NotFoundError: every name server answered, and none ever had it.
    """
    addresses = asking.cluster.name_servers.addresses(asking.deadline)
    answers = asking.put((address, address, kv_table(namespace)) for address in addresses)
    errors = {at: error for at, error in answers.errors.items() if not isinstance(error, NotFoundError)}
    if not answers.values and not errors and namespace != ORDER_NAMESPACE:  # which is there from the first use on
        raise NotFoundError(
            sentence("settings-no-namespace", "there is no namespace {namespace}", namespace=namespace),
            reason=sentence("settings-no-name-server", "no name server has it"),
            remedy=sentence("cluster-kv-set-makes", "mqctl cluster kv NAMESPACE --set KEY=VALUE makes one"),
        )
    rows = [
        NameServerSetting(name_server=address, key=key, value=answers.values[address].table[key])
        for key in sorted({name for table in answers.values.values() for name in table.table})
        for address in addresses
        if address in answers.values and key in answers.values[address].table
    ]
    failed = Answers(answers.values, errors)
    return rows, failed.gaps(Part.CONFIG, {address: GapSubject(address=address) for address in addresses})


def plan_key_values(asking: Asking, namespace: str, values: Mapping[str, str | None]) -> SettingPlan:
    """Plans values of keys in every name server; None deletes a key.

    Raises:
        UsageError: the namespace has its own command, or a name that no request can carry.
    """
    if namespace == ORDER_NAMESPACE:
        raise UsageError(
            sentence(
                "settings-rules-where-producers-send",
                "{order_namespace} rules where producers send to",
                order_namespace=ORDER_NAMESPACE,
            ),
            reason=sentence(
                "settings-values-checked-against-queues", "its values are checked against the queues of the topic"
            ),
            remedy=sentence("settings-topic-order-set", "mqctl topic update -t TOPIC --order or --no-order"),
        )
    if not namespace or "/" in namespace:
        raise UsageError(
            sentence("settings-no-name-namespace", "{namespace!r} is not the name of a namespace", namespace=namespace),
            remedy=sentence("settings-write-name-without", "write a name without /"),
        )
    masters = masters_of(open_brokers(asking))
    if not masters:
        raise NotFoundError(
            sentence("settings-no-master-registered", "no master is registered"),
            remedy=command_line("mqctl broker list"),
        )
    steps = []
    for key, value in values.items():
        subject = f"{namespace}/{key}"
        for address in asking.cluster.name_servers.addresses(asking.deadline):
            old = read_setting(asking.cluster, Place(SettingKind.KV, address, subject), asking.deadline)
            steps.append(
                SettingStep(
                    kind=SettingKind.KV,
                    place=address,
                    address=address,
                    subject=subject,
                    old=old,
                    new=None if value is None else {key: value},
                )
            )
    return SettingPlan(
        kind="cluster-set-kv",
        noun="namespace",
        subject=namespace,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
    )
