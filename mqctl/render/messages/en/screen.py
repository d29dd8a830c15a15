"""Words of the screen of `top` in English."""

from __future__ import annotations

PHRASES = {
    "page_brokers": "brokers",
    "page_topics": "topics",
    "page_groups": "groups",
    "page_queues": "queues",
    "page_members": "members",
    "page_member": "member",
    "page_stacks": "stacks",
    "page_messages": "messages",
    "page_message": "message",
    "page_findings": "findings",
    "page_finding": "finding",
    "page_of": "{page} of {subject}",
    "screen_keys": "Enter open  Esc back  / filter  s sort  c command  ? help  q quit",
    "screen_head": "{time}  brokers {brokers}, in/s {coming}, out/s {going}, lag {lag:,}",
    "screen_head_at_least": "{time}  brokers {brokers}, in/s {coming}, out/s {going}, lag {lag:,} or more",
    "screen_rows": "{shown:,} of {total:,} rows",
    "screen_filter": "filter: {wanted}",
    "screen_asking": "asking ...",
    "screen_asked": "asked at {time}",
    "screen_paused": "paused",
    "screen_past": "last 5 min",
    "screen_failed": "not refreshed: {why}",
    "screen_command": "copied: {command}",
    "screen_needs_group": "select a group first (g lists them)",
    "screen_needs_topic": "select a topic first (t lists them)",
    "screen_help": """Nothing here changes the cluster.

b  brokers      t  topics       g  groups       of the whole cluster
u  queues       m  members      k  stacks       of the selected group
e  messages     the newest of the selected topic or queue
f  findings     about the selected topic or group;  F  about the whole cluster

Enter           open the selected row
Esc, Backspace  back to the page before
Up, Down, PgUp, PgDn, Home, End    select or scroll
Left, Right     show columns that do not fit

/  filter: Enter keeps it, Esc drops it
s  sort by the next column;  S  turn the order round
r  look again now;  p  pause and go on
c  copy the command line that shows the same, and show it
q  quit

Bars: five minutes of the column before them, as far as this screen has seen.""",
}
