//! Rust's gRPC client: commands in, reports out, both lines of JSON; the words are in `tests/interop/kinds.py`.
//!
//! This client has no push consumer: `push` receives and acknowledges in a loop.

use std::collections::HashMap;
use std::error::Error;
use std::io::{stdin, BufRead};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::{Message, MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::{Producer, SimpleConsumer};
use serde_json::{json, Value};

/// The time-out of long polling is the deadline of the call as well, and a broker wants some of it left.
const AWAIT: Duration = Duration::from_secs(10);

type Outcome = Result<(), Box<dyn Error>>;

fn report(event: &str, mut values: Value) {
    values["event"] = json!(event);
    println!("{values}");
}

fn text<'a>(command: &'a Value, name: &str) -> &'a str {
    command[name].as_str().unwrap_or_default()
}

fn shown(message: &MessageView) -> Value {
    json!({
        "topic": message.topic(),
        "body": body(message),
        "tag": message.tag(),
        "keys": message.keys(),
        "properties": message.properties(),
        "message_id": message.message_id(),
        "attempt": message.delivery_attempt(),
    })
}

fn body(message: &MessageView) -> String {
    String::from_utf8_lossy(message.body()).into_owned()
}

fn expression(command: &Value) -> FilterExpression {
    let written = command["expression"].as_str().unwrap_or("*");
    let sql = command["sql"].as_bool().unwrap_or(false);
    FilterExpression::new(if sql { FilterType::Sql } else { FilterType::Tag }, written)
}

struct Program {
    settings: Value,
    producer: Option<Producer>,
    /// Simple consumers by name, with the topic and the expression that each receives.
    consumers: HashMap<String, (Arc<SimpleConsumer>, String, FilterExpression)>,
    held: HashMap<String, Vec<MessageView>>,
}

impl Program {
    fn options(&self) -> ClientOption {
        let mut options = ClientOption::default();
        options.set_access_url(text(&self.settings, "endpoints"));
        options.set_enable_tls(self.settings["tls"].as_bool().unwrap_or(false));
        options.set_timeout(Duration::from_secs(10));
        options.set_long_polling_timeout(AWAIT);
        if self.settings["access_key"].is_string() {
            options.set_access_key(text(&self.settings, "access_key"));
            options.set_secret_key(text(&self.settings, "secret_key"));
        }
        options
    }

    async fn start_producer(&mut self, command: &Value) -> Outcome {
        let mut options = ProducerOption::default();
        let topics = command["topics"].as_array().into_iter().flatten();
        options.set_topics(topics.filter_map(Value::as_str).collect::<Vec<_>>());
        let mut producer = match command["check"].as_str() {
            None => Producer::new(options, self.options())?,
            Some(check) => {
                let commits = check == "COMMIT";
                let checker = move |_: String, message: MessageView| {
                    report("checked", json!({"body": body(&message)}));
                    // A broker may ask before it was told: the answer is what it is told.
                    if commits && body(&message) != "rollback" {
                        TransactionResolution::COMMIT
                    } else {
                        TransactionResolution::ROLLBACK
                    }
                };
                Producer::new_transaction_producer(options, self.options(), Box::new(checker))?
            }
        };
        producer.start().await?;
        self.producer = Some(producer);
        report("ready", json!({}));
        Ok(())
    }

    async fn consumer(&self, command: &Value) -> Result<Arc<SimpleConsumer>, Box<dyn Error>> {
        let mut options = SimpleConsumerOption::default();
        options.set_topics(vec![text(command, "topic")]);
        options.set_consumer_group(text(command, "group"));
        let mut consumer = SimpleConsumer::new(options, self.options())?;
        consumer.start().await?;
        Ok(Arc::new(consumer))
    }

