"""Kafka's terms beside RocketMQ's: what both call a thing, and how they differ."""

from __future__ import annotations

import importlib

from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One of Kafka's terms.

    Attributes:
        name: Kafka's word, in lower case unless it is a setting.
        rocketmq: what it is called in RocketMQ.
        text: what is the same and what differs.
        command: the command that shows it.
        also: other words of Kafka that are explained by it.
    """

    name: str
    rocketmq: str
    text: str
    command: str
    also: tuple[str, ...] = ()


def kafka_terms(lang: Lang | None) -> tuple[Term, ...]:
    """Returns all terms in a language, in the order in which they build on each other."""
    terms: tuple[Term, ...] = importlib.import_module(f"mqctl.render.messages.{lang or Lang.EN}.kafka").TERMS
    return terms
