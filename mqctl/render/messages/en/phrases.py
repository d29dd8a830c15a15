"""Fixed phrases in English."""

from __future__ import annotations

from mqctl.render.messages.en.backlog import PHRASES as BACKLOG_PHRASES
from mqctl.render.messages.en.playbooks import PHRASES as PLAYBOOK_PHRASES
from mqctl.render.messages.en.reasons import PHRASES as REASON_PHRASES
from mqctl.render.messages.en.recorded import PHRASES as RECORDED_PHRASES
from mqctl.render.messages.en.screen import PHRASES as SCREEN_PHRASES
from mqctl.render.messages.en.timeline import PHRASES as TIMELINE_PHRASES

PHRASES = {
    **BACKLOG_PHRASES,
    **PLAYBOOK_PHRASES,
    **REASON_PHRASES,
    **RECORDED_PHRASES,
    **SCREEN_PHRASES,
    **TIMELINE_PHRASES,
    "source": "{source}, judged as of {time}",
    "broker": "{count} broker: {names}",
    "brokers": "{count} brokers: {names}",
    "summary_of_one": "{verdict}: 1 finding from {rules}, {gaps:,} not judged",
    "summary": "{verdict}: {findings:,} findings from {rules}, {gaps:,} not judged",
    "rule_of_one": "1 rule",
    "rules": "{count} rules",
    "alike": "{title}: {count:,} findings, worst first",
    "alike_of": "{title}: {count:,} findings of {groups:,} groups, worst first",
    "alike_more": "and {count:,} more (-o json for all)",
    "cut": "{shown:,} of {total:,} shown; --limit all",
    "how_consumed": "how members consume: {kinds}",
    "online_first": "groups behind: {behind:,}, messages waiting: {waiting:,}; those with members online ({online:,}) come first",
    "offline_folded": "groups with nobody online, not shown: {count:,} (--sort lag shows them)",
    "offline_behind": "of these behind: {behind:,}, messages waiting: {waiting:,}; most recently fell behind: {last}",
    "offline_since": "{group} ({span} ago)",
    "offline_left_out": "groups with nobody online, not shown: {count:,}; --all",
    "empty_retries": "retry topics without messages, not shown: {count:,}; --limit all",
    "groups_offline": "consumer groups online: {online:,}; with nobody online: {offline:,}",
    "retried_for_ever": "{group}: orderly members retry a failed message in place, without a limit; its queue stands still meanwhile, and nothing shows in retry topics (MQ503). The limit of brokers is for concurrent members.",
    "retried_in_place": "{group}: orderly members retry a failed message in place (at most: {most:,}); its queue stands still meanwhile, and nothing shows in retry topics (MQ503). The limit of brokers is for concurrent members.",
    "standing": "{group} on {topic}: {count:,} waiting, the oldest for {span}",
    "standing_uncommitted": "{group} on {topic}: queues without a committed offset: {queues:,}; messages stored there: {count:,}",
    "standing_calm": "no lag: {groups}",
    "lag_next": "why, and what to do: {doctor}; until when: {advise}",
    "folded": "retry topics without lag, not shown: {count:,}; --limit all",
    "window_closes": "{group}: messages that failed and wait to be tried again: {failing:,}. If every try fails, the "
    "first becomes a dead letter at {at}, in {span}: have the fix out by then ({retries})",
    "from_slaves": "master gone: {names}; figures are the slave's, which may lack the master's last messages",
    "doctor_page_title": "RocketMQ diagnosis",
    "doctor_page_cluster": "cluster {names}",
    "doctor_page_groups": "groups {names}",
    "do_first": "first: {what}",
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
    "no_groups": "No consumer group has members online: rules about members had nothing to check.",
    "time_scale": "Time scale {scale}: a minute of clients, brokers and rules is {minute} here.",
    "silenced": "Known and accepted",
    "partly_judged": "Only partly judged",
    "not_judged": "Could not be checked",
    "wants_same": "all members subscribe to the same",
    "wants_differ": "members differ",
    "wants_untold": "not every member reported its subscription",
    "wants_offline": "nobody is online, so the subscriptions are not known",
    "pulls_refused": "{brokers}: every pull of {group} is refused, there are no settings of the group and none are made "
    "(autoCreateSubscriptionGroup=false). Create it (`mqctl group create`), or check its name.",
    "nobody_online": "no member of {group} is online",
    "one_process": "one process (members {members})",
    "skipped_counted": "Would be skipped by the broker's filter or by the owner of the queue, counted in all messages",
    "skipped_sampled": "Would be skipped by the broker's filter or by the owner of the queue, of the newest messages of each queue",
    "comma": ", ",
    "unknown": "unknown",
}
