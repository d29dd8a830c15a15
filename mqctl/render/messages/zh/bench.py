"""What the comparison of two benches says, in Chinese."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "better": "变好：有指标的变化超出波动范围，且没有指标变差",
    "worse": "变差：有指标变差，且超出波动范围",
    "same": "相同：没有指标的变化达到阈值",
    "unclear": "无法判断：波动大于阈值，或某次运行不足 {seconds} 个整秒；请延长两次运行的时间",
    "differing": "无法判断：两次测的不是同样的工作：{differing}",
    "counts": "阈值：{threshold}；“从”和“到”：比值有 95% 的可能落在此区间",
}
"""Sentences by name."""
