"""Many questions to many addresses: all addresses at once, a bounded number in flight on each, one deadline for all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from mqctl.client.remoting.answers import not_asked, timed_out
from mqctl.client.remoting.deadline import LONGEST_WAIT_S, Deadline
from mqctl.client.remoting.link import PendingRequest
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.errors import DeadlineError, MqctlError, NotAskedError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass

T = TypeVar("T")
IN_FLIGHT = 16
RELAYED_IN_FLIGHT = 256
CALL_TIMEOUT_MS = 3000


@dataclass(frozen=True, slots=True)
class AddressedQuestion(Generic[T]):
    """One question to one address.

    Attributes:
        about: what the answer is about (a broker name, a group), for those who collect.
    """

    address: str
    question: Question[T]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How one question ended: with a value, or with an error that says why not."""

    ask: AddressedQuestion[T]
    answer: T | None = None
    error: MqctlError | None = None

    def value(self) -> T:
        """Returns the value. Raises the error."""
        if self.error is not None:
            raise self.error
        return self.answer  # type: ignore[return-value]  # a question about nothing has the value None


class _Flight(Generic[T]):
    """Requests on their way."""

    def __init__(self, links: Links, deadline: Deadline, call_timeout_ms: int) -> None:
        self._links = links
        self._deadline = deadline
        self._timeout_ms = call_timeout_ms
        self.done: SimpleQueue[PendingRequest] = SimpleQueue()
        self.flying: dict[int, tuple[AddressedQuestion[T], PendingRequest]] = {}

    def send(self, question: AddressedQuestion[T]) -> NotAskedError | None:
        """Sends a question, or says why it is too late for it."""
        if not self._deadline.remaining_ms:
            return not_asked(question.question.request.code, question.address, self._deadline)
        call = self._links.get(question.address).submit(
            question.question.request,
            body=question.question.body,
            deadline=self._deadline.within(self._timeout_ms),
            on_done=self.done.put,
        )
        self.flying[id(call)] = (question, call)
        return None

    def land(self, pending: PendingRequest) -> AddressedQuestion[T] | None:
        question = self.flying.pop(id(pending), None)
        return question[0] if question else None

    def next_done(self) -> list[PendingRequest]:
        """Waits for an answer, or for the first deadline of a call; returns what has ended by then."""
        # Each is given the same time from its sending on, so the one sent first ends first.
        _, oldest = next(iter(self.flying.values()))
        try:
            return [self.done.get(timeout=min(oldest.deadline.remaining_s, LONGEST_WAIT_S))]
        except Empty:
            return [call for _, call in self.flying.values() if call.deadline.expired]

    def abandon(self) -> None:
        for ask, call in self.flying.values():
            self._links.get(ask.address).cancel(call)


def fan_out(
    links: Links,
    questions: Iterable[AddressedQuestion[T]],
    deadline: Deadline,
    *,
    in_flight: int = IN_FLIGHT,
    call_timeout_ms: int = CALL_TIMEOUT_MS,
    relayed: bool = False,
) -> Iterator[Outcome[T]]:
    """Puts all questions and yields the outcomes as they come.

    An address that cannot be reached, or that leaves a call unanswered, is not asked its remaining questions: they end
    with the same error, so that one dead broker costs one time-out and not thousands.

    Args:
        deadline: when it passes, what is still open ends with a DeadlineError.
        relayed: the addresses pass the questions on to others, each its own: one without an answer says nothing about
            the address, and all are under way at once until the deadline, since each may wait for somebody else.
        in_flight: limit of requests in flight at each address.
        call_timeout_ms: limit of one request.
    """
    waiting: dict[str, deque[AddressedQuestion[T]]] = {}
    for ask in questions:
        waiting.setdefault(ask.address, deque()).append(ask)
    if relayed:
        in_flight, call_timeout_ms = RELAYED_IN_FLIGHT, deadline.remaining_ms
    final = UnreachableError if relayed else (UnreachableError, DeadlineError)
    flight: _Flight[T] = _Flight(links, deadline, call_timeout_ms)
    try:
        late: list[Outcome[T]] = []
        for queue in waiting.values():
            for _ in range(min(in_flight, len(queue))):
                late += _send_next(flight, queue)
        yield from late
        while flight.flying:
            for call in flight.next_done():
                ended = flight.land(call)
                if ended is None:
                    continue
                outcome = _outcome(ended, call)
                queue = waiting[ended.address]
                if isinstance(outcome.error, final):
                    left = list(queue)
                    queue.clear()
                    yield outcome
                    yield from (Outcome(ask, error=outcome.error) for ask in left)
                    continue
                late = _send_next(flight, queue)
                yield outcome
                yield from late
    finally:
        flight.abandon()


def _send_next(flight: _Flight[T], waiting: deque[AddressedQuestion[T]]) -> list[Outcome[T]]:
    """Sends the next question; when it is too late for it, returns the end of all that wait, the same for each."""
    late = flight.send(waiting[0]) if waiting else None
    ended = [Outcome(ask, error=late) for ask in waiting] if late is not None else []
    if ended:
        waiting.clear()
    elif waiting:
        waiting.popleft()
    return ended


def _outcome(question: AddressedQuestion[T], pending: PendingRequest) -> Outcome[T]:
    try:
        if pending.answer is None:
            raise pending.error or timed_out(pending.code, question.address, pending.deadline)
        return Outcome(question, answer=question.question.value(pending.answer, question.address, pending.deadline))
    except MqctlError as error:
        return Outcome(question, error=error)
