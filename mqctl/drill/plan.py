"""The plan of a drill: who sends, who consumes, and what happens meanwhile; docs/drill.md describes the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import msgspec

from mqctl.drill.declarations import MODES
from mqctl.errors import BadInputError, NotFoundError
from mqctl.local.scenario import ClusterDeclared
from mqctl.model.counts import counted
from mqctl.model.lang import Lang
from mqctl.model.numbers import decimal
from mqctl.model.spans import span_ms
from mqctl.protocol.yaml_text import UnreadableYaml, decode_yaml, load_yaml
from mqctl.store.plain_files import read_named, refused
from mqctl.text import composed, joined, sentence

_SUFFIX = ".yaml"
_PLACE = re.compile(r"(.*) - at `(.+)`")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.+?)`")
_NUMBER = re.compile(r"\[(\d+)\]")
Sends = Literal["normal", "keyed", "delayed", "transactional"]
Means = Literal["broker", "consumers"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a plan."""


class DrillQuota(_Part, frozen=True, kw_only=True):
    """What a drill does not go beyond, whatever its plan asks for."""

    messages: int = 100_000
    mebibytes: int = 256
    time: str = "10m"


class DrillLimits(_Part, frozen=True, kw_only=True):
    """What the promises are held against; `settle` and `repeats_back` override what the protocol's periods give."""

    lost_after: str = "60s"
    late_after: str | None = None
    early: str = "1s"
    settle: str | None = None
    repeats_back: str | None = None


class ProducerPlanned(_Part, frozen=True, kw_only=True):
    """A producer.

    Attributes:
        sends: `keyed` sends the messages of a key into one queue, one after the other.
        messages: how many in all, bursts not counted.
        rate: messages a second.
        keys: number of keys.
        delay_level: of delayed messages.
        rolls_back: every so-many-th transactional message is rolled back.
    """

    name: str
    sends: Sends = "normal"
    messages: int = 1_000
    rate: int = 100
    body_bytes: int = 100
    keys: int = 10
    delay_level: int = 1
    rolls_back: int = 4


class GroupPlanned(_Part, frozen=True, kw_only=True):
    """A consumer group and how many consumers it begins with, called NAME-1, NAME-2, ...

    Attributes:
        fails: every so-many-th message is asked for again once; 0 for none.
        work_ms: how long the listener takes.
    """

    name: str
    mode: str = "concurrent"
    consumers: int = 1
    threads: int = 4
    fails: int = 0
    work_ms: int = 0


class Join(_Part, frozen=True, kw_only=True, tag_field="do", tag="join"):
    """More consumers of a group join."""

    at: str
    group: str
    consumers: int = 1


class Leave(_Part, frozen=True, kw_only=True, tag_field="do", tag="leave"):
    """A consumer leaves as it is asked to."""

    at: str
    consumer: str


class Kill(_Part, frozen=True, kw_only=True, tag_field="do", tag="kill"):
    """A consumer's process is killed."""

    at: str
    consumer: str


class Burst(_Part, frozen=True, kw_only=True, tag_field="do", tag="burst"):
    """A producer sends as fast as it can."""

    at: str
    producer: str
    messages: int


class KillBrokerFor(_Part, frozen=True, kw_only=True, tag_field="do", tag="kill-broker"):
    """A broker of the drill's own cluster dies, and comes back after `back_after`; never without it."""

    at: str
    broker: str
    back_after: str | None = None


class StopBrokerFor(_Part, frozen=True, kw_only=True, tag_field="do", tag="stop-broker"):
    """A broker of the drill's own cluster is shut down, and comes back after `back_after`; never without it."""

    at: str
    broker: str
    back_after: str | None = None


class LosePower(_Part, frozen=True, kw_only=True, tag_field="do", tag="lose-power"):
    """The power of a broker's machine is cut: what it had not flushed is gone. It comes back after `back_after`.

    Attributes:
        loses_back: how long before it an acknowledged message may be lost; 0s where brokers flush before they answer.
    """

    at: str
    broker: str
    back_after: str | None = None
    loses_back: str = "10s"


class JumpClock(_Part, frozen=True, kw_only=True, tag_field="do", tag="jump-clock"):
    """The clock of the drill's own brokers and name servers is set forward, or back (`-90s`)."""

    at: str
    by: str


class ResetOffsets(_Part, frozen=True, kw_only=True, tag_field="do", tag="reset-offsets"):
    """The group's offsets are moved to where they were `back` ago, while it consumes."""

    at: str
    group: str
    back: str


class Ask(_Part, frozen=True, kw_only=True, tag_field="do", tag="ask"):
    """The operator is asked to do something, and says with Enter that it is done.

    Attributes:
        zh: the text in Chinese, for who reads Chinese.
        means: what it is to the protocol: a broker restarts or fails over, or only consumers are touched.
    """

    at: str
    text: str
    zh: str | None = None
    means: Means = "broker"


