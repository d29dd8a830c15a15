"""The file of expectations of `mqctl check`: YAML, checked in beside what it is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from mqctl.cli.times import parse_span_ms
from mqctl.errors import ConfigurationError, MqctlError, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.expectation import Expectations, GroupExpectation, Limit, TopicExpectation
from mqctl.model.forms import CHECKS, UPGRADE, newer_than_known
from mqctl.protocol.yaml_text import decode_yaml
from mqctl.store.plain_files import read_named, refused
from mqctl.text import sentence

Number = int | float | str


class _Limits(msgspec.Struct, forbid_unknown_fields=True):
    """`{warning: A, error: B}`, instead of one number above which it is an error.

    Attributes:
        warning, error: the most that is allowed before it is one.
        critical: the same as `error`, for who writes it as Nagios does.
    """

    warning: Number | None = None
    error: Number | None = None
    critical: Number | None = None


Most = Number | _Limits


class _Members(msgspec.Struct, forbid_unknown_fields=True):
    min: int | None = None
    max: int | None = None


class _Group(msgspec.Struct, forbid_unknown_fields=True):
    """Of a consumer group, or of those that a name with `*` or `?` means; one that is declared by itself is not among
    them.

    Attributes:
        without: names and patterns that are not meant; `except` in the file.
        lag, lag_time: messages behind, and age of the oldest of them, of the worst topic.
        members: instances online: a number, or `{min: N, max: N}`.
        subscribes: topic and the expression that brokers filter by, tags in any order.
        dead_letters, dead_letter_growth: messages in its dead-letter topic; those that came within `--window`.
    """

    without: list[str] = msgspec.field(default_factory=list, name="except")
    lag: Most | None = None
    lag_time: Most | None = None
    members: int | _Members | None = None
    subscribes: dict[str, str] = {}
    dead_letters: Most | None = None
    dead_letter_growth: Most | None = None


class _Topic(msgspec.Struct, forbid_unknown_fields=True):
    """Of a topic, or of those that a name with `*` or `?` means.

    Attributes:
        without: names and patterns that are not meant; `except` in the file.
        queues: read queues over all brokers.
        perm: permission, `RW-` for instance.
        silent_for: how long nobody may have sent.
    """

    without: list[str] = msgspec.field(default_factory=list, name="except")
    queues: int | None = None
    perm: str | None = None
    silent_for: Most | None = None


class _Head(msgspec.Struct):
    version: int = 1


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file.

    Attributes:
        version: its form, see mqctl.model.forms; 1 where it tells none.
        cluster: name that the brokers must report.
        brokers: names of those that must answer, or how many.
        disk: used share of the disk of each broker's store, 0 to 1.
        topics, groups: expectations by name.
        delay_overdue: how late a message of a delay level may be.
        slaves: how many slaves each broker must have at least.
        slave_behind: bytes that a slave may be behind its master; one that does not follow it is an error anyway.
    """

    version: int = 1
    cluster: str | None = None
    brokers: list[str] | int = []
    disk: Most | None = None
    topics: dict[str, _Topic] = {}
    groups: dict[str, _Group] = {}
    delay_overdue: Most | None = None
    slaves: int | None = None
    slave_behind: Most | None = None


def load_expectations(file: Path) -> Expectations:
    """Reads the file.

    Raises:
        NotFoundError: there is none.
        PermissionDeniedError, StorageError: it cannot be read.
        ConfigurationError: it declares something that is not known, or nothing, or a value that cannot be read.
    """
    try:
        text = read_named(file)
    except FileNotFoundError as error:
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=file),
            remedy=sentence("check-shows-example", "mqctl check -h shows an example"),
        ) from error
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=file), error) from error
    try:
        reason = newer_than_known(decode_yaml(text, _Head).version, CHECKS) if text.strip() else None
        if reason is not None:
            raise ConfigurationError(
                sentence("could-not-read", "could not read {file}", file=file), reason=reason, remedy=UPGRADE
            )
        parsed = decode_yaml(text, _File) if text.strip() else _File()
        wishes = _expectations(parsed)
    except ConfigurationError:
        raise
    except (ValueError, MqctlError) as error:
        raise ConfigurationError(
            sentence("could-not-read", "could not read {file}", file=file),
            reason=str(error),
            remedy=command_line("mqctl check -h"),
        ) from error
    if wishes == Expectations():
        raise ConfigurationError(
            sentence("check-declares-nothing", "{file} declares nothing", file=file),
            remedy=sentence("check-shows-example", "mqctl check -h shows an example"),
        )
    return wishes


def _expectations(parsed: _File) -> Expectations:
    return Expectations(
        cluster=parsed.cluster,
        brokers=() if isinstance(parsed.brokers, int) else tuple(parsed.brokers),
        broker_count=parsed.brokers if isinstance(parsed.brokers, int) else None,
        disk_used_share=_limit(parsed.disk, _real),
        delay_overdue_ms=_limit(parsed.delay_overdue, _span),
        slave_count=parsed.slaves,
        slave_behind_bytes=_limit(parsed.slave_behind, _real),
        topics=tuple(
            TopicExpectation(
                topic=name,
                without=tuple(item.without),
                queue_count=item.queues,
                perm=item.perm,
                silent_ms=_limit(item.silent_for, _span),
            )
            for name, item in parsed.topics.items()
        ),
        groups=tuple(_group(name, item) for name, item in parsed.groups.items()),
    )


def _group(name: str, item: _Group) -> GroupExpectation:
    members = _Members(min=item.members, max=item.members) if isinstance(item.members, int) else item.members
    return GroupExpectation(
        group=name,
        without=tuple(item.without),
        lag_count=_limit(item.lag, _real),
        lag_ms=_limit(item.lag_time, _span),
        members_min=members.min if members else None,
        members_max=members.max if members else None,
        subscribes=item.subscribes,
        dead_letter_count=_limit(item.dead_letters, _real),
        dead_letter_growth=_limit(item.dead_letter_growth, _real),
    )


def _limit(most: Most | None, read: Callable[[Number], float]) -> Limit | None:
    if most is None:
        return None
    if not isinstance(most, _Limits):
        return Limit(error=read(most))
    if most.error is not None and most.critical is not None:
        raise ConfigurationError(sentence("check-error-and-critical", "a limit has error and critical: they are one"))
    error = most.critical if most.error is None else most.error
    return Limit(
        warning=None if most.warning is None else read(most.warning),
        error=None if error is None else read(error),
    )


def _real(value: Number) -> float:
    if isinstance(value, str):
        raise ConfigurationError(sentence("check-not-number", "{value!r} is not a number", value=value))
    return value


def _span(value: Number) -> float:
    return parse_span_ms(value if isinstance(value, str) else f"{value}ms")
