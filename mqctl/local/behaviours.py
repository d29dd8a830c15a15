"""What the listeners of scenario consumers do with a message: one function for each behaviour.

They are what `stacks` and `doctor --stacks` get to see, so each is named for the code it stands for. Consumer processes
load a copy of this file that lies outside of mqctl, as an application's code does.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Protocol

from mqctl.client.message.received import Consumed
from mqctl.model.numbers import decimal

_FOR_EVER_S = 86_400.0


class PlacedOrder(Protocol):
    """What listeners look at of a message, whoever received it."""

    @property
    def keys(self) -> list[str]: ...


Handle = Callable[[PlacedOrder], Consumed]


def handler(does: str, slow_ms: int, downstream: str | None) -> Handle:
    """Returns what the listener does with each message.

    Args:
        does: a `Behaviour` of `mqctl.local.scenario`.
        downstream: `host:port` of the server that those ask who wait for one.
    """
    made: dict[str, Callable[[], Handle]] = {
        "healthy": lambda: save_order,
        "slow": lambda: _slow(slow_ms),
        "failing": lambda: reject_order,
        "waits-downstream": lambda: _asking(downstream or ""),
        "waits-for-lock": _locking,
        "deadlock": _deadlocking,
        "computes": lambda: rank_offers,
        "sleeps": lambda: poll_result,
    }
    return made[does]()


def save_order(message: PlacedOrder) -> Consumed:
    """Is content with every message at once."""
    return Consumed.SUCCESS


def reject_order(message: PlacedOrder) -> Consumed:
    """Fails, as a listener does whose database refuses the row."""
    raise ValueError(f"order {', '.join(message.keys) or 'without a key'} breaks the constraint unique_order")


def poll_result(message: PlacedOrder) -> Consumed:
    """Sleeps where it should have been told."""
    time.sleep(_FOR_EVER_S)
    return Consumed.SUCCESS


def rank_offers(message: PlacedOrder) -> Consumed:
    """Computes for as long as it lives."""
    total = 0
    while True:
        total += sum(number * number for number in range(1_000))


def _slow(each_ms: int) -> Handle:
    def write_invoice(message: PlacedOrder) -> Consumed:
        time.sleep(each_ms / 1000)
        return Consumed.SUCCESS

    return write_invoice


def _asking(downstream: str) -> Handle:
    host, _, port = downstream.rpartition(":")

    def charge_card(message: PlacedOrder) -> Consumed:
        """Asks the payment service and waits without a limit, which is the fault."""
        with socket.create_connection((host, decimal(port, high=65_535) or 0)) as connection:
            connection.sendall(b"POST /charge HTTP/1.1\r\nHost: payment\r\nContent-Length: 0\r\n\r\n")
            connection.recv(4_096)
        return Consumed.SUCCESS

    return charge_card


def _locking() -> Handle:
    ledger = threading.Lock()
    holding = iter([None])

    def book_entry(message: PlacedOrder) -> Consumed:
        """The first message takes the lock and never gives it back; the others wait for it."""
        with ledger:
            if next(holding, message) is None:
                time.sleep(_FOR_EVER_S)
        return Consumed.SUCCESS

    return book_entry


def _deadlocking() -> Handle:
    stock, account = threading.Lock(), threading.Lock()
    both = threading.Barrier(2)
    turn = iter(range(1 << 30))

    def reserve_stock(message: PlacedOrder) -> Consumed:
        """Two messages take two locks in opposite orders."""
        mine, other = (stock, account) if next(turn) % 2 else (account, stock)
        with mine:
            both.wait()
            with other:
                return Consumed.SUCCESS

    return reserve_stock
