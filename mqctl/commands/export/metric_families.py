"""What a metric is: a name, labels, samples."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass

Sample = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric with its samples.

    Attributes:
        labels: names of the labels; each sample has their values in the same order, then its number.
        counts: it only grows, a counter; otherwise a gauge.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    samples: Sequence[Sample]
    counts: bool = False
