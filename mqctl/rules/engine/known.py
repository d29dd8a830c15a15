"""States that people know of and have accepted for a while: findings about them are set aside, not forgotten."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from mqctl.model.finding import Finding
from mqctl.model.lazy_dataclass import dataclass
from mqctl.rules.engine.judging import Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownState:
    """One accepted state.

    Attributes:
        code: a rule's code, or a pattern such as `MQ6*`.
        subject: pattern of the finding's subject as it is printed; `*` for all.
        reason: why it is accepted.
        until: last day on which it counts.
    """

    code: str
    reason: str
    until: date
    subject: str = "*"

    def covers(self, finding: Finding) -> bool:
        """Tells whether a finding is about this state."""
        return fnmatchcase(finding.code, self.code.upper()) and fnmatchcase(str(finding.subject), self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A diagnosis without what is known.

    Attributes:
        silenced: findings that were set aside, with the state that covers each.
        expired: states whose time is over; they cover nothing any more.
        unused: states that cover nothing now.
    """

    diagnosis: Diagnosis
    silenced: tuple[tuple[Finding, KnownState], ...] = ()
    expired: tuple[KnownState, ...] = ()
    unused: tuple[KnownState, ...] = ()


def set_aside(diagnosis: Diagnosis, known: tuple[KnownState, ...], today: date) -> Judged:
    """Splits a diagnosis into what is news and what is known."""
    valid = [state for state in known if state.until >= today]
    silenced: list[tuple[Finding, KnownState]] = []
    news: list[Finding] = []
    for finding in diagnosis.findings:
        state = next((item for item in valid if item.covers(finding)), None)
        if state is None:
            news.append(finding)
        else:
            silenced.append((finding, state))
    used = {id(state) for _, state in silenced}
    return Judged(
        diagnosis=replace(diagnosis, findings=tuple(news)),
        silenced=tuple(silenced),
        expired=tuple(state for state in known if state.until < today),
        unused=tuple(state for state in valid if id(state) not in used),
    )
