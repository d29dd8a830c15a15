"""Gives a thread its class: what it does, by which rule, at which line of the application."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from operator import or_

from mqctl.model.dump import StackFrame, StackThread, ThreadState
from mqctl.model.lazy_dataclass import dataclass
from mqctl.stacks.frame_text import dotted
from mqctl.stacks.libraries import CodeOwnership
from mqctl.stacks.rule_table import CLASS_RULES, DOWNSTREAM, PHASES, RETRY_NAMES
from mqctl.stacks.rules import ClassRule, Reach, StackClass, UserRules, any_of

_KEPT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What one stack does.

    Attributes:
        cls: a `StackClass`, or a class of the user's rules.
        rule: name of the rule that decided.
        frame: the call that the rule recognised.
        line: the innermost call that is application code; None where there is none.
        phase: `connect`, `read` or `write` on a socket; None where it is none of them.
    """

    cls: str
    rule: str
    frame: StackFrame | None = None
    line: StackFrame | None = None
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What holds for all threads with the same calls: places instead of calls."""

    cls: str
    rule: str
    frame: int | None
    line: int | None
    phase: str | None


class Classifier:
    """The class table, ready to be asked often. Not for several threads at once.

    Args:
        user: rules and packages of a user's file.
    """

    def __init__(self, user: UserRules | None = None) -> None:
        wanted = user or UserRules()
        self.rules: tuple[ClassRule, ...] = (*wanted.rules, *CLASS_RULES)
        self.ownership = CodeOwnership(wanted.application, wanted.libraries)
        self._tests = [_Test(rule, number) for number, rule in enumerate(self.rules)]
        self._masks: dict[str, int] = {}
        self._owned: dict[StackFrame, bool] = {}
        self._outcomes: dict[tuple[object, ...], _Outcome] = {}

    def classify(self, thread: StackThread) -> Classified:
        """Returns the class of one thread."""
        frames = thread.frames
        names = tuple([dotted(frame) for frame in frames])
        first = _named(frames)
        code = frames[first].code if frames else None
        native = bool(frames) and frames[0].native and frames[0].module is not None
        line = self.line_of(frames)
        key = (names, thread.state, code, native, line)
        outcome = self._outcomes.get(key)
        if outcome is None:
            seen = _Seen(
                masks=[self._mask(name) for name in names],
                state=thread.state,
                code=code or "",
                line=line,
                first=first,
                native=native,
            )
            outcome = self._judge(names, seen)
            if len(self._outcomes) < _KEPT:
                self._outcomes[key] = outcome
        return Classified(
            cls=outcome.cls,
            rule=outcome.rule,
            frame=None if outcome.frame is None else frames[outcome.frame],
            line=None if outcome.line is None else frames[outcome.line],
            phase=outcome.phase,
        )

    def line_of(self, frames: Sequence[StackFrame]) -> int | None:
        """Returns the place of the innermost application call."""
        owned = self._owned
        for place, frame in enumerate(frames):
            try:
                mine = owned[frame]
            except KeyError:
                mine = self.ownership.is_application(frame)
                if len(owned) < 10 * _KEPT:
                    owned[frame] = mine
            if mine:
                return place
        return None

    def _judge(self, names: tuple[str, ...], seen: _Seen) -> _Outcome:
        line = seen.line
        test_that_holds = next((test for test in self._tests if test.holds(seen)), None)
        if test_that_holds is None:
            return _Outcome(StackClass.UNKNOWN, "none", 0 if names else None, line, None)
        if test_that_holds.rule.cls == StackClass.SOCKET and line is not None:
            test_that_holds = next((test for test in self._tests if test.finds_downstream(seen)), test_that_holds)
        cls = test_that_holds.rule.cls
        if cls == StackClass.SLEEP and _tries_again(names, line):
            cls = StackClass.RETRY
        return _Outcome(cls, test_that_holds.rule.name, test_that_holds.place(seen), line, _phase(names))

    def _mask(self, name: str) -> int:
        """Returns which of the tests' patterns a call answers to, one bit each."""
        mask = self._masks.get(name)
        if mask is None:
            mask = 0
            for test in self._tests:
                mask |= test.mask(name)
            if len(self._masks) < 10 * _KEPT:
                self._masks[name] = mask
        return mask


