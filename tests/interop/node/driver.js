'use strict';

// One ali-ons client, driven by lines of JSON on standard input and reporting by lines of JSON on standard output.
// argv[2]: { role: "producer" | "consumer", namesrv or nsaddr (a URL), group, topic, expression, access_key, secret_key }
// in:  { do: "send", topic, tags, keys, body, delay_level, sharding_key } | { do: "stop" }
// out: { event: "ready" | "sent" | "failed" | "assigned" | "message" | "no_offset" | "complaint" | "stopped" | "error", ... }

const readline = require('readline');
const { Consumer, Producer, Message } = require('ali-ons');
const httpclient = require('urllib');

// This client answers no requests of the broker: it learns of changes of its group by asking, every so often.
const REBALANCE_MS = 200;
const ROUTES_MS = 500;
// A group without an offset is reported by this client as an error, and then started where it should be.
const NO_OFFSET_YET = 'maybe this group consumer boot first';

let stopping = false;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const settings = JSON.parse(process.argv[2]);
const options = {
  httpclient,
  logger: quiet,
  nameSrv: settings.namesrv && settings.namesrv.split(';'),
  onsAddr: settings.nsaddr,
  pollNameServerInteval: ROUTES_MS,
  clientIP: '127.0.0.1',
  rebalanceInterval: REBALANCE_MS,
  accessKey: settings.access_key,
  secretKey: settings.secret_key,
};

function report(event, values) {
  process.stdout.write(JSON.stringify({ event, ...values }) + '\n');
}

function startConsumer() {
  const consumer = new Consumer({ ...options, consumerGroup: settings.group, ...settings.consumer });
  consumer.on('error', error => {
    // It closes its sockets under its own requests.
    if (stopping) return;
    if (error.message.includes(NO_OFFSET_YET)) report('no_offset', { reason: error.message });
    else report(settings.lenient ? 'complaint' : 'error', { reason: error.message });
  });
  const queues = () => {
    const mine = [];
    for (const { messageQueue } of consumer.processQueueTable.values()) {
      if (messageQueue.topic === settings.topic) mine.push(`${messageQueue.brokerName}/${messageQueue.queueId}`);
    }
    return mine.sort();
  };
  consumer.on(`topic_${settings.topic}_queue_changed`, () => report('assigned', { queues: queues() }));
  let refusals = settings.refusals || 0;
  consumer.subscribe(settings.topic, settings.expression || '*', async message => {
    report('message', {
      topic: message.topic,
      body: message.body.toString(),
      tags: message.tags || null,
      keys: message.keys || null,
      msg_id: message.msgId,
      queue_id: message.queueId,
      queue_offset: Number(message.queueOffset),
      reconsume_times: message.reconsumeTimes,
      born_host: message.bornHost,
      properties: message.properties,
    });
    if (refusals > 0) {
      refusals -= 1;
      return Consumer.ACTION_RETRY;
    }
  });
  return consumer;
}

async function send(producer, command) {
  const message = new Message(command.topic, command.tags || '', command.body);
  if (command.keys) message.keys = [ command.keys ];
  if (command.delay_level) message.delayTimeLevel = command.delay_level;
  if (command.sharding_key) message.shardingKey = command.sharding_key;
  const result = await producer.send(message);
  report('sent', {
    status: result.sendStatus,
    msg_id: result.msgId,
    offset_msg_id: result.offsetMsgId,
    broker: result.messageQueue.brokerName,
    queue_id: Number(result.messageQueue.queueId),
    queue_offset: Number(result.queueOffset),
  });
}

async function main() {
  const client = settings.role === 'producer'
    ? new Producer({ ...options, producerGroup: settings.group })
    : startConsumer();
  client.on('error', () => {});
  await client.ready();
  report('ready', { client_id: client.clientId });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    if (command.do === 'stop') break;
    try {
      await send(client, command);
    } catch (error) {
      report('failed', { reason: error.message });
    }
  }
  stopping = true;
  await client.close();
  report('stopped', {});
}

main().then(() => process.exit(0), error => {
  report('error', { reason: error.stack });
  process.exit(1);
});
