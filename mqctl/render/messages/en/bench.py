"""What the comparison of two benches says, in English."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "better": "better: a figure moved by more than the noise, and none for the worse",
    "worse": "worse: a figure moved for the worse by more than the noise",
    "same": "same: no figure moved by as much as counts",
    "unclear": "unclear: the noise is larger than what counts, or a run has fewer than {seconds} whole seconds; "
    "run both longer",
    "differing": "unclear: other work was measured: {differing}",
    "counts": "what counts: {threshold}; from and to: where the ratio lies, 95 times of 100",
}
"""Sentences by name."""
