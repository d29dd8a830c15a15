"""The cheapest chain of delay levels that reaches a moment.

Every hop costs one more stored and delivered message, so the fewest hops are the cheapest. With `M` the longest delay,
a hop of another level costs `1 - delay / M` more than `M` would for the same time: a shortest path over remainders
modulo `M` finds the best chain for any moment that is far enough, and for near ones all sums are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import repeat
from math import gcd

from mqctl.errors import UsageError
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

_MOST_STEPS = 3_000_000  # remainders or sums to try: seconds of work; the levels of a broker take 7,200


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayChain:
    """How to wait.

    Attributes:
        runs: delay levels to pass through and how often, the longest first: what one hop is late, shorter ones make up
            for. A far moment has millions of hops and few runs.
        reached_ms: sum of their delays.
        rest_ms: what is left to wait after the last one, less than the smallest step of the table.
    """

    runs: tuple[tuple[int, int], ...]
    reached_ms: int
    rest_ms: int

    @property
    def hop_count(self) -> int:
        return sum(times for _, times in self.runs)

    def levels(self) -> Iterator[int]:
        """Yields the level of each hop."""
        for level, times in self.runs:
            yield from repeat(level, times)


def cheapest_chain(table: DelayLevelTable, remaining_ms: int) -> DelayChain:
    """Returns the chain with the fewest hops that comes as near to `remaining_ms` as levels can, and never over it.

    Raises:
        UsageError: the table has no level, or levels that are too far apart.
    """
    level_of: dict[int, int] = {}
    for level, delay_ms in enumerate(table.delays_ms, start=1):
        if delay_ms > 0:
            level_of.setdefault(delay_ms, level)
    if not level_of:
        raise UsageError(
            sentence("chain-needs-delay-levels", "a chain needs delay levels"),
            reason=sentence("table-none", "the table has none"),
        )
    unit = gcd(*level_of)
    amount = max(0, remaining_ms) // unit
    coins = sorted((delay_ms // unit for delay_ms in level_of if delay_ms // unit <= amount), reverse=True)
    counts = _cheapest(coins, amount) if coins else {}
    used = [(coin, counts[coin]) for coin in coins if counts.get(coin)]
    reached_ms = sum(coin * times for coin, times in used) * unit
    return DelayChain(
        runs=tuple((level_of[coin * unit], times) for coin, times in used),
        reached_ms=reached_ms,
        rest_ms=max(0, remaining_ms) - reached_ms,
    )


def next_level(table: DelayLevelTable, remaining_ms: int) -> int | None:
    """Returns the level of the next hop; None when the rest is shorter than any level."""
    chain = cheapest_chain(table, remaining_ms)
    return chain.runs[0][0] if chain.runs else None


def _cheapest(coins: list[int], amount: int) -> dict[int, int]:
    """Returns how often each coin is used in the shortest sum that is `amount`, or the nearest one below it."""
    largest, others = coins[0], coins[1:]
    _refuse_far_apart(largest)
    path = _by_remainder(largest, others, amount % largest)
    if path is not None and sum(coin * count for coin, count in path.items()) <= amount:
        spent = sum(coin * count for coin, count in path.items())
        return {**path, largest: (amount - spent) // largest}
    _refuse_far_apart(amount)
    return _by_sums(coins, amount)


def _refuse_far_apart(steps: int) -> None:
    if steps > _MOST_STEPS:
        raise UsageError(
            sentence("delay-chain-chain-cannot-computed", "the chain cannot be computed"),
            reason=sentence(
                "delay-levels-too-far",
                "the delay levels are too far apart: {steps} steps of the smallest one would have to be tried",
                steps=steps,
            ),
            remedy=sentence(
                "delay-chain-use-table-whose-longest",
                "use a table whose longest level is a smaller multiple of what all levels have in common",
            ),
        )


def _by_remainder(largest: int, others: list[int], wanted: int) -> dict[int, int] | None:
    """Shortest path (Dijkstra) to the remainder `wanted` modulo the largest coin. Costs are scaled by that coin."""
    best = {0: (0, 0)}
    came: dict[int, int] = {}
    heap = [(0, 0, 0)]
    while heap:
        cost, spent, remainder = heappop(heap)
        if (cost, spent) > best[remainder]:
            continue
        if remainder == wanted:
            break
        for coin in others:
            step = (cost + largest - coin, spent + coin)
            place = (remainder + coin) % largest
            if place not in best or step < best[place]:
                best[place] = step
                came[place] = coin
                heappush(heap, (*step, place))
    if wanted not in best:
        return None
    counts: dict[int, int] = {}
    place = wanted
    while place != 0:
        coin = came[place]
        counts[coin] = counts.get(coin, 0) + 1
        place = (place - coin) % largest
    return counts


def _by_sums(coins: list[int], amount: int) -> dict[int, int]:
    """Every sum up to `amount`, each with the last coin of its shortest form."""
    fewest: list[int | None] = [0] + [None] * amount
    last = [0] * (amount + 1)
    for total in range(1, amount + 1):
        for coin in coins:
            before = fewest[total - coin] if coin <= total else None
            levels = fewest[total]
            if before is not None and (levels is None or before + 1 < levels):
                fewest[total], last[total] = before + 1, coin
    place = next(total for total in range(amount, -1, -1) if fewest[total] is not None)
    counts: dict[int, int] = {}
    while place:
        counts[last[place]] = counts.get(last[place], 0) + 1
        place -= last[place]
    return counts
