"""Plans that change properties of brokers, and whether name servers let producers write to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from mqctl.changes.engine.run import now_ms
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.changes.settings.places import Place, read_setting
from mqctl.errors import NotFoundError, RefusedError, UnreachableError
from mqctl.model.command_line import command_line
from mqctl.model.secret_names import holds_secret
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import ask_settings
from mqctl.snapshot.live.topic_use import all_told
from mqctl.text import joined, sentence

# `Configuration` and `BrokerConfig` of 4.9.8 and 5.3.3 refuse these, or take them and lose track of themselves.
_FIXED = frozenset(
    {"brokerConfigPath", "rocketmqHome", "configBlackList", "brokerName", "brokerClusterName", "brokerId"}
)


def plan_settings(asking: Asking, requested: Mapping[str, str], brokers: Sequence[str]) -> SettingPlan:
    """Plans other values of broker properties.

    Raises:
        NotFoundError: a broker has no such property: it would take it with success, and forget it.
        RefusedError: a property that must not change while the broker runs, or holds a secret.
    """
    for name in sorted(_FIXED & set(requested)):
        problem = sentence(
            "settings-running-broker-cannot-changed", "{name} of a running broker cannot be changed", name=name
        )
        raise RefusedError(
            problem,
            reason=sentence(
                "settings-broker-identity-place-files", "it is the broker's identity or the place of its files"
            ),
            remedy=sentence("settings-restart", "restart it"),
        )
    for name in sorted(filter(holds_secret, requested)):
        raise RefusedError(
            sentence("settings-cannot-changed-here", "{name} cannot be changed from here", name=name),
            reason=sentence(
                "settings-secret-plans-show-journals",
                "it is a secret, which plans would show and journals would keep",
            ),
            remedy=sentence(
                "settings-change-broker-configuration-file", "change it in the broker's configuration file"
            ),
        )
    masters = touched_masters(asking, brokers)
    ask_settings(asking, masters)
    all_told(masters)
    steps = []
    for broker in masters:
        for name, value in sorted(requested.items()):
            if name not in broker.config:
                listed = command_line("mqctl broker config {}", broker.name)
                near = get_close_matches(name, broker.config, 3)
                remedy = (
                    sentence("did-mean", "did you mean {near:or}? {listed}", near=near, listed=listed)
                    if near
                    else listed
                )
                raise NotFoundError(
                    sentence(
                        "settings-broker-no-property",
                        "broker {broker} has no property {name}",
                        broker=broker.name,
                        name=name,
                    ),
                    remedy=remedy,
                )
            steps.append(
                SettingStep(
                    kind=SettingKind.BROKER,
                    place=broker.name,
                    address=broker.address.address,
                    subject=name,
                    old={name: broker.config[name]},
                    new={name: value},
                )
            )
    names = [broker.name for broker in masters]
    return SettingPlan(
        kind="broker-set",
        noun="broker",
        subject=names[0] if len(names) == 1 else masters[0].address.cluster,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=(
            sentence(
                "settings-broker-rewrites-whole-configuration",
                "a broker rewrites its complete configuration file with every property it has, and keeps "
                "the old one as .bak",
            ),
            sentence(
                "settings-some-properties-take-effect", "some properties take effect only when the broker restarts"
            ),
        ),
    )


def plan_write_perm(asking: Asking, broker_name: str, *, writable: bool) -> SettingPlan:
    """Plans whether name servers let producers write to a broker.

    Raises:
        NotFoundError: there is no such broker.
        UnreachableError: a name server does not know the broker.
    """
    masters = touched_masters(asking, (broker_name,))
    name = masters[0].name
    steps = []
    for address in asking.cluster.name_servers.addresses(asking.deadline):
        current = read_setting(asking.cluster, Place(SettingKind.WRITE_PERM, address, name), asking.deadline)
        if current is None:
            problem = sentence(
                "settings-name-server-not-know",
                "name server {address} does not know a topic of broker {name}",
                address=address,
                name=name,
            )
            raise UnreachableError(
                problem,
                remedy=sentence("settings-nothing-changed-see-cluster", "nothing was changed; see mqctl cluster list"),
            )
        steps.append(
            SettingStep(
                kind=SettingKind.WRITE_PERM,
                place=address,
                address=address,
                subject=name,
                old=current,
                new={"writable": "true" if writable else "false"},
            )
        )
    lasting = sentence(
        "settings-lasts-until-broker-registers",
        "it lasts until the broker registers a change, a new topic for instance",
    )
    setting = command_line("mqctl broker set {} --broker {}", f"brokerPermission={6 if writable else 4}", name)
    permanent = sentence("settings-lasts", "{setting} is what lasts", setting=setting)
    meaning = (
        sentence(
            "settings-clients-see-every-topic",
            "clients will see every topic of the broker as RW-, even one that was not",
        )
        if writable
        else sentence(
            "settings-producers-stop-sending-when",
            "producers stop sending to it when they next refresh the route (within 30 s); consumers are not affected",
        )
    )
    return SettingPlan(
        kind="broker-add-write-perm" if writable else "broker-wipe-write-perm",
        noun="broker",
        subject=name,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=(meaning, joined("; ", (lasting, permanent))),
    )
