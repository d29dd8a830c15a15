"""The last minutes of each row: from the looks of the screen, and before it was opened from those of a recorder."""

from __future__ import annotations

from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING

from mqctl.cli.sources.running_recorder import running_place
from mqctl.client.admin.cluster import Cluster
from mqctl.commands.top.pages import LIVE, PAGES, About, PageName
from mqctl.commands.top.visit import PageTables, Visit
from mqctl.commands.top.walk_view import SPAN_MS, Past
from mqctl.errors import MqctlError, RefusedError
from mqctl.render.document import Table
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.recording.reader import Recording
    from mqctl.recording.recent import RecentNumbers

Recall = Callable[[], "RecentNumbers | None"]


class ScreenPast:
    """The past of the rows of all pages."""

    def __init__(self) -> None:
        self._past = Past()

    def note_frame(self, seen: PageTables) -> None:
        """Adds a look of `top`."""
        for name in LIVE:
            self.note(name, seen.table(Visit(name, About())), seen.frame.observed_at_ms)

    def note(self, name: PageName, table: Table | None, moment_ms: int) -> None:
        """Adds what a page shows."""
        page = PAGES[name]
        if page.drawn and table is not None:
            for row in table.rows:
                self._past.note(_key_of(name, row), moment_ms, getattr(row, page.drawn))

    def drawn(self, name: PageName, row: object, now_ms: int) -> str:
        """Returns the last five minutes of a row as bars."""
        return self._past.drawn(_key_of(name, row), now_ms)

    def recall(self, numbers: RecentNumbers) -> None:
        """Puts what a recorder saw before the looks of the screen."""
        for (broker, number), points in numbers.brokers.items():
            self._past.recall((PageName.BROKERS, number, About(broker=broker)), points)
        for topic, points in numbers.topics.items():
            self._past.recall((PageName.TOPICS, None, About(topic=topic)), points)
        for (group, topic), points in numbers.groups.items():
            self._past.recall((PageName.GROUPS, None, About(group=group, topic=topic)), points)
        for (group, topic, broker, queue_id), points in numbers.queues.items():
            about = About(group=group, topic=topic, broker=broker, queue_id=queue_id)
            self._past.recall((PageName.QUEUES, None, about), points)


def _key_of(name: PageName, row: object) -> tuple[object, ...]:
    # A broker name has several processes: a master and its slaves.
    return (name, getattr(row, "broker_id", None), About().with_row(row, PAGES[name].row))


def recall_from(cluster: Cluster, wanted: str | None) -> Recall:
    """Returns what reads the last minutes of a recording, which takes a while: of the one that is named, else of the
    recorder that runs for this user.

    Raises:
        NotFoundError, BadInputError: there is no such recording, or it cannot be read.
        RefusedError: it is of another cluster.
    """
    location = ";".join(sorted(cluster.name_servers.addresses()))
    if wanted is not None:
        recording = _opened(wanted)
        if recording.cluster != location:
            raise RefusedError(
                sentence("top-could-not-draw-past", "could not draw the past from {wanted}", wanted=wanted),
                reason=sentence(
                    "holds-recording-not",
                    "it holds the recording of {cluster}, not of {cluster_2}",
                    cluster=recording.cluster,
                    cluster_2=location,
                ),
            )

    def recall() -> RecentNumbers | None:
        place = wanted or running_place(location)
        if place is None:
            return None
        from mqctl.recording.recent import recent_numbers

        try:
            recording = _opened(place)
            if recording.cluster != location:
                return None
            return recent_numbers(recording, round(time() * 1000) - SPAN_MS)
        except MqctlError:  # the screen's own looks are drawn
            return None

    return recall


def _opened(place: str) -> Recording:
    from mqctl.recording.libraries import require_libraries
    from mqctl.recording.reader import open_recording

    require_libraries()
    return open_recording(place)
