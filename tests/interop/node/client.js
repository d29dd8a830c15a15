'use strict';

// Drives ali-ons by commands on stdin, one JSON object a line; answers and events go to stdout in the same form.

const readline = require('readline');
const httpclient = require('urllib');
const { Producer, Consumer, Message } = require('ali-ons');

const POLL_MS = 50;
const say = value => process.stdout.write(JSON.stringify(value) + '\n');
const quiet = { info() {}, warn() {}, error() {}, debug() {} };
let producer;
let consumer;

const verbs = {
  async producer({ namesrv, group }) {
    producer = new Producer({ httpclient, nameSrv: namesrv, producerGroup: group, logger: quiet });
    producer.on('error', error => say({ event: 'error', text: String(error) }));
    await producer.ready();
  },
  async send({ topic, tag, body, keys, properties }) {
    const message = new Message(topic, tag, body);
    if (keys) message.keys = keys;
    for (const name of Object.keys(properties || {})) message.properties[name] = properties[name];
    const result = await producer.send(message);
    return { status: result.sendStatus, id: result.msgId, queue: Number(result.messageQueue.queueId), offset: Number(result.queueOffset) };
  },
  async consumer({ namesrv, group, topic, tags, fail }) {
    // This client does not listen to the broker's change notification: it looks again at intervals.
    consumer = new Consumer({ httpclient, nameSrv: namesrv, consumerGroup: group, logger: quiet, rebalanceInterval: 1000 });
    consumer.on('error', error => say({ event: 'error', text: String(error) }));
    consumer.subscribe(topic, tags, async message => {
      const retried = message.reconsumeTimes;
      say({ event: 'message', body: message.body.toString(), tag: message.tags, queue: Number(message.queueId), offset: Number(message.queueOffset), retried });
      if (fail && retried < fail) throw new Error('as asked');
    });
    await consumer.ready();
  },
  async owned({ topic, count }) {
    for (;;) {
      const queues = [...consumer.processQueueTable.values()].map(item => item.messageQueue);
      const ids = queues.filter(queue => queue.topic === topic).map(queue => queue.queueId).sort();
      if (ids.length === count) return { queues: ids };
      await new Promise(resolve => setTimeout(resolve, POLL_MS));
    }
  },
  async close() {
    if (consumer) await consumer.close();
    if (producer) await producer.close();
  },
};

async function run() {
  say({ event: 'ready' });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    try {
      say({ event: 'done', do: command.do, result: await verbs[command.do](command) });
    } catch (error) {
      say({ event: 'failed', do: command.do, text: String(error && error.stack || error) });
    }
  }
  process.exit(0);
}

run();
