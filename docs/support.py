"""The text of `embedded_broker/SUPPORT.md`: every request code and what the embedded broker makes of it."""

from __future__ import annotations

from embedded_broker.remoting.handler_table import BROKER, NAMESRV, callbacks, handlers_of
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.requests import REQUESTS

_HEAD = """# What the embedded broker supports

Generated from the handlers by `docs/generate.py`; a test sends every code and compares.

A code that is absent, or that the release which `as_version` names does not have, is answered with 3 (by a 4.9.8 name
server: not at all), as by a real server that does not know it. Codes that came with 5.x are served as 5.3.3 only; 50 to
53 are gone there. As 4.9.8 access is controlled by `plain_acl.yml`, as 5.3.3 by users and ACLs, which are kept in
`config/users.json` and `config/acls.json` where a real broker has RocksDB folders. Absent of these: the import of a
`plain_acl.yml` (`migrateAuthFromV1Enabled`) and results remembered for a connection (the stateful strategies).

A topic with `queue.type=BatchCQ` (5.x), whose records are batches of messages, is not served: creating one is refused
with code 1 and the reason, and so are sends, pulls and pops where a store of another broker has one.

| code | name | since | broker | name server | broker to client |
|---|---|---|---|---|---|
"""


def support() -> str:
    """Returns the whole text."""
    broker, namesrv, sent = handlers_of(BROKER), handlers_of(NAMESRV), callbacks()
    lines = []
    for code in sorted(RequestCode):
        request = REQUESTS.get(code)
        cells = [
            str(int(code)),
            code.name,
            request.since if request is not None else "",
            broker[code].support if code in broker else "absent",
            namesrv[code].support if code in namesrv else "absent",
            "sent" if code in sent else "",
        ]
        lines.append(f"| {' | '.join(cells)} |\n")
    return _HEAD + "".join(lines)
