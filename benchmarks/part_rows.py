"""What combining a million partial rows costs in this process, beside a bare loop that only adds.

Usage: python -m benchmarks.part_rows [ROWS]
"""

from __future__ import annotations

import sys
from time import process_time

from mqctl.spark.aggregates.combiner import Combiner, Value
from mqctl.spark.aggregates.table import COUNTS

KEYS = 1_000


def main(rows: int) -> None:
    """Prints seconds of CPU and their ratio, the best of three."""
    queues: list[Value] = [number % KEYS for number in range(rows)]
    ones: list[Value] = [1] * rows
    combined = plain = float("inf")
    for _ in range(3):
        begin = process_time()
        combiner = Combiner(COUNTS, ("queue_id",))
        combiner.add({"queue_id": queues, "messages": ones})
        assert combiner.rows()[0]["messages"] == rows // KEYS
        combined = min(combined, process_time() - begin)
        begin = process_time()
        sums = dict.fromkeys(range(KEYS), 0)
        for queue in queues:
            assert isinstance(queue, int)
            sums[queue] += 1
        plain = min(plain, process_time() - begin)
    print(f"{rows:,} rows: {combined:.3f} s combined, {plain:.3f} s added in a loop: {combined / plain:.1f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
