"""The part of the screen that scrolls: a heading that stays, lines, and the one that is selected.

Textual's own table measures every cell on every change; a page that is drawn again every two seconds must not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

_STEP = 8
_STYLES = {
    "": Style(),
    "bold red": Style(bold=True, color="red"),
    "red": Style(color="red"),
    "yellow": Style(color="yellow"),
    "cyan": Style(color="cyan"),
    "green": Style(color="green"),
}


class Lines(Widget, can_focus=True):
    """Lines with a selection.

    Args:
        pressed: called with each key: a character, or the name of a key without one.
        resized: called once the size is known, and when it has changed.
    """

    DEFAULT_CSS = "Lines { height: 1fr; }"

    def __init__(self, pressed: Callable[[str], None], resized: Callable[[], None]) -> None:
        super().__init__()
        self._pressed = pressed
        self._resized = resized
        self._heading = ""
        self._lines: Sequence[str] = ()
        self._styles: Sequence[str] = ()
        self._first = 0
        self._left = 0
        self.cursor: int | None = None

    def show(self, heading: str, lines: Sequence[str], styles: Sequence[str] = (), cursor: int | None = None) -> None:
        """Replaces everything; `cursor` is the selected line, None where there is nothing to select."""
        self._heading, self._lines, self._styles, self.cursor = heading, lines, styles, cursor
        self._settle()

    def go_home(self) -> None:
        """Scrolls to the upper left: another page begins."""
        self._first = self._left = 0

    def moved(self, key: str) -> bool:
        """Obeys a key that selects or scrolls; tells whether it was one."""
        if key in ("left", "right"):
            longest = max((len(line) for line in (self._heading, *self._lines)), default=0)
            self._left = max(0, min(self._left + (_STEP if key == "right" else -_STEP), longest - _STEP))
            self.refresh()
            return True
        steps = {"up": -1, "down": 1, "pageup": -self._room, "pagedown": self._room}
        ends = {"home": -len(self._lines), "end": len(self._lines)}
        by = {**steps, **ends}.get(key)
        if by is None:
            return False
        if self.cursor is None:
            self._first += by
        else:
            self.cursor += by
        self._settle()
        return True

    @property
    def _room(self) -> int:
        return max(1, self.size.height - bool(self._heading))

    def _settle(self) -> None:
        """Keeps the selection among the lines, and in sight."""
        last = max(0, len(self._lines) - 1)
        if self.cursor is not None:
            self.cursor = max(0, min(self.cursor, last))
            self._first = min(self._first, self.cursor)
            self._first = max(self._first, self.cursor - self._room + 1)
        self._first = max(0, min(self._first, len(self._lines) - self._room))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Returns one line of the widget."""
        base = self.rich_style
        head = bool(self._heading)
        number = y - head + self._first
        text, style = "", base
        if head and y == 0:
            text, style = self._heading, base + Style(bold=True)
        elif number < len(self._lines):
            text = self._lines[number]
            style = base + _STYLES.get(self._styles[number] if number < len(self._styles) else "", Style())
            if number == self.cursor:
                style += Style(reverse=True)
        strip = Strip([Segment(text, style)]).extend_cell_length(self._left + self.size.width, style)
        return strip.crop(self._left, self._left + self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        """Lays out anew."""
        self._settle()
        self._resized()

    def on_key(self, event: events.Key) -> None:
        """Hands a key on; no other binding sees it."""
        if event.key in ("ctrl+c", "ctrl+q"):
            return
        event.stop()
        event.prevent_default()
        self._pressed(event.character if event.is_printable and event.character else event.key)
