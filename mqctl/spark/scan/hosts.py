"""Hosts of records as a small alphabet."""

from __future__ import annotations

import ipaddress

import numpy as np

from mqctl.model.message import SYSFLAG_BORN_HOST_V6, SYSFLAG_STORE_HOST_V6
from mqctl.store.kernel import Headers
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import Alphabet, factorize


def hosts(buffer: Buffer, headers: Headers, *, born: bool, port: bool) -> Alphabet:
    """Numbers the born (or store) hosts of records, written `ip:port` as messages show them, or `ip` alone."""
    born_v6 = (headers.sys_flag & SYSFLAG_BORN_HOST_V6) != 0
    start = headers.position + (48 if born else 64)
    if not born:
        start = start + np.where(born_v6, 12, 0)
    wide = born_v6 if born else (headers.sys_flag & SYSFLAG_STORE_HOST_V6) != 0
    size = np.where(wide, 16, 4).astype(np.int32) + np.int32(4 if port else 0)
    codes = factorize(buffer, start, size).codes
    count = int(codes.max(initial=-1)) + 1
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # codes are never -1: a header is always there
    names = [
        shown_host(bytes(buffer[start[row] : start[row] + size[row]]), 16 if wide[row] else 4) for row in first.tolist()
    ]
    return Alphabet(codes, tuple(names))


def shown_host(data: bytes, width: int) -> str:
    """Writes an address of `width` bytes, with the port where one follows."""
    address = str(ipaddress.ip_address(data[:width]))
    if len(data) == width:
        return address
    port = int.from_bytes(data[width:], "big", signed=True)
    return f"[{address}]:{port}" if width == 16 else f"{address}:{port}"
