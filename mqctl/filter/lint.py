"""What a strict reader would say about an SQL92 expression that brokers accept in silence."""

from __future__ import annotations

from mqctl.filter.sql import SqlFilter
from mqctl.filter.sql_nodes import (
    And,
    BooleanNode,
    Cast,
    Constant,
    Equal,
    In,
    IsNull,
    Negative,
    Node,
    Not,
    Or,
    Order,
    Property,
    TextMatch,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence


@dataclass(frozen=True, slots=True)
class LintRemark:
    """One remark; grave ones mean that the expression does something else than it looks like."""

    text: str
    grave: bool


def lint(compiled: SqlFilter) -> list[LintRemark]:
    """Returns remarks about a compiled expression, the grave ones first."""
    remarks = []
    if compiled.ignored:
        remarks.append(
            LintRemark(
                sentence(
                    "filter-brokers-ignore-everything",
                    "brokers ignore everything from {ignored!r} on",
                    ignored=compiled.ignored,
                ),
                grave=True,
            )
        )
    for node in _walk(compiled.root):
        remarks += _about(node)
    unique = dict.fromkeys(remarks)
    return sorted(unique, key=lambda remark: not remark.grave)


def _walk(node: Node) -> list[Node]:
    nodes = [node]
    match node:
        case And(terms) | Or(terms):
            children = list(terms)
        case Not(of) | Cast(of) | IsNull(of) | Negative(of) | In(of, _) | TextMatch(of, _, _, _):
            children = [of]
        case Equal(left, right) | Order(left, _, right):
            children = [left, right]
        case _:
            children = []
    for child in children:
        nodes += _walk(child)
    return nodes


def _about(node: Node) -> list[LintRemark]:
    text, grave = "", True
    match node:
        case Equal(BooleanNode() as left, Constant(value)) if isinstance(left, Not) and not isinstance(value, bool):
            text = sentence("filter-lint-not-binds", "NOT binds tighter than =: write NOT (a = b)")
        case Cast(Property(name)):
            text = sentence(
                "filter-lint-alone-never-true", "{name} alone is never true: properties are texts", name=name
            )
        case Negative(Property(name)):
            text = sentence("filter-lint-always-unknown", "-{name} is always unknown: properties are texts", name=name)
        case Equal(Constant(bool()), Property(name)):
            text = sentence(
                "filter-lint-constant-left",
                "write {name} = TRUE: with the constant on the left brokers throw",
                name=name,
            )
        case Equal(_, Property(name)) | Order(_, _, Property(name)):
            text = sentence(
                "filter-lint-taken-property",
                "{name} is taken for a property: write '{name}' in quotes for the text",
                name=name,
            )
        case Equal(Property(name), Constant(bool())):
            text, grave = (
                sentence("filter-lint-false-matches", "{name} = FALSE matches every text but `true`", name=name),
                False,
            )
        case Equal(Property(name), Constant(value)) | Order(Property(name), _, Constant(value)):
            if isinstance(value, int):
                text, grave = (
                    sentence(
                        "filter-lint-no-whole-number",
                        "messages whose {name} is not a whole number are not delivered",
                        name=name,
                    ),
                    False,
                )
    return [LintRemark(text, grave=grave)] if text else []
