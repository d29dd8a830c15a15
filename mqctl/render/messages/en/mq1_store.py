"""MQ1, store: the words of `mqctl.diagnosis.mq1_store` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ101": Text(
        title="The broker runs, or did not stop cleanly",
        what={
            "": "The file `abort` is there: the broker is running, or it ended without a clean shutdown.",
            "runs": "Process {pid} has the store's lock: the broker runs, since {started_time_ms}. `abort` belongs to a running broker.",
        },
        effect="After a crash the next start is an abnormal recovery: records are checked and indexed again; {not_dispatched_bytes} "
        "of the commit log are not in any consume queue yet.",
        advice="If the broker is down, let it recover by itself and watch its store log; do not delete `abort`.",
        explain="A broker creates the empty file `abort` when it starts and deletes it at a clean stop. 5.x leaves `abort.bak` "
        "after a clean stop, which means nothing.",
        next_command="mqctl store verify {source}",
    ),
    "MQ102": Text(
        title="The checkpoint cannot be used",
        what={
            "zero": "The checkpoint is all zeros: no flush was ever recorded.",
            "missing": "There is no checkpoint file.",
            "unreadable": "The checkpoint file is too short to hold its times, or holds impossible times.",
        },
        effect="An abnormal recovery finds no point to start from and reads the commit log from its first file "
        "({commit_log_bytes}).",
        advice="Expect a longer start. If the checkpoint was there before, check how the copy was made.",
        explain="The checkpoint holds the store times up to which commit log, consume queues and index were flushed. Recovery "
        "after a crash begins at the newest file older than these times.",
    ),
    "MQ103": Text(
        title="A consume queue lacks messages of the commit log",
        what={
            "": "Queue {queue_id} of {topic} ends at offset {queue_max_offset}; the commit log holds its messages up to "
            "{log_max_offset}."
        },
        effect="{missing_count:stored message} invisible to consumers until the broker dispatches them again.",
        advice="Start the broker: recovery writes the missing entries. If it already ran, its dispatch is stuck.",
        explain="The broker writes the commit log first and the consume queues a moment later. After a kill the last entries "
        "are missing; a clean stop leaves none behind.",
        next_command="mqctl store verify {source}",
    ),
    "MQ104": Text(
        title="The store is damaged",
        what={
            "": "Damage ({kind}) in {deviation_count:place} of {file}, the first at byte {byte_offset}.",
            "size": "{file} is {first_found} bytes long, its neighbours are {first_expected}.",
            "cut": "{file} is {first_found} bytes long, no usual size of a commit log file: it was cut, unless mappedFileSizeCommitLog is just that.",
            "odd": "{file} is the only one of the commit log and {first_found} bytes long: brokers are usually set to a power of two. Unless "
            "mappedFileSizeCommitLog is just that, the file was cut, and the broker refuses to start.",
            "no-log": "There is no commit log, and {deviation_count:entry} of consume queues and index files lead into it: "
            "it was lost, or not copied, or lies elsewhere (storePathCommitLog).",
            "gone": "Files of {queue_count:consume queue} of {topic} are gone (queue id {queues}): {deviation_count:message} of "
            "the commit log {deviation_count:/reaches/reach} no consumer, and a restart does not change that.",
            "gone-or-anew": "{queue_count:consume queue} of {topic} (queue id {queues}) {queue_count:/has/have} no files, and the commit "
            "log holds {deviation_count:message} for {queue_count:/it/them}: the files are gone, or the topic was deleted and "
            "created again, which the broker's log of that time shows.",
        },
        effect="The broker would cut its commit log at a damaged record, refuse to start on a wrong file size, or serve wrong "
        "data from a damaged queue. What no queue leads to is not delivered.",
        advice="Work on a copy. Take a commit log that is missing from where it lies, or from another replica. Rebuild damaged "
        "consume queues and index by removing all of them: a broker that finds none builds them from the commit log when it "
        "starts. Replay what a damaged commit log loses from another replica.",
        explain="Every record is checked by magic, length, physical offset and CRC32, every queue entry and index entry "
        "against the record it points to. What a running, killed or cleaning broker leaves behind is not called damage.",
        next_command="mqctl store verify {source}",
    ),
    "MQ105": Text(
        title="Nothing confirms the last record",
        what={"": "The last record, at physical offset {physical_offset}, is whole but nothing else confirms it."},
        effect="It may be complete, or a copy may have caught it half way ({record_bytes}).",
        advice="Copy the last commit log file again and compare, if this message matters.",
        explain="A record at the end of the log is accepted when something valid follows it, a consume queue points to it, or "
        "the checkpoint is younger than it.",
    ),
    "MQ106": Text(
        title="A configuration file is lost, or only its backup is left",
        what={
            "backup": "{file} cannot be used ({problem}); the broker would load {file}.bak of {used_file_time_ms}.",
            "none": "{file} cannot be used ({problem}) and neither can its backup: the broker would start without it.",
        },
        effect="Offsets, topics or groups go back to the backup's state, or start empty; the broker does not report "
        "it.",
        advice="Restore the file from the newest copy, a slave or a snapshot before the broker starts.",
        explain="The broker writes NAME.tmp, copies the old file to NAME.bak and renames. When NAME is missing, empty or "
        "unparsable it takes the backup; with neither it starts empty without an error.",
        next_command="mqctl store describe {source}",
    ),
    "MQ108": Text(
        title="A part of the commit log was set aside",
        what={
            "": "A recovery moved {file_count:file} of the commit log to {file}: the log had a gap.",
            "cut": "A recovery ended the commit log at {physical_offset}, where no sound record follows, and moved what was "
            "behind it ({length_bytes}, {sound_record_count:sound record}) to {file}.",
            "torn": "A recovery moved the torn end of the commit log ({length_bytes}, no sound record) to {file}.",
        },
        effect="The broker no longer serves these messages.",
        advice="See what it holds with `mqctl store cat --store` and that directory, publish again what is needed with "
        "`mqctl replay publish --store`, then acknowledge it; delete it when nobody needs it.",
        explain="Brokers serve the log up to the first record that is not sound, or one side of a gap between files. A RocketMQ "
        "broker deletes the rest; an embedded broker moves it to commitlog.set-aside with a note. The finding stays until the "
        "part is acknowledged or deleted.",
        next_command="mqctl store acknowledge {source}",
    ),
    "MQ107": Text(
        title="Clocks disagree",
        what={
            "producer": "Of {message_count:message}, {born_ahead_count:was/were} born up to {max_born_ahead_ms} after they were "
            "stored.",
            "broker": "The broker's clock went back {step_back_count:time}, by up to {max_step_back_ms}.",
        },
        effect="Delays, transaction checks, retention and resets by time go wrong by that much.",
        advice="Run NTP on producers and brokers; let it slew the clock rather than step it.",
        explain="The store time is the broker's clock, written under the append lock, so it must not fall along the log; the "
        "born time is the producer's clock and must not lie after it by more than 10 s.",
    ),
    "MQ143": Text(
        title="Messages that a slave was cut of are still in its files",
        what={
            "": "As a slave this log was cut at physical offset {physical_offset}; {cut_bytes} of older records follow there in its files."
        },
        effect="Whoever reads the files takes them for messages, mqctl's other findings on this store included. A restart of the "
        "broker brings them back until its master cuts it again; if it is elected before that, it serves them.",
        advice="Start the broker as a slave, with its master running, before anybody elects it. Save these messages first if their "
        "senders got an OK: no other replica has them. Compare with the master's store: `mqctl ha compare`.",
        explain="A slave under a controller is cut to the point up to which its epochs and its master's agree. That moves the position at "
        "which it writes; bytes, magic and offsets behind stay. The checkpoint's confirm offset tells the cut, and the "
        "record behind it was stored before the one in front of it, which would otherwise look like a clock that went back (MQ107).",
        next_command="mqctl store describe {source}",
    ),
}