Step = Join | Leave | Kill | Burst | KillBrokerFor | StopBrokerFor | LosePower | JumpClock | ResetOffsets | Ask
BrokerStep = KillBrokerFor | StopBrokerFor | LosePower


class DrillPlan(_Part, frozen=True, kw_only=True):
    """A drill.

    Attributes:
        zh: the title in Chinese.
        cluster: an embedded cluster that is made for it; None drills the cluster that the command names.
        time_scale: how much faster the periods of clients and of the own cluster run; 1 on other clusters.
        queues: of the topic, on each broker.
    """

    name: str = ""
    title: str
    zh: str | None = None
    cluster: ClusterDeclared | None = None
    time_scale: float = 1.0
    queues: int = 4
    quota: DrillQuota = DrillQuota()
    limits: DrillLimits = DrillLimits()
    producers: tuple[ProducerPlanned, ...]
    groups: tuple[GroupPlanned, ...]
    schedule: tuple[Step, ...] = ()


def plan_names() -> tuple[str, ...]:
    """Returns the names of the plans that come with mqctl, sorted."""
    directory = files("mqctl.drill") / "plans"
    return tuple(sorted(item.name.removesuffix(_SUFFIX) for item in directory.iterdir() if item.name.endswith(_SUFFIX)))


def load_plan(name: str, lang: Lang | None = None) -> DrillPlan:
    """Returns a plan by its name, or from a file whose path ends in `.yaml`; what it asks is asked in the language.

    Raises:
        NotFoundError: there is none.
        BadInputError: it declares what cannot be.
    """
    if name.endswith(_SUFFIX):
        path = Path(name)
        try:
            return _spoken(read_plan(path.stem, read_named(path), str(path)), lang)
        except FileNotFoundError as error:
            raise NotFoundError(sentence("no-file", "there is no file {file}", file=path)) from error
        except OSError as error:
            raise refused(sentence("could-not-read", "could not read {file}", file=path), error) from error
    if name not in plan_names():
        raise NotFoundError(
            sentence("no-drill", "there is no drill {name}", name=name),
            reason=sentence("common-there", "there are {there}", there=plan_names()),
            remedy=sentence("drill-name-file-ends-yaml", "name one of them, or a file that ends in .yaml"),
        )
    data = (files("mqctl.drill") / "plans" / f"{name}{_SUFFIX}").read_bytes()
    return _spoken(read_plan(name, data, f"{name}{_SUFFIX}"), lang)


def _spoken(plan: DrillPlan, lang: Lang | None) -> DrillPlan:
    if lang is not Lang.ZH:
        return plan
    steps = [
        msgspec.structs.replace(step, text=step.zh) if isinstance(step, Ask) and step.zh else step
        for step in plan.schedule
    ]
    return msgspec.structs.replace(plan, schedule=tuple(steps), title=plan.zh or plan.title)


def read_plan(name: str, data: bytes, where: str) -> DrillPlan:
    """Reads a plan. Raises BadInputError, with the place of the mistake."""
    try:
        plan = msgspec.structs.replace(decode_yaml(data, DrillPlan), name=name)
    except UnreadableYaml as error:
        reason = f"{where}: {_with_known(str(error), data)}"
        raise BadInputError(
            sentence("could-not-read-drill", "could not read the drill {name}", name=name), reason=reason
        ) from error
    mistakes = _mistakes(plan)
    if mistakes:
        raise BadInputError(
            sentence("drill-contradicts-itself", "the drill {name} contradicts itself", name=name),
            reason=composed("{where}: {mistakes}", where=where, mistakes=joined("; ", mistakes)),
        )
    return plan


def _with_known(problem: str, data: bytes) -> str:
    """Returns what is wrong with a file, and what may stand there where it is a name that nobody knows."""
    match = _PLACE.fullmatch(problem)
    path = match[2] if match else "$"
    if _UNKNOWN_FIELD.match(problem):
        kind = _part_at(path, data)
        if kind is None:
            return problem
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
    elif path.endswith(".do") or "field `do`" in problem:
        known = [str(step.__struct_config__.tag) for step in get_args(Step)]
    elif path.endswith((".sends", ".means")):
        known = [str(value) for value in get_args(Sends if path.endswith(".sends") else Means)]
    else:
        return problem
    return sentence("drill-problem", "{problem}; there are {known}", problem=problem, known=known)


def _part_at(path: str, data: bytes) -> type[msgspec.Struct] | None:
    """Returns what a place of the file holds; None for what is no part of a plan."""
    if path.startswith("$.schedule"):
        whole = load_yaml(data)
        steps = whole["schedule"] if isinstance(whole, dict) else ()
        number = _NUMBER.search(path)
        step = steps[decimal(number[1]) or 0] if number else {}
        return next((each for each in get_args(Step) if each.__struct_config__.tag == step.get("do")), None)
    parts: dict[str, type[msgspec.Struct]] = {
        "$": DrillPlan,
        "$.cluster": ClusterDeclared,
        "$.quota": DrillQuota,
        "$.limits": DrillLimits,
        "$.producers[]": ProducerPlanned,
        "$.groups[]": GroupPlanned,
    }
    return parts.get(_NUMBER.sub("[]", path))


