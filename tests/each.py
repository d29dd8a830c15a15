"""One test of many cases that costs next to nothing each: all are tried, and all that fail are named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from traceback import extract_tb
from typing import Any

import pytest

Test = Callable[..., None]


def each(names: str, cases: Iterable[Any] | Callable[[], Iterable[Any]]) -> Callable[[Test], Test]:
    """Calls a test with every case in turn, as `pytest.mark.parametrize` does, but collects and reports it as one.

    A case costs no more than its call, where a parameter costs milliseconds in each worker. Cases share the fixtures of
    the test: what a case must have for itself, `tmp_path` above all, needs a parameter.

    Args:
        names: of the parameters, separated by commas.
        cases: a value each, or a tuple of values where there are several names; or a function that returns them, called
            when the test runs.

    Raises:
        AssertionError: names each case that failed, with its message and line; or there is no case.
        pytest.skip.Exception: a case was skipped, and none failed.
    """
    parameters = [name.strip() for name in names.split(",")]
    given = list(cases) if isinstance(cases, Iterable) else cases

    def decorate(test: Test) -> Test:
        @wraps(test)
        def all_cases(**fixtures: Any) -> None:
            failures: list[tuple[str, BaseException]] = []
            skipped: BaseException | None = None
            known = given if isinstance(given, list) else list(given())
            for case in known:
                values = case if len(parameters) > 1 else (case,)
                try:
                    test(**fixtures, **dict(zip(parameters, values, strict=True)))
                except pytest.skip.Exception as error:
                    skipped = error
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - raised below, with all others
                    failures.append((" ".join(map(_label, values)), error))
            assert known, "there is no case"
            if failures:
                lines = (f"{label}: {_told(error)}" for label, error in failures)
                raise AssertionError(
                    "\n".join([f"{len(failures)} of {len(known)} cases failed:", *lines])
                ) from failures[0][1]
            if skipped:
                raise skipped

        own = inspect.signature(test)
        fixtures = [value for name, value in own.parameters.items() if name not in parameters]
        all_cases.__signature__ = own.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return all_cases

    return decorate


def _label(value: object) -> str:
    """Returns what names a case: its label, name or text; of a long one the beginning."""
    text = getattr(value, "label", None) or getattr(value, "__name__", None) or str(value)
    shown = text if text.isprintable() and text else repr(text)
    return shown if len(shown) <= 100 else f"{shown[:97]}..."


def _told(error: BaseException) -> str:
    last = extract_tb(error.__traceback__)[-1]
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return f"{last.filename.rpartition('/')[2]}:{last.lineno}: {kind}{error}"
