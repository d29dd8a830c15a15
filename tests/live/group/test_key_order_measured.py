"""One thread per key: what `group lag --advise` predicts is what members of a group, each a process, then do."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from benchmarks.key_order import Work, broker, predicted_and_measured, spread


@pytest.mark.long
def test_the_gain_that_is_predicted_is_measured(tmp_path: Path) -> None:
    # 10 ms a message: sleeping threads, so that a busy machine slows members of both kinds little, and alike.
    work = Work(members=2, threads=10, each_ms=10, persist_ms=200)
    with broker() as namesrv:
        even = predicted_and_measured(namesrv, "Even", spread(1_500, 100, 0.0, Random(7)), tmp_path, work)
        hot = predicted_and_measured(namesrv, "Hot", spread(500, 100, 0.5, Random(7)), tmp_path, work)
    for outcome in (even, hot):
        assert 0.6 < outcome.queue_measured / outcome.queue_predicted < 1.5, outcome
        assert 0.5 < outcome.key_measured / outcome.key_predicted < 1.5, outcome
    # Ten threads of each member for two queues make five times as much; of a key with half of everything, next to none.
    assert even.gain_predicted > 4
    assert even.gain_measured > 2.5
    assert hot.gain_predicted < 1.5
    assert hot.gain_measured < 1.8