def _mistakes(plan: DrillPlan) -> list[str]:
    producers = [each.name for each in plan.producers]
    groups = [each.name for each in plan.groups]
    wrong = [
        sentence("drill-two-called", "two are called {name}", name=name)
        for name in sorted({*producers, *groups})
        if (producers + groups).count(name) > 1
    ]
    strange = [each for each in plan.groups if each.mode not in MODES]
    wrong += [
        sentence(
            "drill-no-such-mode",
            "{name} has no mode {mode}; there are {modes}",
            name=each.name,
            mode=each.mode,
            modes=MODES,
        )
        for each in strange
    ]
    silent = [each.name for each in plan.groups if each.mode == "broadcast" and each.fails]
    wrong += [
        sentence(
            "drill-broadcast-cannot-fail", "{name} cannot fail: a broadcast group is given nothing again", name=name
        )
        for name in silent
    ]
    wrong += [
        sentence("drill-needs-keys", "{name} needs keys", name=each.name)
        for each in plan.producers
        if each.sends == "keyed" and each.keys < 1
    ]
    numbers = [(each.name, value) for each in plan.producers for value in (each.messages, each.rate, each.body_bytes)]
    wrong += [
        sentence("drill-number-below-one", "{name} has a number below 1", name=name)
        for name in sorted({name for name, value in numbers if value < 1})
    ]
    if plan.time_scale < 1 or (plan.cluster is None and plan.time_scale != 1):
        wrong.append(
            sentence(
                "drill-time-not-own",
                "the time of a cluster that is not the drill's own cannot be scaled, nor any be slowed down",
            )
        )
    sends = [(each.messages, each.body_bytes) for each in plan.producers]
    sizes = {each.name: each.body_bytes for each in plan.producers}
    sends += [(step.messages, sizes.get(step.producer, 0)) for step in plan.schedule if isinstance(step, Burst)]
    messages, size_bytes = sum(many for many, _ in sends), sum(many * size for many, size in sends)
    if messages > plan.quota.messages or size_bytes > plan.quota.mebibytes << 20:
        wrong.append(
            sentence(
                "drill-sends-more-than-quota",
                "it sends {messages}, {size_bytes}, which is more than its quota",
                messages=counted(messages, "message"),
                size_bytes=size_bytes,
            )
        )
    wrong += [
        sentence("drill-no-span", "{text!r} is not a time span", text=text)
        for text in _spans(plan)
        if span_ms(text) is None
    ]
    return [*wrong, *(mistake for step in plan.schedule for mistake in _step_mistakes(plan, step))]


def _step_mistakes(plan: DrillPlan, step: Step) -> Iterator[str]:
    groups = [each.name for each in plan.groups]
    if isinstance(step, Join | ResetOffsets) and step.group not in groups:
        yield sentence("no-consumer-group-called", "there is no group {group}", group=step.group)
    if isinstance(step, Burst) and step.producer not in [each.name for each in plan.producers]:
        yield sentence("drill-no-producer", "there is no producer {producer}", producer=step.producer)
    if isinstance(step, Leave | Kill) and step.consumer.rpartition("-")[0] not in groups:
        yield sentence(
            "drill-no-consumer",
            "{consumer} is not a consumer: they are called GROUP-1, GROUP-2, ...",
            consumer=step.consumer,
        )
    if isinstance(step, JumpClock) and plan.cluster is None:
        yield sentence(
            "drill-clock-not-own",
            "the clock of a cluster that is not the drill's own is not touched; `ask` asks the operator",
        )
    if isinstance(step, BrokerStep):
        if plan.cluster is None:
            yield sentence(
                "drill-broker-not-own", "{broker} is not the drill's own; `ask` asks the operator", broker=step.broker
            )
        elif step.broker not in (*plan.cluster.brokers, *plan.cluster.slave_names):
            yield sentence("no-broker", "there is no broker {broker}", broker=step.broker)


def _spans(plan: DrillPlan) -> list[str]:
    limits = plan.limits
    spans = [plan.quota.time, limits.lost_after, limits.late_after, limits.early, limits.settle, limits.repeats_back]
    for step in plan.schedule:
        spans.append(step.at)
        if isinstance(step, BrokerStep):
            spans.append(step.back_after)
        if isinstance(step, LosePower):
            spans.append(step.loses_back)
        if isinstance(step, JumpClock):
            spans.append(step.by.removeprefix("-"))
        if isinstance(step, ResetOffsets):
            spans.append(step.back)
    return [each for each in spans if each is not None]
