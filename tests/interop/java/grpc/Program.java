import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.Closeable;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientConfigurationBuilder;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.StaticSessionCredentialsProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** Java's gRPC client. */
public final class Program {
    private final ClientServiceProvider provider = ClientServiceProvider.loadService();
    private final ClientConfiguration configuration;
    private final List<Closeable> closing = new ArrayList<>();
    private final Map<String, SimpleConsumer> consumers = new HashMap<>();
    private final Map<String, List<MessageView>> held = new HashMap<>();
    private Producer producer;

    private Program(JsonObject settings) {
        ClientConfigurationBuilder builder = ClientConfiguration.newBuilder()
                .setEndpoints(settings.get("endpoints").getAsString())
                .setRequestTimeout(Duration.ofSeconds(10))
                .enableSsl(Lines.flag(settings, "tls"));
        if (Lines.has(settings, "access_key")) {
            builder.setCredentialProvider(new StaticSessionCredentialsProvider(
                    settings.get("access_key").getAsString(), settings.get("secret_key").getAsString()));
        }
        configuration = builder.build();
    }

    public static void main(String[] arguments) throws Exception {
        Program program = new Program(JsonParser.parseString(arguments[0]).getAsJsonObject());
        Map<String, Lines.Word> words = new HashMap<>();
        words.put("producer", program::startProducer);
        words.put("push", program::push);
        words.put("simple", program::simple);
        words.put("receive", program::receive);
        words.put("ack", program::ack);
        words.put("invisible", program::invisible);
        words.put("send", program::send);
        words.put("recall", program::recall);
        words.put("stop", program::stop);
        Lines.serve(words);
    }

    private void startProducer(JsonObject command) throws Exception {
        List<String> topics = new ArrayList<>();
        command.getAsJsonArray("topics").forEach(topic -> topics.add(topic.getAsString()));
        ProducerBuilder builder = provider.newProducerBuilder()
                .setClientConfiguration(configuration)
                .setTopics(topics.toArray(new String[0]));
        if (Lines.has(command, "check")) {
            TransactionResolution checked =
                    TransactionResolution.valueOf(command.get("check").getAsString());
            builder.setTransactionChecker(message -> {
                Lines.report("checked", "body", body(message));
                // A broker may ask before it was told: the answer is what it is told.
                return body(message).equals("rollback") ? TransactionResolution.ROLLBACK : checked;
            });
        }
        producer = builder.build();
        closing.add(producer);
        Lines.report("ready");
    }

    private static Map<String, FilterExpression> subscription(JsonObject command) {
        FilterExpressionType type =
                Lines.flag(command, "sql") ? FilterExpressionType.SQL92 : FilterExpressionType.TAG;
        FilterExpression expression = new FilterExpression(Lines.text(command, "expression", "*"), type);
        return Map.of(command.get("topic").getAsString(), expression);
    }

    private void push(JsonObject command) throws Exception {
        String name = command.get("name").getAsString();
        String failing = Lines.text(command, "failing", null);
        closing.add(provider.newPushConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup(command.get("group").getAsString())
                .setSubscriptionExpressions(subscription(command))
                .setConsumptionThreadCount(2)
                .setMessageListener(message -> {
                    Map<String, Object> shown = shown(message);
                    shown.put("name", name);
                    Lines.report("message", shown);
                    return body(message).equals(failing) ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
                })
                .build());
        Lines.report("ready");
    }

    private void simple(JsonObject command) throws Exception {
        SimpleConsumer consumer = provider.newSimpleConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup(command.get("group").getAsString())
                .setSubscriptionExpressions(subscription(command))
                .setAwaitDuration(Duration.ofSeconds(5))
                .build();
        closing.add(consumer);
        consumers.put(command.get("name").getAsString(), consumer);
        Lines.report("ready");
    }

    private void receive(JsonObject command) throws Exception {
        String name = command.get("name").getAsString();
        List<MessageView> messages = consumers.get(name).receive(
                Lines.number(command, "most", 16), Duration.ofSeconds(Lines.number(command, "invisible_s", 15)));
        held.put(name, messages);
        List<Object> all = new ArrayList<>();
        messages.forEach(message -> all.add(shown(message)));
        Lines.report("received", Map.of("messages", all));
    }

    private void ack(JsonObject command) throws Exception {
        String name = command.get("name").getAsString();
        for (MessageView message : held.remove(name)) {
            consumers.get(name).ack(message);
        }
        Lines.report("acked");
    }

    private void invisible(JsonObject command) throws Exception {
        String name = command.get("name").getAsString();
        Duration time = Duration.ofSeconds(command.get("seconds").getAsInt());
        for (MessageView message : held.get(name)) {
            consumers.get(name).changeInvisibleDuration(message, time);
        }
        Lines.report("changed");
    }

    private void send(JsonObject command) throws Exception {
        MessageBuilder builder = provider.newMessageBuilder()
                .setTopic(command.get("topic").getAsString())
                .setBody(command.get("body").getAsString().getBytes(StandardCharsets.UTF_8));
        if (Lines.has(command, "tag")) {
            builder.setTag(command.get("tag").getAsString());
        }
        if (Lines.has(command, "keys")) {
            List<String> keys = new ArrayList<>();
            command.getAsJsonArray("keys").forEach(key -> keys.add(key.getAsString()));
            builder.setKeys(keys.toArray(new String[0]));
        }
        if (Lines.has(command, "message_group")) {
            builder.setMessageGroup(command.get("message_group").getAsString());
        }
        if (Lines.has(command, "delay_ms")) {
            builder.setDeliveryTimestamp(
                    System.currentTimeMillis() + command.get("delay_ms").getAsLong());
        }
        Lines.texts(command, "properties").forEach(builder::addProperty);
        Message message = builder.build();
        String how = Lines.text(command, "transaction", null);
        SendReceipt receipt;
        if (how == null) {
            receipt = producer.send(message);
        } else {
            Transaction transaction = producer.beginTransaction();
            receipt = producer.send(message, transaction);
            if (how.equals("commit")) {
                transaction.commit();
            } else if (how.equals("rollback")) {
                transaction.rollback();
            }
        }
        Lines.report("sent", "message_id", receipt.getMessageId().toString(), "handle", receipt.getRecallHandle());
    }

    private void recall(JsonObject command) throws Exception {
        String id = producer.recallMessage(
                        command.get("topic").getAsString(), command.get("handle").getAsString())
                .getMessageId()
                .toString();
        Lines.report("recalled", "message_id", id);
    }

    private void stop(JsonObject command) throws Exception {
        for (Closeable client : closing) {
            client.close();
        }
        Lines.report("stopped");
    }

    private static String body(MessageView message) {
        return StandardCharsets.UTF_8.decode(message.getBody().duplicate()).toString();
    }

    private static Map<String, Object> shown(MessageView message) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("topic", message.getTopic());
        shown.put("body", body(message));
        shown.put("tag", message.getTag().orElse(null));
        shown.put("keys", message.getKeys());
        shown.put("properties", message.getProperties());
        shown.put("message_id", message.getMessageId().toString());
        shown.put("attempt", message.getDeliveryAttempt());
        return shown;
    }
}
