package org.apache.rocketmq.client.impl.consumer;

import java.util.concurrent.Callable;

/** Stands where RocketMQ's consume service stands on a stack; only the names are RocketMQ's. */
public final class ConsumeMessageConcurrentlyService {
    private ConsumeMessageConcurrentlyService() {}

    public static final class ConsumeRequest implements Runnable {
        private final Callable<?> listener;

        public ConsumeRequest(Callable<?> listener) {
            this.listener = listener;
        }

        @Override
        public void run() {
            try {
                listener.call();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }
    }
}
