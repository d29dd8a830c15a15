import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * A producer at a steady rate and a consumer whose listener does nothing, until the process is ended. Once a second a
 * line with what was sent and consumed so far.
 *
 * <p>Arguments: name server, topic, group, messages a second, bytes of a body.
 */
public class Traffic {
    private static final long SECOND_NS = 1_000_000_000L;

    public static void main(String[] words) throws Exception {
        String nameServer = words[0];
        String topic = words[1];
        int rate = Integer.parseInt(words[3]);
        byte[] body = "x".repeat(Integer.parseInt(words[4])).getBytes(StandardCharsets.US_ASCII);
        AtomicLong consumed = new AtomicLong();

        DefaultMQProducer producer = new DefaultMQProducer("traffic_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(20_000);
        producer.start();
        producer.send(new Message(topic, "A", "first", body));
        startConsumer(nameServer, topic, words[2], consumed);

        long sent = 1;
        long begun = System.nanoTime();
        long told = begun;
        for (long number = 0; ; number++) {
            long due = begun + number * SECOND_NS / rate;
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            try {
                producer.send(new Message(topic, "A", "k" + number, body));
                sent++;
            } catch (Exception refused) {
                System.out.println("not sent: " + refused);
            }
            if (System.nanoTime() - told > SECOND_NS) {
                told = System.nanoTime();
                System.out.println("sent " + sent + " consumed " + consumed.get());
            }
        }
    }

    private static void startConsumer(String nameServer, String topic, String group, AtomicLong consumed)
            throws MQClientException {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            consumed.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
    }
}
