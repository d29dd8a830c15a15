package org.apache.rocketmq.client.producer;

import org.apache.rocketmq.remoting.netty.NettyRemotingAbstract;

/** Stands where RocketMQ's producer stands on a stack; only the names are RocketMQ's. */
public final class DefaultMQProducer {
    private DefaultMQProducer() {}

    public static boolean send() throws InterruptedException {
        return NettyRemotingAbstract.invokeSyncImpl();
    }
}
