"""Mixed load on one broker process for a long time: nothing may grow.

`python -m tests.reliability.soak --minutes 60`. Memory, file handles and threads of the broker and the latency of its
answers are sampled; a value leaks when its last third lies above its first third by more than a share and an amount
that noise does not reach (medians of samples, so that a busy machine does not count).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter

import psutil

from mqctl.protocol.requests_client import PullMessageReply
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.reliability.results import write

_SAMPLES = 30
_WARM_UP_SHARE = 0.2
# Files of the usual size: a store that goes on to the next file opens one more, which is no leak.
_SETTINGS = ("messageDelayLevel=1s 1s",)


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the process; latency is the median of the calls since the last look."""

    rss_kib: float
    handles: float
    threads: float
    latency_ms: float


# What must not grow: share of the first third, and an amount in the value's own unit, both of which a leak exceeds.
LIMITS = {"rss_kib": (0.15, 12 * 1024), "handles": (0.10, 8), "threads": (0.0, 2), "latency_ms": (1.0, 5)}


def leaks(samples: Sequence[Sample]) -> list[str]:
    """Names what grew between the first and the last third of the samples after the warm-up."""
    kept = samples[int(len(samples) * _WARM_UP_SHARE) :]
    third = max(1, len(kept) // 3)
    found = []
    for name, (share, amount) in LIMITS.items():
        begin = median(getattr(item, name) for item in kept[:third])
        end = median(getattr(item, name) for item in kept[-third:])
        if end - begin > amount and end > begin * (1 + share):
            found.append(f"{name} grew from {begin:.0f} to {end:.0f}")
    return found


def soak(seconds: float, *, leak: bool = False) -> tuple[int, list[Sample]]:
    """Runs the load; returns how many requests were answered, and the samples.

    Args:
        leak: have connections be opened and never closed, to see that it is noticed.
    """
    requests, numbers = 0, count()
    samples: list[Sample] = []
    forgotten: list[Peer] = []
    words = [word for item in _SETTINGS for word in ("--set", item)]
    with TemporaryDirectory(prefix="mqctl-soak-") as root, process("--data-dir", root, *words) as (running, ready):
        broker, address = psutil.Process(running.pid), ready["brokers"][0]["address"]
        ends = monotonic() + seconds
        with Peer(address) as peer:
            offset = 0
            while monotonic() < ends:
                next_sample, taken = monotonic() + seconds / _SAMPLES, []
                while monotonic() < next_sample:
                    number = next(numbers)
                    began = perf_counter()
                    properties = {"KEYS": str(number % 1_000), "TAGS": str(number % 7)}
                    if number % 10 == 0:
                        properties["DELAY"] = "1"
                    assert peer.call(send("T", queue_id=number % 4, properties=properties), b"x" * 100).code == 0
                    taken.append((perf_counter() - began) * 1_000)
                    answer = peer.call(pull("T", offset, commit=offset))
                    offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
                    if number % 50 == 0:
                        with Peer(address) as member:
                            heartbeat(member, f"c@{number % 5}", group="GC", subscriptions={"T": "*"})
                        if leak:
                            forgotten.append(Peer(address))
                    requests += 2
                samples.append(
                    Sample(broker.memory_info().rss / 1024, broker.num_fds(), broker.num_threads(), median(taken))
                )
        for one in forgotten:
            one.socket.close()
    return requests, samples


def main(words: list[str]) -> int:
    """Returns 1 when something grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--save", action="store_true", help="write the figures that docs/reliability.md shows")
    options = parser.parse_args(words)
    requests, samples = soak(options.minutes * 60)
    found = leaks(samples)
    kept = samples[int(len(samples) * _WARM_UP_SHARE) :]
    figures: dict[str, object] = {"minutes": options.minutes, "requests": requests, "problems": found}
    for name in LIMITS:
        figures[name] = [round(getattr(kept[0], name), 2), round(getattr(kept[-1], name), 2)]
    write("soak", figures, save=options.save)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