class _Seen:
    """A stack as the tests see it.

    Attributes:
        line: place of the application's line; called: number of calls down to it.
        first: place of the innermost call that is no C function shown by py-spy.
        native: the innermost call is a native method.
        upto: `upto[n]` joins the bits of the n innermost calls.
    """

    __slots__ = ("called", "code", "first", "line", "masks", "native", "state", "upto")

    def __init__(
        self, *, masks: list[int], state: ThreadState, code: str, line: int | None, first: int, native: bool
    ) -> None:
        self.first = first
        self.masks = masks
        self.state = state
        self.code = code
        self.line = line
        self.native = native
        self.called = len(masks) if line is None else line + 1
        self.upto = list(accumulate(masks, or_, initial=0))


class _Test:
    """A rule with its patterns compiled; three bits of its own."""

    def __init__(self, rule: ClassRule, number: int) -> None:
        self.rule = rule
        self._calls, self._top, self._unless = (1 << (3 * number + bit) for bit in range(3))
        self._patterns = [
            (bit, any_of(patterns))
            for bit, patterns in ((self._calls, rule.calls), (self._top, rule.top), (self._unless, rule.unless))
            if patterns
        ]
        self._code = [re.compile(expression) for expression in rule.code]

    def mask(self, name: str) -> int:
        return sum(bit for bit, pattern in self._patterns if pattern.fullmatch(name))

    def holds(self, seen: _Seen) -> bool:
        rule = self.rule
        if rule.states and seen.state not in rule.states:
            return False
        if (rule.native and not seen.native) or (rule.bare and seen.line is not None):
            return False
        reach = self._reach(seen)
        if rule.calls and not seen.upto[reach] & self._calls:
            return False
        if rule.top and not (seen.masks and seen.masks[seen.first] & self._top):
            return False
        if rule.unless and seen.upto[seen.called] & self._unless:
            return False
        return bool(seen.masks) and (not self._code or any(test.search(seen.code) for test in self._code))

    def finds_downstream(self, seen: _Seen) -> bool:
        """Tells whether a call of one of the finer classes is anywhere on the stack."""
        return self.rule.cls in DOWNSTREAM and bool(seen.upto[-1] & self._calls)

    def _reach(self, seen: _Seen) -> int:
        reach = len(seen.masks) if self.rule.reach is Reach.WHOLE else seen.called
        return min(reach, self.rule.within) if self.rule.within else reach

    def place(self, seen: _Seen) -> int:
        """Returns the place of the call that the rule recognised; the innermost one where it names none."""
        return next((place for place, mask in enumerate(seen.masks) if mask & self._calls), 0)


def _named(frames: Sequence[StackFrame]) -> int:
    """Returns the place of the innermost call with a module; 0 when there is none."""
    return next((place for place, frame in enumerate(frames) if frame.module is not None), 0)


def _tries_again(names: tuple[str, ...], line: int | None) -> bool:
    if line is None:
        return False
    pattern = any_of(RETRY_NAMES)
    return any(pattern.fullmatch(name.rpartition(".")[2]) for name in names[max(0, line - 1) : line + 2])


def _phase(names: tuple[str, ...]) -> str | None:
    for phase, patterns in PHASES:
        pattern = any_of(patterns)
        if any(pattern.fullmatch(name) for name in names[:6]):
            return phase
    return None


def classify_thread(thread: StackThread, classifier: Classifier | None = None) -> Classified:
    """Returns the class of one thread, by the built-in table or by `classifier`."""
    return (classifier or Classifier()).classify(thread)
