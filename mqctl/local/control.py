"""The control socket of an embedded broker's process, from the outside: one JSON line there, one back."""

from __future__ import annotations

import json
import socket

from mqctl.errors import RefusedError, UnreachableError
from mqctl.local.state import ControlAddress

_TIMEOUT_S = 30.0


def control(at: ControlAddress, do: str, **words: object) -> object:
    """Has the process do something and returns its answer.

    Raises:
        UnreachableError: nobody listens.
        RefusedError: it cannot be done.
    """
    host, _, port = at.address.rpartition(":")
    line = json.dumps({"token": at.token, "do": do, **words}).encode() + b"\n"
    try:
        with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
            connection.sendall(line)
            with connection.makefile("rb") as stream:
                answer = stream.readline()
    except OSError as error:
        raise UnreachableError(f"could not ask the control socket {at.address} to {do}", reason=str(error)) from error
    said = json.loads(answer) if answer else {"ok": False, "error": "it closed the connection"}
    if not said["ok"]:
        raise RefusedError(f"could not {do}", reason=str(said["error"]))
    return said.get("result")
