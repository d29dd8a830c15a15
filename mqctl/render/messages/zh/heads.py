"""Heads, titles and empty tables in Chinese, by their English words: `english=chinese`, one table's words near each other.

A head that has no entry stays as it is; a test knows all of them.
"""

from __future__ import annotations

_HEADS = """
messages stored=存储条数
consumer group=消费组|group=消费组|producer group=生产组|broker=Broker|brokers=Broker|topic=Topic|topics=Topic|cluster=集群
queue=队列|queues=队列|offset=位点|tag=Tag|tags=Tag|key=Key|keys=Key|message id=消息 ID|messages=消息|id=ID|name=名称
dead letters=死信|oldest=最早|newest=最新|perm=权限|oldest stored=最早存储|newest stored=最新存储|age=已过时间|failed=失败
role=角色|first message=首条消息|retained=保留时长|settings that are not the default=非默认设置|replica=副本|log from=日志起点|log to=日志终点|behind=落后|behind for=落后时间|slaves=从节点|sync state set=同步副本集合|replication port=复制端口|not dispatched=未分发
directory=目录|confirmed to=已确认到|table=表|only in A=仅在 A|only in B=仅在 B|in all=合计|for instance=例如|epochs=Epoch|calls in sync=自称同步数|reported ago=距上次上报|controller=控制器|its leader=它认的 leader|from offset=起始位点|to offset=结束位点|stored from=最早存储|stored to=最晚存储|served by=提供服务的一方|read again=重复消费|missed=错过|queues without offset=没有位点的队列
no broker is registered=没有注册的 Broker
python=Python|system=系统|resource=资源|decision=决策|actions=操作|policy=策略类型|by entry=依据条目|overridden=被覆盖的条目
given up=已放弃|origin topic=原 Topic|dead letter id=死信 ID|origin id=原消息 ID|given up at=放弃时间|sent again=已重新发送|by change=由变更|first failed by=首次失败不晚于|born=生成时间|state=状态
falls to=落到|stored messages=已存储消息|busiest key=最忙的 key|its share=占比|times one thread=单线程的倍数|tries left=剩余重试|dead letter in=距成为死信|dead letter at=成为死信时间|in Kafka=在 Kafka 中|Kafka=Kafka|RocketMQ=RocketMQ|look at it with=查看命令|
figure=指标|unit=单位|ratio=比值|time=时间段|requests=请求|mean ms=平均毫秒|p50 ms=p50 毫秒|p90 ms=p90 毫秒|p99 ms=p99 毫秒|p99.9 ms=p99.9 毫秒|p99.99 ms=p99.99 毫秒|max ms=最大毫秒
error=错误|errors=错误|the first said=首条说明|code=代码|its put/s, at most=自报最高写入/秒|its get/s, at most=自报最高读取/秒|sends waited ms=发送等待毫秒
sends waiting=等待的发送|append ms=追加毫秒|looks=查看次数|second=秒|counted=计入
due in=距到期|due=到期时间|physical offset=物理位点|stored=存储时间|body bytes=消息体字节|body=消息体|body encoding=消息体编码
hop=跳|level=级别|delay=延时|sent=发送|comes=到达|sent on=已转发|delivered=已投递|owns=拥有|layout=布局|strategy=策略|clients=客户端
least=最少|most=最多|busiest / mean=最忙/平均|idle=空闲|orphans=无主队列|parallelism=并行度|cross-room=跨机房|moved=变动|fails=失败原因
required/s=需要/秒|capacity/s=能力/秒|carries/s=承担/秒|enough=够用|client=客户端|before=之前|after=之后|from=从|to=到|room=机房
producers in=生产者所在机房|stay in their room=留在本机房|status=状态|unique id=唯一 ID|offset id=位点 ID|delivered by=投递方式
scenario=场景|what is wrong=问题|doctor finds=doctor 的发现|playbook=处理手册|time scale=时间倍率|consumers=消费者|in/s=写入/秒|out/s=消费/秒
disk=磁盘|commit log=CommitLog|problem=问题|lag=积压|change=变化|lag time=延迟时间|trend=趋势|queues seen=看到的队列|lag at least=积压不少于|lag time at least=延迟时间不少于|owners=所有者|severity=严重程度|what=内容|cause=原因|event=事件
hash=哈希|tags with this hash=同哈希的 Tag|kind=种类|read queues=读队列|write queues=写队列|part=部分|where=位置|reason=原因|bytes=字节
drained in=消化需时|oldest expires=最早过期|lost=丢失|message deleted=消息已删除|never delivered=从未投递|in timer=定时等待|never committed=从未提交|beyond max=超出最大位点|no queue=无队列
store=存储|arrived from=来自|messages in its log=日志中的消息|why=原因|passed over=跳过|damaged at=损坏位置|in 24 h=24 小时写入
out 24 h=24 小时消费|members=成员|model=模式|type=类型|subscribes=订阅|consumes=消费|broadcast=广播|retries=重试次数|retry queues=重试队列
reads from id=读取的 Broker ID|when slow=变慢时|from min=从最小位点|notified of changes=变更通知|client id=客户端 ID|address=地址|language=语言
version=版本|known to=已知于|cached=已缓存|started=启动时间|expression=表达式|since=起始时间|connected to=连接到|last heartbeat=最近心跳
consumer offset=消费位点|MiB=MiB|locked=已加锁|dropped=已放弃|last pull=最近拉取|last consumed=最近消费|cached from=缓存起点
cached to=缓存终点|in hand=处理中|last lock=最近加锁|pull ms=拉取毫秒|pulled/s=拉取/秒|consume ms=消费毫秒|consumed/s=消费/秒|failed/s=失败/秒
failed in the last hour=近一小时失败|property=属性|value=值|transaction=事务|checks=回查次数|online=在线|half offset=Half 位点|pending=未决
half behind=Half 落后|op offset=Op 位点|op behind=Op 落后|lost ops=丢失的 Op|committed twice=重复提交|wants=订阅内容|holds queues=持有队列
differs=不一致|filters by=过滤条件|sampled=抽样|skipped=被跳过|share=占比|+/-=误差|where (queue: owner)=位置（队列：所有者）|should be owned by=归属
waiting=等待|verdict=结论|silent=未作答|differ in=不一致的 Topic|of the newest=最新消息数|with this tag=带此 tag|wanted by=订阅方
skipped while brokers filter by the old tags=Broker 按旧 Tag 过滤时跳过|by the new=按新 Tag 过滤时跳过|all members from=所有成员从
skipped on the way=过程中跳过|command=命令|impact=影响|what it does=作用|mqadmin=mqadmin|mqctl=mqctl|coverage=覆盖|in=于|note=说明|lock=锁
holder=持有者|renewed=续期时间|listener silent=监听器无进展|free at the latest=最迟释放|moves=变动次数|last move=最近变动|keys re-routed=改道的 Key
of keys=占 Key|of all messages=占全部消息|gone in=过期还剩|place=位置|is=现值|becomes=变为|stage=阶段|was=原值|requested=要求|when=时间|of=属于|parts=部分
undo with=回退命令|undone by=已由何变更撤销|who=操作者|undoes=撤销|grade=等级|file=文件|byte=字节位置|count=数量|details=详情|in flight=处理中
handed out/s=下发/秒|committed/s=提交/秒|min offset=最小位点|broker offset=Broker 位点|next message stored=下一条存储时间|owner=所有者|owner address=所有者地址|Who consumes=消费者|no consumer group has offsets there=没有消费组在那里提交过位点|processes=进程|versions=版本
name server=NameServer|from offset=起始位点|to offset=结束位点|deleted=已删除|reached=已到|left=剩余|published=已发布|there already=已在目标|repeated=重复|filtered out=已过滤
replay=重放|in doubt=存疑|ordered=顺序|in order=按序消费|message.type=message.type|master=Master|slaves=Slave|max offset=最大位点|last message=最近消息|report=报告|what stands out=要点
changes by request=按请求的变更次数|last change=最近变更|section=部分|figure=数字|code=代码|subject=对象|rule=规则|about=关于|why accepted=接受原因|until=截止|why not=未判断原因|why not wholly=未完整判断的原因
broker processes=Broker 进程|differs from others=与其余不同|queue offset=队列位点|size=大小|tags code=Tag 哈希|passes=通过|bit map=位图
profile=配置档|current=当前|name servers=NameServer|timeout=超时|TLS by=TLS 来源|rooms by=机房规则|proxies=Proxy 地址|threads=线程|do=操作|at=时间|motion=进展|frame=栈帧|cpu=CPU
instances=实例|by rule=按规则|line=行|lock held by=锁持有者|instance=实例|role=角色|class=类别|phase=阶段|root=根帧|new offset=新位点
delta=差值|replayed=重放|stored at=存储时间|min=最小|max=最大|old offset=旧位点|read back=回读|target=目标|began=开始|took=用时
succeeded=成功|outcome=结果|mqadmin says=mqadmin 的结果|same for=持续|pid=PID|runs=运行|consuming=消费|memory=内存|user=用户
cannot dump because=妨碍转储的原因|known by=识别依据|repetitions=重复|drains in=消化需时|deleted before read=读到前被删除|calls at once=同时调用数
limited by=瓶颈|option=手段|effect=效果|needed=需要|because=原因|held by=持有者|movement=移动|drain=消化|recorded=记录|overdue=逾期
late by=迟到|next due=下次到期|what it is for=用途|parameters=参数|findings=发现|step=步骤|only when=条件|expected owner=按各自视图
marks=标记|multiple=整除|doubles=重复持有|strategies=策略|expected=应有|holds=持有|first ms=首次毫秒|median ms=中位毫秒|max ms=最大毫秒
in today=今日写入|out today=今日消费|oldest message=最早消息|up since=启动于|exit=退出码|what it means=含义|now=现在|then=当时
gRPC=gRPC|gRPC settings=gRPC 设置|asked for=要求|to topic=目标 Topic|plan=计划|sent as=发送为|check=检查|found=发现|as version=模拟版本|up for=已运行|stores=存储|log=日志
first stored=最早存储|last stored=最近存储|by=来自|copies=份数|born host=生产者主机|gini=基尼系数|max/mean=最大/平均|hot broker=热点 Broker
hot queue=热点队列|its share=其占比|hot key=热点 Key|gini of bytes=字节基尼系数|max/mean of bytes=字节最大/平均|hot store=热点存储
of bytes=占字节|threads by key=按 Key 可用线程|of queue=占队列|may be more by=可能多出|new queue=新队列|queues now=现有队列|selector=选择器|would move=会改道
without key=无 Key|gini now=现基尼系数|max/mean now=现最大/平均|busiest=最忙|in several queues=分布于多个队列|sent in other order=发送乱序
queues before=原队列数|explains=可解释|first move=首次改道|queues in use before=原使用队列|stored again=重复存储|by the same host=同一主机
typical gap, from=典型间隔，从|hosts=主机|dead=已死|messages/s=消息/秒|peak=峰值|peak at=峰值时间|bytes a day=每天字节|hours kept=保留小时
free on disk=磁盘剩余|hours to 75 %=到 75% 的小时|to 90 %=到 90%|bytes/s=字节/秒|peak bytes/s=峰值字节/秒|first=最早|last=最近
messages that failed=失败的消息|most attempts=最多次数|on delay levels=在延时级别上|next back=下次返回|last back=最后返回|attempt=次数
sent back for it=为此返回|consumed or waiting after it=之后消费或等待|for attempt=第几次|delay level=延时级别|first due=最早到期|last due=最晚到期
not due yet=未到期|next offset=下一位点|queue from=队列起点|offset is=位点状态|head due=队首到期|without record=无记录|transactions=事务
committed=已提交|handed over=交接时间|at offset=交接位点|old owner=原所有者|new owner=新所有者|unfinished=未完成|begun late=迟到开始|twice=重复投递|overlap=重叠时长|periods=周期数|lag then=起始积压|lag now=当前积压|most lag=最大积压|lag change/day=积压变化/天|produced=写入|
disk then=起始磁盘|disk now=当前磁盘|most disk=最大磁盘|disk change/day=磁盘变化/天|full in=距写满|most in/s=最大写入/秒|first seen=最早出现|last seen=最近出现|rolled back=已回滚|ended otherwise=其他结束|oldest pending=最早未决|mean to end, ms=平均结束毫秒|mean to commit, ms=平均提交毫秒
mean to rollback, ms=平均回滚毫秒|longest=最长|ended=结束|mode=模式|consume mode=消费方式|invisible=不可见|next back at=下次可见|held since=持有起始于|ready=可取|ordered blocks=顺序阻塞|retry=重试|unique key=唯一键|what it finds=检查内容|in RocketMQ=RocketMQ 中|port of=端口属于|speaks=应答者|promise=承诺|looked at=已检查|broken=违反|explained=可由事件解释|connected after=连接耗时|answered after=应答耗时
"""
_TITLES = """
Tables that differ=不一致的表|Controllers=控制器|no table differs=没有不一致的表
what the brokers report=Broker 自报的数据
Queues by client=各客户端的队列|What each queue gets of the messages that producers send=各队列分到的消息|Queues that producers use which stay in their room=留在本机房的生产者所用队列|Not read=未读取
What brokers filter by=Broker 的过滤条件|Queues=队列|Rates of the last minute=最近一分钟的速率|Subscriptions=订阅|Properties=属性
check loops=回查循环|Would be skipped meanwhile=期间永久跳过|Queues that nobody consumes=无人消费的队列|keys in several queues=分布于多个队列的 Key|what rebalances did, by the clocks of the consumers=重平衡的影响（按消费者时钟）
keys that came again=再次出现的 Key|Instances=实例|Topics=Topic|nothing to show=没有内容|?=?|-=-|no group has dead letters=没有消费组有死信
nothing waits to be retried=没有等待重试的消息|no dead letters=没有死信|nothing=无|nobody=无|at once=立即|nothing to remark=没有要说明的
no consumer group has anything there=没有消费组在此有内容|no producer is connected=没有生产者连接|no subscriptions=没有订阅|none=无
it holds no queue=未持有队列|it reports no rates=未上报速率|it subscribes nothing=没有订阅|it reports no properties=未上报属性
no transaction was ever sent here=此处从未发送过事务|no transaction is pending or given up=没有未决或放弃的事务|no consumer groups=没有消费组
nothing was looked at=没有查看任何消息|no member subscribes a topic that has queues=没有成员订阅有队列的 Topic|plain=明文|end=末尾
no group has offsets there=没有消费组在此有位点|no broker was recorded=录制中没有 Broker|no change was made from this machine=本机没有做过变更|no replay was made from this machine=本机没有做过重放
no consumer group=没有消费组|the two runs have the same figures=两次运行的数字相同|15 s=15 秒|no consume thread was seen=没有看到消费线程
not ended=未结束|not set=未设置|What the group pops=该组以 POP 取走的消息|no producer traced it=没有生产者轨迹|no consumer traced it=没有消费者轨迹|no group has offsets on its queue=没有消费组在其队列上有位点
no process of this machine looks like a consumer=本机没有看似消费者的进程|not in the wheel yet=尚未进入时间轮|nothing waits=没有等待的消息|no instances=没有实例|no topics=没有 Topic
no step ran=没有步骤运行|no topic and no group=没有 Topic，也没有消费组|everything is as it should be=一切正常|no dead letter was chosen=没有选中死信|thrown away=已丢弃|(none)=（无）
no broker has users=没有 Broker 配置用户|no broker checks who asks=没有 Broker 检查请求者|anywhere=任意来源
not in the table=不在表中|unknown: not everything could be asked=未知：有内容无法查询
"""


def _pairs(text: str) -> dict[str, str]:
    pairs = (item.partition("=") for line in text.split("\n") for item in line.split("|") if item)
    return {english: chinese for english, _, chinese in pairs}


HEADS = _pairs(_HEADS)
TITLES = _pairs(_TITLES)
