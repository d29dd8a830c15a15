"""Tokens of SQL92 expressions. They are read one by one as the parser asks: what follows a complete expression is never
looked at beyond one token, and RocketMQ accepts it.

Source: `SelectorParser` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

import re
from enum import Enum

from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.remark import LONGEST_REMARK, quoted
from mqctl.text import sentence

KEYWORDS = frozenset({"NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "FALSE", "NULL", "IS"})
FIVE_KEYWORDS = KEYWORDS | {"CONTAINS", "STARTSWITH", "ENDSWITH"}


class SqlSyntaxError(UsageError):
    """An SQL92 expression that a broker refuses (code 23).

    Attributes:
        position: index of the character where it went wrong.
    """

    def __init__(self, problem: str, *, reason: str = "", remedy: str = "", position: int = 0) -> None:
        super().__init__(problem, reason=reason, remedy=remedy)
        self.position = position


class TokenKind(Enum):
    """What a token is. Keywords and operators carry their own text."""

    WORD = "name"
    KEYWORD = "keyword"
    INTEGER = "integer"
    FLOAT = "number"
    STRING = "text"
    OPERATOR = "operator"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `text` is upper case for keywords, unquoted for texts."""

    kind: TokenKind
    text: str
    start: int
    end: int


_SKIPPED = re.compile(r"(?:[ \t\n\r\f]+|--[^\n\r]*[\n\r]|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<float>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<integer>(?:0|[1-9][0-9]*)[lL]?)
    |(?P<string>'(?:''|[^'])*')
    |(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    |(?P<operator><>|>=|<=|[=><(),+-])""",
    re.VERBOSE,
)

_KINDS = {
    "float": TokenKind.FLOAT,
    "integer": TokenKind.INTEGER,
    "string": TokenKind.STRING,
    "operator": TokenKind.OPERATOR,
    "word": TokenKind.WORD,
}


class Tokens:
    """A stream of tokens with one token of look-ahead.

    Args:
        keywords: words that are no names, upper case.
    """

    def __init__(self, text: str, keywords: frozenset[str]) -> None:
        self.text = text
        self._keywords = keywords
        self.ahead = self._read(0)

    def take(self) -> Token:
        """Returns the token ahead and reads the next one."""
        taken = self.ahead
        if taken.kind is not TokenKind.END:
            self.ahead = self._read(taken.end)
        return taken

    def take_if(self, *texts: str) -> Token | None:
        """Returns the token ahead if it is one of these keywords or operators, and reads the next one."""
        if self.ahead.kind in (TokenKind.KEYWORD, TokenKind.OPERATOR) and self.ahead.text in texts:
            return self.take()
        return None

    def expect(self, text: str) -> Token:
        """Takes one keyword or operator. Raises SqlSyntaxError when another token is ahead."""
        token = self.take_if(text)
        if token is None:
            raise self.error(sentence("sql-expected-token", "expected {text}", text=text))
        return token

    def error(self, reason: str, position: int | None = None) -> SqlSyntaxError:
        """Makes the error for the token ahead, or for another place."""
        at = self.ahead.start if position is None else position
        seen = (
            sentence("sql-found-text", ", found {found!r}", found=self.text[at : at + 20])
            if at < len(self.text)
            else sentence("sql-found-end", ", found the end")
        )
        shown = repr(self.text) if len(self.text) <= LONGEST_REMARK else quoted(self.text)
        return SqlSyntaxError(
            sentence("filter-cannot-read-sql-expression", "cannot read the SQL92 expression {shown}", shown=shown),
            reason=sentence(
                "sql-wrong-at-character", "{reason} at character {at}{seen}", reason=reason, at=at + 1, seen=seen
            ),
            remedy=sentence(
                "sql-operators-known",
                "compare names with = <> > >= < <=, BETWEEN, IN ('a', 'b'), IS NULL; join with AND, OR, NOT (...)",
            ),
            position=at,
        )

    def _read(self, position: int) -> Token:
        skipped = _SKIPPED.match(self.text, position)
        start = skipped.end() if skipped else position
        if start >= len(self.text):
            return Token(TokenKind.END, "", start, start)
        match = _TOKEN.match(self.text, start)
        if match is None:
            self.ahead = Token(TokenKind.END, "", start, start)
            raise self.error(sentence("sql-no-such-sign", "there is no such sign"), start)
        text, kind = match[0], _KINDS[match.lastgroup or ""]
        if kind is TokenKind.STRING:
            text = text[1:-1].replace("''", "'")
        elif kind is TokenKind.WORD and text.upper() in self._keywords:
            kind, text = TokenKind.KEYWORD, text.upper()
        return Token(kind, text, start, match.end())
