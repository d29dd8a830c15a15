"""Why something was not judged, in words."""

from __future__ import annotations

from mqctl.model.finding import Reason, Why
from mqctl.model.finding_words import finding_value
from mqctl.text import Sentence, Word, sentence

_SENTENCES = {
    Reason.GAP: Sentence("not-judged-gap", "{part}: {reason}"),
    Reason.GAP_IN: Sentence("not-judged-gap-in", "{part} ({scope}): {reason}"),
    Reason.NEWER_RELEASE: Sentence(
        "not-judged-newer-release",
        "its release {release} is newer than those that mqctl knows (to {newest}), and this changes with releases",
    ),
    Reason.ODD_RELEASE: Sentence(
        "not-judged-odd-release",
        "it names its release {release}, which mqctl does not know (to {newest}), and this changes with releases",
    ),
    Reason.ODD_SETTING: Sentence(
        "not-judged-odd-setting",
        "it runs with {setting}={value}, which mqctl does not know, and this depends on it",
    ),
    Reason.ODD_ATTRIBUTE: Sentence(
        "not-judged-odd-attribute", "it has the attribute {attribute}={value}, which mqctl does not know"
    ),
    Reason.FILES_ONLY: Sentence("not-judged-files-only", "only a broker's files show it: --store DIR"),
    Reason.LIVE_ONLY: Sentence("not-judged-live-only", "only a live cluster shows it"),
    Reason.NO_STACKS: Sentence("not-judged-no-stacks", "no stacks were taken: --stacks"),
    Reason.NO_PROBE: Sentence("not-judged-no-probe", "no message was sent: --probe"),
    Reason.NO_ACCESS_FILES: Sentence(
        "not-judged-no-access-files",
        "the directory has no access files (4.9: conf/plain_acl.yml, conf/acl; 5.x: config/users)",
    ),
    Reason.TWO_LOOKS: Sentence("not-judged-two-looks", "it needs two samples: --window 2m"),
    Reason.NO_EARLIER: Sentence(
        "not-judged-no-earlier", "it compares two samples, and none was recorded {window_ms} before"
    ),
    Reason.NO_RECORDING: Sentence("not-judged-no-recording", "only a recording shows it: --recording DIR"),
    Reason.PAST_SHORT: Sentence(
        "not-judged-past-short", "it needs {needed_ms} of recording; so far: {recorded_ms} (mqctl record --keep)"
    ),
    Reason.PAST_HOLES: Sentence(
        "not-judged-past-holes", "it needs {needed_ms} of recording without long gaps; missing: {missing_ms}"
    ),
    Reason.NOBODY_ONLINE: Sentence("not-judged-nobody-online", "no member of the group is online"),
    Reason.NOBODY_ANYWHERE: Sentence("not-judged-nobody-anywhere", "no consumer group has members online"),
    Reason.NO_BROKERS: Sentence("no-broker-registered", "no broker is registered"),
    Reason.NOT_REGISTERED: Sentence("not-judged-not-registered", "it is not registered with any name server"),
    Reason.OWN: Sentence("not-judged-own", "it is a system topic or group: not judged"),
    Reason.NOTHING_TOLD: Sentence("not-judged-nothing-told", "no broker reported it"),
    Reason.SHORT_WINDOW: Sentence(
        "not-judged-short-window",
        "none of the backlog was consumed between the two samples, which are closer together than "
        "consumers commit: --window 15s shows whether it moves",
    ),
    Reason.STANDING: Sentence(
        "not-judged-standing",
        "none of the backlog was consumed between the two samples: --window 2m or --stacks shows why",
    ),
    Reason.RESTARTING_ORPHANS: Sentence(
        "not-judged-restarting-orphans",
        "{seen_count:queue has/have} no owner, but members came or went a moment ago: look again in two minutes",
    ),
    Reason.RESTARTING_OWNERS: Sentence(
        "not-judged-restarting-owners",
        "{seen_count:queue has/have} two owners, but members came or went a moment ago: look again in two minutes",
    ),
    Reason.RESTARTING_SURPLUS: Sentence(
        "not-judged-restarting-surplus",
        "{seen_count:instance has/have} no queue, but members came or went a moment ago: look again in two minutes",
    ),
    Reason.RESTARTING_UNEVEN: Sentence(
        "not-judged-restarting-uneven",
        "{seen_count:instance has/have} one queue more than the others, but members came or went a moment ago: look "
        "again in two minutes",
    ),
    Reason.RESTARTING_UNLISTED: Sentence(
        "not-judged-restarting-unlisted",
        "{seen_count:queue is/are} in no list that is in use, but members came or went a moment ago: look again in "
        "two minutes",
    ),
    Reason.RESTARTING_BROKERS: Sentence(
        "not-judged-restarting-brokers",
        "{seen_count:broker misses/miss} members, but members came or went a moment ago: look again in two minutes",
    ),
    Reason.RESTARTING_ORDERLY: Sentence(
        "not-judged-restarting-orderly",
        "{seen_count:member consumes/consume} in order and others do not, but members came or went a moment ago: "
        "look again in two minutes",
    ),
    Reason.RESTARTING_SLAVE: Sentence(
        "not-judged-restarting-slave",
        "its slave has none of {seen_count:topic} yet, but was started a moment ago, or the topics were just made: "
        "it copies them within two minutes",
    ),
    Reason.RESTARTING_UNLOCKED: Sentence(
        "not-judged-restarting-unlocked",
        "{seen_count:queue is/are} not locked for the owner, but members came or went a moment ago: look again in "
        "two minutes",
    ),
    Reason.RESTARTING_ROOMS: Sentence(
        "not-judged-restarting-rooms",
        "{seen_count:queue lies/lie} in rooms that look short of consumers, but members came or went a moment ago: "
        "look again in two minutes",
    ),
    Reason.RESTARTING_AHEAD: Sentence(
        "not-judged-restarting-ahead",
        "{seen_count:queue was/were} consumed further than the broker stores, but members came or went a moment "
        "ago: look again in two minutes",
    ),
    Reason.RESTARTING_CACHED: Sentence(
        "not-judged-restarting-cached",
        "{seen_count:queue has/have} cached messages below the offset that the broker stores, but members came or "
        "went a moment ago: look again in two minutes",
    ),
    Reason.RESTARTING_STANDING: Sentence(
        "not-judged-restarting-standing",
        "the offset of {seen_count:queue} stood still, but members came or went a moment ago: look again in two "
        "minutes",
    ),
    Reason.RESTARTING_BACKLOG: Sentence(
        "not-judged-restarting-backlog",
        "{seen_count:message waits/wait} and consumption looks too slow, but members came or went a moment ago: "
        "look again in two minutes",
    ),
    Reason.UNTRIED: Sentence(
        "not-judged-untried",
        "{client} got {queues} anew {since_ms} ago (a reset or a rebalance), holds {cached_count:message} and has "
        "finished none: look again in a minute, or see with --stacks whether its threads hang",
    ),
    Reason.SILENT_MEMBERS: Sentence(
        "not-judged-silent-members",
        "no running information from {silent_count:member} ({clients}): their subscriptions are not known",
    ),
    Reason.SILENT_OWNERS: Sentence(
        "not-judged-silent-owners", "{queue_count:queue} may belong to {clients}, which did not answer"
    ),
    Reason.RETRY_LIMIT: Sentence(
        "not-judged-retry-limit",
        "a message came back after {tries_count:try}, and the group's retryMaxTimes is {most}: who consumes it has "
        "another limit (maxReconsumeTimes), and no member online told one",
    ),
    Reason.STORE_TIME: Sentence(
        "not-judged-store-time", "the store time of the next message to consume cannot be read"
    ),
    Reason.NOT_SAMPLED: Sentence(
        "not-judged-not-sampled", "its tags were not sampled, since many topics are filtered by tag: name it with -t"
    ),
    Reason.ALL_GROUPS: Sentence(
        "not-judged-all-groups", "it compares all groups of a topic: ask without -g and --broker"
    ),
    Reason.ROOMS: Sentence("not-judged-rooms", "it allocates by rooms: --room-rule says which name is in which room"),
    Reason.TOO_MANY_OVERDUE: Sentence(
        "too-many-overdue-messages", "too many overdue messages to look for their delivered copies"
    ),
    Reason.FILE: Sentence("not-judged-file", "{file} {problem}"),
}


def reason(why: Why, more_count: int = 0) -> str:
    """Returns why something was not judged.

    Args:
        more_count: further reasons of the kind, of which only the number is told.
    """
    values: dict[str, object] = {name: finding_value(name, value) for name, value in why.values.items()}
    for name in ("part", "cause"):  # Chinese has the cause before what another program said of it
        if word := why.values.get(f"{name}_word"):
            values[name] = Word(str(word))
    said = _SENTENCES[why.reason](**values)
    if not more_count:
        return said
    return sentence("not-judged-and-more", "{why}, and {count:,} more", why=said, count=more_count)
