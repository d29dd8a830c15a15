"""Tag expressions: `a || b`, as clients parse them and brokers and clients filter by them.

Source: `FilterAPI.buildSubscriptionData` and `DefaultMessageFilter` of 4.9.8.
"""

from __future__ import annotations

from mqctl.errors import UsageError
from mqctl.model.java_hash import java_string_hash
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

SEPARATOR = "||"
ALL = "*"


class TagExpressionError(UsageError):
    """A tag expression that clients refuse."""


@dataclass(frozen=True, slots=True)
class TagFilter:
    """A parsed tag expression.

    Attributes:
        expression: `*` for everything, else as given.
        tags: in the order given, without repetitions.
        codes: their Java hashes, by which brokers filter.
    """

    expression: str
    tags: tuple[str, ...] = ()
    codes: frozenset[int] = frozenset()

    @property
    def everything(self) -> bool:
        return self.expression == ALL

    @property
    def normal_form(self) -> str:
        """The same text for equal filters: `a||b` and `b || a` give `a || b`."""
        return ALL if self.everything else f" {SEPARATOR} ".join(sorted(self.tags))

    def passes_code(self, tags_code: int) -> bool:
        """Tells whether the broker lets an entry of a consume queue through; other tags with the same hash pass too."""
        return self.everything or _int32(tags_code) in self.codes

    def passes_tag(self, tag: str | None) -> bool:
        """Tells whether the client keeps a message: its whole TAGS property must be one of the tags."""
        return not self.tags or (tag is not None and tag in self.tags)

    def wants(self, tag: str | None) -> bool:
        """Tells whether a message with this TAGS property gets past broker and client."""
        return self.passes_code(tag_code(tag)) and self.passes_tag(tag)


def tag_code(tag: str | None) -> int:
    """Returns the code that consume queues hold for a message's TAGS property; 0 without one."""
    return java_string_hash(tag) if tag else 0


def parse_tags(expression: str | None) -> TagFilter:
    """Parses a tag expression; None, an empty text and `*` mean everything.

    Raises:
        TagExpressionError: nothing but separators.
    """
    if not expression or expression == ALL:
        return TagFilter(ALL)
    parts = expression.split(SEPARATOR)
    while parts and not parts[-1]:
        parts.pop()
    if not parts:
        raise TagExpressionError(
            sentence("cannot-subscribe-by", "cannot subscribe by {expression!r}", expression=expression),
            reason=sentence("expression-names-no-tag", "it names no tag"),
            remedy=sentence("tag-expression-example", "write for instance 'a || b', or '*'"),
        )
    tags = tuple(dict.fromkeys(tag for part in parts if (tag := part.strip(_JAVA_TRIM))))
    return TagFilter(expression, tags, frozenset(map(java_string_hash, tags)))


# Java's trim removes every character up to the blank.
_JAVA_TRIM = "".join(map(chr, range(0x21)))


def _int32(code: int) -> int:
    low = code & 0xFFFFFFFF
    return low - 0x100000000 if low & 0x80000000 else low
