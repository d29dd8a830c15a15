"""How each kind of setting is read and written at its place."""

from __future__ import annotations

from dataclasses import field, replace

from mqctl.changes.settings.access_file_places import read_account, read_changes, write_account
from mqctl.changes.settings.access_places import read_entry, read_user, write_entry, write_user
from mqctl.client.admin import access
from mqctl.client.admin import broker_changes as put
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin import nameserver as ns
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import NotFoundError
from mqctl.model.config import PERM_WRITE, SubscriptionGroupConfig, TopicConfig
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.setting_plan import Fields, SettingKind, config_of, fields_of


@dataclass(frozen=True, slots=True)
class Place:
    """Where one setting lives.

    Attributes:
        secret: the password that a user, or the secret key that an account, is to have; it is written nowhere else.
    """

    kind: SettingKind
    address: str
    subject: str
    secret: str | None = field(default=None, repr=False)


def read_setting(cluster: Cluster, place: Place, limit: Deadline) -> Fields | None:
    """Returns what a place has; None where there is nothing. Raises MqctlError when it does not tell."""
    address, subject = place.address, place.subject
    match place.kind:
        case SettingKind.TOPIC:
            return fields_of(cluster.ask(address, ask.topic_configs(), limit).get(subject))
        case SettingKind.GROUP:
            return fields_of(cluster.ask(address, ask.group_configs(), limit).get(subject))
        case SettingKind.BROKER:
            value = cluster.ask(address, ask.broker_settings(), limit).get(subject)
            return None if value is None else {subject: value}
        case SettingKind.USER | SettingKind.ENTRY | SettingKind.ACCOUNT | SettingKind.WHITE_LIST:
            return _read_access(cluster, place, limit)
        case _:
            return _NAME_SERVERS_TELL[place.kind](cluster, address, subject, limit)


def _read_access(cluster: Cluster, place: Place, limit: Deadline) -> Fields | None:
    address, subject = place.address, place.subject
    match place.kind:
        case SettingKind.USER:
            return read_user(cluster, (address, subject), place.secret, limit)
        case SettingKind.ENTRY:
            return read_entry(cluster, address, subject, limit)
        case SettingKind.ACCOUNT:
            return read_account(cluster, (address, subject), place.secret, limit)
        case _:
            return read_changes(cluster, address, limit)


def _kv(cluster: Cluster, address: str, subject: str, limit: Deadline) -> Fields | None:
    namespace, _, key = subject.partition("/")
    try:
        value = cluster.ask(address, ns.kv_value(namespace, key), limit)
    except NotFoundError:
        return None
    return None if value is None else {key: value}


def _route(cluster: Cluster, address: str, subject: str, limit: Deadline) -> Fields | None:
    try:
        where = cluster.ask(address, ns.route(subject), limit)
    except NotFoundError:
        return None
    return {"brokers": ", ".join(sorted(data.broker_name for data in where.queue_datas))}


def _write_perm(cluster: Cluster, address: str, subject: str, limit: Deadline) -> Fields | None:
    # Every broker registers a topic of its own name; the permission of all its topics changes at once.
    try:
        where = cluster.ask(address, ns.route(subject), limit)
    except NotFoundError:
        return None
    perms = [data.perm for data in where.queue_datas if data.broker_name == subject]
    return {"writable": "true" if perms[0] & PERM_WRITE else "false"} if perms else None


_NAME_SERVERS_TELL = {SettingKind.KV: _kv, SettingKind.ROUTE: _route, SettingKind.WRITE_PERM: _write_perm}


def write_setting(cluster: Cluster, place: Place, change: tuple[Fields | None, Fields | None], limit: Deadline) -> None:
    """Sends the request that turns the first of `change` into the second. Raises MqctlError when it is refused."""
    address, subject = place.address, place.subject
    old, new = change
    match place.kind:
        case SettingKind.TOPIC if new is None:
            cluster.ask(address, put.delete_topic(subject), limit)
        case SettingKind.TOPIC:
            cluster.ask(address, put.put_topic(_topic(subject, old, new or {})), limit)
        case SettingKind.GROUP if new is None:
            cluster.ask(address, put.delete_group(subject, with_offsets=False), limit)
        case SettingKind.GROUP:
            config = _group(subject, old, new or {})
            version = cluster.ask(address, ask.runtime_info(), limit).table.get("brokerVersionDesc", "")
            cluster.ask(address, put.put_group(config, is_v5=version.startswith("V5")), limit)
        case SettingKind.BROKER:
            cluster.ask(address, put.put_broker_settings(dict(new or {})), limit)
        case SettingKind.KV:
            namespace, _, key = subject.partition("/")
            question = ns.delete_kv(namespace, key) if new is None else ns.put_kv(namespace, key, new[key])
            cluster.ask(address, question, limit)
        case SettingKind.ROUTE:
            cluster.ask(address, ns.delete_route(subject), limit)
        case SettingKind.WRITE_PERM if (new or {}).get("writable") == "true":
            cluster.ask(address, ns.add_write_permission(subject), limit)
        case SettingKind.WRITE_PERM:
            cluster.ask(address, ns.wipe_write_permission(subject), limit)
        case _:
            _write_access(cluster, place, change, limit)


def _write_access(cluster: Cluster, place: Place, change: tuple[Fields | None, Fields | None], limit: Deadline) -> None:
    address, subject = place.address, place.subject
    _, new = change
    match place.kind:
        case SettingKind.USER:
            write_user(cluster, (address, subject), change, place.secret, limit)
        case SettingKind.ENTRY:
            write_entry(cluster, address, subject, new, limit)
        case SettingKind.ACCOUNT:
            write_account(cluster, (address, subject), new or {}, place.secret, limit)
        case _:
            cluster.ask(address, access.replace_white_list(subject, (new or {})["addresses"]), limit)


def _group(subject: str, old: Fields | None, new: Fields) -> SubscriptionGroupConfig:
    # 5.x takes attributes as changes of those it has, each name with its sign (`AttributeUtil` of 5.3.3).
    config = config_of(SubscriptionGroupConfig, subject, new)
    known = config_of(SubscriptionGroupConfig, subject, old).attributes if old is not None else {}
    changes = {f"+{name}": value for name, value in config.attributes.items() if known.get(name) != value}
    changes |= {f"-{name}": "" for name in known if name not in config.attributes}
    return replace(config, attributes=changes)


def _topic(subject: str, old: Fields | None, new: Fields) -> TopicConfig:
    config = config_of(TopicConfig, subject, new)
    if old is None:
        return config
    # 5.x refuses to be told an attribute that cannot change, even its present value.
    known = config_of(TopicConfig, subject, old).attributes
    changed = {name: value for name, value in config.attributes.items() if known.get(name) != value}
    return replace(config, attributes=changed)
