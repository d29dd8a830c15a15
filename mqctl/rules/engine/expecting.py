"""What one expectation came to: results by amount, by equality, unknown; and whom a declared name means."""

from __future__ import annotations

from collections.abc import Collection

from mqctl.model.counts import counted
from mqctl.model.expectation import CheckResult, CheckState, Limit
from mqctl.model.gap import Gap
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names_alike import is_pattern, like_any
from mqctl.rules.engine.gone_brokers import GoneBroker
from mqctl.text import key_of, sentence, values_of


def meant_by(name: str, without: Collection[str], known: Collection[str], named: Collection[str]) -> list[str]:
    """Returns whom a declared name means; what has a declaration of its own is not meant by a pattern as well.

    Args:
        known: what there is.
        named: all declared names.
    """
    if not is_pattern(name):
        return [name]
    return sorted(one for one in known if like_any(one, [name]) and one not in named and not like_any(one, without))


def why_missed(gone: GoneBroker) -> str:
    """Says of a broker why it ought to be there."""
    if gone.expected_by:
        return sentence(
            "check-broker-expected", "it is not registered, and is part of {expected_by}", expected_by=gone.expected_by
        )
    if gone.held:
        return sentence(
            "check-broker-held",
            "it is not registered, and members of {holders} hold queues of it",
            holders=counted(len(gone.holders), "group"),
        )
    if gone.ordered:
        return sentence(
            "check-broker-ordered",
            "it is not registered, and the order configuration of {topic} names it",
            topic=gone.ordered[0],
        )
    return sentence(
        "check-broker-seen",
        "it is not registered any more, and was within a day (removed on purpose? say how many there are: --brokers)",
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """What an expectation is about.

    Attributes:
        kind: `group`, `topic`, `broker`, `cluster`; of what has no name its words: `name servers`.
        name: as it is, blanks included.
        broker_id: of a slave.
    """

    kind: str
    name: str | None = None
    broker_id: int = 0

    def __str__(self) -> str:
        number = f"({self.broker_id})" if self.broker_id else None
        return " ".join(part for part in (self.kind, self.name, number) if part is not None)


_NONE_LIKE = {
    "group": sentence("check-no-group-like", "no group looks like this"),
    "topic": sentence("check-no-topic-like", "no topic looks like this"),
}


def none_like(noun: str, pattern: str, why: Gap | None = None) -> CheckResult:
    """Returns the result of a pattern that means nobody, or nobody knows whom: that was not looked at."""
    return unknown("exists", Checked(noun, pattern), why or _NONE_LIKE[noun])


def amount(check: str, subject: Checked, value: float, limit: Limit, said: str, *, unit: str = "") -> CheckResult:
    state = CheckState.OK
    if limit.error is not None and value > limit.error:
        state = CheckState.ERROR
    elif limit.warning is not None and value > limit.warning:
        state = CheckState.WARNING
    return result(check, subject, state, said, value=value, unit=unit, limit=limit)


def exact(check: str, subject: Checked, good: bool, said: str) -> CheckResult:  # noqa: FBT001 - the one thing it is about
    state = CheckState.OK if good else CheckState.ERROR
    return result(check, subject, state, said)


def unknown(check: str, subject: Checked, why: Gap | str) -> CheckResult:
    gap = why if isinstance(why, Gap) else None
    message = why.reason if isinstance(why, Gap) else why
    return result(check, subject, CheckState.UNKNOWN, message, gap=gap)


def result(
    check: str,
    subject: Checked,
    state: CheckState,
    message: str,
    *,
    value: float | None = None,
    unit: str = "",
    limit: Limit | None = None,
    gap: Gap | None = None,
) -> CheckResult:
    return CheckResult(
        check=check,
        subject=str(subject),
        kind=subject.kind,
        name=subject.name,
        state=state,
        message=message,
        value=value,
        unit=unit,
        limit=limit or Limit(),
        gap=gap,
        key=key_of(message),
        values=values_of(message),
    )
