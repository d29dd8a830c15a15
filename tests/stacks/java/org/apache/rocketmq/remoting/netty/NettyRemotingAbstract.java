package org.apache.rocketmq.remoting.netty;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Stands where RocketMQ's remoting stands on a stack; only the names are RocketMQ's. */
public final class NettyRemotingAbstract {
    private NettyRemotingAbstract() {}

    public static boolean invokeSyncImpl() throws InterruptedException {
        return new CountDownLatch(1).await(1, TimeUnit.HOURS);
    }
}
