import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/** Java's remoting client. One source for 4.x and 5.x: calls that only 5.x has go by reflection. */
public final class Program {
    private static final int TIMEOUT_MS = 20_000;

    private final JsonObject settings;
    private final List<Runnable> closing = new ArrayList<>();
    private DefaultMQProducer producer;

    private Program(JsonObject settings) {
        this.settings = settings;
    }

    public static void main(String[] arguments) throws Exception {
        Program program = new Program(JsonParser.parseString(arguments[0]).getAsJsonObject());
        Map<String, Lines.Word> words = new HashMap<>();
        words.put("producer", program::startProducer);
        words.put("push", program::push);
        words.put("pull", program::pull);
        words.put("send", program::send);
        words.put("request", program::request);
        words.put("recall", program::recall);
        words.put("stop", program::stop);
        Lines.serve(words);
    }

    private RPCHook hook() {
        return Lines.has(settings, "access_key")
                ? new AclClientRPCHook(new SessionCredentials(
                        settings.get("access_key").getAsString(), settings.get("secret_key").getAsString()))
                : null;
    }

    private void configure(ClientConfig client) {
        client.setNamesrvAddr(settings.get("namesrv").getAsString());
        client.setInstanceName(UUID.randomUUID().toString());
        client.setUseTLS(Lines.flag(settings, "tls"));
        client.setMqClientApiTimeout(TIMEOUT_MS);
    }

    private void startProducer(JsonObject command) throws Exception {
        String group = command.get("group").getAsString();
        if (Lines.has(command, "check")) {
            TransactionMQProducer transactions = new TransactionMQProducer(group, hook());
            transactions.setTransactionListener(new Decisions(command.get("check").getAsString()));
            producer = transactions;
        } else {
            producer = new DefaultMQProducer(group, hook(), Lines.flag(command, "trace"), null);
        }
        configure(producer);
        producer.setSendMsgTimeout(TIMEOUT_MS);
        producer.start();
        closing.add(producer::shutdown);
        Lines.report("ready");
    }

