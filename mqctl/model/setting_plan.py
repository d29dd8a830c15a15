"""Changes of topics, groups and brokers that are shown before they are made: what is, what will be, in which order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import Any, TypeVar

from mqctl.errors import BadInputError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig, perm_text
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.plan import ClusterIdentity
from mqctl.model.topic_use import KeyMoves
from mqctl.text import sentence

Fields = Mapping[str, str]
"""Settings by name, as text, so that all kinds are compared, shown and journalled alike."""
C = TypeVar("C", TopicConfig, SubscriptionGroupConfig)


class SettingKind(StrEnum):
    """What a step changes.

    TOPIC and GROUP: a table entry of one broker. BROKER: one property. ROUTE: what a name server knows of a topic. KV:
    one key of a name server's configuration, the subject being `namespace/key`. WRITE_PERM: whether a name server lets
    producers write to a broker. USER and ENTRY: a user of a broker, and what it may do with one resource. ACCOUNT and
    WHITE_LIST: an account in the access files of a 4.9 broker, and the addresses that one of the files never checks.
    """

    TOPIC = "topic"
    GROUP = "group"
    BROKER = "broker"
    ROUTE = "route"
    KV = "kv"
    WRITE_PERM = "write-perm"
    USER = "user"
    ENTRY = "entry"
    ACCOUNT = "account"
    WHITE_LIST = "white-list"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingStep:
    """One change at one place.

    Attributes:
        place: name of the broker; the address, for a name server.
        subject: topic, group, property, `namespace/key` or broker name.
        old, new: settings before and after; None where there is none.
        stage: steps of a later stage wait until all of the earlier ones are confirmed.
        note: what else it means.
    """

    kind: SettingKind
    place: str
    address: str
    subject: str
    old: Fields | None
    new: Fields | None
    stage: int = 0
    note: str | None = None

    @property
    def moves(self) -> bool:
        return self.old != self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPlan:
    """A change of settings.

    Attributes:
        kind: the command, for instance `topic-update`.
        noun, subject: what is changed, and what is typed to confirm it: `topic` and its name.
        steps: in the order of execution, those that change nothing among them.
        warnings: what to know before doing it, one sentence a line.
        key_moves: for another number of queues, which keys of a sample would go elsewhere; None without a sample.
        severe: whether the name must be typed.
        undoes: id of the change that this one takes back.
    """

    kind: str
    noun: str
    subject: str
    identity: ClusterIdentity
    made_at_ms: int
    steps: tuple[SettingStep, ...]
    warnings: tuple[str, ...] = ()
    key_moves: KeyMoves | None = None
    severe: bool = True
    undoes: str | None = None

    @property
    def moving(self) -> tuple[SettingStep, ...]:
        return tuple(step for step in self.steps if step.moves)


def fields_of(config: TopicConfig | SubscriptionGroupConfig | None) -> dict[str, str] | None:
    """Writes settings as text, without the name.

    Whether a topic is ordered is left out: brokers take that from the name servers, not from whoever writes the topic.
    """
    if config is None:
        return None
    return {
        item.name: _text(getattr(config, item.name)) for item in fields(config) if item.name not in ("name", "order")
    }


def config_of(kind: type[C], name: str, texts: Fields) -> C:
    """Reads settings that `fields_of` wrote. Raises BadInputError."""
    values: dict[str, Any] = {"name": name}
    for item in fields(kind):
        if item.name not in texts:
            continue
        default = item.default if item.default is not MISSING else None
        try:
            values[item.name] = texts[item.name] if isinstance(default, str) else json.loads(texts[item.name])
        except ValueError as error:
            raise BadInputError(
                sentence("cannot-read-item", "{item} of {name} cannot be read", item=item.name, name=name),
                reason=str(error),
            ) from error
        if isinstance(values[item.name], list):
            values[item.name] = tuple(values[item.name])
    return kind(**values)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, sort_keys=True)


def shown_value(name: str, value: str) -> str:
    """Returns a setting as people read it: permission bits as letters."""
    bits = decimal(value) if name == "perm" else None
    return value if bits is None else perm_text(bits)
