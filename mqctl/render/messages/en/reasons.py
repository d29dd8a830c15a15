"""Why something was not judged, in English: the sentence of each `mqctl.model.finding.Reason`, as `why_<value>`."""

from __future__ import annotations

from mqctl.model.gap import Cause, Part

_LATER = "but members came or went a moment ago: look again in two minutes"

PHRASES = {
    "why_gap": "{part_word}: {reason}",
    "why_gap_in": "{part_word} ({scope}): {reason}",
    "why_more": "{why}, and {count:,} more",
    "why_files_only": "only a broker's files show it: --store DIR",
    "why_live_only": "only a live cluster shows it",
    "why_no_stacks": "no stacks were taken: --stacks",
    "why_no_probe": "no message was sent: --probe",
    "why_no_access_files": "the directory has no access files (4.9: conf/plain_acl.yml, conf/acl; 5.x: config/users)",
    "why_two_looks": "it needs two looks: --window 2m",
    "why_no_earlier": "it compares two looks, and nobody recorded {window_ms} before",
    "why_no_recording": "only a recording shows it: --recording DIR",
    "why_past_short": "it needs {needed_ms} of recording; so far: {recorded_ms} (mqctl record --keep)",
    "why_past_holes": "it needs {needed_ms} of recording without long gaps; missing: {missing_ms}",
    "why_nobody_online": "no member of the group is online",
    "why_nobody_anywhere": "no consumer group has members online",
    "why_no_brokers": "no broker is registered",
    "why_not_registered": "it is not registered with any name server",
    "why_own": "it is a system topic or group: not judged",
    "why_nothing_told": "no broker reported it",
    "why_short_window": "none of the backlog was consumed between the two looks, which lie closer together than consumers commit: --window 15s shows whether it moves",
    "why_standing": "none of the backlog was consumed between the two looks: --window 2m or --stacks shows why",
    "why_restarting_orphans": f"{{seen_count:queue has/have}} no owner, {_LATER}",
    "why_restarting_owners": f"{{seen_count:queue has/have}} two owners, {_LATER}",
    "why_restarting_surplus": f"{{seen_count:instance has/have}} no queue, {_LATER}",
    "why_restarting_uneven": f"{{seen_count:instance has/have}} one queue more than the others, {_LATER}",
    "why_restarting_unlisted": f"{{seen_count:queue is/are}} in no list that is in use, {_LATER}",
    "why_restarting_brokers": f"{{seen_count:broker misses/miss}} members, {_LATER}",
    "why_restarting_orderly": f"{{seen_count:member consumes/consume}} in order and others do not, {_LATER}",
    "why_restarting_unlocked": f"{{seen_count:queue is/are}} not locked for the owner, {_LATER}",
    "why_restarting_rooms": f"{{seen_count:queue lies/lie}} in rooms that look short of consumers, {_LATER}",
    "why_restarting_ahead": f"{{seen_count:queue was/were}} consumed further than the broker stores, {_LATER}",
    "why_restarting_cached": f"{{seen_count:queue has/have}} cached messages below the offset that the broker stores, {_LATER}",
    "why_restarting_standing": f"the offset of {{seen_count:queue}} stood still, {_LATER}",
    "why_restarting_backlog": f"{{seen_count:message waits/wait}} and consumption looks too slow, {_LATER}",
    "why_silent_members": "no running information from {silent_count:member} ({clients}): their subscriptions are not known",
    "why_silent_owners": "{queue_count:queue} may belong to {clients}, which did not answer",
    "why_store_time": "the store time of the next message to consume cannot be read",
    "why_not_sampled": "its tags were not sampled, since many topics are filtered by tag: name it with -t",
    "why_all_groups": "it compares all groups of a topic: ask without -g and --broker",
    "why_rooms": "it allocates by rooms: --room-rule says which name is in which room",
    "why_too_many_overdue": "too many overdue messages to look for their delivered copies",
    "why_file": "{file} {problem}",
    **{f"part_{part}": str(part) for part in Part},
    **{f"cause_{cause}": str(cause) for cause in Cause},
}
