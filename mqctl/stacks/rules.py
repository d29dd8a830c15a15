"""What a rule of the class table says, and a user's own rules.

The table is in `mqctl.stacks.rule_table`. Rules stand in order; the first that matches decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache

from mqctl.errors import BadInputError
from mqctl.model.dump import ThreadState
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import joined, sentence


class StackClass(StrEnum):
    """What a thread does. A user's rules may name classes of their own beside these."""

    IDLE = "idle"
    QUEUE_LOCK = "queue-lock"
    LOGGING = "logging"
    CLASS_LOADING = "class-loading"
    LOCK = "lock"
    CONNECTION_POOL = "connection-pool"
    SEND = "send"
    DNS = "dns"
    REDIS = "redis"
    DATABASE = "database"
    HTTP = "http"
    RPC = "rpc"
    SOCKET = "socket"
    RETRY = "retry"
    SLEEP = "sleep"
    FILE = "file"
    SERIALISATION = "serialisation"
    GC = "gc"
    WAIT = "wait"
    CPU = "cpu"
    UNKNOWN = "unknown"


class Reach(StrEnum):
    """How much of a stack a rule looks at.

    Attributes:
        CALLED: from the innermost call to the application's line: what the application called.
        WHOLE: all of it.
    """

    CALLED = "called"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRule:
    """One line of the table. It matches when all the conditions that it has hold.

    Patterns are dotted names with `*` for anything: `com.mysql.*` is every call of that package and below,
    `java.lang.Thread.sleep*` one method; `|` inside brackets is not known: write two patterns.

    Attributes:
        calls: one of these is on the stack.
        top: the innermost call is one of these.
        within: `calls` are looked for among so many innermost calls; 0 for all that `reach` allows.
        code: expressions (regular ones) for the source text of the innermost Python call.
        states: the thread is in one of these states.
        native: the innermost call is native code.
        bare: no application code is on the stack.
        unless: none of these is on the stack.
        why: what the rule recognises, for the reference.
    """

    name: str
    cls: str
    why: str = ""
    calls: tuple[str, ...] = ()
    top: tuple[str, ...] = ()
    within: int = 0
    reach: Reach = Reach.CALLED
    code: tuple[str, ...] = ()
    states: tuple[ThreadState, ...] = ()
    native: bool = False
    bare: bool = False
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRules:
    """What a user's file adds.

    Attributes:
        rules: come before the built-in ones.
        application: packages that are the application's, even where a built-in list says library.
        libraries: packages that are not.
    """

    rules: tuple[ClassRule, ...] = ()
    application: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@lru_cache(maxsize=1_024)
def any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Returns one expression that matches any of the dotted patterns."""
    parts = (re.escape(pattern).replace(r"\*", ".*") for pattern in patterns)
    return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL)


_LISTS = ("calls", "top", "code", "states", "unless")
_KNOWN = frozenset({"name", "class", "why", "within", "whole-stack", *_LISTS})
_CLASS_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}$")


@dataclass(slots=True)
class _Entry:
    """One entry of a user's file while it is checked."""

    number: int
    values: Mapping[object, object]
    problems: list[str] = field(default_factory=list)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
            self.problems.append(sentence("stacks-rules-no-list-texts", "{key} is not a list of texts", key=key))
            return ()
        return tuple(str(item) for item in items)


def user_rules(content: object, source: str) -> UserRules:
    """Returns the rules in the content of a user's YAML file: keys `rules`, `application`, `libraries`.

    Raises:
        BadInputError: it says something that no rule can say; all the problems are named.
    """
    problems: list[str] = []
    if not isinstance(content, Mapping):
        raise BadInputError(
            sentence("stacks-holds-no-rules", "{source} holds no rules", source=source),
            reason=sentence("stacks-mapping-key-rules-expected", "a mapping with the key `rules` is expected"),
        )
    problems += [
        sentence("stacks-rules-nothing-called", "nothing is called {key}", key=key)
        for key in content
        if key not in ("rules", "application", "libraries")
    ]
    listed = content.get("rules", [])
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        problems.append(sentence("stacks-rules-no-list", "rules is not a list"))
        listed = []
    rules = tuple(rule for number, item in enumerate(listed, 1) if (rule := _rule(number, item, problems)))
    packages = _Entry(0, content)
    made = UserRules(rules=rules, application=packages.texts("application"), libraries=packages.texts("libraries"))
    problems += packages.problems
    if problems:
        raise BadInputError(
            sentence("stacks-rules-invalid", "the rules in {source} are invalid", source=source),
            reason=joined("; ", problems),
            remedy=sentence("stacks-see-docs-stack-classes", "see docs/stack-classes.md"),
        )
    return made


def _rule(number: int, item: object, problems: list[str]) -> ClassRule | None:
    if not isinstance(item, Mapping):
        problems.append(sentence("stacks-rules-no-mapping", "rule {number} is not a mapping", number=number))
        return None
    entry = _Entry(number, item)
    entry.problems += [
        sentence("stacks-rules-nothing-called", "nothing is called {key}", key=key) for key in item if key not in _KNOWN
    ]
    name, cls = item.get("name", f"user-{number}"), item.get("class")
    if not isinstance(name, str):
        entry.problems.append(sentence("stacks-rules-name-no-text", "name is not a text"))
    if not isinstance(cls, str) or not _CLASS_NAME.match(cls):
        entry.problems.append(
            sentence(
                "stacks-rules-class-missing", "class is missing, or no word of lower-case letters, digits and dashes"
            )
        )
    within, whole = item.get("within", 0), item.get("whole-stack", False)
    if not isinstance(within, int) or isinstance(within, bool) or within < 0:
        entry.problems.append(sentence("stacks-rules-within-no-number", "within is not a number of calls"))
    lists = {key: entry.texts(key) for key in _LISTS}
    entry.problems += [
        sentence("stacks-rules-no-state", "{word} is not a state", word=word)
        for word in lists["states"]
        if word not in set(ThreadState)
    ]
    for expression in lists["code"]:
        try:
            re.compile(expression)
        except re.error as error:
            entry.problems.append(
                sentence("stacks-code", "code {expression}: {error}", expression=expression, error=error)
            )
        except RecursionError:
            entry.problems.append(sentence("stacks-rules-code-nested", "an expression of code is nested too deeply"))
    if not any(lists.values()):
        entry.problems.append(sentence("stacks-rules-no-condition", "it has no condition: calls, top, code or states"))
    if entry.problems:
        problems += [
            sentence("stacks-rule", "rule {number}: {problem}", number=number, problem=problem)
            for problem in entry.problems
        ]
        return None
    return ClassRule(
        name=str(name),
        cls=str(cls),
        why=str(item.get("why", "")),
        calls=lists["calls"],
        top=lists["top"],
        within=within if isinstance(within, int) else 0,
        reach=Reach.WHOLE if whole else Reach.CALLED,
        code=lists["code"],
        states=tuple(ThreadState(word) for word in lists["states"]),
        unless=lists["unless"],
    )