    private void push(JsonObject command) throws Exception {
        String name = command.get("name").getAsString();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
                command.get("group").getAsString(),
                hook(),
                new AllocateMessageQueueAveragely(),
                Lines.flag(command, "trace"),
                null);
        configure(consumer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(2);
        consumer.setConsumeThreadMax(2);
        consumer.setMaxReconsumeTimes(Lines.number(command, "retries", 16));
        consumer.setSuspendCurrentQueueTimeMillis(100);
        if (Lines.flag(command, "broadcast")) {
            // The package of MessageModel is another one in 5.x.
            consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), "BROADCASTING"));
        }
        if (Lines.flag(command, "pop")) {
            DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
        }
        String expression = Lines.text(command, "expression", "*");
        if (Lines.flag(command, "sql")) {
            consumer.subscribe(command.get("topic").getAsString(), MessageSelector.bySql(expression));
        } else {
            consumer.subscribe(command.get("topic").getAsString(), expression);
        }
        AtomicInteger failures = new AtomicInteger(Lines.number(command, "failures", 0));
        String failing = Lines.text(command, "failing", null);
        boolean replies = Lines.flag(command, "reply");
        if (Lines.flag(command, "orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                    consume(name, messages, failures, failing, replies)
                            ? ConsumeOrderlyStatus.SUCCESS
                            : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                    consume(name, messages, failures, failing, replies)
                            ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS
                            : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
        closing.add(consumer::shutdown);
        Lines.report("ready");
    }

    private boolean consume(
            String name, List<MessageExt> messages, AtomicInteger failures, String failing, boolean replies) {
        boolean done = true;
        for (MessageExt message : messages) {
            String body = body(message);
            reportMessage(name, message);
            if (replies) {
                try {
                    byte[] answer = ("re: " + body).getBytes(StandardCharsets.UTF_8);
                    producer.send(MessageUtil.createReplyMessage(message, answer), TIMEOUT_MS);
                } catch (Exception refused) {
                    Lines.report("unanswered", "reason", refused.toString());
                }
            }
            done &= failures.getAndDecrement() <= 0 && !body.equals(failing);
        }
        return done;
    }

    private static void reportMessage(String name, MessageExt message) {
        List<String> keys = message.getKeys() == null ? List.of() : Arrays.asList(message.getKeys().split(" "));
        Lines.report(
                "message",
                "name", name,
                "topic", message.getTopic(),
                "body", body(message),
                "tag", message.getTags(),
                "keys", keys,
                "properties", message.getProperties(),
                "message_id", message.getMsgId(),
                "queue", message.getQueueId(),
                "attempt", message.getReconsumeTimes() + 1);
    }

    private static String body(Message message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }

    /** Assigns itself all queues and polls until it has so many messages. */
    private void pull(JsonObject command) throws Exception {
        DefaultLitePullConsumer consumer =
                new DefaultLitePullConsumer(command.get("group").getAsString(), hook());
        configure(consumer);
        consumer.setAutoCommit(false);
        consumer.start();
        closing.add(consumer::shutdown);
        Set<MessageQueue> queues =
                new HashSet<>(consumer.fetchMessageQueues(command.get("topic").getAsString()));
        consumer.assign(queues);
        for (MessageQueue queue : queues) {
            consumer.seekToBegin(queue);
        }
        List<String> bodies = new ArrayList<>();
        long deadline = System.nanoTime() + TIMEOUT_MS * 1_000_000L;
        while (bodies.size() < command.get("count").getAsInt() && System.nanoTime() < deadline) {
            consumer.poll(1_000).forEach(message -> bodies.add(body(message)));
        }
        Lines.report("pulled", "bodies", bodies);
    }

    private void send(JsonObject command) throws Exception {
        SendResult result;
        if (Lines.has(command, "bodies")) {
            List<Message> batch = new ArrayList<>();
            for (JsonElement body : command.getAsJsonArray("bodies")) {
                batch.add(message(command, body.getAsString()));
            }
            result = producer.send(batch);
        } else {
            Message message = message(command, command.get("body").getAsString());
            if (Lines.has(command, "transaction")) {
                result = ((TransactionMQProducer) producer)
                        .sendMessageInTransaction(message, command.get("transaction").getAsString());
            } else if (Lines.has(command, "message_group")) {
                String key = command.get("message_group").getAsString();
                result = producer.send(
                        message, (queues, same, by) -> queues.get(Math.floorMod(by.hashCode(), queues.size())), key);
            } else {
                result = producer.send(message);
            }
        }
        Lines.report(
                "sent",
                "message_id", result.getMsgId(),
                "status", result.getSendStatus().name(),
                "handle", handle(result));
    }

    private static Object handle(SendResult result) throws ReflectiveOperationException {
        try {
            return SendResult.class.getMethod("getRecallHandle").invoke(result);
        } catch (NoSuchMethodException older) {
            return null;
        }
    }

    private static Message message(JsonObject command, String body) {
        Message message = new Message(
                command.get("topic").getAsString(),
                Lines.text(command, "tag", ""),
                body.getBytes(StandardCharsets.UTF_8));
        if (Lines.has(command, "keys")) {
            List<String> keys = new ArrayList<>();
            command.getAsJsonArray("keys").forEach(key -> keys.add(key.getAsString()));
            message.setKeys(keys);
        }
        Lines.texts(command, "properties").forEach((name, value) -> MessageAccessor.putProperty(message, name, value));
        if (Lines.has(command, "delay_level")) {
            message.setDelayTimeLevel(command.get("delay_level").getAsInt());
        }
        if (Lines.has(command, "delay_ms")) {
            // What setDelayTimeMs of 5.x writes, so that a 4.x client asks for it as well.
            MessageAccessor.putProperty(message, "TIMER_DELAY_MS", command.get("delay_ms").getAsString());
        }
        return message;
    }

    private void request(JsonObject command) throws Exception {
        Message answer = producer.request(message(command, command.get("body").getAsString()), 2 * TIMEOUT_MS);
        Lines.report("replied", "body", body(answer));
    }

    private void recall(JsonObject command) throws Exception {
        Object id = DefaultMQProducer.class
                .getMethod("recallMessage", String.class, String.class)
                .invoke(producer, command.get("topic").getAsString(), command.get("handle").getAsString());
        Lines.report("recalled", "message_id", id);
    }

    private void stop(JsonObject command) {
        closing.forEach(Runnable::run);
        Lines.report("stopped");
    }

    /** What becomes of half messages: as the command said, and when the broker checks, as the producer was given. */
    private static final class Decisions implements TransactionListener {
        private final LocalTransactionState checked;

        Decisions(String checked) {
            this.checked = state(checked);
        }

        private static LocalTransactionState state(String word) {
            switch (word.toUpperCase()) {
                case "COMMIT":
                    return LocalTransactionState.COMMIT_MESSAGE;
                case "ROLLBACK":
                    return LocalTransactionState.ROLLBACK_MESSAGE;
                default:
                    return LocalTransactionState.UNKNOW;
            }
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object how) {
            return state((String) how);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            Lines.report("checked", "body", body(message));
            // A broker may ask before it was told: the answer is what it is told.
            return body(message).equals("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE : checked;
        }
    }
}
