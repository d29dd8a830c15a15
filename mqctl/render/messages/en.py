"""The catalogue in English."""

from __future__ import annotations

from mqctl.render.messages import Text
from mqctl.render.messages.en_backlog import PHRASES as BACKLOG_PHRASES
from mqctl.render.messages.en_backlog import RULES as BACKLOG_RULES
from mqctl.render.messages.en_comings import RULES as COMINGS_RULES
from mqctl.render.messages.en_delay import RULES as DELAY_RULES
from mqctl.render.messages.en_groups import RULES as GROUP_RULES
from mqctl.render.messages.en_live import RULES as LIVE_RULES
from mqctl.render.messages.en_offsets import RULES as OFFSET_RULES
from mqctl.render.messages.en_playbooks import PHRASES as PLAYBOOK_PHRASES
from mqctl.render.messages.en_stacks import RULES as STACK_RULES
from mqctl.render.messages.en_storage import RULES as STORAGE_RULES

RULES: dict[str, Text] = {
    **STORAGE_RULES,
    **GROUP_RULES,
    **LIVE_RULES,
    **OFFSET_RULES,
    **DELAY_RULES,
    **BACKLOG_RULES,
    **COMINGS_RULES,
    **STACK_RULES,
}

PHRASES = {
    **BACKLOG_PHRASES,
    **PLAYBOOK_PHRASES,
    "source": "{source}, judged as of {time}",
    "broker": "{count} broker: {names}",
    "brokers": "{count} brokers: {names}",
    "summary_of_one": "{verdict}: 1 finding from {rules} rules, {gaps} not judged",
    "summary": "{verdict}: {findings} findings from {rules} rules, {gaps} not judged",
    "verdict_ok": "OK",
    "verdict_warning": "WARNING",
    "verdict_critical": "CRITICAL",
    "verdict_unknown": "UNKNOWN",
    "effect": "effect",
    "advice": "advice",
    "next": "next",
    "confidence": "confidence",
    "playbook": "playbook",
    "movements": "Groups that are behind, between the two looks",
    "no_groups": "No consumer group has members online: rules about members had nothing to judge.",
    "time_scale": "Time scale {scale}: a minute of clients, brokers and rules is {minute} here.",
    "silenced": "Known and set aside",
    "not_judged": "Not judged for want of evidence",
    "comma": ", ",
    "unknown": "unknown",
}
