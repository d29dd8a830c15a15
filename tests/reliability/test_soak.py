"""The soak for half a minute; that a leak is seen, and noise is not taken for one."""

from __future__ import annotations

from random import Random

from tests.reliability.soak import Sample, leaks, soak


def test_nothing_grows_under_load() -> None:
    requests, samples = soak(20)
    assert leaks(samples) == []
    assert requests > 200


def test_a_planted_leak_of_connections_is_found() -> None:
    _, samples = soak(10, leak=True)
    assert any("handles" in line for line in leaks(samples)), samples


def test_noise_is_no_leak_and_growth_is() -> None:
    random = Random(3)
    noisy = [
        Sample(60_000 + random.gauss(0, 800), 40 + random.randrange(3), 4, random.expovariate(1)) for _ in range(60)
    ]
    assert leaks(noisy) == []
    growing = [Sample(60_000 + 1_000 * number, 40, 4 + number // 10, 1) for number in range(60)]
    assert [line.split()[0] for line in leaks(growing)] == ["rss_kib", "threads"]
