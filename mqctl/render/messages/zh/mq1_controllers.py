"""MQ141, MQ142: the words of `mqctl.diagnosis.mq1_controllers` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ141": Text(
        title="主节点独自在同步副本集合中",
        what={"": "{broker} 由控制器管理，它有 {slave_count} 个从节点，但没有任何节点与它同步。"},
        effect="此时它若宕机，将选不出主节点；启用 enableElectUncleanMaster 时会选出缺消息的主节点。",
        advice="检查从节点是否在运行、心跳是否到达控制器的 leader、是否在追赶。`mqctl ha status -o wide` 显示控制器看到的集合以及各 Broker 的 epoch。",
        explain="从节点连接断开或落后 15 秒即离开集合，追上后回来。集合由控制器的 leader 给出，包括已宕机的从节点；没有从节点的主节点不判断。",
    ),
    "MQ142": Text(
        title="没有控制器能选出主节点",
        what={
            "": "{broker_count} 个 Broker 名称的 {controller_count} 个控制器都没有应答（{addresses}）。",
            "leaderless": "{broker_count} 个 Broker 名称的控制器没有 leader；{silent_count} 个控制器没有应答。",
            "some": "{silent_count} 个控制器没有应答（{addresses}）；其余的有 leader。",
            "no-master": "控制器没有 {broker} 的主节点：同步副本集合中的 {candidate_count} 个成员都无法当选。",
        },
        effect="运行中的 Broker 保持原有角色，但不会发生切换：主节点宕机后无人接替，重启的 Broker 会一直被隔离（ID 为 -1，发送返回 SERVICE_NOT_AVAILABLE）。只有少数控制器宕机时一切照常，再少一个就可能无法选举。",
        advice="启动控制器，并检查 Broker 能否连上 controllerAddr 中的每个地址。控制器可能只对 Broker 可达而对你不可达：也请在 Broker 所在机器上检查。",
        explain="向 controllerAddr 的每个地址询问谁是 leader（请求 1005），再向 leader 询问同步副本集合（1006）。选举需要多数控制器。没有候选者表示集合成员全部宕机；启用 enableElectUncleanMaster 时可选出其他成员，但会丢消息。",
    ),
}
