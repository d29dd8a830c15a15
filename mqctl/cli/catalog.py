"""Every command of mqctl, as plain data: no import of a command's module is needed to list or complete it.

The static Tab, the root help and the generated reference read this table; `mqctl.main` imports a command's module only
when it runs. Keep it free of imports that cost time.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost a Tab more than this whole module
if TYPE_CHECKING:
    from collections.abc import Sequence

Path = tuple[str, ...]
Options = dict[str, tuple[str, tuple[str, ...]]]
"""What each option is for, by its name, and the values it takes where they are fixed."""


class Entry:
    """One command. A plain class: dataclasses would double the cost of a Tab.

    Attributes:
        path: words after `mqctl`, for instance `("group", "lag")`.
        summary: one line for listings.
        impact: `reads`, `changes` or `destroys`: what the command may do to a cluster or its files.
    """

    __slots__ = ("impact", "path", "summary")

    def __init__(self, path: Path, summary: str, impact: str = "reads") -> None:
        self.path = path
        self.summary = summary
        self.impact = impact

    @property
    def module(self) -> str:
        """Name of the module below `mqctl.commands` that holds the command; a verb without a noun has a folder too."""
        parts = [part.replace("-", "_") for part in self.path]
        return ".".join(parts if len(parts) > 1 else [_FOLDERS.get(parts[0], parts[0]), *parts])


_FOLDERS = {
    "commands": "meta",
    "completion": "meta",
    "history": "changes",
    "undo": "changes",
    "version": "meta",
}
"""Where verbs without a noun are that share a folder."""

GROUPS: dict[str, str] = {
    "acl": "Users of 5.x brokers, accounts of 4.9, and their rights.",
    "allocation": "Queue assignment, and what-if simulation.",
    "bench": "Load tests of a cluster: produce, consume, latency, comparison.",
    "broker": "Brokers of a live cluster: rates, settings, counters.",
    "cluster": "Clusters and their name servers.",
    "delay": "Delay levels and delayOffset.json: waiting, late and lost messages.",
    "dlq": "Dead letters: list and resend messages that consumer groups gave up.",
    "drill": "Check a cluster for loss, repetition and disorder with verifiable traffic.",
    "export": "Metrics of a cluster for other systems.",
    "filter": "Filters: which messages an expression lets through, and why.",
    "group": "Consumer groups: lag, members, settings.",
    "ha": "Masters and slaves: the actual state of replication.",
    "local": "RocketMQ clusters on this machine, for trials and tests.",
    "lock": "The locks of ordered consumption.",
    "message": "Messages of a live cluster: find, trace, read and send them.",
    "offset": "Offsets of consumer groups: reset, skip and clone, with plan, proof and undo.",
    "order": "Check whether messages of one key can be consumed in order.",
    "playbook": "Executable runbooks, one for each kind of incident.",
    "producer": "Connected producers.",
    "profile": "Named clusters: addresses, keys, timeouts.",
    "replay": "Consume or publish past messages again.",
    "report": "Offline analysis of store directories with Spark.",
    "retry": "Failed messages that will be delivered again.",
    "rules": "The diagnosis rules behind `doctor`.",
    "scenario": "Faults with real consumer processes, for practice.",
    "snapshot": "Save the state of a cluster or a store, and examine it later.",
    "stacks": "Consume threads: stacks, classified and explained.",
    "store": "A broker's store directory, read without a broker.",
    "subscription": "Subscriptions of group members, and their differences.",
    "topic": "Topics of a live cluster: settings, routes, queues, groups.",
    "transaction": "Pending transactions, and those that brokers gave up.",
}

ENTRIES: tuple[Entry, ...] = (
    Entry(("doctor",), "Diagnose a live cluster, a store directory or a snapshot, and say what to do."),
    Entry(("acl", "delete"), "Delete a user with all entries, or a 4.9 account (plan, then --execute).", "destroys"),
    Entry(("acl", "explain"), "Show whether a user may do something, and which entry decides."),
    Entry(("acl", "grant"), "Allow or deny a user something (plan, then --execute).", "changes"),
    Entry(("acl", "list"), "Show users and what they may do."),
    Entry(("acl", "put"), "Add or change a user, or a 4.9 account or white list (plan, then --execute).", "changes"),
    Entry(("acl", "revoke"), "Delete entries of a user (plan, then --execute).", "changes"),
    Entry(("allocation", "show"), "Show who consumes which queue, and who should."),
    Entry(("allocation", "simulate"), "Simulate other strategies, clients, queues, a room lost."),
    Entry(("bench", "clean"), "Delete the topics and groups of benches and drills (plan, then --execute).", "destroys"),
    Entry(("bench", "compare"), "Compare two runs: changes that exceed the noise."),
    Entry(("bench", "consume"), "Read under load: rate, age of messages, the bottleneck.", "changes"),
    Entry(("bench", "latency"), "Send and read at once: how long messages take.", "changes"),
    Entry(("bench", "produce"), "Send under load: rate, times, errors, the bottleneck.", "changes"),
    Entry(("broker", "config"), "Show the properties of brokers."),
    Entry(("broker", "describe"), "Show the state of one broker, or every counter of brokers."),
    Entry(("broker", "list"), "List every broker process with its rates."),
    Entry(("broker", "reach"), "Try the ports of a cluster from here: who answers, and how soon."),
    Entry(("broker", "set"), "Change properties of brokers (plan, then --execute).", "changes"),
    Entry(("broker", "write"), "Close a broker to producers, or open it again (plan, then --execute).", "changes"),
    Entry(("check",), "Check a cluster against declared expectations, for CI and monitoring."),
    Entry(("cluster", "apply"), "Create the topics and groups of a file (plan, then --execute).", "changes"),
    Entry(("cluster", "describe"), "Show one cluster: name servers and their properties, brokers, totals."),
    Entry(("cluster", "export"), "Export the settings of topics and groups, as a file to apply."),
    Entry(("cluster", "kv"), "Show or set keys that name servers keep for tools and clients.", "changes"),
    Entry(("cluster", "list"), "List the clusters that the name servers know."),
    Entry(("commands",), "List every command, or what replaces mqadmin's."),
    Entry(("completion",), "Print the completion script of a shell."),
    Entry(("version",), "Show the version of mqctl, and with --supported what it knows."),
    Entry(("delay", "check"), "Check delay offsets against the schedule queues."),
    Entry(("delay", "levels"), "Show the delay levels and what waits on each."),
    Entry(("delay", "plan"), "Compute the shortest chain of delay levels to a moment."),
    Entry(("delay", "relay"), "Deliver at any moment on brokers without timers.", "changes"),
    Entry(("delay", "repair"), "Repair delay offsets of a stopped broker, or resend lost messages.", "changes"),
    Entry(("dlq", "list"), "Count the dead letters of each group, or list those of one group."),
    Entry(("dlq", "resend"), "Resend dead letters, each one once (plan, then --execute).", "changes"),
    Entry(("drill", "check"), "Judge the history of a drill: lost, repeated, out of order, late."),
    Entry(("drill", "run"), "Run verifiable traffic with a schedule of events, and judge it.", "changes"),
    Entry(("explain",), "Explain a word: a rule, an exit code, a cause, a term of Kafka."),
    Entry(("export", "prometheus"), "Serve metrics of a cluster to Prometheus."),
    Entry(("filter", "lint"), "Find mistakes in filters, tags that collide; show bit maps."),
    Entry(("filter", "test"), "Show whether a broker would deliver a message with these properties."),
    Entry(("group", "create"), "Create a consumer group (plan, then --execute).", "changes"),
    Entry(("group", "delete"), "Delete a consumer group without members (plan, then --execute).", "destroys"),
    Entry(("group", "describe"), "Show a group's settings, instances and subscriptions."),
    Entry(("group", "lag"), "Show how far consumer groups are behind, by count and by time."),
    Entry(("group", "list"), "List every consumer group with its members and topics."),
    Entry(("group", "members"), "Show the members of a group, or one with all that it reports."),
    Entry(("group", "update"), "Change settings of a consumer group (plan, then --execute).", "changes"),
    Entry(("history",), "Show the changes made from here, and how to undo each."),
    Entry(("local", "down"), "Stop a local cluster.", "changes"),
    Entry(("local", "logs"), "Print what a local cluster logged."),
    Entry(("local", "scenario", "list"), "List the scenarios: faults that can be tried."),
    Entry(
        ("local", "scenario", "run"), "Start a cluster with a built-in fault and real consumer processes.", "changes"
    ),
    Entry(("local", "start"), "Start one broker of a local cluster again.", "changes"),
    Entry(("local", "status"), "Show the local clusters of this machine."),
    Entry(("local", "stop"), "Stop or kill one broker of a local cluster.", "changes"),
    Entry(("local", "up"), "Start a RocketMQ cluster on this machine.", "changes"),
    Entry(("ha", "compare"), "Compare the logs and tables of two store directories."),
    Entry(("ha", "status"), "Show how much of their masters' logs slaves really have."),
    Entry(("lock", "show"), "Show who holds the queue locks of an ordered group."),
    Entry(("message", "consume"), "Consume messages as a member of a group, to try things.", "changes"),
    Entry(("message", "get"), "Show messages by id or key."),
    Entry(("message", "peek"), "Show messages of queues without consuming them."),
    Entry(("message", "probe"), "Time small sends, queue by queue.", "changes"),
    Entry(("message", "recall"), "Cancel timer messages before they are delivered (plan, then --execute).", "destroys"),
    Entry(("message", "send"), "Send a message, to try things.", "changes"),
    Entry(("message", "tail"), "Show the newest messages of a topic, and new ones as they arrive."),
    Entry(("message", "trace"), "Show who sent a message, who consumed it, and which groups are past it."),
    Entry(("offset", "clone"), "Copy the offsets of one group to another (plan, then --execute).", "changes"),
    Entry(("offset", "reset"), "Reset the offsets of a consumer group (plan, then --execute).", "changes"),
    Entry(("offset", "skip"), "Skip a group's backlog, and record it for a replay.", "changes"),
    Entry(("order", "check"), "Check whether each key stays in one queue, and what more queues would do."),
    Entry(("playbook", "list"), "List the playbooks and their purposes."),
    Entry(("playbook", "run"), "Run a playbook step by step, and report what it said.", "changes"),
    Entry(("playbook", "show"), "Show a playbook: steps, what each result means, the way back."),
    Entry(("producer", "list"), "List the producers that are connected."),
    Entry(("profile", "add"), "Give a cluster a name.", "changes"),
    Entry(("profile", "remove"), "Remove a profile.", "changes"),
    Entry(("profile", "show"), "Show the clusters that have a name, or one of them."),
    Entry(("profile", "use"), "Choose the profile that commands use by default.", "changes"),
    Entry(("quickstart",), "Start a cluster with faults, find them, say what to type next.", "changes"),
    Entry(("record",), "Sample the state of a cluster at intervals."),
    Entry(("replay", "follow"), "Move a topic's messages to one with more queues (plan, then --execute).", "changes"),
    Entry(("replay", "group"), "Point a group at past messages (plan, then --execute).", "changes"),
    Entry(("replay", "publish"), "Publish past messages again (plan, then --execute).", "changes"),
    Entry(("replay", "resume"), "Continue a replay that stopped.", "changes"),
    Entry(("replay", "status"), "Show how far replays are."),
    Entry(("report", "backlog"), "Backlog of consumer groups: messages, bytes, age; on Spark."),
    Entry(("report", "capacity"), "Rates, peaks and growth of stores, and the room left on their disks."),
    Entry(("report", "delay"), "Messages on delay levels: how many wait, when they are due, which are late."),
    Entry(("report", "diff"), "Differences between two saved runs."),
    Entry(("report", "duplicates"), "Messages stored more than once: spacing, producers, resend windows."),
    Entry(("report", "order"), "Keys in several queues, when they moved, and what explains it."),
    Entry(("report", "reconcile"), "Compare stored messages with a list or another store, by business key."),
    Entry(("report", "retries"), "Retries and dead letters of groups: attempts, flow, last errors."),
    Entry(("report", "run"), "All reports at once, as one HTML file."),
    Entry(("report", "skew"), "Hot queues, keys and producers, and what other queue counts would do."),
    Entry(("report", "tags"), "Tags of topics and queues, and what members that differ lose."),
    Entry(("report", "trends"), "Where lag, traffic and disks go over weeks and months, from recordings."),
    Entry(("report", "transactions"), "Transactions that wait, and how long ends took, by producer group."),
    Entry(("retry", "list"), "List the messages that failed and will be delivered again."),
    Entry(("rules", "list"), "List the rules with severity and playbook."),
    Entry(("snapshot", "save"), "Save a snapshot to one file."),
    Entry(("snapshot", "show"), "Show what a snapshot holds."),
    Entry(("stacks", "dump"), "Show what consume threads do: busy, stuck, waiting for what, idle."),
    Entry(("stacks", "find"), "Find the consumer processes of this machine."),
    Entry(
        ("store", "acknowledge"), "Acknowledge log parts that recoveries moved away (plan, then --execute).", "changes"
    ),
    Entry(("store", "cat"), "Print stored messages by queue, physical offset, key or id."),
    Entry(("store", "describe"), "Summarise a store directory: files, topics, groups, times."),
    Entry(("store", "verify"), "Verify every record, queue entry and index entry of a store directory."),
    Entry(("subscription", "check"), "Check that all members of a group subscribe to the same."),
    Entry(("subscription", "simulate"), "Simulate a grey release: some members change their tags."),
    Entry(("timeline",), "Events in order, from a recording: groups, offsets, brokers, changes."),
    Entry(("top",), "Show brokers, groups and topics as they change."),
    Entry(("topic", "create"), "Create a topic (plan, then --execute).", "changes"),
    Entry(("topic", "delete"), "Delete an unused topic (plan, then --execute).", "destroys"),
    Entry(("topic", "describe"), "Show a topic's settings, bounds of its queues, and groups."),
    Entry(("topic", "entries"), "Show the raw entries of a consume queue."),
    Entry(("topic", "list"), "List every topic with its brokers and queues."),
    Entry(("topic", "route"), "Show where a topic is, as each name server reports it."),
    Entry(("topic", "traffic"), "Show the rates of topics and of their groups."),
    Entry(("topic", "update"), "Change queues, permissions or order of a topic (plan, then --execute).", "changes"),
    Entry(("transaction", "list"), "List pending and discarded transactions, and judge them."),
    Entry(("transaction", "resume"), "Have discarded transactions checked again (plan, then --execute).", "changes"),
    Entry(("transaction", "show"), "Show what became of one transaction."),
    Entry(("undo",), "Undo a change (plan, then --execute).", "changes"),
)

SECTIONS: dict[str, tuple[str, ...]] = {
    "Begin": ("quickstart", "local", "profile", "completion", "commands", "explain", "version"),
    "What is wrong": (
        "doctor",
        "playbook",
        "rules",
        "check",
        "drill",
        "export",
        "top",
        "record",
        "timeline",
        "snapshot",
    ),
    "What is there": ("bench", "cluster", "broker", "ha", "topic", "group", "producer", "message", "acl"),
    "Who consumes what": ("allocation", "subscription", "filter", "lock", "order", "stacks"),
    "Move and repair": ("offset", "replay", "retry", "dlq", "delay", "transaction", "history", "undo"),
    "Without a broker": ("store", "report"),
}
"""The first words of all commands by what they are for: the root help has to fit a screen."""

ALIASES: dict[Path, str] = {
    ("acl", "create-user"): "acl put --kind user --new",
    ("acl", "delete-account"): "acl delete --kind account",
    ("acl", "delete-user"): "acl delete --kind user",
    ("acl", "put-account"): "acl put --kind account",
    ("acl", "update-user"): "acl put --kind user --existing",
    ("acl", "white-list"): "acl put --white-list",
    ("broker", "add-write-perm"): "broker write ... on",
    ("broker", "stats"): "broker describe --counters",
    ("broker", "wipe-write-perm"): "broker write ... off",
    ("cluster", "config"): "cluster describe --config",
    ("cluster", "set-kv"): "cluster kv",
    ("delay", "backlog"): "delay levels",
    ("dlq", "show"): "dlq list",
    ("drill", "clean"): "bench clean",
    ("explain", "kafka"): "explain",
    ("filter", "bloom"): "filter lint --bloom",
    ("filter", "collisions"): "filter lint --collisions",
    ("group", "config"): "group describe",
    ("group", "member"): "group members --client=",
    ("message", "find"): "message get",
    ("offset", "history"): "history",
    ("offset", "undo"): "undo",
    ("profile", "list"): "profile show",
    ("rules", "explain"): "explain",
    ("stacks", "watch"): "stacks dump --watch",
    ("subscription", "show"): "subscription check",
    ("topic", "groups"): "topic describe",
    ("topic", "order"): "topic update",
    ("topic", "stats"): "topic describe",
    ("transaction", "check"): "transaction list --check",
}
"""Old names of commands that were merged into others, and what each means now; `...` is where the arguments go when
they do not come last, and an option that ends with `=` takes the first of them. An old name answers as the present one
does, and is listed nowhere."""

BY_PATH: dict[Path, Entry] = {entry.path: entry for entry in ENTRIES}


def present_words(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line with the present name where they begin with an old one."""
    present = ALIASES.get(tuple(words[:2]))
    if present is None:
        return list(words)
    before, _, after = present.partition("...")
    given, rest = before.split(), list(words[2:])
    if before.endswith("="):
        option = given.pop()
        given += [option + rest.pop(0)] if rest and not rest[0].startswith("-") else []
    return [*given, *rest, *after.split()]


def children(path: Path) -> dict[str, str]:
    """Returns the words that may follow `path`, each with its summary, in alphabetical order."""
    depth = len(path)
    words: dict[str, str] = {}
    for entry in ENTRIES:
        if entry.path[:depth] == path and len(entry.path) > depth:
            word = entry.path[depth]
            words[word] = entry.summary if len(entry.path) == depth + 1 else GROUPS[word]
    return dict(sorted(words.items()))


def options_of(path: Path) -> Options:
    """Returns the options of a command by each of their names, and its arguments; none for what is no command."""
    from mqctl.cli.catalog_options import table

    options_of_all, _, commands = table().partition("\n\n")
    rows = options_of_all.split("\n")
    _, _, rest = f"\n{commands}".partition(f"\n{' '.join(path)}: ")
    options: Options = {}
    for number in rest.partition("\n")[0].split():
        names, _, about = rows[int(number)].partition(" ")
        choices: tuple[str, ...] = ()
        if about[:1] == "{":
            values, _, about = about[1:].partition("} ")
            choices = tuple(values.split(","))
        for name in names.split(","):
            options[name] = (about, choices)
    return options
