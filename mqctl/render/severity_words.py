"""Severities and verdicts as heads of findings, events and summaries have them."""

from __future__ import annotations

from mqctl.text import sentence

VERDICTS = {
    "ok": sentence("verdict-ok", "OK"),
    "info": sentence("verdict-info", "INFO"),
    "warning": sentence("verdict-warning", "WARNING"),
    "error": sentence("verdict-error", "ERROR"),
    "fatal": sentence("verdict-fatal", "FATAL"),
    "unknown": sentence("verdict-unknown", "UNKNOWN"),
}
