"""A command line of mqadmin in mqctl's words: `consumerProgress -g G` is `mqctl group lag -g G`."""

from __future__ import annotations

import shlex
from itertools import pairwise

from mqctl.cli.catalog_mqadmin import TABLE, SubCommand
from mqctl.model.command_line import shell_words
from mqctl.model.lazy_dataclass import dataclass

_LONG = {
    "namesrvAddr": "n",
    "groupName": "g",
    "consumerGroup": "g",
    "topic": "t",
    "brokerName": "b",
    "brokerAddr": "b",
    "msgId": "i",
    "msgKey": "k",
    "timestamp": "s",
}
_EVERYWHERE = {"n": "-n", "g": "-g", "t": "-t"}
_OF_EACH = {
    "addWritePerm": {"b": "BROKER"},
    "brokerStatus": {"b": "BROKER"},
    "checkMsgSendRT": {"a": "--count", "s": "--size"},
    "cloneGroupOffset": {"s": "--from", "d": "-g"},
    "consumeMessage": {"b": "--broker"},
    "consumerStatus": {"i": "CLIENT-ID"},
    "getBrokerConfig": {"b": "BROKER"},
    "printMsgByQueue": {"a": "--broker", "i": "--queue"},
    "queryCq": {"b": "--broker", "q": "-q"},
    "queryMsgById": {"i": "ID"},
    "queryMsgByKey": {"k": "--key"},
    "queryMsgByOffset": {"b": "--broker", "i": "--queue", "o": "--offset"},
    "queryMsgByUniqueKey": {"i": "ID"},
    "queryMsgTraceById": {"i": "ID", "t": "--trace-topic"},
    "resetOffsetByTime": {"s": "--to-time"},
    "sendMessage": {"p": "--body", "k": "--key", "c": "--tag", "b": "--broker"},
    "sendMsgStatus": {"b": "--broker"},
    "updateTopic": {"b": "--broker", "r": "--read-queues", "w": "--write-queues", "p": "--perm"},
    "updateTopicPerm": {"b": "--broker", "p": "--perm"},
    "wipeWritePerm": {"b": "BROKER"},
}
_PERMS = {"2": "W", "4": "R", "6": "RW"}


@dataclass(frozen=True, slots=True)
class Translated:
    """A command line of mqadmin as mqctl says it.

    Attributes:
        command: the whole line to type, empty where mqctl does not offer it; a word in capitals has to be filled in.
        left_out: words that have no counterpart.
    """

    entry: SubCommand
    command: str
    left_out: tuple[str, ...]


def translated(name: str, words: list[str]) -> Translated | None:
    """Returns a command line in mqctl's words, None where mqadmin has no such sub-command (it takes any case)."""
    entry = next((one for one in TABLE if one.name.lower() == name.lower()), None)
    if entry is None:
        return None
    meaning = {**_EVERYWHERE, **_OF_EACH.get(entry.name, {})}
    given, left_out = _given(words, meaning)
    if not entry.ours:
        return Translated(entry, "", ())
    line = max(entry.ours, key=lambda one: (not _open(one, given), sum(word in given for word in one.split())))
    return Translated(entry, shell_words(["mqctl", *_filled(line, given)]), tuple(left_out))


def _given(words: list[str], meaning: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the values by our option or placeholder, and the words that mean nothing here."""
    values: dict[str, str] = {}
    left_out: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        letter, _, value = word.lstrip("-").partition("=")
        letter = _LONG.get(letter, letter)
        followed = bool(rest) and not (rest[0].startswith("-") and not rest[0][1:2].isdigit())
        ours = meaning.get(letter, "") if word.startswith("-") else ""
        if not ours or not (value or followed):
            left_out += [word, rest.pop(0)] if followed and word.startswith("-") else [word]
            continue
        values[ours] = _value(ours, value or rest.pop(0))
    return values, left_out


def _value(ours: str, text: str) -> str:
    if ours == "--perm":
        return _PERMS.get(text, text)
    if ours == "--to-time" and "#" in text:  # yyyy-MM-dd#HH:mm:ss:SSS
        day, _, clock = text.partition("#")
        hours, _, millis = clock.rpartition(":")
        return f"{day} {hours}.{millis}"
    return text


def _open(line: str, given: dict[str, str]) -> bool:
    """Tells whether a placeholder of `line` stays without a value."""
    pairs = pairwise(["", *line.split()])
    return any(word.isupper() and word not in given and before not in given for before, word in pairs)


def _filled(line: str, given: dict[str, str]) -> list[str]:
    words: list[str] = []
    used: set[str] = set()
    for word in shlex.split(line):
        key = words[-1] if words and words[-1] in given else word
        if word.isupper() and key in given:
            words.append(given[key])
            used.add(key)
        else:
            words.append(word)
    for key, value in given.items():
        if key not in used and key.startswith("-"):
            words += [key, value]
    return words
