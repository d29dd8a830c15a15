"""The bit map by which a broker remembers, per message, which SQL subscriptions match it.

Source: `BloomFilter` and `ConsumerFilterManager` of 4.9.8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import mmh3

from mqctl.model.lazy_dataclass import dataclass

_MASK = 0xFFFFFFFF


def element(group: str, topic: str) -> str:
    """Returns what stands for a subscription in the filter."""
    return f"{group}#{topic}"


@dataclass(frozen=True, slots=True)
class BloomShape:
    """Size of the filter.

    Attributes:
        hash_count: positions of each element.
        bit_count: a multiple of 8.
    """

    hash_count: int
    bit_count: int

    @classmethod
    def of(cls, error_percent: int = 20, consumer_count: int = 32) -> BloomShape:
        """Computes the shape from `maxErrorRateOfBloomFilter` and `expectConsumerNumUseFilter`.

        Raises:
            ValueError: outside 1 to 99 %, or no consumers.
        """
        if not 1 <= error_percent <= 99 or consumer_count < 1:
            raise ValueError(f"no bloom filter for {error_percent} % and {consumer_count} consumers")
        rate = error_percent / 100
        hash_count = math.ceil(math.log(rate) / math.log(0.5))
        bits = math.ceil(consumer_count * math.log2(1 / rate) * math.log2(math.e))
        return cls(hash_count, (bits + 7) // 8 * 8)

    @property
    def byte_count(self) -> int:
        return self.bit_count // 8

    def positions(self, text: str) -> tuple[int, ...]:
        """Returns the bits of an element, in the order of its hashes; some may be equal."""
        hash64 = mmh3.hash64(text, seed=0, x64arch=True, signed=False)[0]
        low, high = _signed(hash64), _signed(hash64 >> 32)
        combined = (_signed(low + number * high) for number in range(1, self.hash_count + 1))
        return tuple((~value if value < 0 else value) % self.bit_count for value in combined)

    def bitmap(self, elements: Iterable[str]) -> bytes:
        """Returns the bit map with these elements in it: position p is bit p mod 8, lowest first, of byte p / 8."""
        bits = bytearray(self.byte_count)
        for text in elements:
            for position in self.positions(text):
                bits[position >> 3] |= 1 << (position & 7)
        return bytes(bits)


def holds_all(bitmap: bytes, positions: Iterable[int]) -> bool:
    """Tells whether all bits are set; false hits are possible, misses are not.

    Raises:
        IndexError: a position beyond the bit map.
    """
    return all(bitmap[position >> 3] & (1 << (position & 7)) for position in positions)


def _signed(value: int) -> int:
    low = value & _MASK
    return low - (1 << 32) if low & 0x80000000 else low
