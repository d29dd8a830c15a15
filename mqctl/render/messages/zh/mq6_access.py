"""MQ63x: the words of `mqctl.diagnosis.mq6_access` in Chinese."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ630": Text(
        title="各 Broker 的访问控制不一致",
        what={
            "": "集群 {cluster} 的 {user_count} 个用户（{users}）在 {brokers} 上不一致。",
            "open": "集群 {cluster} 的 {broker_count} 个 Broker 中有 {open_count} 个不检查请求者：{brokers}。",
        },
        effect="同一客户端在一个 Broker 上成功、在另一个上被拒绝；被拒绝者可以改问不做检查的 Broker。",
        advice="让所有主节点的配置开关一致、用户一致；`acl grant` 和 `acl create-user` 会同时作用于所有主节点。",
        explain="比较各主节点的 aclEnable、authenticationEnabled、authorizationEnabled 以及用户和条目。每个 Broker 各存一份用户数据，没有机制保证一致。",
    ),
    "MQ631": Text(
        title="任何用户都可以操作",
        what={
            "": "{broker} 允许它的 {user_count} 个普通用户（{users}）修改消费组和 Broker 配置。",
            "password": "{broker} 会把 Super 用户的密码告诉它的 {user_count} 个普通用户（{users}）：{properties}。",
            "list": "{broker} 允许它的 {user_count} 个普通账号（{users}）新增和删除账号，也能把自己改成 admin。",
        },
        effect="5.3.3 对创建和修改消费组（200）、读取和修改 Broker 配置（26、25）不检查任何策略；4.9.8 不检查谁在修改账号和白名单（50、51、53）；得到 Super 用户的密码后便没有限制。",
        advice="初始用户建立后从配置中删除并更换密码，只让可信网络访问 Broker；应用可以经由 proxy 访问。",
        explain="请求 26 会把包括 initAuthenticationUser 和 innerClientAuthenticationCredentials 在内的全部配置返回给任何签名正确的用户。只有 Super 用户的 Broker 不提示。",
    ),
    "MQ632": Text(
        title="权限条目互相矛盾",
        what={"": "{broker} 上用户 {user} 被拒绝 {deny}，又被允许 {allow}，两者匹配同样的请求。"},
        effect="哪一条生效取决于添加顺序和前缀长度，Deny 并不天然优先。",
        advice="让资源名称互不重叠，或删除其中一条；`acl explain` 显示 Broker 当前的决策。",
        explain="精确名称与前缀互相优先，后添加者生效；两个前缀则较短者生效。没有共同操作的条目，以及不同策略类型的条目不提示。",
    ),
    "MQ633": Text(
        title="人人都会先试的密码",
        what={"": "{broker} 上 {user_count} 个用户（{users}）使用示例密码，或以用户名作密码。"},
        effect="能访问该 Broker 的任何人都可以冒用此用户。",
        advice="更换密码并通知客户端：`acl update-user USER --password-file FILE`，4.9 上用 `acl put-account KEY`。",
        explain="在 Broker 返回密码、或 4.9 的访问控制文件就在本机时，与 RocketMQ 的示例密码和用户名比较；快照和报告中都没有密码本身。已禁用的用户不提示。",
    ),
    "MQ634": Text(
        title="访问控制列表放行不带密钥的请求",
        what={
            "": "{broker} 不检查请求来自谁：{files} 的白名单中有代表所有地址的条目。",
            "account": "{broker} 接受 {account_count} 个账号（{accounts}）从任何地址发来的无签名请求。",
        },
        effect="能访问该 Broker 的任何人都可以执行全部操作，或这些账号可做的全部操作：access key 并不是秘密。",
        advice="只写需要放行的地址，或者清空：`acl white-list 10.1.2.*`、`acl put-account KEY --white-address 10.1.2.3`。",
        explain="4.9 的 Broker 运行在本机、mqctl 有权读取其访问控制文件且版本与 Broker 一致时才读取：4.9.8 没有请求能返回文件内容。`*` 和 `*.*.*.*` 代表所有地址。",
    ),
}
