"""The built-in class table, in the order in which it is tried.

Names are those under which the libraries appear on stacks; where a library renamed its packages, both are listed.
"""

from __future__ import annotations

from mqctl.model.dump import ThreadState
from mqctl.stacks.rules import ClassRule, Reach
from mqctl.stacks.rules import StackClass as C

_BLOCKED = (ThreadState.BLOCKED,)
_WAITING = (ThreadState.WAITING, ThreadState.TIMED_WAITING, ThreadState.BLOCKED, ThreadState.IDLE, ThreadState.UNKNOWN)
_RUNS = (ThreadState.RUNNABLE,)
_JAVA_LOCKS = (
    "java.util.concurrent.locks.ReentrantLock.lock*",
    "java.util.concurrent.locks.ReentrantLock.tryLock",
    "java.util.concurrent.locks.ReentrantLock$*.lock*",
    "java.util.concurrent.locks.ReentrantLock$*.initialTryLock*",
    "java.util.concurrent.locks.ReentrantReadWriteLock$*Lock.*ock*",
    "java.util.concurrent.locks.StampedLock.*Lock*",
    "java.util.concurrent.Semaphore.*cquire*",
)
_SIGNALS = ("*ConditionObject.await*", "java.lang.Object.wait*", "java.util.concurrent.ThreadPoolExecutor.getTask")
_PYTHON_LOCK_CODE = (
    r"^(?:async )?with .*(?i:lock|mutex|semaphore)",
    r"(?i:lock|mutex|semaphore|sem)\w*\.acquire\b",
    r"\.acquire\(",
    r"^(?:async )?with [\w.]+(?: as \w+)?:?$",
)
_SLEEPS = (
    "java.lang.Thread.sleep*", "java.util.concurrent.TimeUnit.sleep*", "time_sleep*", "clock_nanosleep", "pysleep*",
    "asyncio.tasks.sleep", "gevent.hub.sleep", "time.sleep",
)  # fmt: skip
_SLEEP_CODE = (r"(?:^|[\s.(=])sleep\(",)
_SOCKETS = (
    "java.net.SocketInputStream.*", "java.net.SocketOutputStream.*", "java.net.PlainSocketImpl.*",
    "java.net.AbstractPlainSocketImpl.*", "java.net.SocksSocketImpl.*", "java.net.Socket.*", "java.net.Socket$*",
    "sun.nio.ch.NioSocketImpl.*", "sun.nio.ch.Net.*", "sun.nio.ch.SocketChannelImpl.*",
    "sun.nio.ch.SocketDispatcher.*",
    "sun.nio.ch.*SelectorImpl.*", "sun.nio.ch.EPoll*", "sun.nio.ch.KQueue*", "sun.security.ssl.*",
    "io.netty.channel.*.Native.*", "org.conscrypt.*",
    "socket.*", "ssl.*", "selectors.*", "sock_*", "_ssl_*", "_ssl__*", "recv*", "select_*", "__poll", "epoll_wait",
    "SSL_*",
)  # fmt: skip
_SOCKET_CODE = (r"\.(?:recv|recv_into|recvfrom|sendall|accept|connect)\(", r"\bselect\.(?:select|poll)\b")

