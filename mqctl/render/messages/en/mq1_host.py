"""MQ1, a store against its machine: the words of `mqctl.diagnosis.mq1_host` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ109": Text(
        title="More files than one process may map, or have open",
        what={
            "": "The store has {file_count:file} that a broker maps, and this machine lets a process map {limit_count} (vm.max_map_count).",
            "open": "The store has {file_count:file} that a broker keeps open. Process {pid} has {open_count} open, connections "
            "included; its limit is {limit_count} (RLIMIT_NOFILE).",
        },
        effect="The broker cannot create the next mapped file and refuses sends or new connections, or does not start.",
        advice="Raise vm.max_map_count on the broker's machine, and the limit of open files where the broker is started (ulimit -n, LimitNOFILE); "
        "delete topics and queues that nobody needs: each queue has at least one file.",
        explain="Counts the files of commit log, consume queues, index and timer log, each of which a broker maps and keeps open. "
        "vm.max_map_count is that of the machine where this runs, which is the broker's only if the store lies there. The limit of open files is that of the "
        "process that holds the store's lock; while no broker runs on the store, nothing tells it.",
    ),
    "MQ121": Text(
        title="The broker writes its store to a place that does not last",
        what={
            "": "Process {pid} writes its store to {file_system}, which is memory.",
            "container": "Process {pid} writes its store to {file_system}, usually the writable layer of a container.",
        },
        effect="When the machine restarts, or the container is made anew, every message, offset and setting of this broker is gone.",
        advice="Move the store to a disk, or mount a volume at storePathRootDir: stop the broker, copy the directory, start it there.",
        explain="The type of file system is that of the mount under the store, told only while a process holds the store's lock: a copy in "
        "memory is nobody's loss. A container's own layer is advice, since a container may be meant to keep nothing.",
    ),
    "MQ122": Text(
        title="Deleted files of the store are still open",
        what={
            "": "Process {pid} has {file_count:deleted file} of the store open, {file} first.",
        },
        effect="They take {size_bytes} of the disk until the broker stops, so nothing was gained by deleting them; at the next start they are "
        "missing: what they held is lost, and a gap in the commit log keeps a broker from starting.",
        advice="Do not restart the broker before consumers have read what they need, or copy the files out of /proc/{pid}/fd into "
        "their places. Free space by lowering fileReservedTime or deleting topics instead.",
        explain="A broker that deletes an expired file closes it first; a file that is deleted and open was removed by somebody else. Seen on the "
        "broker's own machine, by its user or root.",
    ),
}
