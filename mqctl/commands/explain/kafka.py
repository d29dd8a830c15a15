"""`mqctl explain kafka`: Kafka's terms in RocketMQ's."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.render.kafka_terms import KAFKA_TERMS, Term
from mqctl.text import composed, keep_texts, sentence

EXAMPLES = ("mqctl explain kafka", "mqctl explain kafka rebalance", "mqctl explain kafka partition --lang zh")

COLUMNS = (
    Column("kafka", "Kafka"),
    Column("rocketmq", "RocketMQ"),
    Column("command", "look at it with"),
    Column("text", "what", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTerm:
    """One of Kafka's terms; `also` are other words of Kafka that it explains."""

    kafka: str
    also: list[str]
    rocketmq: str
    text: str
    command: str
    command_argv: list[str]
    rocketmq_key: str | None = None
    rocketmq_values: dict[str, Any] | None = None
    text_key: str | None = None
    text_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "rocketmq", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTerms:
    """Machine form of `explain kafka`."""

    terms: list[KafkaTerm]


def command(
    term: Annotated[
        str | None, typer.Argument(metavar="[TERM]", help="One of Kafka's words, settings included; all without it.")
    ] = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Explain a term of Kafka: what it is in RocketMQ, what differs, and which command shows it."""
    rows = [_row(item) for item in ([_named(term)] if term is not None else KAFKA_TERMS)]
    blocks = [Table(COLUMNS, rows)] if term is None else [Paragraphs(_page(row)) for row in rows]
    emit(Document(schema="explain.kafka/1", value=KafkaTerms(terms=rows), records=rows, blocks=blocks), output)


def _named(word: str) -> Term:
    by_word = {name: item for item in KAFKA_TERMS for name in (item.name, *item.also)}
    sought = word.strip().lower()
    for form in (sought, sought.replace("-", " "), sought.removesuffix("s")):
        if form in by_word:
            return by_word[form]
    near = get_close_matches(sought, by_word, n=3)
    raise NotFoundError(
        sentence("explain-no-kafka-term-like", "no Kafka term like {word} is explained here", word=word),
        reason=sentence("explain-near", "near to it: {near}", near=near)
        if near
        else sentence("none-words-page", "it is none of the words on that page"),
        remedy=sentence("explain-kafka-lists-all", "mqctl explain kafka lists all"),
    )


def _row(term: Term) -> KafkaTerm:
    line = command_line(term.command)
    return KafkaTerm(
        kafka=term.name,
        also=list(term.also),
        rocketmq=term.rocketmq,
        text=term.text,
        command=line,
        command_argv=list(line.words),
    )


def _page(row: KafkaTerm) -> list[str]:
    words = f"{row.kafka} ({', '.join(row.also)})" if row.also else row.kafka
    return [composed("{words}  →  {rocketmq}", words=words, rocketmq=row.rocketmq), "", row.text, "", row.command]