CLASS_RULES: tuple[ClassRule, ...] = (
    ClassRule(
        name="java-pool-idle", cls=C.IDLE, within=14, why="a pool thread that waits for work",
        calls=(
            "java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.ForkJoinPool.awaitWork",
            "java.util.concurrent.ForkJoinPool.scan",
        ),
    ),
    ClassRule(
        name="own-pool-idle", cls=C.IDLE, top=("mqctl.client*.workers.Workers._work", "mqctl.client*.workers._work"),
        states=_WAITING, why="our own client's consume thread that waits for messages",
    ),
    ClassRule(
        name="own-pool-idle-remote", cls=C.IDLE, top=("mqctl.client*.workers.Workers._work",), code=(r"_items\.get",),
        why="the same, as our client names it",
    ),
    ClassRule(
        name="python-pool-idle", cls=C.IDLE, bare=True, states=_WAITING,
        calls=("concurrent.futures.thread._worker", "queue.Queue.get", "queue.get", "multiprocessing.pool.worker"),
        why="a thread of a Python pool that waits for work",
    ),
    ClassRule(
        name="java-queue-lock", cls=C.QUEUE_LOCK, within=8, states=_WAITING, unless=("*ConditionObject.await*",),
        calls=(
            "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService$ConsumeRequest.run",
            "com.alibaba.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService$ConsumeRequest.run",
            "org.apache.rocketmq.client.impl.consumer.ConsumeMessagePopOrderlyService$ConsumeRequest.run",
        ),
        bare=True, why="an orderly consume thread that waits for its queue: another thread has it",
    ),
    ClassRule(
        name="own-queue-lock", cls=C.QUEUE_LOCK, within=8, bare=True, states=_WAITING,
        calls=("mqctl.client*.consume_orderly.*", "mqctl.client*.consume_keyed.*", "mqctl.client*.process_queue.*"),
        why="the same in our own client",
    ),
    ClassRule(
        name="logging", cls=C.LOGGING, within=30, reach=Reach.WHOLE,
        calls=(
            "org.apache.log4j.Category.*", "org.apache.log4j.AppenderSkeleton.*", "org.apache.log4j.AsyncAppender.*",
            "org.apache.logging.log4j.core.*", "org.apache.logging.log4j.spi.AbstractLogger.*",
            "ch.qos.logback.core.*", "ch.qos.logback.classic.Logger.*", "java.util.logging.Logger.*",
            "java.util.logging.*Handler.*", "java.io.PrintStream.println", "java.lang.Throwable.printStackTrace",
            "logging.*", "loguru.*", "structlog.*",
        ),
        why="writing a log line: a lock of the appender, a full buffer, a slow disk or console",
    ),
    ClassRule(
        name="class-loading", cls=C.CLASS_LOADING, within=16, reach=Reach.WHOLE, unless=_SOCKETS,
        calls=(
            "java.lang.ClassLoader.loadClass", "java.lang.Class.forName0", "jdk.internal.loader.*",
            "java.net.URLClassLoader.*",
            "sun.misc.Launcher$*.loadClass", "org.springframework.boot.loader.*",
            "java.lang.ClassLoader.defineClass*",
            "importlib.*", "<frozen importlib*", "zipimport.*",
        ),
        why="loading a class or importing a module: the first message of a kind, a slow disk, a lock of the loader",
    ),
    ClassRule(
        name="gc", cls=C.GC, within=6,
        calls=(
            "java.lang.System.gc", "java.lang.Runtime.gc", "java.nio.Bits.reserveMemory",
            "java.nio.Bits.tryReserveMemory",
            "java.lang.OutOfMemoryError.*", "gc.collect", "gc_collect*",
        ),
        why="collecting garbage on its own account, or waiting for direct memory",
    ),
    ClassRule(
        name="connection-pool", cls=C.CONNECTION_POOL, states=_WAITING, unless=_SOCKETS[:11],
        calls=(
            "com.zaxxer.hikari.pool.HikariPool.getConnection", "com.zaxxer.hikari.util.ConcurrentBag.borrow",
            "com.zaxxer.hikari.HikariDataSource.getConnection", "com.alibaba.druid.pool.DruidDataSource.*Last*",
            "com.alibaba.druid.pool.DruidDataSource.getConnection*", "org.apache.commons.pool2.impl.*.borrowObject",
            "org.apache.commons.pool.impl.*.borrowObject",
            "org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection",
            "com.mchange.v2.resourcepool.BasicResourcePool.*", "org.apache.http.pool.*", "org.apache.hc.core5.pool.*",
            "org.apache.http.impl.conn.PoolingHttpClientConnectionManager.leaseConnection",
            "redis.clients.jedis.util.Pool.getResource", "redis.clients.util.Pool.getResource",
            "redis.clients.jedis.JedisPool.getResource", "com.mongodb.internal.connection.*Pool*.*",
            "io.r2dbc.pool.*", "reactor.pool.*", "oracle.ucp.*",
            "sqlalchemy.pool.*", "sqlalchemy.util.queue.*", "urllib3.connectionpool.*._get_conn",
            "redis.connection.BlockingConnectionPool.*", "psycopg_pool.*", "psycopg2.pool.*", "dbutils.*",
            "DBUtils.*",
            "pymongo.pool.Pool.*checkout*", "pymongo.pool.Pool._get_conn",
            "httpcore.*connection_pool*.*wait_for_connection*",
        ),
        why="waiting for a free connection: the pool is too small, or its connections are held too long",
    ),
    ClassRule(
        name="java-lock", cls=C.LOCK, states=_BLOCKED, why="waiting for a monitor that another thread has",
    ),
    ClassRule(
        name="java-juc-lock", cls=C.LOCK, within=10, calls=_JAVA_LOCKS, unless=_SIGNALS,
        states=(ThreadState.WAITING, ThreadState.TIMED_WAITING, ThreadState.UNKNOWN),
        why="waiting for a lock of java.util.concurrent",
    ),
    ClassRule(
        name="python-lock", cls=C.LOCK, code=_PYTHON_LOCK_CODE, unless=("threading.Condition.*",
        "threading.Barrier.*"),
        why="waiting for a lock, by the source line",
    ),
    ClassRule(
        name="python-lock-native", cls=C.LOCK, within=8,
        calls=("lock_PyThread_acquire_lock*", "rlock_acquire*", "_thread_RLock_acquire*", "_thread_lock_acquire*"),
        unless=("threading.Condition.*", "threading.Thread.join", "threading.Thread._wait_for_tstate_lock",
        "queue.*"),
        why="waiting for a lock, by py-spy's native frames",
    ),
    ClassRule(
        name="send", cls=C.SEND,
        calls=(
            "org.apache.rocketmq.client.producer.*", "org.apache.rocketmq.client.impl.producer.*",
            "org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl.sendMessageBack",
            "org.apache.rocketmq.spring.core.RocketMQTemplate.*", "com.alibaba.rocketmq.client.producer.*",
            "com.alibaba.rocketmq.client.impl.producer.*", "com.aliyun.openservices.*Producer*",
            "org.apache.kafka.clients.producer.*", "com.rabbitmq.client.impl.*",
            "org.springframework.amqp.rabbit.core.*",
            "org.springframework.kafka.core.*", "org.apache.pulsar.client.impl.*Producer*",
            "mqctl.client*.producer.*", "mqctl.client*.outgoing.*", "mqctl.client*.transactions.*",
            "rocketmq.*Producer*",
            "kafka.producer.*", "confluent_kafka.*", "pika.*", "kombu.*",
        ),
        why="sending a message inside the listener and waiting for the answer",
    ),
    ClassRule(
        name="dns", cls=C.DNS, within=8,
        calls=(
            "java.net.Inet4AddressImpl.lookupAllHostAddr", "java.net.Inet6AddressImpl.lookupAllHostAddr",
            "java.net.InetAddress.*", "java.net.InetAddress$*", "java.net.Inet6AddressImpl.getHostByAddr",
            "java.net.Inet4AddressImpl.getHostByAddr", "sun.net.spi.nameservice.*", "io.netty.resolver.dns.*",
            "socket.getaddrinfo", "socket.gethostbyname*", "getaddrinfo", "socket_getaddrinfo*", "dns.resolver.*",
        ),
        why="looking up a host name",
    ),
    ClassRule(
        name="redis", cls=C.REDIS,
        calls=(
            "redis.clients.*", "io.lettuce.*", "com.lambdaworks.redis.*", "org.redisson.*",
            "org.springframework.data.redis.*",
            "redis.*", "rediscluster.*", "aioredis.*",
        ),
        why="waiting for Redis",
    ),
    ClassRule(
        name="database", cls=C.DATABASE,
        calls=(
            "com.mysql.*", "org.mariadb.*", "org.postgresql.*", "oracle.jdbc.*", "oracle.net.*",
            "com.microsoft.sqlserver.*",
            "com.mongodb.*", "org.h2.*", "com.ibm.db2.*", "dm.jdbc.*", "com.kingbase8.*", "com.oceanbase.*",
            "com.datastax.*",
            "org.sqlite.*", "com.clickhouse.*", "ru.yandex.clickhouse.*", "org.apache.hadoop.hbase.client.*",
            "org.apache.shardingsphere.*", "com.alibaba.druid.*", "org.hibernate.*", "org.mybatis.*",
            "org.apache.ibatis.*",
            "org.springframework.jdbc.*", "com.zaxxer.hikari.*",
            "pymysql.*", "MySQLdb.*", "mysql.*", "psycopg2.*", "psycopg.*", "oracledb.*", "cx_Oracle.*", "pyodbc.*",
            "pymongo.*",
            "motor.*", "clickhouse_driver.*", "cassandra.*", "asyncpg.*", "sqlite3.*", "sqlalchemy.*", "django.db.*",
            "peewee.*",
            "pysqlite_*", "mysql_*", "PQexec*", "PQgetResult",
        ),
        why="waiting for a database",
    ),
    ClassRule(
        name="http", cls=C.HTTP,
        calls=(
            "java.net.HttpURLConnection.*", "java.net.URL.openStream", "sun.net.www.*", "jdk.internal.net.http.*",
            "java.net.http.*", "org.apache.http.*", "org.apache.hc.*", "org.apache.commons.httpclient.*", "okhttp3.*",
            "com.squareup.okhttp.*", "retrofit2.*", "feign.*", "org.springframework.web.client.*",
            "org.springframework.web.reactive.*", "org.springframework.http.client.*", "reactor.netty.http.*",
            "org.asynchttpclient.*", "com.ning.http.*", "cn.hutool.http.*", "com.amazonaws.*", "software.amazon.*",
            "com.aliyun.oss.*", "org.elasticsearch.client.*", "co.elastic.clients.*", "com.qcloud.*",
            "http.client.*", "urllib.request.*", "urllib3.*", "requests.*", "httpx.*", "httpcore.*", "aiohttp.*",
            "botocore.*",
            "oss2.*", "elasticsearch.*", "elastic_transport.*", "tornado.httpclient.*", "tornado.simple_httpclient.*",
        ),
        why="waiting for an HTTP answer",
    ),
    ClassRule(
        name="rpc", cls=C.RPC,
        calls=(
            "org.apache.dubbo.*", "com.alibaba.dubbo.*", "io.grpc.*", "org.apache.thrift.*", "com.taobao.hsf.*",
            "com.alipay.sofa.rpc.*", "com.alipay.remoting.*", "com.weibo.api.motan.*", "java.rmi.*", "sun.rmi.*",
            "com.alibaba.nacos.*", "org.apache.zookeeper.*", "org.apache.curator.*", "io.etcd.jetcd.*",
            "org.apache.axis.*",
            "org.apache.cxf.*", "org.apache.rocketmq.remoting.*", "org.apache.rocketmq.client.impl.MQClientAPIImpl.*",
            "grpc.*", "thrift.*", "thriftpy2.*", "xmlrpc.*", "zeep.*", "Pyro4.*", "kazoo.*", "nacos.*",
            "mqctl.client.*link*",
        ),
        why="waiting for the answer of a remote call",
    ),
    ClassRule(
        name="socket", cls=C.SOCKET, within=10, calls=_SOCKETS, why="reading from, writing to or connecting a socket",
    ),
    ClassRule(
        name="python-socket", cls=C.SOCKET, code=_SOCKET_CODE, why="the same, by the source line",
    ),
    ClassRule(
        name="retry-library", cls=C.RETRY, reach=Reach.WHOLE, within=30, states=_WAITING,
        calls=("org.springframework.retry.*", "com.github.rholder.retry.*", "io.github.resilience4j.retry.*",
               "dev.failsafe.*", "net.jodah.failsafe.*", "tenacity.*", "retrying.*", "backoff.*"),
        why="waiting between attempts of a retry library",
    ),
    ClassRule(name="sleep", cls=C.SLEEP, within=4, calls=_SLEEPS, why="sleeping"),
    ClassRule(name="python-sleep", cls=C.SLEEP, code=_SLEEP_CODE, why="sleeping, by the source line"),
    ClassRule(
        name="process", cls=C.WAIT, within=12,
        calls=("java.lang.ProcessImpl.waitFor", "java.lang.UNIXProcess.waitFor", "java.lang.Process*.waitFor",
        "subprocess.*",
               "os_waitpid*", "wait4", "multiprocessing.*"),
        why="waiting for another process",
    ),
    ClassRule(
        name="file", cls=C.FILE, within=8,
        calls=(
            "java.io.FileInputStream.*", "java.io.FileOutputStream.*", "java.io.RandomAccessFile.*",
            "java.io.UnixFileSystem.*",
            "java.io.FileDescriptor.sync", "sun.nio.ch.FileChannelImpl.*", "sun.nio.ch.FileDispatcherImpl.*",
            "sun.nio.fs.*",
            "java.nio.MappedByteBuffer.force*", "java.util.zip.ZipFile*",
            "pathlib.*", "_io_*", "shutil.*", "os.walk*", "os.fsync", "tempfile.*", "zipfile.*", "tarfile.*",
            "gzip.*",
            "open64", "openat*", "read", "pread64", "write", "pwrite64", "fsync*", "fdatasync*",
        ),
        why="reading or writing a file",
    ),
    ClassRule(
        name="python-file", cls=C.FILE, code=(r"(?:^|[\s=(.])open\(",
        r"\bos\.(?:fsync|read|write|open|replace|rename)\b"),
        why="the same, by the source line",
    ),
    ClassRule(
        name="serialisation", cls=C.SERIALISATION,
        calls=(
            "com.alibaba.fastjson*", "com.fasterxml.jackson.*", "com.google.gson.*", "java.io.ObjectOutputStream.*",
            "java.io.ObjectInputStream.*", "com.google.protobuf.*", "com.esotericsoftware.kryo.*",
            "com.caucho.hessian.*",
            "com.alibaba.com.caucho.*", "org.json.*", "net.sf.json.*", "com.thoughtworks.xstream.*",
            "javax.xml.bind.*",
            "jakarta.xml.bind.*", "org.dom4j.*", "org.apache.avro.*", "org.nustaq.*", "org.msgpack.*",
            "json.*", "pickle.*", "copy.deepcopy", "msgpack.*", "yaml.*", "xml.*", "simplejson.*",
            "google.protobuf.*",
            "marshal.*", "csv.*",
        ),
        why="turning objects into text or bytes, or back",
    ),
    ClassRule(
        name="python-serialisation", cls=C.SERIALISATION,
        code=(r"\b(?:json|orjson|ujson|pickle|msgpack)\.(?:dumps?|loads?)\b",),
        why="the same, by the source line",
    ),
    ClassRule(
        name="java-wait", cls=C.WAIT, within=12, states=_WAITING,
        calls=("java.lang.Object.wait*", "java.util.concurrent.*", "java.lang.Thread.join",
        "jdk.internal.misc.Unsafe.park",
               "sun.misc.Unsafe.park"),
        why="waiting for another thread: a future, a latch, a condition, a queue",
    ),
    ClassRule(
        name="python-wait", cls=C.WAIT, within=8,
        calls=("threading.*", "queue.*", "concurrent.futures.*", "asyncio.*"),
        states=_WAITING, why="the same in Python",
    ),
    ClassRule(
        name="python-gil", cls=C.CPU, states=(ThreadState.IDLE,),
        code=(r"^(?!.*\b(?:with|for|await|yield|import|from)\b)[^(]+$",),
        why="stands at a line that calls nothing: it waits for its turn of the interpreter",
    ),
    ClassRule(
        name="python-c-call", cls=C.WAIT, states=(ThreadState.IDLE, ThreadState.WAITING),
        why="stands in a C function that the tool does not show: a lock, a sleep, or I/O",
    ),
    ClassRule(
        name="native", cls=C.UNKNOWN, states=_RUNS, native=True, unless=("java.lang.*", "java.util.*", "sun.misc.*"),
        why="runs in native code that no rule knows",
    ),
    ClassRule(name="cpu", cls=C.CPU, states=_RUNS, why="runs: nothing on the stack waits"),
)  # fmt: skip

