"""Reads the stacks in a consumer's running information (request 307; Java's `UtilAll.jstack`, and our own client's).

Every line begins with the thread's name, padded to 40 characters; longer names are followed by the rest at once.
"""

from __future__ import annotations

import re

from mqctl.model.dump import DumpTool, StackFrame, StackThread, ThreadState
from mqctl.model.numbers import decimal
from mqctl.stacks.collecting import Collector, FrameTable
from mqctl.stacks.frame_text import java_frame
from mqctl.text import sentence

_HEADER = re.compile(r"(?P<name>.*?)(?P<pad>\s*)TID: (?P<id>\d{1,18}) STATE: (?P<state>.*?)\s*$")
_STATES = {state.value: state for state in ThreadState}


class RemoteReader:
    """Takes the lines of remote dumps."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._frames = FrameTable(java_frame, collector.limits)
        self._most_lines = collector.limits.thread_frame_count
        self._stacks: dict[tuple[str, ...], tuple[StackFrame, ...]] = {}
        self._header: re.Match[str] | None = None
        self._prefix = ""
        self._name = ""
        self._lines: list[str] = []

    def begins(self, line: str) -> bool:
        """Tells whether a thread begins with this line."""
        return "TID: " in line and _HEADER.match(line) is not None

    def takes(self, line: str) -> bool:
        """Takes a line; False when it is nothing of a remote dump."""
        header = self._header
        if header is not None:
            if line.startswith(self._prefix):
                text = line[len(self._prefix) :]
                if not text.startswith("TID: "):
                    if len(self._lines) <= self._most_lines:
                        self._lines.append(text)
                    return True
            elif not line.strip():
                self.end_thread()
                return True
            elif self._name and line.startswith(self._name) and "TID: " not in line:
                if len(self._lines) <= self._most_lines:
                    self._lines.append(line[len(self._name) :].strip())
                return True
        if "TID: " in line and (match := _HEADER.match(line)) is not None:
            self.end_thread()
            self._header = match
            self._prefix, self._name = match["name"] + match["pad"], match["name"]
            return True
        return False

    def end_text(self) -> None:
        """Hands on what is open: the text ends here, perhaps in the middle of it."""
        self.end_thread(at_end=True)

    def end_thread(self, *, at_end: bool = False) -> None:
        """Hands the open thread on."""
        header, lines = self._header, self._lines
        if header is None:
            return
        limit = self._most_lines
        deep = len(lines) > limit
        if deep:
            self._collector.note(
                sentence(
                    "stacks-innermost-calls-thread-read",
                    "only the innermost {limit} calls of a thread were read",
                    limit=limit,
                )
            )
            del lines[limit:]
        word = header["state"].partition(" ")[0]
        thread = StackThread(
            name=header["name"],
            id=decimal(header["id"]),
            state=_STATES.get(word, ThreadState.UNKNOWN),
            state_text=header["state"],
            frames=self._stack(lines),
            truncated=deep or (at_end and (not lines or ")" not in lines[-1])),
        )
        self._header, self._lines = None, []
        self._collector.add(DumpTool.REMOTE, thread)
        if self._frames.full:
            self._collector.full = True
            self._collector.cut(
                sentence("stacks-too-many-different-calls", "too many different calls: the rest was not read")
            )

    def _stack(self, lines: list[str]) -> tuple[StackFrame, ...]:
        key = tuple(lines)
        known = self._stacks.get(key)
        if known is None:
            frames = [self._frames.get(line) for line in lines]
            if None in frames:
                self._collector.note(sentence("stacks-call-could-not-read", "a call could not be read"))
            known = tuple(frame for frame in frames if frame is not None)
            if len(self._stacks) < 10_000:
                self._stacks[key] = known
        return known
