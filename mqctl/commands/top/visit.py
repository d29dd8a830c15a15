"""The pages that were opened, and where their tables come from: the last look of `top`, or a command's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import chain

from mqctl.commands.top.answers import PageAnswer
from mqctl.commands.top.frames import TopFrames
from mqctl.commands.top.pages import LIVE, PAGES, About, PageName
from mqctl.commands.top.view import Sort, TopFrame, frame_document, totals
from mqctl.commands.top.walk_view import Sorting, record_table
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Document, Table
from mqctl.render.spoken_document import spoken_document
from mqctl.text import Sentence
from mqctl.units import instant, rate

_ORDER = (PageName.BROKERS, PageName.GROUPS, PageName.TOPICS)
"""The tables of a frame, in order."""


@dataclass(slots=True)
class Visit:
    """A page that was opened, and how far one has got on it.

    Attributes:
        wanted: the filter.
        due_s: when it is asked again, on the monotonic clock.
        selected, place: what the selected row tells, and where it stood.
    """

    name: PageName
    facts: About
    wanted: str = ""
    sorting: Sorting = field(default_factory=Sorting)
    answer: PageAnswer | None = None
    asked_at_ms: int = 0
    due_s: float = 0.0
    selected: About | None = None
    place: int = 0


def page_words(visit: Visit, scope: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the command line that shows what a page shows.

    Args:
        scope: the options that `top` was narrowed with, each with its value.
    """
    words = PAGES[visit.name].words(visit.facts)
    if visit.name not in (PageName.TOPICS, PageName.GROUPS) or visit.facts.topic is not None:
        return words
    options = list(chain.from_iterable(scope))
    if visit.name is PageName.GROUPS and "--broker" in options:  # `group lag` sums over all brokers
        words = ["top", "--once"]
    return [*words, *options]


_HEAD = Sentence("screen-head", "{time}  brokers {brokers}, in/s {coming}, out/s {going}, lag {lag:,}")
_HEAD_AT_LEAST = Sentence(
    "screen-head-at-least", "{time}  brokers {brokers}, in/s {coming}, out/s {going}, lag {lag:,} or more"
)


class PageTables:
    """What is known for pages.

    Attributes:
        frame: the last look of `top`.
    """

    def __init__(self, frames: TopFrames, first: TopFrame, sort: Sort, lang: Lang | None) -> None:
        self.frame = first
        self._frames = frames
        self._sort = sort
        self._lang = lang

    def head(self) -> str:
        """Returns the line above the lists: when it was, what goes in and out."""
        whole = totals(self.frame)
        line = _HEAD if whole.complete else _HEAD_AT_LEAST
        return line(
            time=instant(self.frame.observed_at_ms),
            brokers=len(self.frame.brokers),
            coming="?" if whole.coming is None else rate(whole.coming),
            going="?" if whole.going is None else rate(whole.going),
            lag=whole.lag_count,
        )

    def document(self, visit: Visit) -> Document | None:
        """Returns what a command answered; None where it failed, or has not answered."""
        document = visit.answer.document if visit.answer is not None else None
        return self._spoken(document) if document is not None else None

    def table(self, visit: Visit) -> Table | None:
        """Returns the table to select in; None where the page is running text, or nothing has come yet."""
        if visit.name in LIVE:
            return self._live_table(visit)
        page = PAGES[visit.name]
        document = visit.answer.document if visit.answer is not None else None
        if document is None or not page.row:
            return None
        if page.columns:
            document = replace(document, blocks=[record_table(document, page.columns)])
        return next((block for block in self._spoken(document).blocks if isinstance(block, Table)), None)

    def _of_frame(self) -> Document:
        return frame_document(self.frame, sort=self._sort)

    def _spoken(self, document: Document) -> Document:
        return spoken_document(document, self._lang)

    def _live_table(self, visit: Visit) -> Table:
        tables = [block for block in self._spoken(self._of_frame()).blocks if isinstance(block, Table)]
        table = tables[_ORDER.index(visit.name)]
        broker, topic = visit.facts.broker, visit.facts.topic
        if visit.name is PageName.TOPICS and broker is not None:
            shown = {row.topic for row in self.frame.topics}
            return replace(table, rows=[row for row in self._frames.topics_on(broker) if row.topic in shown])
        if visit.name is PageName.GROUPS and topic is not None:
            return replace(table, rows=[row for row in self.frame.groups if row.topic == topic])
        return table
