"""Words of the screen of `top`."""

from __future__ import annotations

from mqctl.text import sentence

PAGE_NAMES = {
    "brokers": sentence("screen-page-brokers", "brokers"),
    "topics": sentence("screen-page-topics", "topics"),
    "groups": sentence("screen-page-groups", "groups"),
    "queues": sentence("screen-page-queues", "queues"),
    "members": sentence("screen-page-members", "members"),
    "member": sentence("screen-page-member", "member"),
    "stacks": sentence("screen-page-stacks", "stacks"),
    "messages": sentence("screen-page-messages", "messages"),
    "message": sentence("screen-page-message", "message"),
    "findings": sentence("screen-page-findings", "findings"),
    "finding": sentence("screen-page-finding", "finding"),
}
"""By the name of a page."""
NEEDS = {
    "group": sentence("screen-needs-group", "select a group first (g lists them)"),
    "topic": sentence("screen-needs-topic", "select a topic first (t lists them)"),
}
"""What to do first, by what a page needs."""
HELP = sentence(
    "screen-help",
    """Nothing here changes the cluster.

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
)
