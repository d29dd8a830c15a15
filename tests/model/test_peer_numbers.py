"""Numbers that peers write as text: more digits than Python reads must not end who looks at them."""

from __future__ import annotations

import pytest

from mqctl.model.member import RunningInfo
from mqctl.model.runtime import read_runtime

TOO_LONG = "9" * 5000


@pytest.mark.parametrize("written", [TOO_LONG, "\u00b2", "\u0663", "1_0", ""])
def test_what_is_no_number_of_ours_counts_as_not_told(written: str) -> None:
    properties = {"PROP_CONSUMER_START_TIMESTAMP": written, "PROP_THREADPOOL_CORE_SIZE": written}
    info = RunningInfo(group="G", client_id="c", properties=properties)
    assert (info.start_time_ms, info.thread_count) == (None, None)
    assert read_runtime({"commitLogMinOffset": written, "commitLogMaxOffset": written}).commit_log_max_offset is None
