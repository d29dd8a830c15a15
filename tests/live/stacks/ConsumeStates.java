import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A pool of consume threads, named and made as RocketMQ's concurrent consume service makes them, whose listener does
 * one thing. Words: what it does, how many threads, and the URL of a slow server. Ends when its input does.
 */
public class ConsumeStates {
    private static final Object FIRST = new Object();
    private static final Object SECOND = new Object();
    private static final ReentrantLock FAIR = new ReentrantLock();
    private static CountDownLatch entered;
    private static String url;

    public static void main(String[] words) throws Exception {
        int threads = Integer.parseInt(words[1]);
        url = words.length > 2 ? words[2] : null;
        int tasks = threads;
        entered = new CountDownLatch(tasks);
        int[] number = {0};
        ThreadPoolExecutor pool = new ThreadPoolExecutor(threads, threads, 60, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), task -> {
                Thread one = new Thread(task, "ConsumeMessageThread_G_" + ++number[0]);
                one.setDaemon(true);
                return one;
            });
        for (int n = 0; n < tasks; n++) {
            int message = n;
            pool.submit(() -> consumeMessage(words[0], message));
        }
        entered.await();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
    }

    private static void consumeMessage(String does, int message) {
        try {
            switch (does) {
                case "sleep" -> sleeps();
                case "http" -> asksASlowServer();
                case "socket" -> readsASocket();
                case "deadlock" -> locksTwo(message % 2 == 0 ? FIRST : SECOND, message % 2 == 0 ? SECOND : FIRST);
                case "lock" -> entersOneAfterTheOther(message);
                case "reentrant" -> takesTheLock(message);
                case "burn" -> burns();
                case "one-hangs" -> hangs(message);
                case "idle" -> entered.countDown();
                default -> throw new IllegalArgumentException(does);
            }
        } catch (Exception error) {
            error.printStackTrace();
        }
    }

    private static void sleeps() throws Exception {
        entered.countDown();
        Thread.sleep(600_000);
    }

    private static void asksASlowServer() throws Exception {
        entered.countDown();
        try (InputStream answer = new URL(url).openStream()) {
            answer.read();
        }
    }

    private static void readsASocket() throws Exception {
        try (ServerSocket server = new ServerSocket(0); Socket client = new Socket("127.0.0.1", server.getLocalPort())) {
            entered.countDown();
            client.getInputStream().read();
        }
    }

    private static void locksTwo(Object mine, Object other) throws Exception {
        synchronized (mine) {
            entered.countDown();
            entered.await();
            synchronized (other) {
                return;
            }
        }
    }

    private static void entersOneAfterTheOther(int message) throws Exception {
        entered.countDown();
        synchronized (FIRST) {
            Thread.sleep(600_000);
        }
    }

    private static void takesTheLock(int message) throws Exception {
        entered.countDown();
        FAIR.lock();
        try {
            Thread.sleep(600_000);
        } finally {
            FAIR.unlock();
        }
    }

    private static void burns() {
        entered.countDown();
        long total = 0;
        while (total >= 0) {
            total += Long.hashCode(total) & 7;
        }
    }

    private static void hangs(int message) throws Exception {
        entered.countDown();
        if (message == 0) {
            new CountDownLatch(1).await();
        }
    }
}
