"""Names without what differs from run to run, so that equal stacks look equal."""

from __future__ import annotations

import re
from functools import lru_cache

from mqctl.model.dump import StackFrame
from mqctl.stacks.frame_text import dotted

_NUMBERED = (
    (re.compile(r"\$\$Lambda(?:\$\d+)?(?:/0x[0-9a-f]+)?"), "$$Lambda"),
    (re.compile(r"\blambda\$([\w$]+?)\$\d+"), r"lambda$\1"),
    (re.compile(r"\$Proxy\d+"), "$Proxy"),
    (re.compile(r"\b(Generated\w*Accessor)\d+"), r"\1"),
    (re.compile(r"\$\$(EnhancerBy\w+|FastClassBy\w+|SpringCGLIB)\$\$[0-9a-f]+"), r"$$\1"),
    (re.compile(r"\$(?:ByteBuddy|HibernateProxy|auxiliary)\$\w+"), "$Made"),
    (re.compile(r"_\$\$_\w+"), "_$$_made"),
    (re.compile(r"\$MH(?:\.|/)?0x[0-9a-f]+"), "$MH"),
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"@[0-9a-f]{4,16}\b"), "@"),
)
_HINT = re.compile(r"\d")


@lru_cache(maxsize=65_536)
def normal_name(name: str) -> str:
    """Returns a dotted name without numbers that the runtime gave."""
    if _HINT.search(name) is None and "$$" not in name:
        return name
    for pattern, instead in _NUMBERED:
        name = pattern.sub(instead, name)
    return name


def shown_frame(frame: StackFrame) -> str:
    """Returns a call for people: normalised, with its last package, and where it stands."""
    name = normal_name(dotted(frame))
    if frame.native:
        return name
    file = frame.file.rsplit("/", 1)[-1] if frame.file else None
    if file is None:
        return name
    return f"{name}({file}:{frame.line})" if frame.line is not None else f"{name}({file})"
