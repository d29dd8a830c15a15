"""SQL92 expressions as brokers compile them, oddities included.

Worth knowing: what follows a complete expression is ignored (`a LIKE 'x%'` is just `a`), NOT binds tighter than `=`,
and an integer on the right makes Java parse the property as one. Source: `SelectorParser` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

from mqctl.filter.sql_nodes import (
    And,
    BooleanNode,
    Cast,
    Constant,
    Equal,
    EvaluationError,
    In,
    IsNull,
    Long,
    Negative,
    Node,
    Not,
    Or,
    Order,
    Properties,
    Property,
    TextMatch,
    Value,
    Whole,
)
from mqctl.filter.sql_tokens import FIVE_KEYWORDS, KEYWORDS, SqlSyntaxError, TokenKind, Tokens
from mqctl.model.numbers import decimal
from mqctl.text import sentence

__all__ = ["EvaluationError", "SqlFilter", "SqlSyntaxError", "compile_sql"]

_INT_LIMIT, _LONG_LIMIT = 1 << 31, 1 << 63
_SMALLEST_DOUBLE = 4.9e-324
# Nothing that people write comes near; without it, hostile expressions would exhaust the stack.
_DEPTH_LIMIT = 80
_LINK_LIMIT = 200


class SqlFilter:
    """A compiled expression.

    Attributes:
        expression: as given.
        root: what was compiled.
        ignored: what follows the complete expression, without blanks at its ends; brokers accept and ignore it.
    """

    __slots__ = ("expression", "ignored", "root")

    def __init__(self, expression: str, root: Node, ignored: str) -> None:
        self.expression = expression
        self.ignored = ignored
        self.root = root

    def evaluate(self, properties: Properties) -> bool | None:
        """Returns true, false, or None for unknown.

        Raises:
            EvaluationError: the broker would throw and not deliver the message.
        """
        result = self.root.value(properties)
        return result if isinstance(result, bool) else None

    def matches(self, properties: Properties) -> bool:
        """Tells whether a broker delivers a message with these properties."""
        try:
            return self.evaluate(properties) is True
        except EvaluationError:
            return False


def compile_sql(expression: str, *, is_v5: bool = True) -> SqlFilter:
    """Compiles an expression.

    Args:
        is_v5: know CONTAINS, STARTSWITH and ENDSWITH, as brokers from 5.1.3 on do.

    Raises:
        SqlSyntaxError: a broker would refuse it.
    """
    parser = _Parser(Tokens(expression, FIVE_KEYWORDS if is_v5 else KEYWORDS))
    root = parser.whole()
    return SqlFilter(expression, root, expression[parser.tokens.ahead.start :].strip())


class _Parser:
    """Recursive descent over the grammar of RocketMQ's `SelectorParser.jj`."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._depth = self._links = 0

    def whole(self) -> Node:
        return self._boolean(self._or())

    def _boolean(self, node: Node) -> Node:
        if node.boolean:
            return node
        if isinstance(node, Property):
            return Cast(node)
        raise self.tokens.error(
            sentence("sql-neither-true-nor-false", "this is neither true nor false, before what comes")
        )

    def _or(self) -> Node:
        terms = [self._and()]
        while self.tokens.take_if("OR"):
            terms[-1] = self._boolean(terms[-1])
            terms.append(self._boolean(self._and()))
        return Or(tuple(terms)) if len(terms) > 1 else terms[0]

    def _and(self) -> Node:
        links = self._links
        terms = [self._equality()]
        while self.tokens.take_if("AND"):
            self._links = links
            terms[-1] = self._boolean(terms[-1])
            terms.append(self._boolean(self._equality()))
        self._links = links
        return And(tuple(terms)) if len(terms) > 1 else terms[0]

    def _equality(self) -> Node:
        left = self._comparison()
        while token := self.tokens.take_if("=", "<>", "IS"):
            if token.text == "IS":
                negated = self.tokens.take_if("NOT") is not None
                self.tokens.expect("NULL")
                self._chain()
                left = Not(IsNull(left)) if negated else IsNull(left)
                continue
            right = self._comparison()
            equal = self._equal(left, right)
            self._chain()
            left = equal if token.text == "=" else Not(equal)
        return left

    def _chain(self) -> None:
        """Counts links such as those of `a = b = c`, which nest as deeply as parentheses."""
        self._links += 1
        if self._links > _LINK_LIMIT:
            raise self.tokens.error(sentence("sql-chain-too-long", "too long a chain of comparisons"))

    def _equal(self, left: Node, right: Node) -> BooleanNode:
        for side in (left, right):
            if isinstance(side, Constant) and side.constant is None:
                raise self.tokens.error(sentence("sql-null-not-compared", "NULL cannot be compared, write IS NULL,"))
        constants = isinstance(left, Constant) and isinstance(right, Constant)
        if constants and left.boolean and not right.boolean:
            raise self.tokens.error(
                sentence("sql-truth-not-compared", "a truth value cannot be compared with something else")
            )
        return Equal(left, right)

    def _comparison(self) -> Node:
        left = self._unary()
        while True:
            if token := self.tokens.take_if(">", ">=", "<", "<="):
                left = self._order(left, token.text, self._unary())
                continue
            negation = self.tokens.take_if("NOT")
            if not (token := self.tokens.take_if("BETWEEN", "IN", "CONTAINS", "STARTSWITH", "ENDSWITH")):
                if negation:
                    raise self.tokens.error(sentence("sql-expected-between", "expected BETWEEN, IN or the like"))
                return left
            left = self._special(left, token.text, negated=negation is not None)
            self._chain()

    def _special(self, left: Node, operator: str, *, negated: bool) -> Node:
        if operator == "BETWEEN":
            return self._between(left, negated=negated)
        if operator == "IN":
            node = In(self._property(left), self._texts())
            return Not(node) if negated else node
        return TextMatch(left, operator, self._text(), negated=negated)

    def _order(self, left: Node, operator: str, right: Node) -> BooleanNode:
        for side in (left, right):
            number = not isinstance(side, Constant) or isinstance(side.constant, int | float)
            if side.boolean or not number:
                raise self.tokens.error(sentence("sql-only-numbers-order", "only numbers have an order"))
        return Order(left, operator, right)

    def _between(self, left: Node, *, negated: bool) -> BooleanNode:
        low = self._unary()
        self.tokens.expect("AND")
        high = self._unary()
        if negated:
            return Or((self._order(left, "<", low), self._order(left, ">", high)))
        both = And((self._order(left, ">=", low), self._order(left, "<=", high)))
        if isinstance(low, Constant) and isinstance(high, Constant) and _number(low) > _number(high):
            raise self.tokens.error(sentence("sql-between-bounds", "the lower bound of BETWEEN is above the upper one"))
        return both

    def _property(self, node: Node) -> Property:
        if isinstance(node, Property):
            return node
        raise self.tokens.error(sentence("sql-only-name-in", "only a name can be IN a list"))

    def _texts(self) -> tuple[str, ...]:
        self.tokens.expect("(")
        texts = [self._text()]
        while self.tokens.take_if(","):
            texts.append(self._text())
        self.tokens.expect(")")
        return tuple(texts)

    def _text(self) -> str:
        if self.tokens.ahead.kind is not TokenKind.STRING:
            raise self.tokens.error(sentence("sql-expected-text", "expected a text in single quotes"))
        return self.tokens.take().text

    def _unary(self) -> Node:
        self._depth += 1
        if self._depth > _DEPTH_LIMIT:
            raise self.tokens.error(sentence("sql-nested-too-deeply", "nested too deeply"))
        try:
            if self.tokens.take_if("+"):
                return self._unary()
            if self.tokens.take_if("-"):
                return Negative(self._unary())
            if self.tokens.take_if("NOT"):
                return Not(self._boolean(self._unary()))
            return self._primary()
        finally:
            self._depth -= 1

    def _primary(self) -> Node:
        token = self.tokens.ahead
        if self.tokens.take_if("("):
            inner = self._or()
            self.tokens.expect(")")
            return inner
        if token.kind is TokenKind.WORD:
            return Property(self.tokens.take().text)
        return Constant(self._literal())

    def _literal(self) -> Value:
        token = self.tokens.ahead
        if self.tokens.take_if("TRUE", "FALSE", "NULL"):
            return {"TRUE": True, "FALSE": False}.get(token.text)
        match token.kind:
            case TokenKind.INTEGER:
                return self._whole(token.text, token.start)
            case TokenKind.FLOAT:
                return self._float(token.text, token.start)
            case TokenKind.STRING:
                return self.tokens.take().text
        raise self.tokens.error(sentence("sql-expected-name", "expected a name or a value"))

    def _whole(self, text: str, start: int) -> Whole | Long:
        number = decimal(text.rstrip("lL"), high=_LONG_LIMIT - 1)
        if number is None:
            raise self.tokens.error(sentence("sql-number-too-large", "the number is too large"), start)
        self.tokens.take()
        return Whole(number) if number < _INT_LIMIT else Long(number)

    def _float(self, text: str, start: int) -> float:
        number = float(text)
        if number < _SMALLEST_DOUBLE or number == float("inf"):
            raise self.tokens.error(
                sentence("sql-number-out-range", "the number is out of range (write 0, not 0.0)"), start
            )
        self.tokens.take()
        return number


def _number(node: Constant) -> float:
    return float(node.constant) if isinstance(node.constant, int | float) else 0.0
