package shop.orders;

import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.ObjectOutputStream;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/** What a listener may do instead of coming back. */
final class Tools {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile long sink;

    private Tools() {}

    static Object httpPost(int port) throws Exception {
        HttpURLConnection connection =
                (HttpURLConnection) URI.create("http://127.0.0.1:" + port + "/pay").toURL().openConnection();
        return connection.getResponseCode();
    }

    static Object httpSend(int port) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/pay")).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }

    static InputStream connected(int port) throws Exception {
        return new Socket("127.0.0.1", port).getInputStream();
    }

    static Object socketRead(int port) throws Exception {
        return connected(port).read();
    }

    static Object sleep() throws Exception {
        Thread.sleep(3_600_000);
        return null;
    }

    static Object callWithRetry() throws Exception {
        for (int attempt = 0; ; attempt++) {
            Thread.sleep(1_000L * 3_600);
        }
    }

    static Object monitor() {
        synchronized (MONITOR) {
            return sink;
        }
    }

    static Object holdMonitor(int port) throws Exception {
        synchronized (MONITOR) {
            return httpPost(port);
        }
    }

    static Object lock() {
        LOCK.lock();
        return null;
    }

    static Object holdLock() throws Exception {
        LOCK.lock();
        Thread.sleep(3_600_000);
        return null;
    }

    static Object cross(Object first, Object second, CountDownLatch both) throws Exception {
        synchronized (first) {
            both.countDown();
            both.await();
            synchronized (second) {
                return null;
            }
        }
    }

    static Object readFile(String path) throws Exception {
        try (FileInputStream in = new FileInputStream(path)) {
            return in.read();
        }
    }

    static Object serialise() throws Exception {
        ArrayList<Object> many = new ArrayList<>();
        for (int n = 0; n < 100_000; n++) {
            many.add("item " + n);
        }
        while (true) {
            ObjectOutputStream out = new ObjectOutputStream(new ByteArrayOutputStream());
            out.writeObject(many);
            sink += out.hashCode();
        }
    }

    static Object spin() {
        long value = sink;
        while (value != -1) {
            value = value * 31 + 7 | 1;
            sink = value & 0xFFFF;
        }
        return value;
    }

    static Object latch() throws Exception {
        new CountDownLatch(1).await();
        return null;
    }
}
