package org.apache.rocketmq.client.impl.consumer;

import java.util.concurrent.Callable;

/** Stands where RocketMQ's orderly service stands on a stack; only the names are RocketMQ's. */
public final class ConsumeMessageOrderlyService {
    private ConsumeMessageOrderlyService() {}

    public static final class ConsumeRequest implements Runnable {
        private final Object queueLock;
        private final Callable<?> listener;

        public ConsumeRequest(Object queueLock, Callable<?> listener) {
            this.queueLock = queueLock;
            this.listener = listener;
        }

        @Override
        public void run() {
            synchronized (queueLock) {
                try {
                    listener.call();
                } catch (Exception error) {
                    error.printStackTrace();
                }
            }
        }
    }
}
