"""A class declared lazily is a dataclass in every respect, whichever of its methods is the first to be called."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import msgspec
import pytest

from mqctl.model import lazy_dataclass


def declared(dataclass: Callable[..., Any]) -> type[Any]:
    """Declares the same class with one of the two decorators."""

    @dataclass(frozen=True, slots=True, order=True)
    class Place:
        """Where something is."""

        __qualname__ = "Place"
        LEFT: ClassVar[int] = 7

        name: str
        offset: int = 0
        params: Mapping[str, int] = field(default_factory=dict)

        def __post_init__(self) -> None:
            if self.offset < 0:
                raise ValueError("before the beginning")

        @property
        def end(self) -> int:
            return self.offset + self.LEFT

    globals()["Place"] = Place  # where pickle looks for it
    return Place


def outcome(call: Callable[[type[Any]], object], kind: type[Any]) -> object:
    try:
        return call(kind)
    except (FrozenInstanceError, TypeError, ValueError, AttributeError) as error:
        return type(error), str(error).partition("(")[0]


def decoded(kind: type[Any]) -> Any:
    """An instance that was never initialised: msgspec fills it."""
    return msgspec.json.decode(b'{"name": "a", "offset": 3}', type=kind)


FIRST_CALLS: dict[str, Callable[[type[Any]], object]] = {
    "init": lambda kind: dataclasses.astuple(kind("a", offset=2)),
    "an argument too many": lambda kind: kind("a", 1, {}, 4),
    "an unknown argument": lambda kind: kind(name="a", other=1),
    "post init": lambda kind: kind("a", -1),
    "default factory": lambda kind: kind("a").params is not kind("a").params,
    "property": lambda kind: decoded(kind).end,
    "repr": lambda kind: repr(decoded(kind)),
    "eq": lambda kind: (decoded(kind) == decoded(kind), decoded(kind) == 3, decoded(kind) != kind("a", 3)),
    "hash": lambda kind: hash(decoded(kind)),
    "order": lambda kind: sorted([kind("b"), kind("a", 2), kind("a", 1)]) == [kind("a", 1), kind("a", 2), kind("b")],
    "less": lambda kind: decoded(kind) < decoded(kind),
    "set": lambda kind: setattr(decoded(kind), "offset", 1),
    "delete": lambda kind: delattr(decoded(kind), "offset"),
    "replace": lambda kind: dataclasses.astuple(dataclasses.replace(decoded(kind), offset=9)),
    "fields": lambda kind: [(item.name, item.kw_only, item.default) for item in dataclasses.fields(kind)],
    "asdict": lambda kind: dataclasses.asdict(decoded(kind)),
    "pickle": lambda kind: dataclasses.astuple(pickle.loads(pickle.dumps(decoded(kind)))),
    "copy": lambda kind: dataclasses.astuple(copy.copy(decoded(kind))),
    "encode": lambda kind: msgspec.json.encode(kind("a", 1, {"x": 2})),
    "match": lambda kind: kind.__match_args__,
    "no dict": lambda kind: hasattr(kind("a"), "__dict__"),
}


@pytest.mark.parametrize("first", FIRST_CALLS)
def test_it_does_what_a_dataclass_does(first: str) -> None:
    call = FIRST_CALLS[first]
    expected = outcome(call, declared(dataclasses.dataclass))
    kind = declared(lazy_dataclass.dataclass)
    assert outcome(call, kind) == expected
    assert outcome(call, kind) == expected, "once more, with compiled methods"


def test_a_changeable_one_without_slots_takes_what_is_set_and_has_no_hash() -> None:
    @lazy_dataclass.dataclass
    class Counter:
        count: int = 0

    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_keywords_only() -> None:
    @lazy_dataclass.dataclass(kw_only=True)
    class Options:
        name: str = ""
        count: int

    assert Options(count=1).name == ""
    with pytest.raises(TypeError):
        Options("x", count=1)  # type: ignore[call-arg]


def test_threads_may_be_the_first_together() -> None:
    kind = declared(lazy_dataclass.dataclass)
    together, made = threading.Barrier(8), []

    def make(number: int) -> None:
        together.wait()
        made.append(kind("a", number))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(item.offset for item in made) == list(range(8))


def test_a_family_is_declared_with_the_standard_library() -> None:
    @dataclasses.dataclass(frozen=True)
    class Parent:
        name: str

    with pytest.raises(TypeError, match="frozen"):

        @lazy_dataclass.dataclass(frozen=True)
        class Child(Parent):
            count: int


def test_a_class_of_the_standard_library_inherits_from_one() -> None:
    @lazy_dataclass.dataclass(frozen=True, slots=True)
    class Base:
        name: str
        offset: int = 0

    @dataclasses.dataclass(frozen=True, slots=True)
    class Further(Base):
        more: tuple[str, ...] = ()

    assert Further("a", more=("b",)) == Further("a", 0, ("b",)) != Further("a", 1, ("b",))
    assert repr(Further("a")).endswith("Further(name='a', offset=0, more=())")
    with pytest.raises(FrozenInstanceError):
        Further("a").name = "b"  # type: ignore[misc]
