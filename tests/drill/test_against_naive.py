"""The checker counts what ten lines of loops count, in one partition and in many, in memory and through files."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqctl.drill import checker, history, spill
from mqctl.drill.history import Kind
from tests.drill.naive import naive_counts
from tests.drill.written import Written, accused


def random_history(random: Random, mode: str, count: int) -> Written:
    """Writes sound traffic with a fault here and there: swapped, left out, again, refused, rolled back."""
    written = Written(mode, late_after_us=random.choice([None, 3_000]))
    next_offset, waiting = [0, 0], []
    for number in range(count):
        fault = random.random()
        queue = random.randrange(2)
        if fault < 0.1:
            fate = random.choice([Kind.FAILED, Kind.UNKNOWN])
            written.sent(number).fate(fate, number)
            waiting += [(number, queue, 90 + number)] * random.randrange(3)
        elif fault < 0.2:
            written.sent(number, transactional=1).acknowledged(number)
            written.fate(random.choice([Kind.COMMITTED, Kind.ROLLED_BACK]), number)
            waiting += [(number, queue, 200 + number)] * random.randrange(2)
        elif fault < 0.3:
            written.sent(number, delay_us=500).acknowledged(number)
            waiting.append((number, queue, 300 + number))
        else:
            offset = max(0, next_offset[queue] + random.choice([0, 0, 0, 0, 0, 0, -1, -2]))
            next_offset[queue] = offset + 1
            written.sent(number, random.randrange(3)).acknowledged(number, offset, queue, random.choice([100, 300]))
            waiting += [(number, queue, offset)] * random.choice([1, 1, 1, 1, 1, 0, 2])
        if random.random() < 0.1 and len(waiting) > 1:
            waiting[-1], waiting[-2] = waiting[-2], waiting[-1]
        while waiting and random.random() < 0.6:
            message, at, offset = waiting.pop(0)
            written.delivered(message, offset, queue=at, later=int(random.random() < 0.05))
        if random.random() < 0.2:
            at = random.randrange(2)
            written.committed(max(0, next_offset[at] + random.choice([0, -1, -2])), at)
    if random.random() < 0.3:
        written.delivered(count + 7, 999)
    return written.ends()


@pytest.mark.parametrize("through_files", [False, True])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1 << 32),
    mode=st.sampled_from(["concurrent", "key-ordered", "orderly"]),
    count=st.integers(1, 60),
)
def test_the_counts_are_those_of_the_definitions(
    through_files: bool, seed: int, mode: str, count: int, tmp_path: Path
) -> None:
    written = random_history(Random(seed), mode, count)
    with pytest.MonkeyPatch.context() as patch:
        if through_files:
            patch.setattr(checker, "_BLOCK_BITS", 3)
            patch.setattr(spill, "_MOST_BUFFERED", 5)
            patch.setattr(history, "_CHUNK_BYTES", 300)
        verdict = written.judged(tmp_path)
    # A membership event stands at the beginning only, a second before the first message.
    counts = {str(promise): inside + outside for promise, (inside, outside) in accused(verdict).items()}
    assert counts == naive_counts(tmp_path / "drill.history")