DOWNSTREAM = (C.SEND, C.REDIS, C.DATABASE, C.HTTP, C.RPC)
"""Classes that a plain socket call is looked up in once more, on the whole stack."""

RETRY_NAMES = ("*etry*", "*ETRY*", "*ackoff*", "*ackOff*")
"""A sleep whose callers, the application's line and the two calls around it,
bear such a name is a hand-written retry."""

PHASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("connect", ("java.net.PlainSocketImpl.socketConnect", "sun.nio.ch.Net.connect*", "sun.nio.ch.Net.pollConnect*",
                 "java.net.Socket.connect", "sun.nio.ch.NioSocketImpl.connect", "socket.create_connection",
                 "sock_connect*",
                 "java.net.AbstractPlainSocketImpl.doConnect", "*.connect")),
    ("write", ("java.net.SocketOutputStream.*", "java.net.Socket$SocketOutputStream.*",
    "sun.nio.ch.NioSocketImpl.*rite*",
               "sock_send*")),
    ("read", ("java.net.SocketInputStream.*", "java.net.Socket$SocketInputStream.*", "sun.nio.ch.NioSocketImpl.*ead*",
              "socket.SocketIO.readinto", "socket.readinto", "ssl.SSLSocket.read", "sock_recv*",
              "sun.security.ssl.*ead*")),
)  # fmt: skip
"""What a thread does with a socket, by its innermost calls."""
