"""Many questions at once, their outcomes by key, and what could not be asked as gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Generic, TypeVar

from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion
from mqctl.client.remoting.question import Question
from mqctl.errors import DeadlineError, MqctlError, UnreachableError
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names_alike import like_any

K = TypeVar("K")
T = TypeVar("T")
_SHARE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of a cluster to look at; empty means everything.

    Attributes:
        groups, topics: names, or patterns of names.
        brokers: names.
        without: groups and topics, by name or pattern, that are left out.
    """

    groups: Set[str] = frozenset()
    topics: Set[str] = frozenset()
    brokers: Set[str] = frozenset()
    without: Set[str] = frozenset()

    def has_group(self, group: str) -> bool:
        return (not self.groups or like_any(group, self.groups)) and not like_any(group, self.without)

    def has_topic(self, topic: str) -> bool:
        return (not self.topics or like_any(topic, self.topics)) and not like_any(topic, self.without)

    def has_broker(self, broker: str) -> bool:
        return not self.brokers or broker in self.brokers


@dataclass(frozen=True, slots=True)
class Answers(Generic[K, T]):
    """Values and errors by key."""

    values: Mapping[K, T]
    errors: Mapping[K, MqctlError]

    def gaps(self, part: Part, subjects: Mapping[K, GapSubject | None]) -> list[Gap]:
        """Returns what is missing, in the order of `subjects`.

        Args:
            subjects: what each key is about; None for the whole of the part.
        """
        return [Gap.of(part, self.errors[key], subject) for key, subject in subjects.items() if key in self.errors]


class Asking:
    """A cluster, and the deadline that all questions share.

    Args:
        patience_ms: how long to wait for those that do not answer, of all the time; that of the deadline by default.
            Thousands of answers may take longer than anybody should wait for one that never comes.
    """

    def __init__(self, cluster: Cluster, deadline: Deadline, patience_ms: int | None = None) -> None:
        self.cluster = cluster
        self.deadline = deadline
        self._patience_ms = patience_ms

    def put(
        self, questions: Iterable[tuple[K, str, Question[T]]], *, relayed: bool = False, limit_ms: int | None = None
    ) -> Answers[K, T]:
        """Puts questions, given as (key, address, question), all at once.

        Each gets at most a third of the time (or the patience) that is left: a broker that never answers must not cost
        the others their turn. All together may take what is left: thousands of answers that do come are no reason to
        give up.

        Args:
            relayed: brokers pass them on to clients, and one that is silent stands for itself only; then the third is
                for all of them together.
            limit_ms: their time, where nothing is asked after them.
        """
        begun_ms = self.deadline.remaining_ms
        share_ms = max(1, (begun_ms if self._patience_ms is None else min(begun_ms, self._patience_ms)) // _SHARE)
        whole_ms = share_ms if relayed else self.deadline.remaining_ms
        limit = self.deadline.within(whole_ms if limit_ms is None else limit_ms)
        asks: dict[int, K] = {}
        listed: list[AddressedQuestion[T]] = []
        for key, address, question in questions:
            ask = AddressedQuestion(address, question)
            asks[id(ask)] = key
            listed.append(ask)
        values: dict[K, T] = {}
        errors: dict[K, MqctlError] = {}
        for outcome in self.cluster.ask_many(listed, limit, relayed=relayed, call_timeout_ms=share_ms):
            key = asks[id(outcome.ask)]
            if outcome.error is not None:
                errors[key] = outcome.error
            else:
                values[key] = outcome.value()
        if self._patience_ms is not None and any(map(out_of_reach, errors.values())):
            self._patience_ms = max(0, self._patience_ms - (begun_ms - self.deadline.remaining_ms))
        return Answers(values, errors)


def refused_with(error: MqctlError, codes: Set[int]) -> bool:
    """Tells whether a broker answered, with one of `codes`."""
    return isinstance(error, AnswerError) and error.code in codes


def out_of_reach(error: MqctlError) -> bool:
    """Tells whether nobody answered at all."""
    return isinstance(error, UnreachableError | DeadlineError)
