"""A finding as a row of a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """A finding with its sentences; codes, names and numbers do not depend on the language."""

    code: str
    severity: str
    subject: str
    confidence: str
    playbook: str | None
    what: str
    effect: str
    advice: str
    next_command: str | None
    playbook_command: str | None
    names: dict[str, str | int | float | bool | None]
    evidence: dict[str, str | int | float | bool | None]
