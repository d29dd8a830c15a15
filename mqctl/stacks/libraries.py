"""Which calls are an application's own: everything that is neither runtime, nor library, nor made by a proxy.

The lists name what is common beside RocketMQ consumers; a user's file adds to them. A library that nobody listed counts
as the application, which is right for a company's own frameworks more often than not.
"""

from __future__ import annotations

import re
import sys

from mqctl.model.dump import StackFrame

JAVA_LIBRARIES = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.", "kotlin.", "kotlinx.", "scala.", "groovy.", "clojure.",
    "org.apache.", "org.springframework.", "org.aspectj.", "org.aopalliance.", "org.hibernate.", "org.mybatis.",
    "org.slf4j.", "ch.qos.logback.", "org.jboss.", "org.eclipse.", "org.codehaus.", "org.quartz.", "org.glassfish.",
    "io.netty.", "io.grpc.", "io.lettuce.", "io.micrometer.", "io.opentelemetry.", "io.reactivex.", "io.vertx.",
    "io.github.resilience4j.", "io.seata.", "io.openmessaging.", "io.kubernetes.", "reactor.", "rx.", "brave.",
    "zipkin2.",
    "okhttp3.", "okio.", "retrofit2.", "feign.", "com.squareup.", "com.netflix.", "cn.hutool.",
    "org.asynchttpclient.",
    "com.mysql.", "org.mariadb.", "org.postgresql.", "oracle.", "com.microsoft.", "com.mongodb.", "org.bson.",
    "org.h2.",
    "com.ibm.", "dm.jdbc.", "com.kingbase8.", "com.oceanbase.", "com.datastax.", "org.sqlite.", "com.clickhouse.",
    "ru.yandex.clickhouse.", "org.elasticsearch.", "co.elastic.", "redis.clients.", "org.redisson.", "com.zaxxer.",
    "com.mchange.", "com.baomidou.", "com.github.", "com.google.common.", "com.google.gson.", "com.google.protobuf.",
    "com.google.inject.", "com.fasterxml.", "com.esotericsoftware.", "com.caucho.", "com.thoughtworks.xstream.",
    "com.alibaba.druid.", "com.alibaba.fastjson", "com.alibaba.dubbo.", "com.alibaba.nacos.", "com.alibaba.csp.",
    "com.alibaba.cloud.", "com.alibaba.rocketmq.", "com.alibaba.ttl.", "com.alibaba.com.caucho.", "com.taobao.hsf.",
    "com.alipay.sofa.", "com.aliyun.", "com.amazonaws.", "software.amazon.", "com.tencentcloudapi.", "com.qcloud.",
    "com.rabbitmq.", "com.xxl.job.", "net.sf.", "net.bytebuddy.", "org.json.", "org.dom4j.", "org.w3c.", "org.xml.",
)  # fmt: skip
PYTHON_LIBRARIES = frozenset(
    {
        "mqctl", "rocketmq", "kafka", "confluent_kafka", "pika", "kombu", "celery", "requests", "urllib3", "httpx",
        "httpcore",
        "aiohttp", "anyio", "trio", "tornado", "gevent", "greenlet", "eventlet", "botocore", "boto3", "oss2", "grpc",
        "thrift",
        "thriftpy2", "zeep", "Pyro4", "redis", "rediscluster", "aioredis", "pymysql", "MySQLdb", "mysql", "psycopg2",
        "psycopg",
        "psycopg_pool", "oracledb", "cx_Oracle", "pyodbc", "pymongo", "motor", "clickhouse_driver", "cassandra",
        "asyncpg",
        "sqlalchemy", "django", "peewee", "dbutils", "DBUtils", "elasticsearch", "elastic_transport", "kazoo",
        "consul", "nacos",
        "tenacity", "retrying", "backoff", "loguru", "structlog", "msgpack", "msgspec", "orjson", "ujson",
        "simplejson", "yaml",
        "google", "numpy", "pandas", "pyarrow", "filelock", "flask", "fastapi", "starlette", "werkzeug", "uvicorn",
        "gunicorn",
        "opentelemetry", "ddtrace", "sentry_sdk", "prometheus_client", "pkg_resources", "setuptools", "concurrent",
    }
)  # fmt: skip
_MADE = re.compile(
    r"\$Proxy\d*|\$\$Lambda|GeneratedMethodAccessor|GeneratedConstructorAccessor|LambdaForm|\$\$EnhancerBy|\$\$FastClassBy"
    r"|SpringCGLIB\$\$|\$HibernateProxy|ByteBuddy|\$\$_javassist|_jvst|\$auxiliary\$|\$\$Generated"
)
# Methods of an application's own class loader: not what its listener does, but how its classes come.
_LOADER_METHODS = frozenset({"loadClass", "findClass"})
_JAVA_FILE = re.compile(r"\.(?:java|kt|scala|groovy|clj)$")
_PYTHON_ROOTS = ("/site-packages/", "/dist-packages/")


class CodeOwnership:
    """Tells the application's calls from everybody else's.

    Args:
        application, libraries: packages of a user's file; the longer match wins over a shorter one.
    """

    def __init__(self, application: tuple[str, ...] = (), libraries: tuple[str, ...] = ()) -> None:
        self._application = _prefixes(application)
        self._libraries = (*JAVA_LIBRARIES, *_prefixes(libraries))
        self._user_libraries = _prefixes(libraries)

    def is_application(self, frame: StackFrame) -> bool:
        """Tells whether a call is application code."""
        module = frame.module
        if module is None or frame.native:
            return False
        name = f"{module}."
        if self._application and name.startswith(self._application):
            return True
        if self._user_libraries and name.startswith(self._user_libraries):
            return False
        file = frame.file or ""
        if file.endswith((".py", ".pyx", ".pyc")) or file.startswith("<"):
            return _is_python_application(module, file)
        if (
            frame.function in _LOADER_METHODS
            or _MADE.search(module)
            or (not file and frame.line is None and "lambda" in module)
        ):
            return False
        return not name.startswith(self._libraries)


def _prefixes(packages: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{package.rstrip('*').rstrip('.')}." for package in packages)


def _is_python_application(module: str, file: str) -> bool:
    if file.startswith("<") or any(root in file for root in _PYTHON_ROOTS):
        return False
    root = module.partition(".")[0]
    if root in PYTHON_LIBRARIES or root.startswith("<"):
        return False
    return root == "__main__" or root not in sys.stdlib_module_names
