"""`dataclass` of the standard library, whose methods are compiled when a class is first used.

The standard library compiles six to twelve methods for each class while its module is imported, 0.3 to 0.6 ms a class.
That was half of the CPU of a command, which uses a fifth of the classes that it imports. Declared here, a class costs a
tenth of it. Fields, `replace`, `asdict`, pickles, msgspec and type checkers see a dataclass as ever.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Declares a dataclass.

        Args:
            options: `frozen`, `order`, `slots` and `kw_only`, as the standard library has them.

        Raises:
            TypeError: it inherits from a frozen dataclass: such families are declared with the standard library.
        """
        return (lambda bare: _declared(bare, options)) if cls is None else _declared(cls, options)


def _declared(cls: type, options: dict[str, bool]) -> type:
    """Makes the class with its fields; each method is compiled when it is called."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # the standard library would spell out the signature
    shape = {name: value for name, value in options.items() if name in ("slots", "kw_only")}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **shape)(cls)
    made.__dataclass_params__.frozen = options.get("frozen", False)  # those that inherit from it have to be as frozen
    later = [name for name in _methods(options) if name not in vars(made)]

    def compile_for(name: str) -> None:
        kept = {key: value for key, value in vars(made).items() if key not in _OF_A_CLASS and key not in later}
        own = {item.name: item for item in dataclasses.fields(made)}
        full: type = dataclasses.dataclass(**_asked(options, name))(
            type(made.__name__, made.__bases__, {**kept, **own})
        )
        for each in later:
            if each in vars(full):
                setattr(made, each, vars(full)[each])

    for name in later:
        setattr(made, name, _compiling(made, name, compile_for))
    if not options.get("frozen"):
        made.__hash__ = None
    return cast("type", made)


_OF_A_CLASS = frozenset({"__dict__", "__weakref__", "__slots__", "__dataclass_fields__", "__dataclass_params__"})


def _methods(options: dict[str, bool]) -> list[str]:
    """Returns the names of the methods that the standard library adds."""
    names = ["__init__", "__repr__", "__eq__"]
    if options.get("frozen"):
        names += ["__hash__", "__setattr__", "__delattr__"]
        names += ["__getstate__", "__setstate__"] if options.get("slots") else []
    return names + (["__lt__", "__le__", "__gt__", "__ge__"] if options.get("order") else [])


def _asked(options: dict[str, bool], name: str) -> dict[str, bool]:
    """Returns the options with which the standard library compiles one method, and few others."""
    compared = name not in ("__init__", "__repr__")
    return {
        **options,
        "init": name == "__init__",
        "repr": name == "__repr__",
        "eq": compared,
        "order": compared and options.get("order", False),
        "slots": name in ("__getstate__", "__setstate__"),
    }


def _compiling(made: type, name: str, compile_for: Callable[[str], None]) -> Callable[..., Any]:
    """Returns a method that is compiled when it is called, and then takes its place."""

    def method(*args: Any, **values: Any) -> Any:
        compile_for(name)
        return getattr(made, name)(*args, **values)

    return method
