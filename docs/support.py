"""The text of `embedded_broker/SUPPORT.md`: every request code and what the embedded broker makes of it, and what mqctl
knows."""

from __future__ import annotations

import json
from pathlib import Path

from embedded_broker.remoting.handler_table import BROKER, NAMESRV, callbacks, handlers_of
from mqctl.commands.meta.version_view import supported_rows
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.requests import REQUESTS

_SHORT = {"no such interface": "-"}
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


_CLIENTS = """
## Clients of others

Tried {when}, kind by kind, with the embedded broker as {embedded} and with RocketMQ {real} and its proxy, by
`python -m tests.interop --real {real} --write`. **works**: on both; a cell that differs names both; -: this client has
no interface for it; ?: not tried.

Rust's client has no push consumer and receives in a loop. Not in the table: priorities and lite topics, which only
5.5.0 has and the embedded broker does not.

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
    return _HEAD + "".join(lines) + _clients() + _known()


_KNOWN = """
## What mqctl knows

What `mqctl version --supported` prints. Whatever else mqctl meets, it names.

| what | known | where it is another |
|---|---|---|
"""


def _known() -> str:
    rows = ((str(row.what), ", ".join(map(str, row.known)) or "any", str(row.otherwise)) for row in supported_rows())
    return _KNOWN + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _clients() -> str:
    """Returns the table of clients, from what the last runs wrote down."""
    tried = json.loads((Path(__file__).parent / "clients.json").read_text(encoding="utf-8"))
    cells = {(cell["client"], cell["kind"], cell["side"]): cell for cell in tried["cells"]}
    sides = (tried["embedded"], tried["real"])
    dates = sorted({cell["date"] for cell in cells.values()})
    when = dates[0] if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}"
    titles = tried["clients"]
    rows = [["kind of use", *titles.values()], ["---"] * (len(titles) + 1)]
    notes = []
    for kind in tried["kinds"]:
        row = [kind]
        for client, title in titles.items():
            both = [cells.get((client, kind, side)) for side in ("embedded", tried["real"])]
            verdicts = [_SHORT.get(cell["verdict"], cell["verdict"]) if cell else "?" for cell in both]
            same = len(set(verdicts)) == 1
            row.append(verdicts[0] if same else f"embedded {verdicts[0]}, real {verdicts[1]}")
            notes += [
                f"* {title}, {kind}, {side}: {cell['words'].splitlines()[0]}\n"
                for side, cell in zip(sides, both, strict=True)
                if cell and cell["words"]
            ]
        rows.append(row)
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    head = _CLIENTS.format(when=when, embedded=tried["embedded"], real=tried["real"])
    return head + table + ("\n" + "".join(notes) if notes else "")
