"""`python -m embedded_broker`: a cluster in the foreground, until a signal ends it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import resource
import signal
import sys

from embedded_broker.clock import SystemClock
from embedded_broker.cluster import RunningCluster
from embedded_broker.testing.control_socket import ControlSocket
from embedded_broker.testing.options import Options, parse
from mqctl.errors import ExitCode, MqctlError

_OPEN_FILES = 1 << 17
_NEW_OBJECTS = 20_000
"""After so many the collector looks for cycles: requests leave none, and hundreds of them come at once."""


async def _serve(options: Options) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if options.until_eof or options.until_released:
        try:
            loop.add_reader(sys.stdin.fileno(), _hear_starter, loop, options, stopped)
        except PermissionError:  # a file or /dev/null, which is never waited for: it ends at once
            stopped.set()
    cluster = RunningCluster(options.spec)
    control = ControlSocket(cluster) if options.control else None
    try:
        await cluster.start()
        if control is not None:
            await control.start()
        if not stopped.is_set():  # nobody may be there to read it
            sys.stdout.write(json.dumps(ready(cluster, control)) + "\n")
            sys.stdout.flush()
        gc.freeze()  # what is there now stays; collections need not look at it again
        gc.set_threshold(_NEW_OBJECTS)
        await stopped.wait()
    finally:
        if control is not None:
            await control.stop()
        await cluster.stop()


def _hear_starter(loop: asyncio.AbstractEventLoop, options: Options, stopped: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1_024):
        stopped.set()
    elif not options.until_released:
        return
    loop.remove_reader(sys.stdin.fileno())


def ready(cluster: RunningCluster, control: ControlSocket | None) -> dict[str, object]:
    """Returns what the ready line says: who listens where."""
    spec = cluster.spec
    return {
        "schema": "embedded_broker.ready/1",
        "pid": os.getpid(),
        "version": spec.version,
        "cluster": spec.cluster,
        "namesrv": cluster.namesrv,
        "name_servers": [{"name": name, "address": server.address} for name, server in cluster.name_servers.items()],
        "brokers": [
            {
                "name": name,
                "broker_name": broker.name,
                "broker_id": broker.broker_id,
                "address": broker.address,
                "room": spec.room_of(name),
                "store": str(broker.directory),
            }
            for name, broker in cluster.brokers.items()
        ],
        "ignored": sorted(cluster.ignored),
        "grpc": cluster.grpc.address if cluster.grpc is not None else None,
        "nsaddr": {room: service.url for room, service in cluster.address_services.items()},
        "time_scale": spec.time_scale,
        "time_origin_ms": cluster.clock.origin_ms if isinstance(cluster.clock, SystemClock) else None,
        "virtual_time": spec.virtual_time,
        "control": {"address": control.address, "token": control.token} if control is not None else None,
    }


def _allow_many_files() -> None:
    """Raises the soft limit of open files, sockets included: 1,024 are fewer than the clients of one test cluster."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Printable(logging.Formatter):
    """Names and keys in a line may come from anybody: what would steer a terminal, or feign a line, is escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        return line if line.isprintable() else "".join([_shown(character) for character in line])


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _log_at(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


def main(words: list[str]) -> int:
    """Runs the process and returns its exit code."""
    try:
        options = parse(words)
        _log_at(options.log_level)
        _allow_many_files()
        asyncio.run(_serve(options))
    except MqctlError as error:
        sys.stderr.write(f"embedded_broker: {error}\n")
        if error.remedy:
            sys.stderr.write(f"  try: {error.remedy}\n")
        return int(error.exit_code)
    return int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
