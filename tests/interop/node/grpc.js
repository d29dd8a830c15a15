'use strict';

// Clients of rocketmq-client-nodejs in one process, driven by lines of JSON; words: `tests/interop/kinds.py`.

const readline = require('readline');
const { Producer, SimpleConsumer, PushConsumer, ConsumeResult, FilterExpression } = require('rocketmq-client-nodejs');
const { TransactionResolution, FilterType } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');

const settings = JSON.parse(process.argv[2]);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, close() {} };
const keys = { accessKey: settings.access_key, accessSecret: settings.secret_key };
const options = {
  endpoints: settings.endpoints,
  namespace: '',
  sslEnabled: settings.tls === true,
  sessionCredentials: settings.access_key ? keys : undefined,
  logger: quiet,
};
const clients = {};
const held = {};

function report(event, values) {
  process.stdout.write(JSON.stringify({ event, ...values }) + '\n');
}

function received(message) {
  return {
    topic: message.topic,
    body: message.body.toString(),
    tag: message.tag || null,
    keys: [ ...message.keys ].sort(),
    properties: Object.fromEntries(message.properties),
    message_id: message.messageId,
    attempt: message.deliveryAttempt,
  };
}

function subscription({ topic, expression, sql }) {
  return new Map([[ topic, sql ? new FilterExpression(expression, FilterType.SQL) : expression || '*' ]]);
}

async function start(name, client) {
  clients[name] = client;
  await client.startup();
  report('ready', {});
}

const words = {
  async producer({ topics, check }) {
    const checker = check && {
      async check(message) {
        report('checked', { body: message.body.toString() });
        // A broker may ask before it was told: the answer is what it is told.
        return TransactionResolution[message.body.toString() === 'rollback' ? 'ROLLBACK' : check];
      },
    };
    await start('producer', new Producer({ ...options, topics, topic: topics, checker }));
  },
  async simple({ name, group, ...filter }) {
    const subscriptions = subscription(filter);
    await start(name, new SimpleConsumer({ ...options, consumerGroup: group, subscriptions, awaitDuration: 5000 }));
  },
  async push({ name, group, failures, failing, ...filter }) {
    let left = failures || 0;
    const messageListener = {
      async consume(message) {
        report('message', { name, ...received(message) });
        return left-- > 0 || message.body.toString() === failing ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
      },
    };
    const subscriptions = subscription(filter);
    await start(name, new PushConsumer({ ...options, consumerGroup: group, subscriptions, messageListener }));
  },
  async send({ topic, body, tag, keys, properties, message_group: messageGroup, delay_ms: delay, transaction }) {
    const message = { topic, body: Buffer.from(body), tag, keys, messageGroup, delay };
    if (properties) message.properties = new Map(Object.entries(properties));
    const open = transaction && clients.producer.beginTransaction();
    const receipt = await clients.producer.send(message, open);
    if (transaction === 'commit') await open.commit();
    if (transaction === 'rollback') await open.rollback();
    report('sent', { message_id: receipt.messageId, handle: receipt.recallHandle });
  },
  async recall({ topic, handle }) {
    const receipt = await clients.producer.recallMessage(topic, handle);
    report('recalled', { message_id: receipt.messageId });
  },
  async receive({ name, most, invisible_s: seconds }) {
    held[name] = await clients[name].receive(most || 16, (seconds || 15) * 1000);
    report('received', { messages: held[name].map(received) });
  },
  async ack({ name }) {
    for (const message of held[name]) await clients[name].ack(message);
    report('acked', {});
  },
  async invisible({ name, seconds }) {
    for (const message of held[name]) await clients[name].changeInvisibleDuration(message, seconds * 1000);
    report('changed', {});
  },
  async stop() {
    // A push consumer's shutdown waits for its long polls to end.
    const others = Object.values(clients).filter(client => !(client instanceof PushConsumer));
    for (const client of others) await client.shutdown();
    report('stopped', {});
  },
};

async function main() {
  report('ready', {});
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    try {
      await words[command.do](command);
    } catch (error) {
      report('failed', { reason: String(error.stack) });
    }
    if (command.do === 'stop') break;
  }
}

main().then(() => process.exit(0), error => {
  report('error', { reason: error.stack });
  process.exit(1);
});
