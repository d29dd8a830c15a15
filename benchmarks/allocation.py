"""Times the simulator: what 1,000 clients take of 10,000 queues, every client by its own view.

`python benchmarks/allocation.py` prints seconds of CPU for each strategy, and the ratio to the cheapest.
"""

from __future__ import annotations

import time

from mqctl.allocation.rooms import room_rule
from mqctl.allocation.strategies import Average, AverageByCircle, ConsistentHash, NearbyRoom, Strategy
from mqctl.allocation.views import View, ownership, sorted_clients, sorted_queues
from mqctl.model.queue import MessageQueue

ROOMS, BROKERS, QUEUES_EACH, CLIENTS, ROUNDS = 3, 10, 1_000, 1_000, 3


def main() -> None:
    rule = room_rule("prefix:-")
    queues = sorted_queues(
        MessageQueue("T", f"r{broker % ROOMS}-b{broker:02}", number)
        for broker in range(BROKERS)
        for number in range(QUEUES_EACH)
    )
    clients = sorted_clients(f"r{number % ROOMS}-c{number}" for number in range(CLIENTS))
    nearby = NearbyRoom(Average(), rule.broker_room, rule.client_room)
    strategies: tuple[Strategy, ...] = (Average(), AverageByCircle(), nearby, ConsistentHash())
    figures = {
        strategy.name: min(_seconds(strategy, queues, clients) for _ in range(ROUNDS)) for strategy in strategies
    }
    cheapest = min(figures.values())
    for name, seconds in figures.items():
        print(f"{name:<28}{seconds:8.3f} s  {seconds / cheapest:5.1f}x")


def _seconds(strategy: Strategy, queues: list[MessageQueue], clients: list[str]) -> float:
    views = [View(client_id=client, strategy=strategy, clients=clients, queues=queues) for client in clients]
    start = time.process_time()
    result = ownership(views)
    taken = time.process_time() - start
    assert not result.orphans
    return taken


if __name__ == "__main__":
    main()
