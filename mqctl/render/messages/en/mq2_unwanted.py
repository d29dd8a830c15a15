"""MQ216, tags that nobody wants: the words of `mqctl.diagnosis.mq2_unwanted` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ216": Text(
        title="Messages with a tag that no group of the topic subscribes to",
        what={
            "": "Of {sampled_count:message} sampled on {topic}, {unwanted_count:message} with {tag_count:tag} ({tags}; - means no tag) are of interest to no group that is online ({groups}).",
            "offline": "Of {sampled_count:message} sampled on {topic}, {unwanted_count:message} with {tag_count:tag} ({tags}; - means no tag) are of interest to no group that is online ({groups}); what {offline} would subscribe to is not known, since no member is online.",
        },
        effect="They are stored and delivered to nobody, and no lag shows it: offsets pass filtered messages.",
        advice="A tag that was misspelled or renamed by producers looks the same as one that nobody needs yet: compare the tags with what producers send. A broadcasting group that is offline leaves no trace here.",
        explain="Live, the newest 400 messages of each queue are sampled, of up to 32 topics that all groups filter by tag. A group with *, or with SQL92, takes a topic out: it may want everything. mqctl report tags --store counts all messages of a store.",
        next_command="mqctl subscription show {source} -g {group}",
    ),
}
