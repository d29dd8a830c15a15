"""Expectations that are given on the command line instead of in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.times import parse_span_ms
from mqctl.errors import UsageError
from mqctl.model.expectation import Expectations, GroupExpectation, Limit
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

WebhookOption = Annotated[
    str | None,
    typer.Option(
        "--webhook",
        envvar="MQCTL_WEBHOOK",  # a URL with a token in it is a secret, and a command line is not
        metavar="URL",
        help="Post what does not hold there, as JSON; nothing when all holds.",
    ),
]
TemplateOption = Annotated[
    Path | None,
    typer.Option(
        "--webhook-template",
        metavar="FILE",
        help="The JSON to post, with $state, $text, $failed and $observed_at_ms in its strings.",
    ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("-g", "--group", metavar="GROUP", help="Instead of a file: this group, or those like `order-*`."),
]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option("--except", metavar="GROUP", help="Groups, or those like `*-test`, that patterns do not mean."),
]
MaxLagOption = Annotated[
    int | None, typer.Option("--max-lag", metavar="N", min=0, help="Most messages behind, of --group.")
]
MaxLagTimeOption = Annotated[
    str | None, typer.Option("--max-lag-time", metavar="SPAN", help="Age of the oldest of them at most: 5m.")
]
MaxDeadLettersOption = Annotated[
    int | None, typer.Option("--max-dead-letters", metavar="N", min=0, help="Most dead letters, of --group.")
]
RequireMembersOption = Annotated[bool, typer.Option("--require-members", help="Somebody of --group must be online.")]
BrokerCountOption = Annotated[
    int | None, typer.Option("--brokers", metavar="N", min=1, help="So many brokers must answer at least.")
]


@dataclass(frozen=True, slots=True)
class OneLine:
    """What `check` was asked to hold without a file.

    Attributes:
        groups: names and patterns; each is held to all limits.
        without: names and patterns that the patterns do not mean.
        max_lag_time: a span, as typed.
    """

    groups: list[str] | None
    without: list[str] | None
    max_lag: int | None
    max_lag_time: str | None
    max_dead_letters: int | None
    members_min: int | None
    brokers: int | None

    def expectations(self) -> Expectations | None:
        """Returns them; None when nothing was given.

        Raises:
            UsageError: limits without a group, or a group without limits.
        """
        limits = (self.max_lag, self.max_lag_time, self.max_dead_letters, self.members_min)
        limited = any(limit is not None for limit in limits)
        if limited != bool(self.groups):
            what, need = ("limits", "a group") if limited else ("a group", "limits")
            example = "mqctl check --group 'order-*' --max-lag 1000 --require-members"
            raise UsageError(
                sentence("check-without", "{what} without {need}", what=what, need=need),
                remedy=sentence("check-instance", "for instance {example}", example=example),
            )
        if self.without and not self.groups:
            raise UsageError(
                sentence("check-except-needs-group", "--except needs --group"),
                remedy=sentence("check-name-groups-meant-all", "name the groups that are meant, '*' for all"),
            )
        if not limited and self.brokers is None:
            return None
        return Expectations(
            broker_count=self.brokers,
            groups=tuple(
                GroupExpectation(
                    group=group,
                    without=tuple(self.without or ()),
                    lag_count=None if self.max_lag is None else Limit(error=self.max_lag),
                    lag_ms=None if self.max_lag_time is None else Limit(error=parse_span_ms(self.max_lag_time)),
                    members_min=self.members_min,
                    dead_letter_count=None if self.max_dead_letters is None else Limit(error=self.max_dead_letters),
                )
                for group in self.groups or ()
            ),
        )
