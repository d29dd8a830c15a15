"""`top` as a screen to walk through: from brokers to topics, groups, queues, members, stacks, messages, findings.

The only home of Textual. Lists of brokers, topics and groups come from the looks of `top`; every other page is a read
command that runs in this process, so that nothing is worked out twice and `c` can name each page's command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from threading import Thread
from time import monotonic, time
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.language import spoken
from mqctl.commands.top.answers import PageAnswer, Run, ask, command_line
from mqctl.commands.top.frames import TopFrames
from mqctl.commands.top.lines import Lines
from mqctl.commands.top.pages import BY_KEY, LIVE, PAGES, About, PageName
from mqctl.commands.top.past import Recall, ScreenPast
from mqctl.commands.top.screen import FramePace
from mqctl.commands.top.screen_words import HELP, NEEDS, PAGE_NAMES
from mqctl.commands.top.view import Sort, TopFrame
from mqctl.commands.top.visit import PageTables, Visit, page_words
from mqctl.commands.top.walk_view import chosen_rows, laid_out, text_lines, trail
from mqctl.errors import ExitCode, MqctlError
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Table
from mqctl.render.translation import spoken as spoken_in
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.recording.recent import RecentNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkRequest:
    """What the screen is started with.

    Attributes:
        run: runs a command line of mqctl in this process.
        recall: reads what a recorder saw of the last minutes.
        scope: the options that `top` was narrowed with, each with its value, for the commands of its lists.
    """

    target: ClusterTarget
    run: Run
    pace: FramePace
    sort: Sort
    recall: Recall
    scope: Sequence[tuple[str, str]] = ()


def walk_through(frames: TopFrames, request: WalkRequest) -> int:
    """Shows the screen until `q`.

    Raises:
        MqctlError: the first look failed as a whole; later ones are shown as a problem and tried again.
    """
    first = frames.next(request.pace.round_ms, request.sort)
    # The mouse stays with the terminal: marking text there works as everywhere.
    WalkScreen(frames, request, first).run(mouse=False)
    return ExitCode.OK


class Looked(Message):
    """A look ended."""

    def __init__(self, frame: TopFrame | None, why: str) -> None:
        super().__init__()
        self.frame = frame
        self.why = why


class Answered(Message):
    """A command ended."""

    def __init__(self, visit: Visit, answer: PageAnswer) -> None:
        super().__init__()
        self.visit = visit
        self.answer = answer


class Recalled(Message):
    """The last minutes of a recording were read."""

    def __init__(self, numbers: RecentNumbers) -> None:
        super().__init__()
        self.numbers = numbers


class WalkScreen(App[None]):
    """The screen."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", priority=True, show=False)]
    CSS = "Static { height: auto; width: 100%; } #where { text-style: bold; }"

    def __init__(self, frames: TopFrames, request: WalkRequest, first: TopFrame) -> None:
        super().__init__(ansi_color=True)
        self._frames = frames
        self._request = request
        self._lang: Lang | None = spoken()
        self._seen = PageTables(frames, first, request.sort, self._lang)
        self._looking = self._asking = self._paused = self._typing = self._helping = False
        self._why = self._said = ""
        self._past = ScreenPast()
        self._visits = [Visit(PageName.BROKERS, About())]
        self._rows: Sequence[object] = ()
        self._where = Static("", id="where", markup=False)
        self._told = Static("", markup=False)
        self._lines = Lines(self._pressed, self._draw)
        self._note = Static("", markup=False)
        self._keys = Static(
            self._spoken(sentence("screen-keys", "Enter open  Esc back  / filter  s sort  c command  ? help  q quit")),
            markup=False,
        )
        self._past.note_frame(self._seen)

    def compose(self) -> ComposeResult:
        """Stacks the five parts."""
        yield from (self._where, self._told, self._lines, self._note, self._keys)

    def on_mount(self) -> None:
        """Begins to look."""
        self._lines.focus()
        self.set_interval(self._request.pace.every_ms / 1000, self._look)
        self.set_interval(0.5, self._ask_if_due)
        Thread(target=self._recall_once, name="past", daemon=True).start()

    # What is asked, in threads that nobody waits for at the end.

    def _look(self) -> None:
        if self._looking or self._paused:
            return
        self._looking = True
        Thread(target=self._look_once, name="top", daemon=True).start()

    def _look_once(self) -> None:
        try:
            message = Looked(self._frames.next(self._request.pace.round_ms, self._request.sort), "")
        except MqctlError as error:
            message = Looked(None, str(error))
        self._hand_over(message)

    def _ask_if_due(self) -> None:
        visit = self._visits[-1]
        if visit.name in LIVE or self._asking or self._paused or monotonic() < visit.due_s:
            return
        self._asking = True
        words = self._words(visit)
        Thread(target=self._ask_once, args=(visit, words), name="page", daemon=True).start()

    def _ask_once(self, visit: Visit, words: Sequence[str]) -> None:
        self._hand_over(Answered(visit, ask(self._request.run, words, self._request.target)))

    def _recall_once(self) -> None:
        numbers = self._request.recall()
        if numbers is not None:
            self._hand_over(Recalled(numbers))

    def _hand_over(self, message: Message) -> None:
        with suppress(RuntimeError):  # the screen was left meanwhile
            self.post_message(message)

    def on_looked(self, message: Looked) -> None:
        """Takes a frame."""
        self._looking = False
        self._why = message.why
        if message.frame is not None:
            self._seen.frame = message.frame
            self._past.note_frame(self._seen)
        if self._visits[-1].name in LIVE or self._why:
            self._draw()

    def on_answered(self, message: Answered) -> None:
        """Takes a command's document."""
        self._asking = False
        visit = message.visit
        every_s = PAGES[visit.name].every_s
        visit.due_s = inf if every_s is None else monotonic() + every_s
        visit.asked_at_ms = round(time() * 1000)
        visit.answer = message.answer
        self._past.note(visit.name, self._seen.table(visit), visit.asked_at_ms)
        if visit is self._visits[-1]:
            self._draw()
        self._ask_if_due()

    def on_recalled(self, message: Recalled) -> None:
        """Takes what a recorder saw before."""
        self._past.recall(message.numbers)
        self._draw()

    # What is drawn.

    def _words(self, visit: Visit) -> list[str]:
        return page_words(visit, self._request.scope)

    def _draw(self) -> None:
        visit = self._visits[-1]
        if self._helping:
            self._lines.show("", self._spoken(HELP).splitlines())
            return
        self._where.update(trail([self._title(item) for item in self._visits], self._lines.size.width))
        table = self._seen.table(visit)
        if table is not None and table.rows:
            self._draw_table(visit, table)
        else:
            self._draw_text(visit, table)
        self._told.update(self._when(visit))
        talk = visit.answer.talk if visit.answer is not None and visit.answer.document is not None else ()
        notes = (self._problem(), *list(talk)[:2], self._said, self._state(visit, table))
        self._note.update("\n".join(line for line in notes if line))

    def _draw_table(self, visit: Visit, table: Table) -> None:
        page = PAGES[visit.name]
        self._rows = chosen_rows(table, visit.wanted, visit.sorting)
        now_ms = self._seen.frame.observed_at_ms if visit.name in LIVE else visit.asked_at_ms
        laid = laid_out(
            table,
            self._rows,
            visit.sorting,
            drawn=page.drawn,
            drawn_title=self._spoken(sentence("screen-past", "last 5 min")),
            draw=lambda row: self._past.drawn(visit.name, row, now_ms),
        )
        self._lines.show(laid.heading, laid.lines, laid.styles, self._place(visit))

    def _place(self, visit: Visit) -> int:
        """Returns where the selected row stands now."""
        if visit.selected is None:
            return visit.place
        facts = [visit.facts.with_row(row, PAGES[visit.name].row) for row in self._rows]
        if visit.place < len(facts) and facts[visit.place] == visit.selected:
            return visit.place
        return facts.index(visit.selected) if visit.selected in facts else visit.place

    def _draw_text(self, visit: Visit, table: Table | None) -> None:
        self._rows = ()
        room = max(20, self._lines.size.width)
        document = self._seen.document(visit)
        if visit.name not in LIVE and visit.answer is None:
            lines = [self._spoken(sentence("screen-asking", "asking ..."))]
        elif document is None:
            lines = list(visit.answer.talk) if visit.answer is not None else []
        elif table is not None and not PAGES[visit.name].columns:
            lines = [table.empty]
        else:
            lines = text_lines(document, room)
        wanted = visit.wanted.casefold()
        self._lines.show("", [line for line in lines if wanted in line.casefold()])

    def _spoken(self, said: str) -> str:
        return spoken_in(said, self._lang)

    def _title(self, visit: Visit) -> str:
        name = PAGE_NAMES[visit.name]
        known = visit.facts.known()
        subject = "/".join(str(value) for value in known.values())
        return self._spoken(
            sentence("screen-page-of", "{page} of {subject}", page=name, subject=subject) if known else name
        )

    def _when(self, visit: Visit) -> str:
        if visit.name in LIVE:
            return self._seen.head()
        if visit.answer is None or self._asking:
            return self._spoken(sentence("screen-asking", "asking ..."))
        return self._spoken(sentence("screen-asked", "asked at {time_ms}", time_ms=visit.asked_at_ms))

    def _state(self, visit: Visit, table: Table | None) -> str:
        parts = []
        if table is not None:
            figures = {"shown": len(self._rows), "total": len(table.rows)}
            parts.append(self._spoken(sentence("screen-rows", "{shown:,} of {total:,} rows", **figures)))
        if visit.wanted or self._typing:
            parts.append(
                self._spoken(sentence("screen-filter", "filter: {wanted}", wanted=visit.wanted + "_" * self._typing))
            )
        if self._paused:
            parts.append(self._spoken(sentence("screen-paused", "paused")))
        return "  ".join(parts)

    def _problem(self) -> str:
        if self._why:
            return self._spoken(sentence("screen-failed", "not refreshed: {why}", why=self._why))
        return self._seen.frame.problems[0] if self._seen.frame.problems else ""

    # What keys do.

    def _pressed(self, key: str) -> None:
        self._said = ""
        if self._helping:
            if self._lines.moved(key):
                return
            self._helping = False
            self._lines.go_home()
        elif self._typing:
            self._type(key)
        elif self._lines.moved(key):
            self._select()
            return
        elif (page := BY_KEY.get(key)) is not None:
            self._jump(page)
        elif (act := self._acts().get(key)) is not None:
            act()
        self._draw()

    def _acts(self) -> dict[str, Callable[[], None]]:
        return {
            "enter": self._open,
            "escape": self._back,
            "backspace": self._back,
            "/": self._filter,
            "s": self._sort,
            "S": self._turn,
            "r": self._again,
            "p": self._pause,
            "c": self._copy,
            "?": self._help,
            "F": lambda: self._enter(PageName.FINDINGS, About()),
            "q": self.exit,
        }

    def _select(self) -> None:
        visit, cursor = self._visits[-1], self._lines.cursor
        if cursor is not None and cursor < len(self._rows):
            visit.place = cursor
            visit.selected = visit.facts.with_row(self._rows[cursor], PAGES[visit.name].row)

    def _facts(self) -> About:
        """Returns what the page is about, and what the selected row tells."""
        self._select()
        visit = self._visits[-1]
        return visit.selected if visit.selected is not None and self._rows else visit.facts

    def _open(self) -> None:
        opens = PAGES[self._visits[-1].name].opens
        if opens is not None and self._rows:
            self._enter(opens, self._facts())

    def _jump(self, name: PageName) -> None:
        self._enter(name, About() if name in LIVE else self._facts())

    def _enter(self, name: PageName, facts: About) -> None:
        page = PAGES[name]
        missing = [need for need in page.needs if need not in facts.known()]
        if missing:
            self._said = self._spoken(NEEDS[missing[0]])
            return
        self._visits.append(Visit(name, page.obeyed(facts)))
        self._lines.go_home()
        self._ask_if_due()

    def _back(self) -> None:
        visit = self._visits[-1]
        if visit.wanted:
            visit.wanted = ""
        elif len(self._visits) > 1:
            self._visits.pop()
            self._lines.go_home()

    def _filter(self) -> None:
        self._typing = True

    def _type(self, key: str) -> None:
        visit = self._visits[-1]
        if key in ("enter", "escape"):
            self._typing = False
            visit.wanted = visit.wanted if key == "enter" else ""
        elif key == "backspace":
            visit.wanted = visit.wanted[:-1]
        elif len(key) == 1:
            visit.wanted += key

    def _sort(self) -> None:
        visit = self._visits[-1]
        table = self._seen.table(visit)
        if table is not None:
            visit.sorting = visit.sorting.next([column for column in table.columns if not column.wide])

    def _turn(self) -> None:
        visit = self._visits[-1]
        visit.sorting = replace(visit.sorting, backwards=not visit.sorting.backwards)

    def _again(self) -> None:
        self._visits[-1].due_s = 0.0
        self._look()
        self._ask_if_due()

    def _pause(self) -> None:
        self._paused = not self._paused

    def _copy(self) -> None:
        command = command_line(self._words(self._visits[-1]), self._request.target)
        self.copy_to_clipboard(command)
        self._said = self._spoken(sentence("screen-command", "copied: {command}", command=command))

    def _help(self) -> None:
        self._helping = True
        self._lines.go_home()
