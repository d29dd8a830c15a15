"""Backlogs in English: what bounds a group, and what each remedy would and would not do."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ414": Text(
        title="A backlog never ends, or ends too late",
        what={
            "never": "Group {group} passes {out_tps} messages a second of {topic} while {in_tps} arrive: its {lag_count:message} "
            "never get less. What bounds it: {bound_word}.",
            "late": "At {out_tps} messages a second against {in_tps} arriving, the {lag_count:message} of group {group} on {topic} "
            "take {drain_ms}, and retention reaches them in {expires_in_ms}. What bounds it: {bound_word}.",
        },
        effect="Consumers fall ever further behind, until files are deleted before they are read.",
        advice="What would help against what waits: {remedy_words}. New queues take new messages only.",
        explain="Two looks give the rates at which queues fill and empty; --window sets how far apart. The queues of a concurrent "
        "instance share its threads, a queue consumed in order has one. A window shorter than consumers commit (5 s) gives no rate.",
        next_command="mqctl group lag {source} -g {group} --advise",
    ),
}

PHRASES = {
    "bound_none": "nothing, it keeps up",
    "bound_nobody": "queues that nobody holds",
    "bound_listener": "the consumer's own code",
    "bound_hot_queue": "one hot queue",
    "bound_threads": "its consume threads",
    "bound_instances": "the number of its instances",
    "bound_queues": "the number of its queues",
    "bound_pull": "what reaches its instances: their threads wait for messages",
    "bound_unknown": "unknown: not every instance told, or one look only",
    "remedy_instances": "more instances",
    "remedy_threads": "more threads",
    "remedy_queues": "more queues",
    "remedy_brokers": "more brokers",
    "remedy_downstream": "a faster listener",
    "remedy_nothing": "nothing that can be added; look at the members and their stacks",
    "effect_yes": "helps",
    "effect_no": "does not help",
    "effect_partly": "helps in part",
    "effect_unknown": "unknown",
    "reason_instances_untold": "it is not known what bounds the group",
    "reason_instances_start": "nobody is online: start the group's consumers",
    "reason_instances_orphans": "there are instances; find out why they do not take these queues",
    "reason_instances_hot": "a queue has one owner, and the hot one keeps its own",
    "reason_instances_no_slots": "every queue has an owner of its own already; a new instance gets none",
    "reason_instances_stuck_elsewhere": "the queues move, and the new owner may get stuck at the same message",
    "reason_instances_lane_each": "each queue has a thread of its own already, and stays at one",
    "reason_instances_slots": "they take over queues, as long as what the listener calls can take the load",
    "reason_threads_untold": "it is not known what bounds the group",
    "reason_threads_not_held": "nobody holds the queues that wait",
    "reason_threads_idle": "the threads that are there wait for messages",
    "reason_threads_stuck": "the threads that are there hold messages and finish none",
    "reason_threads_lanes": "a thread consumes one ordered queue at a time, and instances hold more queues than threads",
    "reason_threads_one_lane": "an ordered queue has one thread at a time, and there are enough",
    "reason_threads_not_busy": "threads are not busy with the listener: locks or pauses hold them",
    "reason_threads_more": "set consumeThreadMin and consumeThreadMax to it; the maximum alone changes nothing",
    "reason_queues_new_only": "new messages only: what waits stays in its queues, and keys change their queue",
    "reason_brokers_new_only_broker": "new messages only: what waits stays on its broker",
    "reason_brokers_reads": "new messages only; reads of what waits still go to its broker",
    "reason_downstream_untold": "it is not known what bounds the group",
    "reason_downstream_elsewhere": "the listener is not what bounds the group",
    "reason_downstream_faster": "half the time a message takes is twice the rate",
    "uncertain": "Uncertain: the two looks lie {window} apart, less than consumers take to commit, or not every member told.",
    "never": "never",
    "no_rate": "no rate: look twice",
}
