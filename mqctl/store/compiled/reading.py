"""Reading numbers, records and properties at addresses of mapped files: what the other compiled functions are made of.

Addresses instead of arrays: files are mapped read-only and stay mapped while their buffers are held, loads need no
alignment, one compiled form serves every buffer, and nobody counts references to arrays a dozen times a message.
Nothing but the comparisons here keeps a load inside a file: `end` is the address behind the last byte that may be
touched, and `limit` is not above it.

Records are tested as `mqctl.store.kernel.accepted` does, properties found by the rules of
`mqctl.store.texts.property_spans`, digests are those of `mqctl.store.texts.digests`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from mqctl.store import layouts as lay

_U = np.uint64
_MAGIC_V1, _MAGIC_V2 = lay.MAGIC_V1, lay.MAGIC_V2
_HEADER_BYTES, _SMALLEST_RECORD_BYTES = lay.HEADER_BYTES, lay.SMALLEST_RECORD_BYTES
_SEPARATORS = np.uint64(0x0202020202020202)
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_Generator = Callable[[Any, Any, Any, Any], Any]


def address_of(array: NDArray[Any]) -> int:
    """Returns the address of an array's first byte; it holds as long as the array is referred to."""
    return int(array.__array_interface__["data"][0])


def _loader(bits: int, *, big_endian: bool, signed: bool) -> _Generator:
    """Generates the load of a number of so many bits at an address, widened to 64 bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        value = builder.load(pointer, align=1)
        if big_endian:
            value = builder.bswap(value)
        if bits == 64:
            return value
        return (builder.sext if signed else builder.zext)(value, ir.IntType(64))

    return generate


@intrinsic
def i64(context: Any, address: Any) -> Any:
    """Reads a big-endian number of 8 bytes."""
    return types.int64(types.int64), _loader(64, big_endian=True, signed=True)


@intrinsic
def i32(context: Any, address: Any) -> Any:
    """Reads a big-endian number of 4 bytes."""
    return types.int64(types.int64), _loader(32, big_endian=True, signed=True)


@intrinsic
def i16(context: Any, address: Any) -> Any:
    """Reads a big-endian number of 2 bytes."""
    return types.int64(types.int64), _loader(16, big_endian=True, signed=True)


@intrinsic
def byte(context: Any, address: Any) -> Any:
    """Reads a byte without sign."""
    return types.int64(types.int64), _loader(8, big_endian=False, signed=False)


@intrinsic
def word(context: Any, address: Any) -> Any:
    """Reads 8 bytes as a little-endian word without sign."""
    return types.uint64(types.int64), _loader(64, big_endian=False, signed=False)


@intrinsic
def get(context: Any, table: Any, index: Any) -> Any:
    """Reads a number of a table of native 64-bit numbers."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def put(context: Any, table: Any, index: Any, value: Any) -> Any:
    """Writes a number into a table of native 64-bit numbers."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def soon_written(context: Any, address: Any) -> Any:
    """Hints that the line of memory at an address is soon written, so that it is there by then; any address will do."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer_type, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer_type], ir.FunctionType(ir.VoidType(), [pointer_type, number, number, number])
        )
        pointer = builder.inttoptr(arguments[0], pointer_type)
        is_write, kept_long, is_data = (ir.Constant(number, value) for value in (1, 3, 1))
        builder.call(prefetch, [pointer, is_write, kept_long, is_data])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def trailing_zeros(context: Any, value: Any) -> Any:
    """Counts the zero bits below the lowest one of a 64-bit number that is not zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@njit(cache=True)
def short_word(at: int, size: int, end: int) -> np.uint64:
    """Reads at most 8 of `size` (above 0) bytes as a little-endian word with zeros behind them."""
    if at + 8 <= end:
        return word(at) if size >= 8 else word(at) & ((_U(1) << _U(8 * size)) - _U(1))
    packed = _U(0)
    for i in range(min(size, 8)):
        packed |= _U(byte(at + i)) << _U(8 * i)
    return packed


@njit(cache=True)
def digest_of(at: int, size: int, end: int) -> np.uint64:
    """Digests a byte string."""
    digest, done = _U(size), 0
    while True:
        mixed = (digest ^ (short_word(at + done, size - done, end) if size > 0 else _U(0))) * _MIX
        digest = mixed ^ (mixed >> _U(29))
        done += 8
        if done >= size:
            return digest


@njit(cache=True)
def is_same(left: int, right: int, size: int) -> bool:
    """Compares two byte strings of one size."""
    done = 0
    while done + 8 <= size:
        if word(left + done) != word(right + done):
            return False
        done += 8
    while done < size:
        if byte(left + done) != byte(right + done):
            return False
        done += 1
    return True


@njit(cache=True)
def record_at(at: int, physical: int, limit: int) -> tuple[int, int, int, int]:  # noqa: PLR0911 - a test a line
    """Tests what stands at an address: size, bytes by which wide hosts shift the store time and the rest, body size.

    The size is 0 where no acceptable record of that physical offset stands; `limit` is the address behind which no
    record may reach, at most the buffer's end.
    """
    nothing = (0, 0, 0, 0)
    if at + _HEADER_BYTES > limit:
        return nothing
    size, magic = i32(at), i32(at + 4)
    if (magic != _MAGIC_V1 and magic != _MAGIC_V2) or size < _SMALLEST_RECORD_BYTES or at + size > limit:  # noqa: PLR1714
        return nothing
    if i64(at + 28) != physical:
        return nothing
    flags = i32(at + 36)
    born = 12 * ((flags >> 4) & 1)
    both = born + 12 * ((flags >> 5) & 1)
    if _HEADER_BYTES + both > size:
        return nothing
    body = i32(at + 84 + both)
    wide = 1 if magic == _MAGIC_V2 else 0
    topic_at = at + _HEADER_BYTES + both + body
    if body < 0 or topic_at + 3 + wide > at + size:
        return nothing
    topic = i16(topic_at) & 0xFFFF if wide else byte(topic_at)
    properties_at = topic_at + 1 + wide + topic
    if topic < 1 or properties_at + 2 > at + size:
        return nothing
    length = i16(properties_at)
    if length < 0 or properties_at + 2 + length != at + size:
        return nothing
    return size, born, both, body


@njit(cache=True)
def texts_of(at: int, both: int, body: int) -> tuple[int, int, int, int]:
    """Returns where topic and properties of an accepted record stand: address and size of each."""
    wide = 1 if i32(at + 4) == _MAGIC_V2 else 0
    topic_at = at + _HEADER_BYTES + both + body
    topic = i16(topic_at) & 0xFFFF if wide else byte(topic_at)
    start = topic_at + 1 + wide
    return start, topic, start + topic + 2, i16(start + topic)


@njit(cache=True)
def separator_from(at: int, stop: int, end: int) -> int:
    """Finds the first property separator in [at, stop); `stop` where there is none."""
    while at < stop:
        if at + 8 > end:
            while at < stop and byte(at) != 2:
                at += 1
            return at
        differing = word(at) ^ _SEPARATORS
        zero = (differing - _LOW_BITS) & ~differing & _HIGH_BITS
        if zero != 0:
            return min(stop, at + (trailing_zeros(zero) >> 3))
        at += 8
    return stop


@njit(cache=True)
def is_named(at: int, stop: int, name: int, size: int) -> bool:
    """Tells whether the pair in [at, stop) begins with a name, its separator included, and has a value behind it."""
    return stop - at > size and byte(at) == byte(name) and is_same(at, name, size)


@njit(cache=True)
def value_of(at: int, size: int, name: int, name_size: int, end: int) -> tuple[int, int]:
    """Finds the value of a property among those at `at`: address and size, (0, 0) without; of duplicates the last.

    `name` is the address of the property's name and the separator behind it.
    """
    start, length, last = 0, 0, at + size
    while at < last:
        stop = separator_from(at, last, end)
        if is_named(at, stop, name, name_size):
            start, length = at + name_size, stop - at - name_size
        at = stop + 1
    return start, length
