import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * A producer at a steady rate and consumers whose listeners do nothing, until the process is ended. Once a second a
 * line with what was sent, and what each consumer had so far.
 *
 * <p>Arguments: name server, topic, messages a second (0 for one message in all), bytes of a body, and each consumer as
 * kind:group. A kind is push, orderly, broadcast, lite or pop.
 */
public class Traffic {
    private static final long SECOND_NS = 1_000_000_000L;

    public static void main(String[] words) throws Exception {
        String nameServer = words[0];
        String topic = words[1];
        int rate = Integer.parseInt(words[2]);
        byte[] body = "x".repeat(Integer.parseInt(words[3])).getBytes(StandardCharsets.US_ASCII);

        DefaultMQProducer producer = new DefaultMQProducer("traffic_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(20_000);
        producer.start();
        producer.send(new Message(topic, "A", "first", body));
        List<AtomicLong> consumed = new ArrayList<>();
        for (int at = 4; at < words.length; at++) {
            String[] parts = words[at].split(":");
            AtomicLong count = new AtomicLong();
            consumed.add(count);
            if (parts[0].equals("lite")) {
                startPulling(nameServer, topic, parts[1], count);
            } else {
                startConsumer(nameServer, topic, parts[0], parts[1], count);
            }
        }

        long sent = 1;
        long begun = System.nanoTime();
        long told = begun;
        for (long number = 0; ; number++) {
            long due = rate > 0 ? begun + number * SECOND_NS / rate : told + SECOND_NS;
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            if (rate > 0) {
                try {
                    producer.send(new Message(topic, "A", "k" + number, body));
                    sent++;
                } catch (Exception refused) {
                    System.out.println("not sent: " + refused);
                }
            }
            if (System.nanoTime() - told >= SECOND_NS) {
                told = System.nanoTime();
                String counts = consumed.stream().map(AtomicLong::toString).collect(Collectors.joining(" "));
                System.out.println("sent " + sent + " consumed " + counts);
            }
        }
    }

    private static void startConsumer(String nameServer, String topic, String kind, String group, AtomicLong consumed)
            throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        if (kind.equals("broadcast")) {
            consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), "BROADCASTING"));
        }
        if (kind.equals("pop")) { // releases before 5.0 have no such method
            consumer.getClass().getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
        }
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                consumed.addAndGet(messages.size());
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                consumed.addAndGet(messages.size());
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
    }

    private static void startPulling(String nameServer, String topic, String group, AtomicLong consumed)
            throws MQClientException {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.start();
        Thread loop = new Thread(() -> {
            while (true) {
                consumed.addAndGet(consumer.poll(1_000).size());
            }
        });
        loop.setDaemon(true);
        loop.start();
    }
}
