"""MQ1, a store against its machine: the words of `mqctl.diagnosis.mq1_host` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ109": Text(
        title="文件数超过进程可映射或可打开的上限",
        what={
            "": "存储中有 {file_count} 个文件需要 broker 映射，而本机允许一个进程映射 {limit_count} 个（vm.max_map_count）。",
            "open": "存储中有 {file_count} 个文件由 broker 一直打开。进程 {pid} 打开了 {open_count} 个文件和连接，上限是 {limit_count} 个（RLIMIT_NOFILE）。",
        },
        effect="broker 无法创建下一个映射文件而拒绝发送或新连接，或无法启动。",
        advice="在 broker 的机器上调大 vm.max_map_count，并在启动 broker 的地方调大可打开文件数（ulimit -n、LimitNOFILE）；删除没有人需要的 topic 和队列：每个队列至少有一个文件。",
        explain="统计 commit log、consume queue、index 和 timer log 的文件，broker 会映射并一直打开每一个。vm.max_map_count 取自运行本命令的机器，只有存储就在该机器上时才是 broker 的上限。"
        "可打开文件数的上限取自持有存储锁的进程；没有 broker 运行时无从得知。",
    ),
    "MQ121": Text(
        title="broker 的存储所在位置不能持久保存",
        what={
            "": "进程 {pid} 的存储写在 {file_system} 上，即内存中。",
            "container": "进程 {pid} 的存储写在 {file_system} 上，通常是容器自身的可写层。",
        },
        effect="机器重启或容器重建后，该 broker 的所有消息、位点和配置都会丢失。",
        advice="把存储移到磁盘，或在 storePathRootDir 挂载数据卷：停止 broker，复制目录，再从新位置启动。",
        explain="文件系统类型取自存储目录所在的挂载点，只有进程持有存储锁时才提示：内存中的副本不会造成损失。容器自身的可写层只作建议，因为有些容器本来就不需要保存数据。",
    ),
    "MQ122": Text(
        title="已删除的存储文件仍被打开",
        what={
            "": "存储中有 {file_count} 个文件已被删除，但进程 {pid} 仍打开着它们，第一个是 {file}。",
        },
        effect="broker 停止之前它们仍占用磁盘 {size_bytes}，删除并没有释放空间；下次启动时这些文件已不存在：其中的消息会丢失，commit log 的缺口会使 broker 无法启动。",
        advice="在消费者读完所需消息之前不要重启 broker，或从 /proc/{pid}/fd 把文件复制回原位。要释放空间，请调小 fileReservedTime 或删除 topic。",
        explain="broker 删除过期文件时会先关闭它；已删除却仍打开的文件是被别人删除的。只有在 broker 所在机器上，以其用户或 root 身份才能看到。",
    ),
}
