package shop.orders;

import com.mysql.cj.jdbc.ClientPreparedStatement;
import com.zaxxer.hikari.pool.HikariPool;
import java.net.ServerSocket;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.dubbo.rpc.protocol.AbstractInvoker;
import org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService;
import org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import redis.clients.jedis.Jedis;

/**
 * Consume threads of many groups, named as RocketMQ names them; a group's name tells what its listener does.
 * The first argument is a named pipe that nobody writes to. Prints "ready" and stays.
 */
public final class ConsumeThreads {
    private ConsumeThreads() {}

    private static ExecutorService pool(String group, int threads) {
        AtomicInteger number = new AtomicInteger();
        ThreadFactory factory = task -> {
            Thread made = new Thread(task, "ConsumeMessageThread_" + group + "_" + number.incrementAndGet());
            made.setDaemon(true);
            return made;
        };
        return Executors.newFixedThreadPool(threads, factory);
    }

    private static void consume(String group, int threads, Callable<?> listener) {
        ExecutorService pool = pool(group, threads);
        for (int n = 0; n < threads; n++) {
            pool.submit(new ConsumeMessageConcurrentlyService.ConsumeRequest(listener));
        }
    }

    private static final class SlowHandler extends Handler {
        @Override
        public synchronized void publish(LogRecord record) {
            try {
                Thread.sleep(3_600_000);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    private static final class SlowLoader extends ClassLoader {
        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try {
                Thread.sleep(3_600_000);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
            throw new ClassNotFoundException(name);
        }
    }

    /** Waits until the first thread of a group stands at one place: classes are loaded, locks are taken. */
    private static void settle(String group) throws InterruptedException {
        int same = 0;
        int before = -1;
        while (same < 8) {
            Thread.sleep(50);
            int now = 0;
            for (var entry : Thread.getAllStackTraces().entrySet()) {
                if (entry.getKey().getName().equals("ConsumeMessageThread_" + group + "_1")) {
                    now = java.util.Arrays.hashCode(entry.getValue());
                }
            }
            same = now != 0 && now == before ? same + 1 : 0;
            before = now;
        }
    }

    /** Prints the stacks as UtilAll.jstack of RocketMQ lays them out. */
    private static void dump() {
        Thread.getAllStackTraces().forEach((thread, stack) -> {
            System.out.printf("%-40sTID: %d STATE: %s%n", thread.getName(), thread.getId(), thread.getState());
            for (StackTraceElement call : stack) {
                System.out.printf("%-40s%s%n", thread.getName(), call);
            }
            System.out.println();
        });
    }

    public static void main(String[] arguments) throws Exception {
        ServerSocket silent = new ServerSocket(0, 200);
        int port = silent.getLocalPort();
        ExecutorService idle = pool("idle", 2);
        idle.submit(() -> { });
        idle.submit(() -> { });
        consume("http", 2, () -> Tools.httpPost(port));
        consume("httpclient", 1, () -> Tools.httpSend(port));
        consume("database", 2, () -> ClientPreparedStatement.executeQuery(Tools.connected(port)));
        consume("redis", 1, () -> Jedis.get(Tools.connected(port)));
        consume("rpc", 1, AbstractInvoker::invoke);
        consume("pool", 2, HikariPool::getConnection);
        consume("socket", 1, () -> Tools.socketRead(port));
        consume("sleep", 1, Tools::sleep);
        consume("retry", 1, Tools::callWithRetry);
        consume("owner", 1, () -> Tools.holdMonitor(port));
        consume("lockowner", 1, Tools::holdLock);
        consume("send", 1, DefaultMQProducer::send);
        consume("file", 1, () -> Tools.readFile(arguments[0]));
        consume("serialisation", 1, Tools::serialise);
        consume("cpu", 1, Tools::spin);
        consume("wait", 1, Tools::latch);
        CountDownLatch both = new CountDownLatch(2);
        Object a = new Object();
        Object b = new Object();
        ExecutorService crossed = pool("deadlock", 2);
        crossed.submit(new ConsumeMessageConcurrentlyService.ConsumeRequest(() -> Tools.cross(a, b, both)));
        crossed.submit(new ConsumeMessageConcurrentlyService.ConsumeRequest(() -> Tools.cross(b, a, both)));
        Object queueLock = new Object();
        ExecutorService orderly = pool("orderly", 2);
        orderly.submit(new ConsumeMessageOrderlyService.ConsumeRequest(queueLock, Tools::sleep));
        orderly.submit(new ConsumeMessageOrderlyService.ConsumeRequest(queueLock, Tools::sleep));
        Logger logger = Logger.getLogger("orders");
        logger.setUseParentHandlers(false);
        logger.addHandler(new SlowHandler());
        consume("logging", 2, () -> {
            logger.info("an order");
            return null;
        });
        SlowLoader loader = new SlowLoader();
        consume("classloading", 2, () -> loader.loadClass("shop.Missing"));
        settle("owner");
        settle("lockowner");
        consume("monitor", 3, Tools::monitor);
        consume("lock", 2, Tools::lock);
        settle("httpclient");
        settle("monitor");
        settle("lock");
        dump();
        System.out.println("ready");
        Thread.sleep(3_600_000);
    }
}
