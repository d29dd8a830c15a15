"""What a lying server makes of an answer: other numbers, texts, kinds, counts, lengths; no frame, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from mqctl.protocol.frame import RemotingCommand, encode
from tests.reliability.fuzz.mutation import edited

MARK = "LINEBREAKER"
"""What begins a line of an output only when a line break of a server got there as it was."""
_MOST_BYTES = 4 << 20
_MOST_EDITED = 500_000
_NUMBERS = (
    "0", "-1", "1", "65536", "65537", "2147483647", "2147483648", "-2147483648", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "1000000000000", "1" * 30, "9" * 5_000, "0.5", "-0.0", "1e309",
    "1E400", "253402300800000", "99999999999999999", "NaN", "Infinity", "00", "+1", " 1 ", "1_0", "0x10", "\u00b2",
    "\u0663", "",
)  # fmt: skip
_TEXTS = (
    f"x\n{MARK}", f"x\r\n{MARK} y", f"x\u2028{MARK}", f"x\x85{MARK}", f"\x1b[31mred\n{MARK}", "\x1b]0;title\x07",
    "\x00", "\u202egpj", "\ud800", "y" * 300, "z " * 40_000, "../../etc/passwd", "%RETRY%", "%DLQ%G",
    "%RETRY%%RETRY%G", "TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "RMQ_SYS_TRANS_HALF_TOPIC",
    "broker-a", "broker-b", "Pay", "G", "true", "null", "[]", "{}", "127.0.0.1:1", "127.0.0.1:99999", "[::1]:0",
    "host:", ":1", "a=b", "a^b", "||", "TAG A || B", "<script>alert(1)</script>", "=HYPERLINK(1)",
    "\u4e2d\u6587" * 40, "\x01", "\x02", "V4_9_8", "V99_99_99", "*", "",
)  # fmt: skip
_KINDS = (
    "null",
    "true",
    "{}",
    "[]",
    '""',
    "0",
    "[[]]",
    '{"a":{}}',
    "[null]",
    "[" * 600,
    '{"$ref":"$"}',
    '{"$ref":".."}',
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\btrue\b|\bfalse\b|\bnull\b|[{\[]')
_OPEN, _CLOSE = frozenset("{["), frozenset("}]")


def altered_text(random: Random, text: str) -> str:
    """Replaces some of the numbers, strings and kinds of a text that is JSON, or lines of settings; or how many."""
    for _ in range(1 + int(random.expovariate(1.0))):
        if len(text) > _MOST_EDITED:
            break
        tokens = list(_TOKEN.finditer(text))
        if not tokens:
            return random.choice(_TEXTS)
        token = random.choice(tokens)
        if token[0] in _OPEN and random.random() < 0.7:
            text = _counted(random, text, token.start())
        else:
            text = text[: token.start()] + _other(random, token[0]) + text[token.end() :]
    return text


def _other(random: Random, token: str) -> str:
    if random.random() < 0.15:
        return random.choice(_KINDS)
    if not token.startswith('"'):
        return random.choice(_NUMBERS) or "null"
    number = random.random() < (0.8 if token[1:-1].lstrip("-").isdigit() else 0.2)
    return json.dumps(random.choice(_NUMBERS if number else _TEXTS))


def _counted(random: Random, text: str, start: int) -> str:
    """Other counts of what an array or object holds: none, few, or as many as a server can send."""
    depth, end = 0, start
    for end in range(start, len(text)):
        depth += (text[end] in _OPEN) - (text[end] in _CLOSE)
        if depth == 0:
            break
    inner = text[start + 1 : end]
    if not inner or random.random() < 0.2:
        return text[: start + 1] + text[end:]
    most = max(1, _MOST_BYTES // (len(inner) + 8))
    times = min(most, random.choice((2, 3, 30, 300, 3_000, 3_000, 70_000)))
    if text[start] == "[":
        return text[: start + 1] + ",".join([inner] * times) + text[end:]
    key = re.match(r'"((?:[^"\\]|\\.)*)":', inner)
    if key is None:
        return text
    rest = inner[key.end() :]
    copies = (f'"{key[1]}{number or ""}":{rest}' for number in range(times))
    return text[: start + 1] + ",".join(copies) + text[end:]


def altered(random: Random, answer: RemotingCommand, others: Sequence[bytes]) -> bytes | None:
    """Returns what is sent instead of an answer, or None for silence.

    Args:
        others: bodies of other answers, one of which may come instead.
    """
    way = random.choices(_WAYS, _WEIGHTS)[0]
    return way(random, answer, others)


def _body(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    if not answer.body:
        return _header(random, answer, _others)
    if b"\0" in answer.body:
        return encode(replace(answer, body=edited(random, answer.body, [answer.body], ())))
    text = altered_text(random, answer.body.decode("utf-8", "replace"))
    return encode(replace(answer, body=text.encode("utf-8", "surrogatepass")))


def _header(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    frame = encode(answer)
    size = int.from_bytes(frame[5:8], "big")
    header, body = frame[8 : 8 + size].decode(), frame[8 + size :]
    opaque = f'"opaque":{answer.opaque}'
    kept = header.replace(opaque, '"opaque":O')
    text = altered_text(random, kept).replace('"opaque":O', opaque).encode("utf-8", "surrogatepass")
    return (4 + len(text) + len(body)).to_bytes(4, "big") + frame[4:5] + len(text).to_bytes(3, "big") + text + body


def _error(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    code = random.choice((1, 2, 3, 13, 14, 16, 17, 18, 20, 22, 24, 25, 26, 206, 207, 208, 215, -1, 1 << 31))
    said = random.choice(_TEXTS).replace("\ud800", "?")
    return encode(replace(answer, code=code & 0x7FFFFFFF, remark=said, body=answer.body * random.getrandbits(1)))


def _swapped(random: Random, answer: RemotingCommand, others: Sequence[bytes]) -> bytes:
    return encode(replace(answer, body=random.choice(others)))


def _lengths(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    frame = bytearray(encode(answer))
    at = random.choice((0, 4))
    change = random.choice((-8, -1, 1, 8, 1 << 20, 1 << 31))
    number = int.from_bytes(frame[at : at + 4], "big") + change
    frame[at : at + 4] = (number & 0xFFFFFFFF).to_bytes(4, "big")
    return bytes(frame)


def _cut(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    frame = encode(answer)
    return frame[: random.randrange(len(frame))]


def _silence(_random: Random, _answer: RemotingCommand, _others: Sequence[bytes]) -> None:
    return None


def _stranger(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    """Answers to what nobody asked, before the right one or instead of it; or a request of the server."""
    other = replace(answer, opaque=random.choice((answer.opaque + 1, -1, 0)), flag=random.choice((1, 0, 3)))
    return encode(other) * random.choice((1, 50)) + encode(answer) * random.choice((0, 1, 2))


def _noise(random: Random, answer: RemotingCommand, _others: Sequence[bytes]) -> bytes:
    frame = encode(answer)
    return edited(random, frame, [frame], ())


_Way = Callable[[Random, RemotingCommand, Sequence[bytes]], bytes | None]
_WAYS: tuple[_Way, ...] = (_body, _header, _error, _swapped, _lengths, _cut, _stranger, _noise, _silence)
_WEIGHTS = (640, 140, 80, 60, 20, 20, 20, 15, 5)
