"""`mqctl explain`: what a rule, an exit code, a cause or a term of Kafka means."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.commands.explain.rows import COLUMNS, Explained, Explanations, of_cause, of_code, of_rule, of_term
from mqctl.commands.explain.view import page
from mqctl.errors import ExitCode, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Cause
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.render.kafka_terms import KAFKA_TERMS
from mqctl.text import sentence

EXAMPLES = ("mqctl explain", "mqctl explain MQ203", "mqctl explain 75", "mqctl explain rebalance --lang zh")


def command(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[WORD]",
            help="Code of a rule, exit code, cause of a gap, or a word of Kafka, settings included; all but rules "
            "without it.",
        ),
    ] = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Explain a word: the code of a rule, an exit code, a cause, or what RocketMQ calls a concept of Kafka.

    A word with several meanings is explained in each of them.
    """
    rows = _all_but_rules() if word is None else _meant(word)
    blocks = [Table(COLUMNS, rows)] if word is None else [Paragraphs(page(row)) for row in rows]
    emit(Document(schema="explain/1", value=Explanations(explanations=rows), records=rows, blocks=blocks), output)


def _all_but_rules() -> list[Explained]:
    return [*map(of_code, ExitCode), *map(of_cause, Cause), *map(of_term, KAFKA_TERMS)]


def _meant(word: str) -> list[Explained]:
    sought = word.strip().lower()
    if sought.startswith("mq") and sought[2:].isdecimal():
        from mqctl.rules import RULES

        if (rule := RULES.get(sought.upper())) is None:
            raise NotFoundError(
                sentence("rules-no-rule", "no rule {code}", code=word), remedy=command_line("mqctl rules list")
            )
        return [of_rule(rule)]
    known = _all_but_rules()
    for form in (sought, sought.replace("-", " "), sought.removesuffix("s")):
        if rows := [row for row in known if form in (row.word, *row.also)]:
            return rows
    near = get_close_matches(sought, [name for row in known for name in (row.word, *row.also)], n=3)
    raise NotFoundError(
        sentence("explain-no-word", "no word like {word} is explained here", word=word),
        reason=sentence("explain-near", "near to it: {near}", near=near)
        if near
        else sentence("explain-none-listed", "it is none of those listed"),
        remedy=sentence("explain-lists-all", "`mqctl explain` lists all words, and `mqctl rules list` all rules"),
    )
