"""What an option that a command does not have was probably meant to be: by meaning first, then by letters."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from mqctl.cli.options.bare_name import BARE_NAME

if TYPE_CHECKING:
    from typer.core import TyperCommand

_ALIKE = 0.8  # of difflib: a letter too many, too few or wrong in a word of five
_MEANINGS = tuple(
    frozenset(words.split())
    for words in (
        "group groupname consumer consumergroup cg g",
        "topic topics topicname t",
        "broker brokers brokername brokeraddr b",
        "cluster clustername c",
        "namesrv namesrvaddr nameserver bootstrap bootstrapserver server address n",
        "client clients clientid member members instance instances consumerid",
        "key keys messagekey msgkey k",
        "uniquekey uniqueid msgid messageid id",
        "queue queueid partition q",
        "queues queuecount partitions writequeues readqueues q",
        "tag tags filter expression subexpression selector",
        "body value payload message",
        "limit count max maxmessages lines rows head top num number",
        "since from begin start after fromtime totime time timestamp",
        "until to end before",
        "tonow tolatest tomax toend",
        "tobegin tobeginning tomin toearliest",
        "todate todatetime totimestamp totime",
        "execute apply yes force commit run",
        "output format json yaml csv wide",
        "every interval refresh period",
        "timeout deadline wait",
        "watch follow loop",
        "lag maxlag minlag timelag laglag timems until",
        "store dir directory path datadir",
        "file filename input fromfile",
        "save export write",
        "all system",
        "except exclude excluding without ignore not",
        "lang language locale",
        "threads stacks jstack dump",
        "redact anonymize anonymise anon mask scrub sanitize",
    )
)


def suggested(command: TyperCommand, typed: str) -> list[str]:
    """Returns the options, or the argument in capitals, that `typed` may have meant: none rather than a wrong one."""
    wanted = _plain(typed)
    kin = {word for words in _MEANINGS if wanted in words for word in words}
    options: list[str] = []
    known: list[str] = []
    for parameter in command.params:
        if parameter.name == BARE_NAME or getattr(parameter, "hidden", False):
            continue
        long = max((*parameter.opts, *parameter.secondary_opts), key=len)
        if parameter.param_type_name == "argument":
            long = f"{long.upper()} without an option"
        else:
            known += [word for word in (*parameter.opts, *parameter.secondary_opts) if word.startswith("--")]
        if any(_plain(word) in kin for word in parameter.opts):
            options.append(long)
    if "--to-time" in options and "--by-duration" in known:
        options.insert(0, "--by-duration")
    return options or get_close_matches(typed, known, cutoff=_ALIKE)


def _plain(word: str) -> str:
    return word.lstrip("-").replace("-", "").replace("_", "").lower()
