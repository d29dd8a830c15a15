"""One call as tools write it, and the dotted name by which rules know it.

Java writes `java.base@17.0.15/java.lang.Thread.sleep(Native Method)` or `app//Consume.main(Consume.java:27)`; our own
client the same with Python names, and the innermost call's source after a `#`; py-spy `Queue.get (queue.py:171)`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mqctl.model.dump import StackFrame
from mqctl.model.numbers import MOST_INT32, decimal

_JAVA = re.compile(r"(?P<name>[^()]+)\((?P<where>[^()]*)\)(?:\s+#\s*(?P<code>.*)|\s.*)?$")
_HIDDEN = re.compile(r"/0x[0-9a-f]+")
_PYTHON = re.compile(r"(?P<name>.+?) \((?P<file>.+?)(?::(?P<line>\d+))?\)\s*$")
_PACKAGE_ROOTS = re.compile(r".*(?:/|^)(?:site-packages|dist-packages|lib/python\d[\d.]*)/")
_NATIVE_WHERE = frozenset({"Native Method", "本机方法", "本地方法"})


def java_frame(text: str) -> StackFrame | None:
    """Returns the call in a line of a Java or remote dump, the `at ` left out; None when it is none."""
    match = _JAVA.match(text)
    if match is None:
        return None
    name = match["name"]
    if "/" in name:
        name = _HIDDEN.sub("", name).rpartition("/")[2]  # `Lambda$42/0x7f..` is one class; else a loader or module
    module, _, function = name.rpartition(".")
    where = match["where"]
    native = where.rpartition("/")[2] in _NATIVE_WHERE
    where = where.rpartition("/")[2]
    file, _, line = where.rpartition(":")
    number = decimal(line, high=MOST_INT32) if file else None
    known = None if native or where in ("Unknown Source", "") else where
    return StackFrame(
        function=function,
        module=module or None,
        file=known if number is None else file,
        line=number,
        native=native,
        code=match["code"] or None,
    )


def python_frame(text: str) -> StackFrame | None:
    """Returns the call in a line of py-spy's text; None when it is none. Libraries stand where files do."""
    match = _PYTHON.match(text.strip())
    if match is None:
        return None
    file, line = match["file"], match["line"]
    return py_spy_frame(match["name"], file, file, decimal(line, high=MOST_INT32))


def py_spy_frame(name: str, file: str, short_file: str, line: int | None) -> StackFrame:
    """Returns a call as py-spy tells it.

    Args:
        short_file: its file from the root of its package on.
    """
    native = not (file.endswith((".py", ".pyx", ".pyc")) or file.startswith("<"))
    module = None if native else python_module(short_file)
    return StackFrame(function=name, module=module, file=file, line=line, native=native)


@lru_cache(maxsize=16_384)
def python_module(file: str) -> str:
    """Returns the dotted module of a Python file: `http.client` for `/usr/lib/python3.11/http/client.py`."""
    if file.startswith("<frozen "):
        return file[len("<frozen ") :].rstrip(">")
    path = file.replace("\\", "/")
    inside = _PACKAGE_ROOTS.sub("", path)
    if inside.startswith("/") or (len(inside) > 1 and inside[1] == ":"):
        inside = inside.rsplit("/", 1)[-1]
    stem = inside.rsplit(".", 1)[0] if inside.endswith((".py", ".pyx", ".pyc")) else inside
    return stem.removesuffix("/__init__").strip("/").replace("/", ".")


def dotted(frame: StackFrame) -> str:
    """Returns the name by which rules know a call: `java.lang.Thread.sleep`, `http.client.HTTPResponse.begin`."""
    return f"{frame.module}.{frame.function}" if frame.module else frame.function
