package com.zaxxer.hikari.pool;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;

/** Stands where the HikariCP pool stands on a stack; only the names are the pool's. */
public final class HikariPool {
    private static final SynchronousQueue<Object> HANDED = new SynchronousQueue<>();

    private HikariPool() {}

    public static Object getConnection() throws InterruptedException {
        return HANDED.poll(1, TimeUnit.HOURS);
    }
}
