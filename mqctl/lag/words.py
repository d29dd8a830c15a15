"""Backlogs in words: what bounds a group, why it is behind, and what each remedy would and would not do."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.finding import Value
from mqctl.model.finding_words import finding_value
from mqctl.text import Sentence, joined, sentence

BOUNDS = {
    "none": sentence("bound-none", "nothing, it keeps up"),
    "nobody": sentence("bound-nobody", "queues without an owner"),
    "listener": sentence("bound-listener", "the consumer's own code"),
    "hot_queue": sentence("bound-hot-queue", "one hot queue"),
    "threads": sentence("bound-threads", "its consume threads"),
    "instances": sentence("bound-instances", "the number of its instances"),
    "queues": sentence("bound-queues", "the number of its queues"),
    "pull": sentence("bound-pull", "what reaches its instances: their threads wait for messages"),
    "unknown": sentence("bound-unknown", "unknown: not every instance answered, or there was one sample only"),
}
"""By the name of a `Bound`."""
REMEDIES = {
    "instances": sentence("remedy-instances", "more instances"),
    "threads": sentence("remedy-threads", "more threads"),
    "keys": sentence("remedy-keys", "one thread per key instead of per queue"),
    "queues": sentence("remedy-queues", "more queues"),
    "brokers": sentence("remedy-brokers", "more brokers"),
    "downstream": sentence("remedy-downstream", "a faster listener"),
    "nothing": sentence("remedy-nothing", "adding anything does not help; check the members and their stacks"),
}
EFFECTS = {
    "yes": sentence("remedy-effect-yes", "helps"),
    "no": sentence("remedy-effect-no", "does not help"),
    "partly": sentence("remedy-effect-partly", "helps in part"),
    "unknown": sentence("remedy-effect-unknown", "unknown"),
}
"""By the name of an `Effect`."""
REASONS = {
    "instances_untold": Sentence("doctor-not-known-limits-group", "it is not known what limits the group"),
    "instances_start": Sentence("remedy-reason-instances-start", "no member is online: start the group's consumers"),
    "instances_orphans": Sentence(
        "remedy-reason-instances-orphans", "there are instances; find out why they do not take these queues"
    ),
    "instances_hot": Sentence(
        "remedy-reason-instances-hot", "a queue has one owner, and nothing can be taken off the hot queue's owner"
    ),
    "instances_hot_alone": Sentence(
        "remedy-reason-instances-hot-alone",
        "they take over the other queues of the hot queue's owner; the hot queue stays with one",
    ),
    "instances_idle": Sentence("doctor-existing-threads-wait-messages", "the existing threads wait for messages"),
    "instances_not_busy": Sentence(
        "remedy-reason-instances-not-busy", "only if what delays the threads (locks, pauses) is inside each instance"
    ),
    "instances_slots_short": Sentence(
        "remedy-reason-instances-slots-short",
        "they take over queues, but even one instance for each queue is not enough in that time",
    ),
    "instances_no_slots": Sentence(
        "remedy-reason-instances-no-slots", "every queue has an owner of its own already; a new instance gets none"
    ),
    "instances_stuck_elsewhere": Sentence(
        "remedy-reason-instances-stuck-elsewhere",
        "the queues move, and the new owner may get stuck at the same message",
    ),
    "instances_lane_each": Sentence(
        "remedy-reason-instances-lane-each", "each queue has a thread of its own already, and stays at one"
    ),
    "instances_slots": Sentence(
        "remedy-reason-instances-slots", "they take over queues, as long as what the listener calls can take the load"
    ),
    "threads_untold": Sentence("doctor-not-known-limits-group", "it is not known what limits the group"),
    "threads_not_held": Sentence("remedy-reason-threads-not-held", "the queues that wait have no owner"),
    "threads_idle": Sentence("doctor-existing-threads-wait-messages", "the existing threads wait for messages"),
    "threads_stuck": Sentence("remedy-reason-threads-stuck", "the existing threads hold messages and finish none"),
    "threads_lanes": Sentence(
        "remedy-reason-threads-lanes",
        "a thread consumes one ordered queue at a time, and instances hold more queues than threads",
    ),
    "threads_one_lane": Sentence(
        "remedy-reason-threads-one-lane", "an ordered queue has one thread at a time, and there are enough"
    ),
    "threads_not_busy": Sentence(
        "remedy-reason-threads-not-busy", "threads are not busy with the listener: locks or pauses hold them"
    ),
    "threads_more": Sentence(
        "remedy-reason-threads-more", "set consumeThreadMin and consumeThreadMax to it; the maximum alone has no effect"
    ),
    "keys_untold": Sentence("doctor-not-known-limits-group", "it is not known what limits the group"),
    "keys_elsewhere": Sentence("doctor-listener-not-limit-group", "the listener does not limit the group"),
    "keys_stuck": Sentence("remedy-reason-keys-stuck", "only the key of the stuck message waits, the others go on"),
    "keys_per_key": Sentence(
        "remedy-reason-keys-per-key",
        "as far as the busiest key allows (`mqctl order check -t TOPIC`); after a crash more is delivered again",
    ),
    "keys_rate": Sentence(
        "remedy-reason-keys-rate",
        "{key_tps:/s} instead of {queue_tps:/s} ({gain:.1f} times); busiest key {key} has {busiest_share} "
        "of an instance's; after a crash "
        "more is delivered again",
    ),
    "keys_gain": Sentence(
        "remedy-reason-keys-gain",
        "{gain:.1f} times as fast; busiest key {key} has {busiest_share} of an instance's; after a crash "
        "more is delivered again",
    ),
    "keys_one_key": Sentence(
        "remedy-reason-keys-one-key",
        "the busiest key {key} has {busiest_share} of what waits at an instance: no faster than one thread per queue",
    ),
    "queues_new_only": Sentence(
        "remedy-reason-queues-new-only",
        "new messages only: the backlog stays in its queues, and keys change their queue",
    ),
    "brokers_new_only_broker": Sentence(
        "remedy-reason-brokers-new-only-broker", "new messages only: the backlog stays on its broker"
    ),
    "queues_nobody": Sentence(
        "doctor-nobody-online-new-queues", "no member is online: new queues would have no consumer either"
    ),
    "brokers_nobody": Sentence(
        "doctor-nobody-online-new-queues", "no member is online: new queues would have no consumer either"
    ),
    "brokers_reads": Sentence(
        "remedy-reason-brokers-reads", "new messages only; reads of what waits still go to its broker"
    ),
    "downstream_untold": Sentence("doctor-not-known-limits-group", "it is not known what limits the group"),
    "downstream_elsewhere": Sentence("doctor-listener-not-limit-group", "the listener does not limit the group"),
    "downstream_faster": Sentence("remedy-reason-downstream-faster", "half the time per message doubles the rate"),
}
"""Why a remedy has its effect, by remedy and reason."""
NEEDED = {
    "instances": Sentence("doctor-instances-all", "instances in all: {count}"),
    "threads": Sentence("doctor-threads-per-instance", "threads per instance: {count}"),
    "keys": Sentence("doctor-threads-per-instance", "threads per instance: {count}"),
}
"""How many of a remedy are needed in all."""
CAUSES = {
    "offline": Sentence("backlog-cause-offline", "No broker knows a member of it that is online."),
    "orphans": Sentence(
        "backlog-cause-orphans", "Queues in which messages wait have no owner, although members are online."
    ),
    "stuck": Sentence(
        "backlog-cause-stuck", "Its members hold messages, and finished none of them while it was looked at."
    ),
    "paused": Sentence(
        "backlog-cause-paused",
        "Its members hold messages while most of their threads are idle: locks, pauses or a rate limit in the "
        "listener.",
    ),
    "listener": Sentence("backlog-cause-listener", "The listener is slow: it takes {consume_ms} a call."),
    "threads": Sentence("backlog-cause-threads", "Its consume threads are the limit: they are busy."),
    "instances": Sentence(
        "backlog-cause-instances", "Its instances are the limit: their threads are busy, and there are queues for more."
    ),
    "queues": Sentence(
        "backlog-cause-queues", "Its queues are the limit: members are busy, and no further one would get a queue."
    ),
    "hot_queue": Sentence("backlog-cause-hot-queue", "Nearly all of it waits in one queue, which has one owner."),
    "pull": Sentence("backlog-cause-pull", "Its threads wait for messages: too few reach its members."),
    "popped": Sentence("backlog-cause-popped", "It pops: no queue has an owner."),
}
"""Why a group is behind, by cause."""
CURES = {
    "offline": sentence(
        "backlog-cure-offline",
        "Start the group's consumers (clients of a 5.x proxy are seen with MQCTL_PROXY=HOST:PORT). If nobody needs the "
        "group any more, delete it. If its members broadcast, they keep their offsets themselves, and those at brokers "
        "mean nothing.",
    ),
    "popped": sentence(
        "backlog-cure-popped",
        "See whether its members still pop, and what is popped and not acknowledged: an ordered batch holds its queue "
        "until it is acknowledged or visible again, which only a store shows.",
    ),
    "orphans": sentence(
        "backlog-cure-orphans",
        "Find out why members do not take these queues: members that do not see each other, or a strategy of their "
        "own.",
    ),
    "stuck": sentence(
        "backlog-cure-stuck",
        "See where its threads hang before you restart a member: the next owner of the queue gets the same message.",
    ),
    "paused": sentence("backlog-cure-paused", "See what its threads wait for."),
    "listener": sentence(
        "backlog-cure-listener",
        "Make the listener faster; see what its threads wait for. More threads or instances help as far as what the "
        "listener calls can take the load.",
    ),
    "threads": sentence(
        "backlog-cure-threads",
        "Raise consumeThreadMin and consumeThreadMax together; the next command says to how many.",
    ),
    "instances": sentence("backlog-cure-instances", "Start more instances; the next command says how many."),
    "queues": sentence("backlog-cure-queues", "Make the listener faster. New queues take new messages only."),
    "hot_queue": sentence(
        "backlog-cure-hot-queue",
        "Find out which key fills this queue, and what makes its messages slow; more instances do not help it.",
    ),
    "pull": sentence(
        "backlog-cure-pull",
        "Check the network between brokers and members, and what slows pulls: pullInterval, pullBatchSize, reads "
        "from disk.",
    ),
}
"""What to do about it, by cause."""

_ADVISE = "mqctl group lag {source} -g {group} --advise"
_STACKS = "mqctl stacks dump {source} -g {group}"
_NUMBERS_OF_CAUSE = {
    **dict.fromkeys(("listener", "threads"), ("thread_count", "consumed_tps")),
    "instances": ("member_count", "consumed_tps"),
    "queues": ("consumed_tps",),
}
"""What is said of a cause as well, as far as it is known."""
_FIRST_NUMBER = {
    "thread_count": Sentence("cause-number-first-threads", "Consume threads: {thread_count}"),
    "member_count": Sentence("cause-number-first-instances", "Instances: {member_count}"),
    "consumed_tps": Sentence("cause-number-first-rate", "Consumed: {consumed_tps:/s}"),
}
_OTHER_NUMBER = {"consumed_tps": Sentence("cause-number-rate", "consumed: {consumed_tps:/s}")}
NEXT_OF_CAUSE = {
    "orphans": "mqctl allocation show {source} -g {group}",
    **dict.fromkeys(("stuck", "paused", "listener"), _STACKS),
    **dict.fromkeys(("threads", "instances", "queues", "hot_queue", "pull"), _ADVISE),
}
"""What to type next, by the cause of a backlog."""


def cause_said(cause: str, numbers: Mapping[str, Value]) -> str:
    """Says why a group is behind, and of its numbers those that are known.

    Args:
        numbers: by name, also those that are not known.
    """
    measured = {name: finding_value(name, value) for name, value in numbers.items()}
    said = CAUSES[cause](consume_ms=measured.get("consume_ms"))
    known = [name for name in _NUMBERS_OF_CAUSE.get(cause, ()) if numbers.get(name) is not None]
    if not known:
        return said
    of_numbers = [_FIRST_NUMBER, *[_OTHER_NUMBER] * (len(known) - 1)]
    parts = [sentences[name](**{name: measured[name]}) for sentences, name in zip(of_numbers, known, strict=True)]
    return sentence("cause-and-numbers", "{cause} {numbers}.", cause=said, numbers=joined("; ", parts))
