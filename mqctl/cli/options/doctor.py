"""Options of `doctor`: how long to look, by which rules, what is known already."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.places import state_dir
from mqctl.errors import ConfigurationError, StorageError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.finding import Severity
from mqctl.model.numbers import fraction
from mqctl.text import sentence

_FASTEST = 1_000_000
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window", metavar="SPAN", help="Look twice, this far apart, at what should move, and at members between: 60s."
    ),
]
RecordingOption = Annotated[
    str | None,
    typer.Option(
        "--recording",
        metavar="DIR",
        help="A directory or URL of `mqctl record`: judge a recorded moment (--at) with all that came before it.",
    ),
]
TimeScaleOption = Annotated[
    float | None,
    typer.Option(
        "--time-scale",
        metavar="X",
        help="The cluster's time runs X times as fast (scenarios). Also MQCTL_TIME_SCALE.",
    ),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="CODE", help="Only these rules; `MQ7*` names a family.")
]
ProbeOption = Annotated[
    bool,
    typer.Option(
        "--probe",
        help="Send one message to each broker's own topic (it has no consumers), and try its VIP port (MQ120, MQ628).",
    ),
]
SkipOption = Annotated[list[str] | None, typer.Option("--skip", metavar="CODE", help="Leave these rules out.")]
KnownOption = Annotated[
    Path | None,
    typer.Option(
        "--known", metavar="FILE", help="States that are accepted until a date; their findings are listed separately."
    ),
]
FailOnOption = Annotated[
    Severity, typer.Option("--fail-on", help="Milder findings are shown but do not change the exit code.")
]


def _writable(page: Path | None) -> Path | None:
    """Refuses a page whose directory is not there before a cluster is asked for it."""
    if page is not None and not page.parent.is_dir():
        raise StorageError(
            sentence("cannot-write", "cannot write {page}", page=page),
            reason=sentence("directory-not-exist", "its directory does not exist"),
        )
    return page


HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", callback=_writable, help="Also write the answer as one page, for a ticket."),
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show each finding's evidence in full.")]


def window_ms(text: str | None) -> int:
    """Reads a window; 0 without one. Raises UsageError."""
    from mqctl.cli.times import parse_span_ms

    span_ms = parse_span_ms(text) if text else 0
    if text and span_ms <= 0:
        raise UsageError(
            sentence("cli-two-looks-moment-show", "two samples of one moment show no movement"),
            remedy=command_line("--window 30s"),
        )
    return span_ms


def time_scale_of(given: float | None, *, namesrv: str | None = None, store: Path | None = None) -> float:
    """Returns the time scale that rules share with the cluster: the option's, the environment's, that of the scenario
    that runs on this machine, else 1.

    Args:
        namesrv, store: what is judged, to tell whether it is that scenario's; None for neither.

    Raises:
        UsageError: it is no number above 0.
    """
    text = os.environ.get("MQCTL_TIME_SCALE")
    scale = fraction(text) if given is None and text else given
    if scale is None and text:
        raise UsageError(sentence("cli-time-scale-not-number", "MQCTL_TIME_SCALE={text} is not a number", text=text))
    if scale is None:
        return _of_scenario(namesrv, store)
    if not 0 < scale < _FASTEST:
        raise UsageError(
            sentence("cli-time-scale-not-possible", "a time scale of {scale:g} is not possible", scale=scale),
            remedy=sentence("cli-use-number-above-instance", "use a number above 0, 60 for instance"),
        )
    return scale


def _of_scenario(namesrv: str | None, store: Path | None) -> float:
    try:
        directory = state_dir() / "local"
    except ConfigurationError:  # who has no home has no scenario that runs there either
        return 1.0
    if not directory.is_dir():
        return 1.0
    from mqctl.local.state import LocalStates

    for state in LocalStates(directory).all():
        stores = [Path(broker.store) for broker in state.ready.brokers]
        if _are_of(namesrv, state.ready.namesrv) or (store is not None and store.absolute() in stores):
            return state.time_scale
    return 1.0


def _are_of(namesrv: str | None, of_scenario: str) -> bool:
    """Whether these are name servers of the scenario: all of them, or those of one room."""
    return namesrv is not None and set(namesrv.split(";")) <= set(of_scenario.split(";"))
