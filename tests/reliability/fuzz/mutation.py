"""How inputs are made of seeds: blind edits, words and numbers of the format, pieces of other seeds; shrunk again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import process_time

LONGEST_INPUT = 1 << 17
_MOST_EDITS = 8
_MOST_TRIES = 3_000
_SHRINKING_SECONDS = 20.0
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, (1 << 64) - 1)
_TEXT_NUMBERS = (
    b"0", b"-1", b"9", b"2147483648", b"-9223372036854775809", b"1e309", b"0.1", b"00", b"", b"9" * 5_000, b"+1",
    b" 1 ", b"1_0", b"--1", b"inf", b"nan", b"Infinity", b"0x10", "\u00b2".encode(), "\u0663".encode(), b"1E400",
    b"." + b"1" * 400,
)  # fmt: skip
_DIGITS = frozenset(b"0123456789")


def edited(random: Random, seed: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Returns `seed` after one to eight edits, most often few; `others` lend pieces of themselves."""
    data = bytearray(seed)
    for _ in range(min(_MOST_EDITS, 1 + int(random.expovariate(0.5)))):
        _EDITS[int(random.random() * len(_EDITS))](random, data, others, words)
    del data[LONGEST_INPUT:]
    return bytes(data)


def _at(random: Random, data: bytearray) -> int:
    return int(random.random() * (len(data) + 1))


def _size(random: Random, most: int) -> int:
    """A length up to `most`; small ones are as likely as large ones."""
    return int(random.getrandbits(16) % most) >> random.getrandbits(4) % 12


def _flip(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    if data:
        data[int(random.random() * len(data))] ^= 1 << random.getrandbits(3)


def _byte(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    if data:
        data[int(random.random() * len(data))] = random.getrandbits(8)


def _number(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at, width = _at(random, data), 1 << random.getrandbits(2)
    number = _NUMBERS[random.getrandbits(8) % len(_NUMBERS)] + random.getrandbits(2) - 1
    data[at : at + width] = (number & (1 << 8 * width) - 1).to_bytes(
        width, "big" if random.getrandbits(2) else "little"
    )


def _text_number(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    """Replaces the digits behind some place by another number."""
    at = _at(random, data)
    while at < len(data) and data[at] not in _DIGITS:
        at += 1
    end = at
    while end < len(data) and data[end] in _DIGITS:
        end += 1
    data[at:end] = _TEXT_NUMBERS[random.getrandbits(8) % len(_TEXT_NUMBERS)]


def _word(random: Random, data: bytearray, _others: Sequence[bytes], words: Sequence[bytes]) -> None:
    if words:
        word = words[int(random.random() * len(words))]
        at = _at(random, data)
        data[at : at + (len(word) if random.getrandbits(1) else 0)] = word


def _cut(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at = _at(random, data)
    del data[at : at + 1 + _size(random, 1 << 12)]


def _end(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    del data[_at(random, data) :]


def _repeat(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at = _at(random, data)
    piece = data[at : at + 1 + _size(random, 256)]
    data[at:at] = piece * (1 + _size(random, 64 if random.getrandbits(3) else 4_096))


def _zeros(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at = _at(random, data)
    size = min(1 + _size(random, 1_024), len(data) - at)
    data[at : at + size] = bytes(size)


def _move(random: Random, data: bytearray, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at = _at(random, data)
    piece = data[at : at + 1 + _size(random, 512)]
    del data[at : at + len(piece)]
    at = _at(random, data)
    data[at:at] = piece


def _splice(random: Random, data: bytearray, others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    other = others[int(random.random() * len(others))]
    at, start = _at(random, data), int(random.random() * (len(other) + 1))
    piece = other[start : start + 1 + _size(random, 4_096)]
    data[at : at + (len(piece) if random.getrandbits(1) else 0)] = piece


_EDITS: tuple[Callable[[Random, bytearray, Sequence[bytes], Sequence[bytes]], None], ...] = (
    _flip, _byte, _number, _number, _text_number, _word, _word, _cut, _end, _repeat, _zeros, _move, _splice, _splice,
)  # fmt: skip


def shrunk(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Returns a smaller input that `fails` as well: pieces left out as long as that works, then bytes made zeros."""
    left = _MOST_TRIES
    ends = process_time() + _SHRINKING_SECONDS

    def still(candidate: bytes) -> bool:
        nonlocal left
        left = left - 1 if process_time() < ends else -1
        return left >= 0 and fails(candidate)

    size = max(1, len(data) // 2)
    while size and left > 0:
        at = 0
        while at < len(data) and left > 0:
            candidate = data[:at] + data[at + size :]
            if still(candidate):
                data = candidate
            else:
                at += size
        size //= 2
    for at, byte in enumerate(data):
        candidate = data[:at] + b"0" + data[at + 1 :]
        if byte != 0x30 and left > 0 and still(candidate):
            data = candidate
    return data
