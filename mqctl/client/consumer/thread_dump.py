"""The threads of this process as the text that a consumer's running information carries.

The layout is that of Java's `UtilAll.jstack`: each line begins with the thread's name, padded to 40 characters; the
first says id and state, one line for each frame follows, and an empty line ends a thread. Frames are Python's. What the
innermost one calls follows it after a `#`, as far as the source is at hand: calls into C have no frame of their own,
and without it a thread that sleeps and one that waits for a lock look like one that computes.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import threading
from itertools import islice
from types import CodeType, FrameType

_WIDTH = 40
_WAITING = {"acquire", "wait", "get", "select", "poll", "recv", "recv_into", "accept", "sleep", "join", "read"}
_WAITING_FILES = ("threading.py", "queue.py", "selectors.py", "socket.py")
_LONGEST_CALL = 80
_ENTERED = re.compile(r"\s*(?:async )?with (.+?)(?: as .*)?:\s*(?:#.*)?$")


def thread_dump() -> str:
    """Returns all threads of this process."""
    frames = sys._current_frames()
    parts: list[str] = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is None:
            continue
        prefix = thread.name.ljust(_WIDTH)
        called = _called(frame.f_code, frame.f_lasti)
        lines = [f"{prefix}TID: {thread.native_id or thread.ident} STATE: {_state(frame, called)}"]
        lines += [f"{prefix}{line}" for line in _stack(frame, called)]
        parts.append("\n".join(lines) + "\n\n")
    return "".join(parts)


def _state(frame: FrameType, called: str) -> str:
    code = frame.f_code
    waits = code.co_filename.endswith(_WAITING_FILES) and code.co_name in _WAITING
    last = called.removesuffix("()").rpartition(".")[2]
    return "WAITING" if waits or last in _WAITING or called.startswith("with ") else "RUNNABLE"


def _stack(frame: FrameType | None, called: str) -> list[str]:
    lines: list[str] = []
    while frame is not None:
        code = frame.f_code
        module = frame.f_globals.get("__name__", "?")
        name = code.co_filename.rsplit("/", 1)[-1]
        call = f" # {called}" if called and not lines else ""
        lines.append(f"{module}.{code.co_qualname}({name}:{frame.f_lineno}){call}")
        frame = frame.f_back
    return lines


def _called(code: CodeType, instruction: int) -> str:
    """Returns what a frame is calling, without its arguments: they may be secret. Empty when it is not calling."""
    line, end_line, begin, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if line is None or begin is None or end is None:
        return ""
    source = linecache.getline(code.co_filename, line)
    entered = _ENTERED.match(source)
    if line == end_line:
        called = _without_values(source.encode()[begin:end].decode(errors="replace"))
        if called.endswith(")"):
            return called
    return f"with {_without_values(entered[1])}" if entered else ""


def _without_values(expression: str) -> str:
    try:
        bare = _WithoutValues().visit(ast.parse(expression.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError):
        return ""
    return ast.unparse(bare)[:_LONGEST_CALL]


class _WithoutValues(ast.NodeTransformer):
    """Takes arguments and literals out of an expression."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        return ast.Call(func=self.visit(node.func), args=[], keywords=[])

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Name(id="_", ctx=ast.Load())