    async fn push(&mut self, command: &Value) -> Outcome {
        let consumer = self.consumer(command).await?;
        let (topic, filter) = (text(command, "topic").to_owned(), expression(command));
        let name = text(command, "name").to_owned();
        report("ready", json!({}));
        tokio::spawn(async move {
            loop {
                match consumer.receive(&topic, &filter).await {
                    Err(error) => {
                        eprintln!("not received: {error}");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    Ok(messages) => {
                        for message in messages {
                            let mut seen = shown(&message);
                            seen["name"] = json!(name);
                            report("message", seen);
                            if let Err(error) = consumer.ack(&message).await {
                                eprintln!("not acknowledged: {error}");
                            }
                        }
                    }
                }
            }
        });
        Ok(())
    }

    async fn simple(&mut self, command: &Value) -> Outcome {
        let consumer = self.consumer(command).await?;
        let known = (consumer, text(command, "topic").to_owned(), expression(command));
        self.consumers.insert(text(command, "name").to_owned(), known);
        report("ready", json!({}));
        Ok(())
    }

    async fn receive(&mut self, command: &Value) -> Outcome {
        let name = text(command, "name");
        let (consumer, topic, filter) = &self.consumers[name];
        let most = command["most"].as_i64().unwrap_or(16) as i32;
        let invisible = Duration::from_secs(command["invisible_s"].as_u64().unwrap_or(15));
        let messages = consumer.receive_with(topic, filter, most, invisible).await?;
        report("received", json!({"messages": messages.iter().map(shown).collect::<Vec<_>>()}));
        self.held.insert(name.to_owned(), messages);
        Ok(())
    }

    async fn ack(&mut self, command: &Value) -> Outcome {
        let name = text(command, "name");
        for message in self.held.remove(name).unwrap_or_default() {
            self.consumers[name].0.ack(&message).await?;
        }
        report("acked", json!({}));
        Ok(())
    }

    async fn send(&mut self, command: &Value) -> Outcome {
        let producer = self.producer.as_ref().ok_or("no producer was started")?;
        let id = if let Some(bodies) = command["bodies"].as_array() {
            let batch: Result<Vec<_>, _> =
                bodies.iter().map(|body| built(command, body.as_str().unwrap_or_default()).build()).collect();
            producer.batch_send(batch?).await?[0].message_id().to_owned()
        } else {
            let message = built(command, text(command, "body"));
            match command["transaction"].as_str() {
                None => producer.send(message.build()?).await?.message_id().to_owned(),
                Some(how) => {
                    let transaction = producer.send_transaction_message(message.enable_transaction().build()?).await?;
                    let id = transaction.message_id().to_owned();
                    match how {
                        "commit" => transaction.commit().await?,
                        "rollback" => transaction.rollback().await?,
                        _ => {}
                    }
                    id
                }
            }
        };
        report("sent", json!({"message_id": id}));
        Ok(())
    }

    async fn stop(&mut self) -> Outcome {
        if let Some(producer) = self.producer.take() {
            producer.shutdown().await?;
        }
        report("stopped", json!({}));
        Ok(())
    }

    async fn run(&mut self, command: &Value) -> Outcome {
        match text(command, "do") {
            "producer" => self.start_producer(command).await,
            "push" => self.push(command).await,
            "simple" => self.simple(command).await,
            "receive" => self.receive(command).await,
            "ack" => self.ack(command).await,
            "send" => self.send(command).await,
            "stop" => self.stop().await,
            other => Err(format!("no word {other}").into()),
        }
    }
}

fn built(command: &Value, body: &str) -> MessageBuilder {
    let mut message = MessageBuilder::builder()
        .set_topic(text(command, "topic"))
        .set_body(body.as_bytes().to_vec());
    if let Some(tag) = command["tag"].as_str() {
        message = message.set_tag(tag);
    }
    if let Some(keys) = command["keys"].as_array() {
        message = message.set_keys(keys.iter().filter_map(Value::as_str).collect());
    }
    if let Some(properties) = command["properties"].as_object() {
        let texts = properties.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()));
        message = message.set_properties(texts.collect::<HashMap<_, _>>());
    }
    if let Some(group) = command["message_group"].as_str() {
        message = message.set_message_group(group);
    }
    if let Some(delay_ms) = command["delay_ms"].as_u64() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        message = message.set_delivery_timestamp((now + Duration::from_millis(delay_ms)).as_secs() as i64);
    }
    message
}

#[tokio::main]
async fn main() -> Outcome {
    let settings = serde_json::from_str(&std::env::args().nth(1).ok_or("no settings")?)?;
    let mut program = Program { settings, producer: None, consumers: HashMap::new(), held: HashMap::new() };
    report("ready", json!({}));
    for line in stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        if let Err(refused) = program.run(&command).await {
            report("failed", json!({"reason": refused.to_string()}));
        }
        if text(&command, "do") == "stop" {
            std::process::exit(0);
        }
    }
    Ok(())
}
