"""Properties by which mqctl knows the messages that it sent itself: they say nothing about an application."""

from __future__ import annotations

from mqctl.model.resend import RESENT_FROM

REPLAY_ID = "MQCTL_REPLAY_ID"
"""Of a message that was published again: the id of the replay."""
PROBE = "MQCTL_PROBE"
"""Of a message that measured how long sends take."""
BENCH = "MQCTL_BENCH"
"""Of a message of `bench`: when it was due to be sent, epoch microseconds."""
MARKS = (RESENT_FROM, REPLAY_ID, PROBE, BENCH)
